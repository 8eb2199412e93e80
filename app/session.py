"""A scene that is loaded and an engine that steps it; which processor does the work, and progress while it compiles."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cutting import blade_cutter
from app.shown_world import ShownWorld
from app.tactile import tactile_reader

Progress = Callable[[str, float], None]  # what is being done, share done in [0, 1] or -1 when unknown


@dataclass
class Session:
    """What the loop needs of a scene."""

    path: str
    overrides: tuple[str, ...]
    compute: str  # "cpu" or "cuda:0"
    scene: Any
    engine: Any
    tactile: Any = None  # app.tactile.TactileReader of a scene with pads
    seconds: float = 0.0  # [s] it took to load
    blade: Any = None  # engine.cutting.blade.BladeCutter of a scene with a blade

    @property
    def model(self):
        """The model as it is now: a cut replaces it, `scene.model` is the one that was built."""
        return self.engine.model

    @property
    def dt(self) -> float:
        return float(self.scene.options.dt)


def choose_compute(asked: str | None) -> tuple[str, str]:
    """The processor to use and a sentence that says why.

    Args:
        asked: "cpu", "cuda", "cuda:N" or None for the best there is.

    Raises:
        ValueError: not a processor of this machine; the message lists those there are.
    """
    import warp as wp

    quiet_warp()
    with _nothing_about_a_missing_driver():
        wp.init()
    cuda = [str(device) for device in wp.get_cuda_devices()]
    if asked is None:
        if cuda:
            return cuda[0], f"computing on {cuda[0]} ({wp.get_device(cuda[0]).name})"
        return "cpu", f"computing on the CPU ({os.cpu_count()} cores): no NVIDIA GPU with a driver was found"
    wanted = "cuda:0" if asked == "cuda" else asked
    if wanted not in ("cpu", *cuda):
        raise ValueError(f"--compute {asked!r} is not on this machine; legal: {', '.join(('cpu', *cuda))}")
    name = "the CPU" if wanted == "cpu" else f"{wanted} ({wp.get_device(wanted).name})"
    return wanted, f"computing on {name}, as asked"


@contextmanager
def _nothing_about_a_missing_driver() -> Iterator[None]:
    """Warp's library itself writes a warning to the error output where there is no NVIDIA driver; the sentence that
    `choose_compute` gives says it better. With a driver, or TACKTILE_DEBUG, everything is let through."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        driver = True
    except OSError:
        driver = False
    if driver or os.environ.get("TACKTILE_DEBUG"):
        yield
        return
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def quiet_warp() -> None:
    """Warp's own list of devices and modules would bury the few sentences the operator should read."""
    import warp as wp

    wp.config.log_level = wp.LOG_INFO if os.environ.get("TACKTILE_DEBUG") else wp.LOG_ERROR


def load_session(
    path: str,
    overrides: tuple[str, ...] | list[str] = (),
    compute: str = "cpu",
    progress: Progress | None = None,
    trial: bool = True,
) -> Session:
    """Reads, builds and warms up a scene.

    Args:
        path: YAML file, or the name of a scene that ships.
        overrides: "key=value" texts.
        compute: from `choose_compute`.
        progress: told what is being done; called often enough to keep a window alive.
        trial: take a step and take it back, so that the first real one finds everything ready.

    Raises:
        scenes.errors.SceneError: the file and line of what is wrong.
    """
    say = progress or (lambda text, share: None)
    begin = time.perf_counter()
    say("reading the scene", 0.0)
    from scenes.config import load_config

    config = load_config(path, list(overrides))
    say("loading the engine", 0.02)
    from engine import Engine
    from scenes.build import build_scene

    compile_kernels(compute, say)
    say("building the scene", 0.90)
    scene = build_scene(config, device=compute)
    say("preparing the engine", 0.94)
    engine = Engine(scene.model, scene.options)
    reader = tactile_reader(scene, engine)
    if scene.model.num_worlds > 1:
        engine = ShownWorld(engine)
    session = Session(str(path), tuple(overrides), compute, scene, engine)
    session.tactile = reader
    session.blade = blade_cutter(scene, engine)
    if trial:
        say("first step", 0.97)
        start = engine.get_state()
        engine.step()
        engine.set_state(start)
    say("ready", 1.0)
    session.seconds = time.perf_counter() - begin
    return session


def kernel_modules() -> list[str]:
    """Every module of the engine that holds kernels; imports them all, since the builder imports some only when a
    scene needs them."""
    import importlib
    import pkgutil

    import warp as wp

    import engine

    for found in pkgutil.walk_packages(engine.__path__, "engine."):
        importlib.import_module(found.name)

    return [
        name
        for name, module in sorted(sys.modules.items())
        if name.startswith("engine.")
        and module is not None
        and any(isinstance(value, wp.Kernel) and value.module.name == name for value in vars(module).values())
    ]


def compile_kernels(compute: str, say: Progress) -> None:
    """Compiles (or takes from the cache) every kernel, a module at a time.

    The compiler runs in a thread of its own, so that the window is alive during the minute that a first start takes;
    nothing else of the engine runs meanwhile. Raises whatever the compiler raised.
    """
    import warp as wp

    names = kernel_modules()
    done: list[str] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            for name in names:
                wp.load_module(name, device=compute)
                done.append(name)
        except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread
            failure.append(error)

    thread = threading.Thread(target=work, name="compile kernels", daemon=True)
    thread.start()
    while thread.is_alive():
        count = len(done)
        current = names[count].removeprefix("engine.") if count < len(names) else "done"
        say(f"compiling kernels {count + 1} of {len(names)}: {current}", 0.05 + 0.85 * count / max(len(names), 1))
        thread.join(0.1)
    if failure:
        raise failure[0]


def scene_file(path: str | Path) -> str:
    """The scene's text, for the recording; '' when it is not a readable file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
