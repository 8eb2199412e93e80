"""Bending energy of cylinders across a row-wise zig-zag, in the directions that plate theory does not cover."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.energies.test_hinge import cylinder_ratio

ZIGZAG_EXCESS = 0.75  # docs/physics/bending.md: 1.75 times plate theory at 45 degrees


@pytest.mark.parametrize("degrees", [22.5, 45.0, 67.5, 112.5])
def test_zigzag_cylinder_between_the_axes(degrees):
    """1 + 0.75 sin(2 phi)^2: right along the axes, stiffest along the diagonals, the same on both sides of each."""
    ratio = cylinder_ratio("zigzag", degrees)
    print(f"hinge, zigzag, cylinder at {degrees} degrees: energy over plate theory {ratio:.4f}")
    assert ratio == pytest.approx(1.0 + ZIGZAG_EXCESS * np.sin(2.0 * np.radians(degrees)) ** 2, abs=0.005)
