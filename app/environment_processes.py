"""Vector environments spread over processes: several on the CPU, one a GPU.

    env = ProcessVectorEnv("peg_insertion", num_envs=256, processes=4)          # four processes on the CPU
    env = ProcessVectorEnv("peg_insertion", num_envs=8192, devices=("cuda:0", "cuda:1"))

World k is the same world, to the bit on the CPU, however the set is split. Draws `per: batch` differ between processes.
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from typing import Any

import numpy as np

try:
    from gymnasium.vector import VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError("environments need the package gymnasium: pip install 'tacktile[learn]'") from error

START_TIMEOUT = 600.0  # [s] kernels may have to be compiled first


def shares(num_envs: int, processes: int) -> list[int]:
    """Worlds of each process, as even as can be. Raises ValueError for more processes than worlds."""
    if not 1 <= processes <= num_envs:
        raise ValueError(f"processes is {processes}; it must lie in 1..{num_envs}, the number of worlds")
    return [num_envs // processes + (k < num_envs % processes) for k in range(processes)]


def _work(pipe, scene: str, count: int, fields: dict[str, Any]) -> None:
    """One process: a SceneVectorEnv that answers requests until it is told to close."""
    os.environ["OMP_NUM_THREADS"] = "1"  # the processes share the cores
    try:
        from app.environments import SceneVectorEnv

        env = SceneVectorEnv(scene, count, **fields)
        pipe.send(("ready", (env.single_observation_space, env.single_action_space, env.metadata)))
        while True:
            name, value = pipe.recv()
            if name == "close":
                break
            answer = env.reset(**value) if name == "reset" else env.step(value)
            pipe.send(("done", answer))
    except (EOFError, KeyboardInterrupt):
        pass
    except BaseException:  # noqa: BLE001 - carried over to the caller
        pipe.send(("failed", traceback.format_exc()))
    finally:
        pipe.close()


class ProcessVectorEnv(VectorEnv):
    """The environments of `SceneVectorEnv`, its worlds divided among processes.

    Args:
        scene, num_envs: as there; fields: fields of EnvSettings but `first`, `batch`, `compute`. Observations are numpy
            arrays. processes: on the CPU; devices: one process each, in place of `processes`.

    Raises ValueError: a number that does not fit; RuntimeError: a process failed, with its own message.
    """

    def __init__(
        self, scene: str = "peg_insertion", num_envs: int = 2, processes: int | None = None,
        devices: tuple[str, ...] = (), **fields: Any,
    ):  # fmt: skip
        if fields.get("arrays", "numpy") != "numpy":
            raise ValueError(f"arrays is {fields['arrays']!r}; between processes only 'numpy' can be handed on")
        places = list(devices) or ["cpu"] * (processes or min(num_envs, os.cpu_count() or 1))
        self.num_envs, self._counts = num_envs, shares(num_envs, len(places))
        self._starts = np.concatenate([[0], np.cumsum(self._counts)])
        context = multiprocessing.get_context("spawn")  # a forked child would share Warp's state
        self._pipes, self._workers = [], []
        for k, (place, count) in enumerate(zip(places, self._counts, strict=True)):
            here, there = context.Pipe()
            own = fields | {"first": int(self._starts[k]), "batch": k, "compute": place}
            worker = context.Process(target=_work, args=(there, scene, count, own), daemon=True)
            worker.start()
            there.close()
            self._pipes.append(here)
            self._workers.append(worker)
        made = [self._receive(k, "ready") for k in range(len(places))]
        self.single_observation_space, self.single_action_space, self.metadata = made[0]
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: int | list[int | None] | None = None, options: dict | None = None):
        """See SceneVectorEnv.reset."""
        super().reset(seed=seed if isinstance(seed, int | np.integer) else None)
        for k, pipe in enumerate(self._pipes):
            part = slice(self._starts[k], self._starts[k + 1])
            own = seed if seed is None or isinstance(seed, int | np.integer) else list(seed)[part]
            mask = None if not options else {**options, "reset_mask": np.asarray(options["reset_mask"])[part]}
            pipe.send(("reset", {"seed": own, "options": mask}))
        answers = [self._receive(k, "done") for k in range(len(self._pipes))]
        return tuple(_joined([answer[i] for answer in answers], self._counts) for i in range(2))

    def step(self, actions):
        """See SceneVectorEnv.step."""
        actions = np.asarray(actions)
        if actions.shape != self.action_space.shape:
            raise ValueError(f"actions have shape {actions.shape}; this environment takes {self.action_space.shape}")
        for k, pipe in enumerate(self._pipes):
            pipe.send(("step", actions[self._starts[k] : self._starts[k + 1]]))
        answers = [self._receive(k, "done") for k in range(len(self._pipes))]
        return tuple(_joined([answer[i] for answer in answers], self._counts) for i in range(5))

    def close_extras(self, **kwargs: Any) -> None:
        """End the processes."""
        for pipe, worker in zip(self._pipes, self._workers, strict=True):
            try:
                pipe.send(("close", None))
            except OSError:
                pass
            pipe.close()
            worker.join(5.0)
            if worker.is_alive():
                worker.terminate()

    def _receive(self, k: int, expected: str):
        try:
            if not self._pipes[k].poll(START_TIMEOUT):
                raise EOFError
            kind, value = self._pipes[k].recv()
        except (EOFError, ConnectionError):
            raise RuntimeError(f"process {k} of {len(self._pipes)} ended without an answer") from None
        if kind != expected:
            raise RuntimeError(f"process {k} of {len(self._pipes)} failed:\n{value}")
        return value


def _joined(parts: list, counts: list[int]):
    """Arrays one below the other, dicts by key; a key that some processes lack is filled with zeros there."""
    if not isinstance(parts[0], dict):
        return np.concatenate(parts)
    keys = dict.fromkeys(key for part in parts for key in part)
    found = {}
    for key in keys:
        like = next(part[key] for part in parts if key in part)
        filled = [
            part[key] if key in part else _zeros(like, count) for part, count in zip(parts, counts, strict=True)
        ]
        found[key] = _joined(filled, counts)
    return found


def _zeros(like, count: int):
    if isinstance(like, dict):
        return {key: _zeros(value, count) for key, value in like.items()}
    return np.zeros((count, *np.shape(like)[1:]), np.asarray(like).dtype)
