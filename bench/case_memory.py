"""Case `memory`: what a process holds once a scene runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.registry import Emit, Unavailable

DESCRIPTION = "resident memory of each scene that ships after 20 steps, and of the engine alone"
STEPS = 20
ROOT = Path(__file__).resolve().parents[1]


def run(emit: Emit, compute: str) -> None:
    from scenes import list_scenes

    for name in ("", *(scene for scene, _, _ in list_scenes())):
        label = name or "without_scene"
        emit.status(label)
        done = subprocess.run(
            [sys.executable, "-m", "bench.case_memory", name, compute], capture_output=True, text=True, cwd=ROOT
        )
        if done.returncode != 0:
            raise RuntimeError(f"scene {name} in a process of its own:\n{done.stderr}")
        emit(f"memory.{label}", float(done.stdout.split()[-1]), "MB")


def _measure(name: str, compute: str) -> float:
    """[MB] of this process, which runs one scene (none for '')."""
    import engine.engine  # noqa: F401 - the libraries alone when there is no scene
    from bench.measure import resident_memory

    if name:
        from app.session import load_session

        session = load_session(name, compute=compute)
        control = session.engine.control()
        for step in range(STEPS):
            session.scene.control_motion(control, (step + 1) * session.dt)
            session.engine.step(control)
            session.engine.signals()
    memory = resident_memory()
    if memory is None:
        raise Unavailable("this system does not say how much memory a process holds")
    return memory


if __name__ == "__main__":
    print(_measure(*sys.argv[1:]))
