"""A motion that would sweep over too many pairs is shortened, by world, and the step still ends where it should."""

import numpy as np

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.mesh import shapes

LIMIT = 3000  # above what the cloth's list needs at rest, below what its longer updates need


def falling_cloth(worlds: int = 1, limit: int | None = None) -> Engine:
    builder = ModelBuilder()
    vertices, triangles = shapes.grid_mesh(0.2, 0.2, 10, 10)
    material = ShellMaterial(young=1e5, poisson=0.3, thickness=1e-3, density=300.0)
    builder.add_shell("cloth", vertices + [0, 0, 0.06], triangles, material, ContactMaterial(dhat=1e-3, kappa=1e4))
    builder.add_static("ball", *shapes.icosphere(0.05, 2), ContactMaterial(dhat=1e-3))
    engine = Engine(builder.finalize(num_worlds=worlds), Options(dt=0.02, newton_tolerance=1e-4))
    if limit is not None:
        engine.newton.system.candidates.crowded_at = limit
    return engine


def run(engine: Engine, steps: int) -> tuple[int, int]:
    """Longest list, and how often a motion was shortened."""
    system, longest, shortened = engine.newton.system, 0, []
    shorten = system.shorten
    system.shorten = lambda share: (shortened.append(share.min()), shorten(share))
    for _ in range(steps):
        assert engine.step().converged
        longest = max(longest, system.candidates.num_candidates)
    return longest, len(shortened)


def test_shortened_motions_end_where_long_ones_do():
    plain, tight = falling_cloth(), falling_cloth(limit=LIMIT)
    longest, never = run(plain, 8)
    _, often = run(tight, 8)
    assert never == 0 and often > 3 and longest > LIMIT
    assert np.abs(plain.mesh_positions("cloth") - tight.mesh_positions("cloth")).max() < 1e-4


def test_where_shortening_does_not_help_the_motion_is_kept():
    """A limit that even the resting cloth exceeds: steps converge, to the same places."""
    plain, tight = falling_cloth(), falling_cloth(limit=1)
    run(plain, 4)
    run(tight, 4)
    assert np.abs(plain.mesh_positions("cloth") - tight.mesh_positions("cloth")).max() < 1e-5


def test_worlds_are_shortened_apart():
    """A world that is crowded shortens its own motion; one that is not goes on as it would alone."""
    pair, alone = falling_cloth(worlds=2, limit=LIMIT), falling_cloth(limit=LIMIT)
    state = pair.get_state()
    n = pair.model.nodes_per_world
    state["x"][n:, 2] += 1.0  # the second falls free: few pairs
    state["x_prev"][n:, 2] += 1.0
    pair.set_state(state)
    run(pair, 5)
    run(alone, 5)
    assert np.array_equal(pair.mesh_positions("cloth", 0), alone.mesh_positions("cloth"))
    free = pair.mesh_positions("cloth", 1)
    assert np.ptp(free[:, 2]) < 1e-9
