"""What counts as felt: prints of known surfaces, and the scenes tile_probe and press_patterns by their own scripts."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from app.headless import NullView
from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.scripted import open_input
from app.session import load_session
from engine.mesh.shapes import box_tets, grid_mesh
from scenes.measures import beginning, follow, success
from scenes.tactile_measures import Felt, Print, printed, rigid_fit, surface_height


def test_rigid_fit_finds_a_known_motion_and_never_a_mirror():
    rng = np.random.default_rng(3)
    turn, shift = Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix(), np.array([0.1, -0.2, 0.3])
    points = rng.normal(size=(8, 3))
    found, moved = rigid_fit(points, points @ turn.T + shift)
    assert found == pytest.approx(turn, abs=1e-12) and moved == pytest.approx(shift, abs=1e-12)
    flat = points * (1.0, 1.0, 0.0)  # a layer fits its mirror image just as well
    assert np.linalg.det(rigid_fit(flat, flat @ turn.T)[0]) == pytest.approx(1.0)


def test_surface_height_is_the_topmost_and_nan_beside():
    low, faces = grid_mesh(1.0, 1.0, 3, 4)
    low[:, 2] = 0.3 * low[:, 0] - 0.2 * low[:, 1]
    upper = low[faces[0]] + (0.0, 0.0, 0.5)
    vertices = np.vstack([low, upper])
    triangles = np.vstack([faces, [[len(low), len(low) + 1, len(low) + 2]]])
    places = np.array([[0.1, 0.2], [-0.37, 0.41], [0.7, 0.0], upper[:, :2].mean(axis=0)])
    height = surface_height(vertices, triangles, places)
    assert height[:2] == pytest.approx(0.3 * places[:2, 0] - 0.2 * places[:2, 1], abs=1e-14)
    assert np.isnan(height[2]) and height[3] == pytest.approx(upper[:, 2].mean())


def coat_on_cone(sign: float = 1.0, carried=None, name: str = "cone"):
    """An engine whose pad lies on a cone as its height says, all of it carried along."""
    carried = np.eye(4) if carried is None else carried
    rest, _ = box_tets(12, 12, 2, (0.02, 0.02, 0.004))
    cone, faces = grid_mesh(0.02, 0.02, 40, 40)
    cone[:, 2] = -0.002 - 1e-3 + np.maximum(2e-3 - 0.4 * np.hypot(cone[:, 0], cone[:, 1]), 0.0)  # 1 mm into the coat
    now, coat = rest.copy(), rest[:, 2] < -0.0019
    now[coat, 2] += sign * np.maximum(surface_height(cone, faces, rest[coat, :2]) + 0.002, 0.0)
    place = {"pad": now @ carried[:3, :3].T + carried[:3, 3], name: cone @ carried[:3, :3].T + carried[:3, 3]}
    meshes = {"pad": SimpleNamespace(rest=rest), name: SimpleNamespace(rest=cone, triangles=faces)}
    return SimpleNamespace(
        model=SimpleNamespace(meshes=meshes), mesh_positions=lambda mesh, world: place[mesh],
        touching=lambda asked, world: {"pad": np.arange(5)} if name in asked else {},
    )  # fmt: skip


def test_a_coat_that_follows_a_cone_prints_it_wherever_the_pad_was_carried():
    carried = np.eye(4)
    carried[:3, :3] = Rotation.from_rotvec([0.3, -0.2, 1.4]).as_matrix()
    carried[:3, 3] = 0.1, -0.3, 0.2
    found = printed(coat_on_cone(carried=carried), "pad", ("cone",))
    assert found.mesh == "cone" and found.correlation == pytest.approx(1.0, abs=1e-9) and found.clear
    assert found.depth == pytest.approx(1e-3, rel=1e-6)
    assert found.place == pytest.approx(carried[:3, :3] @ [0.0, 0.0, -0.002] + carried[:3, 3], abs=1e-12)
    assert printed(coat_on_cone(-1.0), "pad", ("cone",)).correlation == pytest.approx(-1.0, abs=1e-9)
    with pytest.raises(KeyError, match="no mesh 'star'; available: pad, cone"):
        printed(coat_on_cone(), "pad", ("cone", "star"))


def test_places_are_told_apart_and_the_clearest_print_of_each_is_kept(monkeypatch):
    shown = iter([
        Print("tile", 0.6, 1e-3, np.zeros(3)), Print("tile", 0.9, 1e-3, np.array([2e-3, 0.0, 0.0])),
        Print("tile", 0.7, 1e-3, np.zeros(3)), Print("tile", 0.3, 1e-3, np.array([0.1, 0.0, 0.0])), None,
        Print("tile", 0.8, 1e-3, np.array([12e-3, 0.0, 0.0])), Print("star", 0.8, 1e-3, np.zeros(3)),
    ])  # fmt: skip
    monkeypatch.setattr("scenes.tactile_measures.printed", lambda *given: next(shown))
    felt = Felt()
    for _ in range(7):
        felt.watch(None, "pad", ())
    assert [(p.mesh, p.correlation) for p in felt.prints] == [("tile", 0.9), ("tile", 0.8), ("star", 0.8)]
    assert felt.names == ["tile", "star"]


def play(name: str, steps: int | None = None):
    """(engine, what was noted on the way)."""
    session = load_session(name, (), "cpu")
    session.pads = []
    start, count = beginning(session.engine), iter(range(10**6))
    assert not success(name, session.engine, start).done

    def note(frame) -> None:
        if next(count) % 4 == 0:
            follow(name, session.engine, start)

    wiring = Wiring(pacing=False, stop_on_failure=True, sinks=[note])
    script = open_input(f"scripted:{session.scene.script}", None)
    outcome = FrameLoop(session, Operator(script), NullView(say=lambda text: None), wiring).run(steps)
    assert outcome.failure == ""
    return session.engine, start


def test_tile_probe_feels_the_tile_in_two_places():
    engine, start = play("tile_probe")
    verdict = success("tile_probe", engine, start)
    assert verdict.done and verdict.reached == "the relief was felt in 2 places"
    assert min(p.correlation for p in start["felt"].prints) > 0.8
    apart = np.linalg.norm(start["felt"].prints[0].place - start["felt"].prints[1].place)
    assert apart == pytest.approx(12.7e-3, rel=0.01), "9 mm along x and y"


def test_press_patterns_counts_what_was_pressed():
    engine, start = play("press_patterns", steps=60)  # the first two, the pad still above the second
    verdict = success("press_patterns", engine, start)
    assert not verdict.done and verdict.reached == "2 of 12 patterns were felt: sphere, cylinder"
