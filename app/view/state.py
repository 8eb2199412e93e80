"""What the panels read: the last Frame, a short history of it, and the wishes they queue."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.frame import Frame, Request
from app.settings import Settings
from app.view import palette

HISTORY = 240  # frames a trace shows: 8 s at dt 1/30


@dataclass
class ViewState:
    """Shared by window and panels. Panels read everything here and write only `requests`, `settings` and `ui`."""

    settings: Settings
    scene: Any = None
    frame: Frame | None = None
    info: dict[str, Any] = field(default_factory=dict)  # see app.info.loop_info
    requests: list[Request] = field(default_factory=list)
    traces: dict[str, deque] = field(default_factory=dict)  # name -> (3,) forces [N], one a frame
    pad_traces: dict[str, deque] = field(default_factory=dict)  # pad -> (3,) forces [N] along the sensor's axes
    enlarged: str = ""  # pad shown in large
    tape_traces: dict[str, deque] = field(default_factory=dict)  # pull and tension [N], payout [m], turned [rad]
    realtime: deque = field(default_factory=lambda: deque(maxlen=HISTORY))
    newton: deque = field(default_factory=lambda: deque(maxlen=HISTORY))
    stages: dict[str, float] = field(default_factory=dict)  # stage -> smoothed seconds a step
    stage_colors: dict[str, tuple] = field(
        default_factory=dict
    )  # given once to each stage that was ever among the dearest
    events: deque = field(default_factory=lambda: deque(maxlen=200))  # (time_sim, text)
    scenes: list | None = None  # (name, path, description); None: not read yet
    keymap: dict[str, str] = field(default_factory=dict)  # action -> key, for the help
    field_max: float = 0.0  # largest value of the coloured field in this frame
    overlay: bool = False  # first-start page
    picker: bool = False  # scene picker
    devices: bool = False  # device screen
    browser: bool = False  # browser of episodes
    ui: dict[str, Any] = field(default_factory=dict)  # what a panel remembers from one redraw to the next
    text: dict[str, str] = field(default_factory=dict)  # text boxes being edited
    rects: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)  # x0, y0, x1, y1 as drawn
    draw_seconds: float = 0.0  # smoothed cost of one redraw [s]
    quality: str = "medium"  # in use

    def dearest(self, count: int) -> list[tuple[str, float]]:
        """The stages that cost most, (name, seconds a step); each keeps its colour until another one needs it."""
        ranked = sorted(self.stages.items(), key=lambda item: -item[1])[:count]
        names = [name for name, _ in ranked]
        for name in names:
            if name in self.stage_colors:
                continue
            free = [color for color in palette.STAGES if color not in self.stage_colors.values()]
            if not free:  # all were given out: take one from a stage that is not shown
                left = next(known for known in self.stage_colors if known not in names)
                free = [self.stage_colors.pop(left)]
            self.stage_colors[name] = free[0]
        return ranked

    @property
    def has_fingers(self) -> bool:
        """Does any tool of the scene grip?"""
        return any(getattr(tool, "fingers", ()) for tool in getattr(self.scene, "tools", ()) or ())

    @property
    def sticky(self) -> bool:
        """Does anything in the scene stick?"""
        return bool(getattr(getattr(self.scene, "model", None), "interfaces", ()))

    @property
    def has_sheets(self) -> bool:
        """Is there anything that can be cut?"""
        meshes = getattr(getattr(self.scene, "model", None), "meshes", {})
        return any(info.kind == "shell" for info in meshes.values())

    def ask(self, verb: str, value: Any = None) -> None:
        """Queues a wish; the loop carries it out between steps."""
        self.requests.append(Request(verb, value))

    def notice(self, text: str) -> None:
        """Something that the window itself has to say, among the events."""
        self.events.append((self.frame.time_sim if self.frame else 0.0, text))

    def about(self, key: str, default: Any = None) -> Any:
        """A value of the last frame's `info`, or the default before the first frame."""
        return self.info.get(key, default)

    def take(self, frame: Frame, info: dict[str, Any]) -> None:
        """Adopts a frame and what the loop tells beside it, and appends both to the histories."""
        self.info = info
        if self.frame is not None and frame.index < self.frame.index:
            self.clear_history()
        self.frame = frame
        for text in frame.events:
            self.events.append((frame.time_sim, text))
        if not frame.stepped:
            return
        self.realtime.append(frame.realtime_factor)
        if frame.report is not None:
            self.newton.append(frame.report.newton_iterations)
            now = frame.report.stage_seconds
            for stage in {**self.stages, **now}:  # a stage that was not needed this time counts as nothing
                seconds = now.get(stage, 0.0)
                self.stages[stage] = 0.9 * self.stages.get(stage, seconds) + 0.1 * seconds
        for name, force in info.get("forces", {}).items():
            self.traces.setdefault(name, deque(maxlen=HISTORY)).append(np.asarray(force, float))
        for pad in info.get("pads", ()):
            values = np.asarray(pad.get("local", np.zeros(3)), float)
            self.pad_traces.setdefault(pad["name"], deque(maxlen=HISTORY)).append(values)
        self._take_tape(info)

    def _take_tape(self, info: dict[str, Any]) -> None:
        """Numbers of the first roll, and the force on the tool that pulls."""
        tape, now = info.get("tape"), {}
        if not tape:
            return
        for force in list(info.get("forces", {}).values())[:1]:
            now["peel"] = float(np.linalg.norm(force))
        for roll in list(tape["rolls"].values())[:1]:
            now |= {name: float(roll[name]) for name in ("tension", "payout", "turned")}
        for name, value in now.items():
            self.tape_traces.setdefault(name, deque(maxlen=HISTORY)).append(value)

    def clear_history(self) -> None:
        """After a reset or another scene: old traces would be read as new ones."""
        self.traces.clear()
        self.pad_traces.clear()
        self.tape_traces.clear()
        self.realtime.clear()
        self.newton.clear()
        self.stages.clear()
