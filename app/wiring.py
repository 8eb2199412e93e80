"""What a frame loop is given beside its session and operator, and how it tells the way a run ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from app.frame import Frame, Request
from app.session import Progress, Session


class View(Protocol):
    """What the loop asks of a view; `app.headless.NullView` is the one without a window."""

    closed: bool

    def progress(self, text: str, fraction: float) -> None: ...
    def ready(self) -> None: ...
    def set_scene(self, scene, points: np.ndarray) -> None: ...
    def set_model(self, model, points: np.ndarray) -> None: ...
    def draw(self, frame: Frame, info: dict) -> None: ...
    def tick(self) -> None: ...
    def tick_if_due(self) -> None: ...
    def poll(self) -> list[Request]: ...
    def camera_rotation(self) -> np.ndarray | None: ...
    def toggle_help(self) -> None: ...
    def close(self) -> None: ...


@dataclass
class Wiring:
    """What a loop is made of beside session, operator and view; everything here is optional."""

    recorder: Any = None  # app.record.recorder.Recorder, or None
    make_recorder: Callable[[Session], Any] | None = None  # a new one when another scene is loaded
    load: Callable[[str, Progress], Session] | None = None  # loads a scene by path or name
    replay: Callable[[Path, Any], None] | None = None  # shows an episode in the loop's view, until it is put away
    open_device: Callable[[str], Any] | None = None  # --input value -> device
    sinks: Sequence[Callable[[Frame], None]] = ()
    checkpoint_folder: Path | None = None
    pacing: bool = True  # wait when the simulation is faster than real time
    stop_on_failure: bool = False  # headless: there is nobody to press Resume
    compute: str = ""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass
class Outcome:
    """How a run ended."""

    steps: int = 0
    failure: str = ""
    seconds: float = 0.0  # [s] wall clock inside the loop
    events: list[tuple[float, str]] = field(default_factory=list)  # (simulated time, text)
