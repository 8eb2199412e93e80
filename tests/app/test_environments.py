"""Vector environments: Gymnasium's own checks, seeds, autoreset, no copies, processes that split the same worlds."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="the extra `learn` is not installed")

from gymnasium.utils import env_checker  # noqa: E402
from gymnasium.wrappers.vector import RecordEpisodeStatistics  # noqa: E402

from app.environment_processes import ProcessVectorEnv, shares  # noqa: E402
from app.environment_tasks import PegInsertion  # noqa: E402
from app.environments import SceneVectorEnv  # noqa: E402

COARSE = {"overrides": ("left_pad.gel.cells=[2, 2, 1]", "right_pad.gel.cells=[2, 2, 1]"), "compute": "cpu"}
COARSE["overrides"] += ("left_pad.camera.pixel_pitch=1 mm", "right_pad.camera.pixel_pitch=1 mm")


@pytest.fixture(scope="module")
def env():
    made = SceneVectorEnv("peg_insertion", 2, max_steps=4, **COARSE)
    yield made
    made.close()


def test_gymnasiums_own_checks(env):
    single = SceneVectorEnv("peg_insertion", 1, signals=("wrench",), **COARSE)
    env_checker.check_returned_data_not_reused(single)  # its look at the flags knows one world only
    env_checker.check_reset_seed_determinism(env)
    env_checker.check_reset_return_type(env)
    env_checker.check_space_limit(env.single_action_space, "action")
    observations, _ = env.reset(seed=1)
    assert observations in env.observation_space
    assert env.observation_space["left_pad.indentation"].shape[0] == 2 and env.action_space.shape == (2, 7)


def test_seeds_choose_the_draws_and_episodes_go_on(env):
    def starts(**reset):
        env.reset(**reset)
        return env.engine.state.x.numpy().copy()

    a, b, later = starts(seed=3), starts(seed=[3, 4]), starts()
    assert np.array_equal(a[: len(a) // 2], b[: len(b) // 2]) and not np.array_equal(a, b)
    env.reset(seed=3)
    env.step(np.zeros((2, 7)))
    assert not np.array_equal(starts(), a), "the next episode starts elsewhere"
    assert np.array_equal(starts(seed=3), a)
    assert np.array_equal(later, b), "nothing was stepped: the same start"
    with pytest.raises(ValueError, match="1 seeds for 2 worlds"):
        env.reset(seed=[1])


def test_a_world_over_is_reset_in_the_next_step_and_the_other_goes_on(env):
    env.reset(seed=5)
    env.step(np.zeros((2, 7)))
    observations, _ = env.reset(options={"reset_mask": np.array([True, False])})
    assert env.engine.state.step_index.tolist() == [0, 1]
    for k in range(1, 4):
        observations, rewards, terminations, truncations, _ = env.step(np.zeros((2, 7)))
        assert truncations.tolist() == [False, k == 3] and not terminations.any()
    kept = env.engine.positions(0)
    observations, rewards, _, truncations, _ = env.step(np.zeros((2, 7)))
    assert truncations.tolist() == [True, False] and rewards[1] == 0.0 and rewards[0] < 0.0
    assert env.engine.state.step_index.tolist() == [4, 0]
    assert not np.array_equal(kept, env.engine.positions(0)), "world 0 was stepped"


def test_same_step_reset_hands_out_the_last_observation():
    env = SceneVectorEnv("peg_insertion", 2, max_steps=2, autoreset="SameStep", **COARSE)
    env.reset(seed=0)
    env.step(np.zeros((2, 7)))
    observations, _, _, truncations, infos = env.step(np.full((2, 7), 0.5))
    assert truncations.all() and infos["_final_obs"].all()
    assert (infos["final_obs"]["tool"][:, 0] - observations["tool"][:, 0] > 1e-4).all(), "moved, then back at a start"
    assert env.engine.state.step_index.tolist() == [0, 0]


def test_the_task_is_solved_by_a_script_and_statistics_count_it():
    env = RecordEpisodeStatistics(SceneVectorEnv("peg_insertion", 2, **COARSE))
    observations, infos = env.reset(seed=11)
    moves = [(20, 6, 0, 1), (5, 6, 0, 0), (25, 2, 0.4, 0), (45, 0, 0.6666667, 0), (10, 0, 0, 0), (60, 2, -0.24, 0)]
    grips, total = 0, np.zeros(2)
    for count, axis, share, grip in moves:
        for _ in range(count):
            action = np.zeros((2, 7))
            action[:, 6 if grip else axis] = grip or share
            observations, rewards, terminations, truncations, infos = env.step(action)
            total += rewards
            grips = max(grips, float(np.abs(observations["left_pad.wrench"][:, 2]).min()))
            if terminations.any():
                break
    assert terminations.all() and infos["success"].all()
    assert grips == pytest.approx(8.0, rel=0.01), "the pads feel the force limit of the fingers"
    assert infos["episode"]["r"] == pytest.approx(total) and rewards.min() > 0.7
    assert np.allclose(env.unwrapped.task.observe(env.unwrapped.engine)["goal"], (0.045, 0.0, 0.0202), atol=1e-6)
    assert isinstance(env.unwrapped.task, PegInsertion)


def test_views_lie_over_the_engines_memory():
    env = SceneVectorEnv("peg_insertion", 2, arrays="numpy_view", **COARSE)
    observations, _ = env.reset(seed=0)
    device = env.tactile.array("indentation", "left_pad")
    view = np.from_dlpack(device)
    assert np.shares_memory(view, observations["left_pad.indentation"])
    env.step(np.zeros((2, 7)))
    assert observations["left_pad.indentation"].any(), "the view follows the engine"


def test_torch_tensors_share_the_memory():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    env = SceneVectorEnv("peg_insertion", 2, arrays="torch", **COARSE)
    observations, _ = env.reset(seed=0)
    tensor = observations["left_pad.indentation"]
    assert isinstance(tensor, torch.Tensor) and tensor.data_ptr() == env.tactile.array("indentation", "left_pad").ptr
    env.step(torch.zeros((2, 7)))


def test_processes_split_the_same_worlds():
    assert shares(7, 3) == [3, 2, 2]
    with pytest.raises(ValueError, match="processes is 3; it must lie in 1..2"):
        shares(2, 3)
    whole = SceneVectorEnv("peg_insertion", 3, **COARSE)
    split = ProcessVectorEnv("peg_insertion", 3, processes=2, overrides=COARSE["overrides"])
    try:
        for one in (whole, split):
            one.reset(seed=2)
        rng = np.random.default_rng(0)
        for _ in range(3):
            actions = rng.uniform(-1.0, 1.0, (3, 7))
            a, b = whole.step(actions), split.step(actions)
            for name, values in a[0].items():
                assert np.array_equal(values, b[0][name]), name
            assert np.array_equal(a[1], b[1])
        with pytest.raises(ValueError, match=r"actions have shape \(2, 7\)"):
            split.step(np.zeros((2, 7)))
    finally:
        split.close()


def test_bad_settings_are_named():
    for fields, text in (
        ({"signals": ("heat",)}, "EnvSettings.signals has 'heat'; legal: depth"),
        ({"arrays": "jax"}, "EnvSettings.arrays is 'jax'; legal: numpy, numpy_view, torch"),
        ({"autoreset": "never"}, "EnvSettings.autoreset is 'never'; legal: NextStep, SameStep, Disabled"),
        ({"max_steps": 0}, "EnvSettings.max_steps is 0"),
    ):
        with pytest.raises(ValueError, match=text):
            SceneVectorEnv("peg_insertion", 1, **fields)
    with pytest.raises(ValueError, match="scene 'stress_drop' has no tool to drive"):
        SceneVectorEnv("stress_drop", 1, compute="cpu")
