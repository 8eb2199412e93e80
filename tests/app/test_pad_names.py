"""Names of many pads under small pictures."""

from __future__ import annotations

import pytest

pytest.importorskip("polyscope")
from app.view.panels.tactile import initials, short_names  # noqa: E402 - after the skip


def test_what_all_names_share_is_left_out():
    assert short_names(["hand.index_1_pad", "hand.palm_pad"]) == ["index_1", "palm"]
    assert short_names(["left", "right", "third"]) == ["left", "right", "third"]
    assert short_names(["pad_1", "pad_2", "pad_3"]) == ["1", "2", "3"]


def test_initials_tell_phalanges_apart():
    assert [initials(name) for name in ("index_1", "index_2", "ring_2", "palm")] == ["i1", "i2", "r2", "pa"]
