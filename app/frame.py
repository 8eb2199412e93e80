"""What one pass through the loop produced. Written once by the loop, read by view, recorder and replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # annotations only: the recorder and its tests run without Warp
    from devices.contract import Command, Sample, Status
    from engine.types import Control, Signals, StepReport


@dataclass(frozen=True)
class Request:
    """A wish queued by the window, a key or a script; carried out by the loop between steps, never mid-step."""

    verb: str  # one of devices.contract.VERBS, or "load_scene", "set_option", "rename_episode", ...
    value: Any = None


@dataclass
class Frame:
    """One frame. Arrays are fresh copies; a sink may keep them."""

    index: int  # counts physics steps since reset or load; a paused frame repeats it with stepped=False
    stepped: bool  # False: the loop was paused, nothing moved
    time_sim: float  # [s] simulated time after this step
    time_wall: float  # [s] wall clock (time.time()) when the step began
    time_mono: float  # [s] monotonic clock when the step began
    dt: float  # [s]
    sample: Sample | None = None
    status: Status | None = None  # of the device that drove this frame
    command: Command | None = None
    control: Control | None = None
    report: StepReport | None = None
    signals: Signals | None = None
    points: Any = None  # [m] (num_points, 3) float64 world-0 point positions after the step
    requests: tuple[Request, ...] = ()  # carried out before this step
    events: tuple[str, ...] = ()  # human-readable: "paused: SpaceMouse lost", "recording started"
    mode: str = "DRIVING"  # DRIVING, CLUTCH OUT, PAUSED, REPLAY
    paused_reason: str = ""
    realtime_factor: float = 0.0  # simulated time over wall time, smoothed
    extra: dict[str, Any] = field(default_factory=dict)
