"""Bodies at rest at an everyday tolerance: the contact forces that users read carry the weight."""

from __future__ import annotations

import numpy as np
import pytest

from engine import ContactMaterial, Engine, ModelBuilder, Options
from tests.engine.models import add_ground, block, soft_pad


def resting(kind: str, dt: float) -> tuple[Engine, float]:
    """A body, a gel block, or a gel block on a body, just above the ground; their weight [N]."""
    builder = ModelBuilder()
    add_ground(builder)
    if kind != "gel":
        block(builder, "lowest", size=(0.04, 0.04, 0.02), at=(0, 0, 0.0115))
    else:
        soft_pad(
            builder, "lowest", cells=(3, 3, 2), size=(0.03, 0.03, 0.01), at=(0, 0, 0.0065), contact=ContactMaterial()
        )
    if kind == "gel on body":
        soft_pad(builder, "load", cells=(3, 3, 1), size=(0.03, 0.03, 0.008), at=(1e-3, 2e-3, 0.027))
    engine = Engine(builder.finalize(), Options(dt=dt, newton_tolerance=1e-3))
    mass = engine.model.node_mass.numpy().sum() + sum(body.mass for body in engine.model.bodies.values())
    return engine, 9.81 * mass


@pytest.mark.parametrize("dt", [1 / 30, 0.01])
@pytest.mark.parametrize("kind", ["body", "gel", "gel on body"])
def test_contact_forces_carry_the_weight_at_tolerance_1e_3(kind, dt):
    """Within 1 %, in each of the last ten steps; sideways nothing; the ground feels the same force downwards."""
    engine, weight = resting(kind, dt)
    forces = []
    for _ in range(50):
        engine.step()
        contact = engine.signals().contact_force[0]
        forces.append([contact[info.points].sum(axis=0) for info in engine.model.meshes.values()])
    names = list(engine.model.meshes)
    assert np.abs(engine.state.v.numpy()).max() < 1e-3
    for step in np.array(forces[-10:]) / weight:
        lifted = step[[k for k, name in enumerate(names) if name != "ground"]].sum(axis=0)
        assert lifted[2] == pytest.approx(1.0, rel=0.01)
        assert np.abs(lifted[:2]).max() < 0.01
        assert step[names.index("ground")] == pytest.approx(-lifted, abs=1e-6)
        if kind == "gel on body":  # the load alone carries itself
            load = engine.model.node_mass.numpy().sum() * 9.81 / weight
            assert step[names.index("load"), 2] == pytest.approx(load, rel=0.01)
