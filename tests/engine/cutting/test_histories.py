"""What rides on a strip through a cut: what is stuck stays stuck, a grasp holds, a roll keeps its cluster and front."""

from __future__ import annotations

import numpy as np
import pytest

from engine import Cut, Engine, Grasp, ModelBuilder, Release
from engine.adhesion.numbering import whole_state
from engine.cutting.operator import OperatorCut
from engine.cutting.transfer import _place
from engine.materials import BondAdhesive, FrontAdhesive, RccAdhesive
from engine.mesh import shapes
from tests.engine.cutting.cut_scenes import CONTACT, TAPE, add_strip, elastic_energy, options
from tests.engine.cutting.meshes import pieces
from tests.engine.models import block, linear_momentum
from tests.engine.tape.test_roll_cohesion import pull, sticky_roll

GAP = 0.178e-3 + 0.17e-3
ACROSS = ((0.0123, -0.02), (0.018, 0.02))


def stuck_strip(adhesive, partner: str = "plate", worlds: int = 1) -> Engine:
    """A strip stuck to a plate, or to a second strip beneath it that is pinned; one end is drawn up by a hand."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    vertices = add_strip(builder, length=0.06, stretch=1.0, height=GAP, pinned=None)
    if partner == "plate":
        corners = np.array([[-0.1, -0.1, 0], [0.1, -0.1, 0], [0.1, 0.1, 0], [-0.1, 0.1, 0]]) + (0.0013, 0.0017, 0)
        builder.add_static("plate", corners, np.array([[0, 1, 2], [0, 2, 3]]), CONTACT)
    else:
        under, triangles = shapes.strip_mesh(0.06, 0.019, 6)
        builder.add_shell("under", under + (0.0007, 0.0004, 0), triangles, TAPE, CONTACT)
        block(builder, "bed", at=(0, 0, -0.02), size=(0.01, 0.01, 0.01), driven=True, gravity=False)
        builder.attach("under", range(len(under)), "bed")
    builder.add_adhesion("strip", "negative", [partner if partner == "plate" else "under"], adhesive)
    block(builder, "hand", size=(0.01, 0.02, 0.01), at=(0.036, 0, 0.006), driven=True, gravity=False)
    builder.attach("strip", np.flatnonzero(vertices[:, 0] > 0.0299), "hand")
    builder.ignore_contact("hand", "plate" if partner == "plate" else "under")
    return Engine(builder.finalize(worlds), options())


def lift(engine: Engine, steps: int, speed: float = 0.02) -> None:
    for _ in range(steps):
        control = engine.control()
        control.body_transform[:, engine.driven_bodies.index("hand"), 2, 3] += speed * engine.options.dt
        engine.step(control)


def openings(engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    """Rest places of the stuck points of the strip in world 0, and their openings [m]."""
    (term,) = engine.interfaces
    state, x = whole_state(term), engine.positions()
    slots = np.flatnonzero(state["triangle"][: term.sticky.per_world, 0] >= 0)
    info = engine.model.meshes["strip"]
    u = [x[term.sticky.points[k]] - _place(state["place"][k], x[state["triangle"][k]]) for k in slots]
    return info.rest[term.sticky.points[slots] - info.points.start], np.array(u)


@pytest.mark.parametrize("adhesive", [FrontAdhesive(work=20.0), RccAdhesive(work=20.0), BondAdhesive()])
def test_stuck_points_stay_stuck(adhesive):
    engine = stuck_strip(adhesive)
    lift(engine, 12)
    (term,) = engine.interfaces
    term.set_state(term.get_state() | {"spent": 1e-3 + 1e-5 * np.arange(term.size)})
    cells = term.sticky.cells
    before, stuck, spent = whole_state(term), term.stuck_points(), term.spent_work().copy()
    rest, u = openings(engine)
    assert 20 < len(stuck) <= term.sticky.size and np.abs(u).max() > 1e-6
    engine.apply([Cut("strip", ((-0.012, -0.02), (0.004, 0.02)))])
    (term,) = engine.interfaces
    after = whole_state(term)
    assert np.isin(stuck, term.stuck_points()).all()  # the strip is the first mesh: its points keep their ids
    info = engine.model.meshes["strip"]
    fresh = np.setdiff1d(term.stuck_points(), stuck)
    assert len(fresh) >= 5 and fresh.min() >= info.points.start + info.cut.vertices  # the new points of the cut stick
    now_rest, now_u = openings(engine)
    for place, opening in zip(rest, u, strict=True):  # every old point is as open as it was
        same = np.argmin(np.linalg.norm(now_rest - place, axis=1))
        assert np.abs(now_u[same] - opening).max() < 1e-12
    history = {"front": "reached", "rcc": "beta", "bond": "reference"}[adhesive.law]
    kept = np.isin(term.sticky.points, stuck)
    old = np.isin(before_points(engine, before), stuck)
    assert np.array_equal(after[history][: term.size][kept], before[history][: len(old)][old])
    assert np.allclose(term.spent_work(), spent, rtol=1e-14)
    assert np.allclose(term.sticky.cells, cells[0], rtol=1e-12) and np.ptp(cells) < 1e-12  # its law stays what it was
    assert term.sticky.arrays.area.numpy().sum() == pytest.approx(0.06 * 0.019, rel=1e-12)
    whole = stuck_strip(adhesive)
    lift(whole, 12)
    for _ in range(5):
        assert engine.step().converged
        whole.step()
    lost = np.setdiff1d(stuck, engine.interfaces[0].stuck_points())
    assert np.array_equal(lost, np.setdiff1d(stuck, whole.interfaces[0].stuck_points()))  # a cut peels nothing


def before_points(engine: Engine, before) -> np.ndarray:
    """Sticky points of the uncut strip: all its vertices, in order."""
    info = engine.model.meshes["strip"]
    return info.points.start + np.arange(info.cut.vertices)


def test_a_partner_that_is_cut_keeps_what_sticks_to_it():
    engine = stuck_strip(FrontAdhesive(work=20.0), partner="under")
    lift(engine, 10)
    stuck = engine.interfaces[0].stuck_points()
    rest, u = openings(engine)
    assert len(stuck) > 20
    energy = elastic_energy(engine)
    engine.apply([Cut("under", ((-0.012, -0.02), (0.004, 0.02)))])
    now_rest, now_u = openings(engine)
    assert np.array_equal(now_rest, rest)
    assert np.abs(now_u - u).max() < 1e-12
    assert elastic_energy(engine) <= energy * 1.0001
    lists = whole_state(engine.interfaces[0])["triangle"]
    info = engine.model.meshes["under"]
    known = {tuple(t) for t in (info.triangles + info.points.start).tolist()}
    assert all(tuple(t) in known for t in lists[lists[:, 0] >= 0].tolist())  # pieces, no triangle that is gone
    for _ in range(3):
        assert engine.step().converged
    assert len(engine.interfaces[0].stuck_points()) == len(stuck)


def test_a_grasp_holds_through_a_cut():
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    vertices = add_strip(builder, length=0.06, stretch=1.0, pinned=None)
    block(builder, "finger", size=(0.02, 0.019, 0.01), at=(0, 0, 0.0065), driven=False, velocity=(0.1, 0, 0, 0, 1.0, 0))
    engine = Engine(builder.finalize(), options())
    held = np.flatnonzero(np.abs(vertices[:, 0]) < 0.008)
    engine.apply([Grasp("strip", tuple(held.tolist()), "finger")])
    engine.step()
    momentum = linear_momentum(engine)
    places = engine.mesh_positions("strip")
    engine.apply([Cut("strip", ((0.001, -0.02), (0.004, 0.02)))])  # through the held cells
    assert np.abs(linear_momentum(engine) - momentum).max() < 1e-12 * np.abs(momentum).max()
    now = engine.grasped()["strip"]
    assert np.isin(held, now).all() and len(now) > len(held) + 5  # what lies between held points is held
    assert np.abs(engine.mesh_positions("strip")[: len(places)] - places).max() < 1.5e-5
    frame = np.linalg.inv(engine.body_transform("finger"))
    local = engine.mesh_positions("strip")[now] @ frame[:3, :3].T + frame[:3, 3]
    for _ in range(5):
        assert engine.step().converged
    frame = np.linalg.inv(engine.body_transform("finger"))
    assert np.abs(engine.mesh_positions("strip")[now] @ frame[:3, :3].T + frame[:3, 3] - local).max() < 1e-9
    assert pieces(engine.model.meshes["strip"].triangles) == 2
    engine.apply([Release("strip")])
    assert not engine.grasped()
    engine.step()


def test_a_roll_is_cut_in_the_free_tape_and_in_the_collar(tmp_path):
    engine = sticky_roll()
    for k in range(20):
        pull(engine, k)
    roll = engine.rolls["roll"]
    rest = engine.model.meshes["tape"].rest
    length = 7 * 1.0 * np.linalg.norm(rest[7] - rest[0]) / 7.0
    free = rest[(roll.spec.wound_rows + 6) * 7, 0]
    engine.apply([Cut("tape", ((free, -0.02), (free + 0.002, 0.02)))])
    roll = engine.rolls["roll"]
    assert pieces(engine.model.meshes["tape"].triangles) == 2
    regions = roll.regions()
    assert len(regions) == len(engine.mesh_positions("tape")) and set(regions[roll.spec.rows * 7 :]) == {2}
    front = int(roll.front[0])
    for k in range(20, 26):
        pull(engine, k)
    collar = 0.5 * (rest[(front + 4) * 7, 0] + rest[(front + 5) * 7, 0])
    engine.apply([Cut("tape", ((collar, -0.02), (collar, 0.02)))])
    assert pieces(engine.model.meshes["tape"].triangles) == 3
    roll = engine.rolls["roll"]
    assert set(roll.regions()[roll.spec.rows * 7 :]) == {1, 2} or set(roll.regions()[roll.spec.rows * 7 :]) == {2, 1}
    for k in range(26, 30):
        pull(engine, k)
        assert engine.report.converged
    engine.save(tmp_path / "roll.npz")
    other = sticky_roll()
    other.load(tmp_path / "roll.npz")
    for k in range(30, 36):
        pull(engine, k)
        pull(other, k)
        assert np.array_equal(engine.positions(), other.positions())
    assert engine.rolls["roll"].front[0] == other.rolls["roll"].front[0] <= front
    wound = rest[(front - 12) * 7, 0] + 0.4 * length
    for edit in (lambda cut: engine.apply([cut]), engine.plan_cut, OperatorCut(engine).arm):
        with pytest.raises(ValueError, match="the cut in mesh 'tape' reaches tape that is wound on its roll's cluster"):
            edit(Cut("tape", ((wound, -0.02), (wound, 0.02))))
    pull(engine, 36)
