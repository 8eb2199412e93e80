import numpy as np
import pytest

from app.export import ExportError, ExportOptions, demonstrations
from app.record import Episode, trim
from tests.app.export.recorded import make_recorder, pose_after, record_slow, slow_frame
from tests.app.record.fake_engine import DT, FakeEngine


def only(episode, **options):
    (demo,) = demonstrations(episode, ExportOptions(**options))
    return demo


def test_n_states_and_n_minus_1_actions_that_lead_from_one_to_the_next(tmp_path):
    with Episode(record_slow(tmp_path, 40)) as episode:
        demo = only(episode)
        values, names = demo.action
        assert len(demo) == 40 and values.shape == (39, 8)
        assert names == [f"gripper.{a}" for a in ("x", "y", "z", "qx", "qy", "qz", "qw")] + ["left"]
        # frame k holds what was asked in step k + 1: action k leads from the state after step k + 1 to that after k + 2
        asked = episode.actions["body_transform"][:, 0, 0, :3, 3]
        np.testing.assert_array_equal(values[:, :3], asked[1:])
        np.testing.assert_array_equal(values[:, 7], episode.actions["joint_target"][1:, 0, 0])
        state, state_names = demo.robot_state
        np.testing.assert_allclose(state[:, :3], [pose_after(i)[:3] for i in range(1, 41)])
        assert state_names == [f"gripper.{a}" for a in ("x", "y", "z", "qx", "qy", "qz", "qw")]
        np.testing.assert_allclose(demo.time, DT * np.arange(40), atol=1e-12)


def test_quaternions_do_not_jump(tmp_path):
    with Episode(record_slow(tmp_path, 60)) as episode:
        demo = only(episode)
        for values in (demo.action[0][:, 3:7], demo.robot_state[0][:, 3:7]):
            np.testing.assert_allclose(np.linalg.norm(values, axis=1), 1.0)
            assert np.linalg.norm(np.diff(values, axis=0), axis=1).max() < 0.11  # 0.2 rad a step
        # and they are the rotations that were asked: about z by 0.2 rad times the index of the step
        angle = 0.2 * np.arange(2, 61)
        expected = np.stack([np.sin(angle / 2), np.cos(angle / 2)], axis=1)
        np.testing.assert_allclose(demo.action[0][:, 5:7], expected, atol=1e-12)


def test_every_third_state(tmp_path):
    with Episode(record_slow(tmp_path, 41)) as episode:
        whole, demo = only(episode), only(episode, every=3)
        np.testing.assert_array_equal(demo.frames, np.arange(0, 41, 3))
        np.testing.assert_allclose(demo.time, whole.time[::3])
        assert demo.dt == pytest.approx(3 * DT)
        # the target in force when the next state is reached; a rate is the mean over the three steps
        np.testing.assert_array_equal(demo.action[0][:, :3], whole.action[0][2::3, :3])
        rate, each = only(episode, every=3, action="command").action[0], only(episode, action="command").action[0]
        np.testing.assert_allclose(rate[0], each[0:3].mean(axis=0))
        np.testing.assert_allclose(rate[-1], each[36:39].mean(axis=0))


def test_observations_are_finite_small_and_named(tmp_path):
    engine = FakeEngine()
    recorder = make_recorder(tmp_path, engine)
    name = recorder.start(engine.positions())
    for index in range(1, 11):
        frame = slow_frame(engine, index)
        frame.extra["gap"] = float("inf") if index == 4 else 1.0
        recorder.write(frame)
    recorder.close()
    with Episode(tmp_path / f"{name}.h5") as episode:
        demo = only(episode)
        assert demo.left_out == ["extra/gap (not finite)"]
        found = demo.observations
        assert set(found) == {
            "gripper_pos", "gripper_quat", "gripper_closure", "joint_force", "pad_force", "rolls_roll_payout"
        }  # fmt: skip
        assert found["joint_force"][1] == ["left"]
        np.testing.assert_allclose(found["pad_force"][0][:, 2], np.arange(1, 11))


def test_images_between_two_recorded_ones_are_the_earlier(tmp_path):
    with Episode(record_slow(tmp_path, 9)) as episode:  # images in frames 0, 3, 6
        demo = only(episode)
        images = list(demo.images("tactile/pad/depth"))
        assert len(images) == 9
        for k, image in enumerate(images):
            index = 1 + k - k % 3
            assert np.argwhere(image).tolist() == [[index % 5, index % 7]]


def _with_jumps(folder, jumps):
    """Records 30 steps; `jumps` maps a step to the step whose state is loaded before it, or to None: a reset."""
    engine = FakeEngine()
    recorder = make_recorder(folder, engine)
    name = recorder.start(engine.positions())
    saved = {0: engine.get_state()}
    moment = 0  # simulated time in steps
    for index in range(1, 31):
        if index in jumps:
            back = jumps[index]
            engine.set_state(saved[back])
            if back == 0:
                engine.x = engine.x + 1.0  # a reset to something that was never recorded
            moment = back
            recorder.restart_point("reset" if back == 0 else "checkpoint 1 loaded")
        moment += 1
        recorder.write(slow_frame(engine, index, time_sim=moment * DT))
        saved[index] = engine.get_state()
    recorder.close()
    return folder / f"{name}.h5"


def test_what_was_taken_back_by_a_checkpoint_is_left_out(tmp_path):
    with Episode(_with_jumps(tmp_path, {21: 10})) as episode:
        demo = only(episode)
        # frames 0..9 are steps 1..10; steps 11..20 were taken back; step 21 went on from the state after step 10
        assert demo.frames.tolist() == [*range(10), *range(20, 30)]
        np.testing.assert_allclose(demo.time, DT * np.arange(20), atol=1e-12)
        before, after = demo.positions(9), demo.positions(10)
        assert np.abs(after - before).max() < 0.1  # continuous


def test_a_reset_begins_a_new_stretch(tmp_path):
    with Episode(_with_jumps(tmp_path, {13: 0})) as episode:
        assert only(episode).frames.tolist() == list(range(12, 30))
        first, second = demonstrations(episode, ExportOptions(stretches="all"))
        assert first.frames.tolist() == list(range(12)) and second.time[0] == 0.0


def test_a_trim_holds(tmp_path):
    path = record_slow(tmp_path, 40)
    assert trim(path, 10 * DT, 20 * DT) == (10, 20)
    with Episode(path) as episode:
        assert only(episode).frames.tolist() == list(range(10, 20))


def test_options_name_what_is_legal():
    for wrong, text in (
        (dict(action="pose"), "action 'pose'; legal: target, command"), (dict(every=0), "every 0; legal: 1 to 1000"),
        (dict(valid=1.0), "legal: 0 up to, not including, 1"), (dict(size=(31, 32)), "even numbers from 16"),
        (dict(only=("good",)), "only 'good'; legal: success, failure, none"), (dict(fps=0.0), "legal: 0.1 to 240"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            ExportOptions(**wrong)


def test_a_scene_without_anything_driven_says_so(tmp_path):
    engine = FakeEngine()
    recorder = make_recorder(tmp_path, engine, layout={"driven": ["a"], "tools": [{"name": "t", "palm": "b"}]})
    name = recorder.start(engine.positions())
    for index in range(1, 4):
        frame = slow_frame(engine, index)
        frame.control.joint_target = np.zeros((1, 0))
        recorder.write(frame)
    recorder.close()
    with Episode(tmp_path / f"{name}.h5") as episode, pytest.raises(ExportError, match="nothing that is driven"):
        _ = only(episode).action
