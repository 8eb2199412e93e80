"""Trap 9: something soft, pinned in a narrow channel, and a driven body pushed in: no way through, the drive yields."""

from __future__ import annotations

import numpy as np
import pytest

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.mesh import shapes
from tests.engine.contact.test_traps import intersects
from tests.engine.models import block, soft_pad

CONTACT = ContactMaterial(dhat=2e-4, friction_mu=0.3)
START = 0.0065  # [m] centre of the pusher, just inside the channel
HALF = 0.004  # [m] of its length
PINNED = 0.023  # [m] where the soft thing is held
STEP, STEPS = 1.5e-3, 20  # [m] of the target a step: it ends 17 mm beyond the pins


def add_channel(builder: ModelBuilder, clear_y: float, clear_z: float, length: float = 0.024) -> None:
    """Four static walls around the x axis, from x = 0 to `length`, open at both ends."""
    for axis, clear in ((1, clear_y), (2, clear_z)):
        for side in (1.0, -1.0):
            size = np.array([length, 0.02, 0.02])
            size[3 - axis] = 0.03 if axis == 2 else 0.9 * clear_z  # side walls stand between floor and roof
            size[axis] = 0.004
            vertices, triangles = shapes.box_surface(size)
            at = np.array([length / 2, 0.0, 0.0])
            at[axis] = side * (clear / 2 + 0.002)
            builder.add_static(f"wall{'yz'[axis - 1]}{'+-'[side < 0]}", vertices + at, triangles, CONTACT)


def channel(kind: str, force_limit: float | None) -> Engine:
    """A gel block or a strip of tape backing, pinned at the far end of the channel, and the pusher before it."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    if kind == "gel":
        add_channel(builder, clear_y=0.0064, clear_z=0.0064)
        rest, _ = shapes.box_tets(4, 2, 2, (0.012, 0.006, 0.006))
        far = rest[:, 0] > rest[:, 0].max() - 1e-9
        soft_pad(builder, "soft", cells=(4, 2, 2), size=(0.012, 0.006, 0.006), at=(PINNED - 0.006, 0, 0),
                 contact=CONTACT, pinned=far)  # fmt: skip
        size = (0.008, 0.0056, 0.0057)
    else:
        add_channel(builder, clear_y=0.0064, clear_z=0.003)
        rest, triangles = shapes.strip_mesh(0.012, 0.005, 4)
        far = rest[:, 0] > rest[:, 0].max() - 1e-9
        backing = ShellMaterial(young=2e8, poisson=0.3, thickness=5e-5, density=1000.0)
        builder.add_shell("soft", rest + (PINNED - 0.006, 1e-4, 1e-4), triangles, backing, CONTACT, pinned=far)
        size = (0.008, 0.0056, 0.0024)
    block(builder, "pusher", size=size, at=(START, 5e-5, -3e-5), driven=True, gravity=False, contact=CONTACT,
          force_limit=force_limit)  # fmt: skip
    return Engine(builder.finalize(), Options(dt=1 / 30))


@pytest.mark.parametrize("force_limit", [None, 5.0])
@pytest.mark.parametrize("kind", ["gel", "strip"])
def test_nothing_passes_in_a_pinned_channel(kind, force_limit):
    engine = channel(kind, force_limit)
    soft = engine.model.meshes["soft"]
    pins = engine.mesh_positions("soft")[:, 0] > PINNED - 1e-9
    held = engine.mesh_positions("soft")[pins]
    most_contacts = 0
    for k in range(1, STEPS + 1):
        control = engine.control()
        control.body_transform[0, 0, 0, 3] = START + STEP * k
        report = engine.step(control)
        most_contacts = max(most_contacts, report.contacts)
        assert report.converged and report.min_distance > 0.0
        assert not intersects(engine)
        x = engine.mesh_positions("soft")
        assert np.array_equal(x[pins], held)
        if kind == "gel":
            corners = x[soft.tets]
            assert np.linalg.det(corners[:, 1:] - corners[:, :1]).min() > 0.0
    front = engine.body_transform("pusher")[0, 3] + HALF
    assert most_contacts > 50
    assert PINNED - 0.012 + 1e-3 < front < PINNED  # it did press in, and it did not get past the pins
    # the drive yields, and says by how much and how hard it pulls
    behind = START + STEP * STEPS + HALF - front
    signals = engine.signals()
    assert behind > 0.015 and report.drive_gap == pytest.approx(behind, rel=1e-3)
    assert signals.drive_gap[0, 0, 0] == pytest.approx(behind, abs=1e-6)
    if force_limit is None:
        said = f"drive of 'pusher' is blocked {report.drive_gap * 1e3:.2f} mm short of its target"
        assert said in report.messages
        assert signals.drive_force[0, 0, 0] > 5.0
    else:
        assert np.linalg.norm(signals.drive_force[0, 0]) == pytest.approx(force_limit, rel=0.02)
