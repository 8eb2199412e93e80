"""A scene as a Gymnasium vector environment: all its worlds step together, each is reset by itself.

    env = SceneVectorEnv("peg_insertion", num_envs=64)
    observations, infos = env.reset(seed=7)
    observations, rewards, terminations, truncations, infos = env.step(actions)

Actions move the scene's tool: velocities along and about the world's axes and, with fingers, the closing speed, each a
share in [-1, 1] of the limits. Observations are arrays with a world a row; `arrays` chooses what they are.
Needs the extra `learn` (gymnasium); torch tensors need PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.environment_tasks import Task, task_of
from app.environment_tools import ToolDriver
from app.session import choose_compute, quiet_warp
from engine import Engine
from engine.renewal import renew_worlds
from engine.tactile.array import TactileArray
from engine.tactile.signal_table import GROUPS, SIGNALS
from scenes.build import build_scene, draft_scene
from scenes.config import load_config, overridden
from scenes.worlds import world_draw

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError("environments need the package gymnasium: pip install 'tacktile[learn]'") from error

ARRAYS = ("numpy", "numpy_view", "torch")


@dataclass(frozen=True)
class EnvSettings:
    """What an environment is made of, beside scene and number of worlds.

    signals: tactile signals of every pad that are observed (engine.tactile.signal_table.SIGNALS). arrays: numpy
    (copies), numpy_view (on the CPU the engine's memory itself, valid until the next step) or torch (tensors over the
    engine's memory on its device, by DLPack, valid until the next step). redraw: a world that is reset gets a new draw
    of the scene's section `randomise`; otherwise it goes back to its own start. max_steps: an episode is cut there.
    substeps: physics steps a step. first, batch: which worlds of a larger set these are (app.environment_processes).
    """

    signals: tuple[str, ...] = ("indentation", "wrench")
    arrays: str = "numpy"
    redraw: bool = True
    max_steps: int = 200
    substeps: int = 1
    linear_speed: float = 0.15  # [m/s] of a full action
    angular_speed: float = 0.5  # [rad/s]
    gripper_speed: float = 3.0  # [1/s] of closure
    overrides: tuple[str, ...] = ()
    compute: str | None = None
    autoreset: str = "NextStep"
    first: int = 0
    batch: int = 0

    def __post_init__(self):
        unknown = [name for name in self.signals if name not in SIGNALS]
        if unknown:
            raise ValueError(f"EnvSettings.signals has {unknown[0]!r}; legal: {', '.join(SIGNALS)}")
        if self.arrays not in ARRAYS:
            raise ValueError(f"EnvSettings.arrays is {self.arrays!r}; legal: {', '.join(ARRAYS)}")
        modes = [mode.value for mode in AutoresetMode]
        if self.autoreset not in modes:
            raise ValueError(f"EnvSettings.autoreset is {self.autoreset!r}; legal: {', '.join(modes)}")
        for name in ("max_steps", "substeps"):
            if getattr(self, name) < 1:
                raise ValueError(f"EnvSettings.{name} is {getattr(self, name)}; it must be at least 1")


class SceneVectorEnv(VectorEnv):
    """Worlds of one scene on one processor.

    Args:
        scene: name or .yaml file. num_envs: worlds. task: reward and success; None: the scene's own
            (`app.environment_tasks`). settings: see EnvSettings; further keywords replace its fields.

    Raises SceneError, ValueError: what does not fit, with the legal values.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(
        self, scene: str = "peg_insertion", num_envs: int = 1, task: Task | None = None,
        settings: EnvSettings | None = None, **fields: Any,
    ):  # fmt: skip
        quiet_warp()
        self.settings = s = EnvSettings(**fields) if settings is None else settings
        compute, _ = choose_compute(s.compute)
        self.num_envs = num_envs
        self.config = load_config(scene, s.overrides)
        self.scene = build_scene(self.config, compute, num_envs, first=s.first, batch=s.batch)
        self.engine = Engine(self.scene.model, self.scene.options)
        self.task = task or task_of(self.config.name)
        self.tool = ToolDriver(self.scene, self.engine, s.linear_speed, s.angular_speed, s.gripper_speed)
        groups = tuple(g for g, names in GROUPS.items() if set(names) & set(s.signals))
        self.tactile = TactileArray(self.engine, self.scene.pads, groups) if groups and self.scene.pads else None
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(s.autoreset)}
        self._checked = draft_scene(overridden(self.config, self.scene.draws[0])).builder
        self._seeds: list[int | None] = [None] * num_envs
        self._episode = np.zeros(num_envs, int)
        self._steps = np.zeros(num_envs, int)
        self._over = np.zeros(num_envs, bool)
        self._fresh = True  # every world stands at its start
        self._make_spaces()

    # gymnasium ------------------------------------------------------------------------------------------------------
    def reset(self, *, seed: int | list[int | None] | None = None, options: dict | None = None):
        """All worlds, or those of options["reset_mask"], bool (num_envs,), go to a start.

        seed: one for all (each world still has its own draw) or a list, a world an entry. With a seed the starts
        repeat; without one they go on to the next episode's.
        """
        super().reset(seed=seed if isinstance(seed, int | np.integer) else None)
        mask = np.ones(self.num_envs, bool)
        if options and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"], bool)
            if mask.shape != (self.num_envs,):
                raise ValueError(f"options['reset_mask'] has shape {mask.shape}; it must be ({self.num_envs},)")
        if seed is not None:
            seeds = [seed] * self.num_envs if isinstance(seed, int | np.integer) else list(seed)
            if len(seeds) != self.num_envs:
                raise ValueError(f"reset: {len(seeds)} seeds for {self.num_envs} worlds")
            for w in np.flatnonzero(mask):
                self._seeds[w], self._episode[w] = seeds[w], 0
        elif not self._fresh:
            self._episode[mask] += 1
        self._restart(np.flatnonzero(mask), drawn=seed is not None)
        return self._observe(), {"success": self.task.success(self.engine).copy()}

    def step(self, actions):
        """One step of every world. A world whose episode ended before is reset (NextStep), see AutoresetMode."""
        actions = self._actions(actions)
        mode = self.metadata["autoreset_mode"]
        resetting = self._over.copy() if mode is AutoresetMode.NEXT_STEP else np.zeros(self.num_envs, bool)
        self._fresh = False
        actions[resetting] = 0.0
        for _ in range(self.settings.substeps):
            control = self.engine.control()
            self.scene.control_motion(control, float(self.engine.state.time.max()) + self.scene.options.dt)
            report = self.engine.step(self.tool.control(actions, control))
        self._steps += 1
        if resetting.any():
            self._episode[resetting] += 1
            self._restart(np.flatnonzero(resetting))
        rewards, success = self.task.reward(self.engine), self.task.success(self.engine)
        terminations = success & ~resetting
        failed = ~report.world_converged & ~resetting
        truncations = (self._steps >= self.settings.max_steps) & ~terminations & ~resetting
        rewards = np.where(resetting, 0.0, rewards)
        infos = {"success": success.copy(), "not_converged": failed}
        self._over = terminations | truncations
        if mode is AutoresetMode.SAME_STEP and self._over.any():
            infos |= {"final_obs": self._observe(copy=True), "_final_obs": self._over.copy()}
            self._episode[self._over] += 1
            self._restart(np.flatnonzero(self._over))
        return self._observe(), rewards, terminations, truncations, infos

    def close_extras(self, **kwargs: Any) -> None:
        """Let the engine's memory go."""
        self.engine = self.tactile = None

    # parts ----------------------------------------------------------------------------------------------------------
    def _make_spaces(self) -> None:
        box = gymnasium.spaces.Box
        self.single_action_space = box(-1.0, 1.0, (self.tool.size,), np.float32)
        spaces = {}
        for name, value in self._observe(copy=True).items():
            value = np.asarray(value)
            low, high = (0, 255) if value.dtype == np.uint8 else (-np.inf, np.inf)
            spaces[name] = box(low, high, value.shape[1:], value.dtype.type)
        self.single_observation_space = gymnasium.spaces.Dict(spaces)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def _actions(self, actions) -> np.ndarray:
        """(num_envs, size) float64 copy; torch tensors on the CPU are read where they lie."""
        if hasattr(actions, "__dlpack__") and not isinstance(actions, np.ndarray):
            actions = actions.detach().cpu().numpy() if hasattr(actions, "detach") else np.from_dlpack(actions)
        found = np.array(actions, dtype=np.float64)
        if found.shape != self.action_space.shape:
            raise ValueError(f"actions have shape {found.shape}; this environment takes {self.action_space.shape}")
        if not np.isfinite(found).all():
            raise ValueError("actions hold values that are not finite")
        return np.clip(found, -1.0, 1.0)

    def _restart(self, worlds: np.ndarray, drawn: bool = False) -> None:
        """Bring worlds to a start. drawn: with the draw of their seed, even if redraw is off."""
        section = self.config.file.randomise
        if (self.settings.redraw and not self._fresh or drawn) and section is not None and section.draws:
            renew_worlds(self.engine, {int(w): self._builder(int(w)) for w in worlds}, like=self._checked)
        elif not self._fresh:
            self.engine.reset(worlds)
        self._steps[worlds], self._over[worlds] = 0, False
        self.tool.restart(worlds)
        if len(worlds) == self.num_envs:
            self._fresh = True

    def _builder(self, w: int):
        s = self.settings
        texts = world_draw(self.config, s.first + w, s.batch, int(self._episode[w]), self._seeds[w])
        return draft_scene(overridden(self.config, texts)).builder

    def _observe(self, copy: bool = False) -> dict[str, Any]:
        """By name, a world a row: tool (pose and closure), the task's own values, and "PAD.SIGNAL" of every pad."""
        found: dict[str, Any] = {"tool": self.tool.observe(), **self.task.observe(self.engine)}
        if self.tactile is not None:
            self.tactile.update()
            for spec in self.scene.pads:
                for signal in self.settings.signals:
                    if signal != "rgb" or spec.name in self.tactile.colours:
                        found[f"{spec.name}.{signal}"] = self.tactile.array(signal, spec.name)
        kind = "numpy" if copy else self.settings.arrays
        return {name: _as_asked(value, kind) for name, value in found.items()}


def _as_asked(value, kind: str):
    """A numpy array, or a Warp array over the engine's memory, as ARRAYS says."""
    if kind == "torch":
        try:
            import torch
        except ImportError as error:
            raise ImportError("arrays='torch' needs PyTorch: https://pytorch.org/get-started/locally") from error
        return torch.from_dlpack(value) if not isinstance(value, np.ndarray) else torch.from_numpy(value)
    if isinstance(value, np.ndarray):
        return value
    viewed = value.numpy()  # on the CPU the memory itself
    return viewed if kind == "numpy_view" else viewed.copy()
