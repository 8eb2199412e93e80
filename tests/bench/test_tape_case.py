"""Case `tape`: its arithmetic, and the swing's start, which decides what all ranges mean."""

from __future__ import annotations

import numpy as np
import pytest

from bench import case_tape, swing_problem
from bench.registry import Emit
from bench.swing_problem import ANGLE, DT, Model, Swing, released_state, swing_engine, tip_of, turned
from bench.swing_runs import clustering_error


def pendulum(angle: np.ndarray, turn: np.ndarray) -> Swing:
    """A core at 0.1 m under the tip, turned by `turn` about y [rad]; its line stands at `angle` from the vertical."""
    centre = np.column_stack([0.1 * np.sin(angle), 0.0 * angle, 0.3 - 0.1 * np.cos(angle)])
    return Swing(centre, np.array([turned(t)[:3, :3] for t in turn]), np.array([0.0, 0.0, 0.3]))


def test_ranges_are_those_of_a_pendulum_drawn_by_hand():
    angle = np.radians([30.0, 0.0, -20.0, 10.0])
    found = pendulum(angle, np.radians([5.0, 100.0, 200.0, 290.0]))
    assert found.hub_angle == pytest.approx([30.0, 0.0, -20.0, 10.0])
    assert found.range() == pytest.approx(50.0)
    assert found.range(DT) == pytest.approx(30.0)  # the first step alone
    assert found.turn == pytest.approx([0.0, 95.0, 195.0, 285.0])  # beyond half a turn too


def test_clustering_error_is_root_mean_square_in_mm_and_degrees():
    still = pendulum(np.zeros(2), np.zeros(2))
    moved = pendulum(np.zeros(3), np.radians([0.0, 4.0, 90.0]))  # longer: the common part counts
    moved.centre[1] += (0.003, 0.0, 0.004)
    centre, angle = clustering_error(moved, still)
    assert centre == pytest.approx(5.0 / np.sqrt(2.0))
    assert angle == pytest.approx(4.0 / np.sqrt(2.0))


def test_a_kept_run_comes_back(tmp_path):
    run = pendulum(np.linspace(0.5, -0.5, 5), np.zeros(5))
    run.save(tmp_path / "swing.npz")
    assert Swing.load(tmp_path / "swing.npz").range() == run.range()


def test_full_shell_and_cluster_are_released_from_one_place(monkeypatch):
    """At rest, turned by 30 degrees from where it hung; the shell has the cluster's places in nodes of its own."""
    monkeypatch.setattr(swing_problem, "LIFT_STEPS", 4)  # it need not hang still for this
    hung = []
    drive = swing_problem._driven
    monkeypatch.setattr(swing_problem, "_driven", lambda *a: hung.append(a[0].body_transform("roll_core")) or drive(*a))
    model = Model("bond", True, 2)
    engines = []
    for clustered in (True, False):
        one = Model("bond", clustered, 2)
        engine = swing_engine(one, False)
        engine.set_state(released_state(one))
        engines.append(engine)
    cluster, shell = engines
    assert cluster.rolls["roll"].front[0] > 0 and not shell.rolls and len(shell.grasped()) == 0
    assert np.abs(cluster.mesh_positions("roll") - shell.mesh_positions("roll")).max() < 1e-12
    core, tip = cluster.body_transform("roll_core"), np.append(tip_of(cluster), 1.0)
    about = hung[0] @ np.linalg.inv(core)  # from where it is back to where it hung: a turn about the tip
    assert about[:3, :3] == pytest.approx(turned(ANGLE)[:3, :3], abs=1e-3)
    assert about @ tip == pytest.approx(tip, abs=1e-3)
    assert np.abs(cluster.state.v.numpy()[:4]).max() < 1e-3  # the core
    assert model.name == "bond_r.2_turns" and case_tape.paper_name(model) == "Bond-R"


def test_an_unknown_part_names_the_legal_ones(monkeypatch):
    monkeypatch.setenv("TACKTILE_TAPE_PARTS", "swing,peeling")
    with pytest.raises(ValueError, match="TACKTILE_TAPE_PARTS names peeling; legal parts: swing, window, clustering"):
        case_tape.run(Emit(lambda line: None), "cpu")


def test_a_table_has_aligned_columns_and_goes_to_the_reader():
    shown: list[str] = []
    Emit(lambda line: None, show=shown.append).table("Title", ["a", "long"], [[1, "2 (3)"], ["four", 5]])
    assert shown == ["Title\na     long\n1     2 (3)\nfour  5"]
