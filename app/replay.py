"""Two ways to see a recorded episode again: by its states, or by its inputs.

`StateReplay` shows what was recorded: positions, signals and reports of any frame, in any order. `InputReplay` asks
the engine to do it again from the first exact state with the recorded controls, and says at which step it first
differs. On the device and with the versions of the recording it differs nowhere, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from app.frame import Frame
from app.record.episode import Episode
from app.record.state_hash import state_hash

# wishes that change the state in ways that a replay takes from the recording
JUMPS = {"reset", "load_checkpoint", "undo", "grasp_assist", "load_scene", "reload"}


# wishes that change the physics and are in no state: repeated in every row, also where the state is taken over
EDITS = {"set_adhesion", "set_friction"}


class ReplayError(Exception):
    """The episode cannot be replayed here; the text lists what does not fit."""


class SteppableEngine(Protocol):
    """What InputReplay needs of an engine."""

    def get_state(self) -> dict[str, np.ndarray]: ...
    def set_state(self, state: dict[str, np.ndarray]) -> None: ...
    def step(self, control: Any) -> Any: ...


class StateReplay:
    """Frames of an episode for the view, in any order: scrubbing is random access.

    Raises ReplayError when the episode holds no positions, or not as many points as the scene (`num_points`).
    """

    def __init__(self, episode: Episode, num_points: int | None = None):
        if not episode.num_points:
            raise ReplayError(f"{episode.name} holds no positions: replay it by inputs")
        misfits = episode.misfits(num_points=num_points)
        if misfits:
            raise ReplayError(f"{episode.name} does not fit: " + "; ".join(misfits))
        self.episode = episode
        times = np.asarray(episode["time/simulated"], dtype=np.float64)
        steps = np.asarray(episode["time/dt"], dtype=np.float64)
        # one time line over all segments, from 0: a reset in the middle sets the simulated clock back, not this one
        self.time = np.concatenate([[0.0], np.cumsum(steps)])  # [s] (T + 1,)
        self._start_time = float(times[0] - steps[0]) if len(times) else 0.0
        self._events: dict[int, list[str]] = {}
        for row, text in episode.events():
            self._events.setdefault(row, []).append(text)

    def __len__(self) -> int:
        """Rows: T + 1."""
        return self.episode.num_frames + 1

    @property
    def duration(self) -> float:
        """[s] simulated."""
        return float(self.time[-1])

    @cached_property
    def events(self) -> list[tuple[float, str]]:
        """What was said while it was recorded, with its moment on the time line [s], in order."""
        rows = [(row, text) for row, texts in sorted(self._events.items()) for text in texts]
        return [(float(self.time[min(max(row + 1, 0), len(self) - 1)]), text) for row, text in rows]

    def row_at(self, seconds: float) -> int:
        """The last row at or before a moment of the time line; clamped to the episode."""
        row = int(np.searchsorted(self.time, seconds + 1e-9, side="right")) - 1
        return min(max(row, 0), self.episode.num_frames)

    def exact_state_of(self, row: int) -> int | None:
        """Number of the exact state whose meshes a row has: of the last change of the state before it, or the first.
        None when the episode holds no exact states."""
        rows, restart = self.episode.keyframe_rows, self.episode.keyframe_restart
        if not len(rows):
            return None
        return int(max(np.flatnonzero(restart & (rows < row)), default=0))

    def frame(self, row: int) -> Frame:
        """Frame for the view: row 0 is before the first step, row r after step r. Mode is "REPLAY".

        sample, command, control, report, signals are namespaces with the recorded fields (None in row 0).
        """
        points = self.episode.positions(row)
        if row == 0:
            return Frame(0, False, self._start_time, 0.0, 0.0, 0.0, points=points, mode="REPLAY")
        record = self.episode.frame(row - 1)
        clock, about = record.get("time", {}), record.get("frame", {})
        parts = {
            name: _namespace(record[name]) if name in record else None
            for name in ("sample", "status", "command", "control", "report", "signals")
        }
        extra = dict(record.get("extra", {}), recorded_mode=about.get("mode", ""))
        if "tactile" in record:
            extra["tactile"] = record["tactile"]
        return Frame(
            index=int(about.get("index", row)),
            stepped=True,
            time_sim=float(clock["simulated"]),
            time_wall=float(clock["wall"]),
            time_mono=float(clock["monotonic"]),
            dt=float(clock["dt"]),
            points=points,
            events=tuple(self._events.get(row - 1, ())),
            mode="REPLAY",
            realtime_factor=float(about.get("realtime_factor", 0.0)),
            extra=extra,
            **parts,
        )


@dataclass(frozen=True)
class ReplayStep:
    """One step of a replay by inputs."""

    frame: int  # index of the step, 0..T-1
    matches: bool | None  # hash of the state after it equals the recorded one; None when none was recorded
    points_error: float  # [m] largest distance to the recorded positions, NaN when they cannot be compared


@dataclass
class ReplayResult:
    num_steps: int = 0
    num_compared: int = 0
    last_compared: bool = False  # the last step's state was
    last_equal: int = -1  # the last step before the divergence whose state was compared
    first_divergence: int | None = None  # step after which the state first differs
    skipped: list[int] = field(default_factory=list)  # steps that cannot be repeated: the state before is unknown
    largest_points_error: float = 0.0  # [m]
    text: str = ""  # for the operator

    @property
    def exact(self) -> bool:
        """Every state that has a hash is equal to the bit, that of the last step among them."""
        return self.first_divergence is None and self.last_compared and self.num_steps > 0 and not self.skipped


class InputReplay:
    """Steps an engine again with the recorded controls.

    `engine` stands in the same scene. `make_control` turns the recorded fields (a dict of arrays) into what
    `engine.step` takes (`lambda fields: Control(**fields)`); without it they come as a namespace. `apply_requests`
    is called with [(verb, value), ...] before a step that had requests (an option edited, a cut). Where the state was
    changed by cuts alone, they are made again and must lead to the recorded state to the bit; where it was changed
    otherwise (a reset, a checkpoint), the replay goes on from the recorded state. `versions` of this
    installation are compared with the recorded ones to explain a divergence. `positions()` of the engine, when it has
    one, gives the error in metres. `on_iteration` is handed to `engine.step`, for a window that wants to stay alive.

    Raises ReplayError: no exact states, another scene (every misfit listed), or an engine that does not give back the
    state it was set to.
    """

    def __init__(
        self,
        episode: Episode,
        engine: SteppableEngine,
        make_control: Callable[[dict[str, np.ndarray]], Any] | None = None,
        apply_requests: Callable[[list[tuple[str, Any]]], None] | None = None,
        versions: dict[str, Any] | None = None,
        on_iteration: Callable[..., None] | None = None,
    ):
        if not len(episode.keyframe_rows):
            raise ReplayError(f"{episode.name} holds no exact state to start from: replay it by states")
        from app.cutting import take_topology

        with suppress(ValueError):  # told below, by what does not fit
            take_topology(engine, episode.keyframe(0))
        misfits = episode.misfits(state=engine.get_state())
        if misfits:
            raise ReplayError(f"{episode.name} does not fit this scene: " + "; ".join(misfits))
        self.episode, self.engine = episode, engine
        self._make_control = make_control or _namespace
        self._apply_requests = apply_requests
        self._looks_on = {} if on_iteration is None else {"on_iteration": on_iteration}
        self.version_notes = _version_notes(episode, versions)
        self._hashes = episode.hashes()
        self._starts = dict(episode.segments())
        self._requests: dict[int, list[tuple[str, Any]]] = {}
        for row, verb, value in episode.requests():
            self._requests.setdefault(row, []).append((verb, value))
        # keyframes by row; of several restarts before one step the last counts
        rows, restart = episode.keyframe_rows, episode.keyframe_restart
        self._restarts = {int(row): k for k, row in enumerate(rows) if restart[k]}
        self._keyframes = {int(row): k for k, row in enumerate(rows) if not restart[k]}

    def steps(self, stop_at_divergence: bool = False) -> Iterator[ReplayStep]:
        """Replay step by step, for a view that draws along. The engine's state is changed."""
        row, num_frames = 0, self.episode.num_frames
        self.skipped: list[int] = []
        known, self._edited = False, 0
        while row < num_frames:
            cut_again = None
            if known and row in self._restarts and self._cuts_alone(row):
                cut_again = self._cut_again(row)
            elif row in self._restarts:
                self._set_state(self._restarts[row])
            elif row in self._starts or not known:
                start = row if row == 0 and 0 in self._keyframes else self._next_keyframe(row)
                self.skipped += range(row, start)
                if start >= num_frames:
                    return
                row = start
                self._set_state(self._keyframes[row])
            known = True
            self._repeat_requests(row, cut_again is not None)
            step = self._step(row)
            if cut_again is False:
                step = replace(step, matches=False)
            yield step
            if stop_at_divergence and step.matches is False:
                return
            row += 1

    def run(self, stop_at_divergence: bool = True, on_step: Callable[[ReplayStep], None] | None = None) -> ReplayResult:
        """Replay to the end, or to the first step that differs."""
        result = ReplayResult()
        for step in self.steps(stop_at_divergence):
            result.num_steps += 1
            result.num_compared += step.matches is not None
            result.last_compared = step.matches is not None
            if step.matches and result.first_divergence is None:
                result.last_equal = step.frame
            if step.matches is False and result.first_divergence is None:
                result.first_divergence = step.frame
            if step.points_error == step.points_error:  # not NaN
                result.largest_points_error = max(result.largest_points_error, step.points_error)
            if on_step is not None:
                on_step(step)
        result.skipped = list(self.skipped)
        result.text = self._explain(result)
        return result

    def _cuts_alone(self, row: int) -> bool:
        """Was the state before this step changed by cuts and by nothing else that changes it?"""
        verbs = {verb for verb, _ in self._requests.get(row, ())}
        return self._apply_requests is not None and "cut" in verbs and not verbs & JUMPS

    def _cut_again(self, row: int) -> bool:
        """Makes the cuts; True when they lead to the recorded state. If not, the replay goes on from that one."""
        self._apply_requests(self._requests[row])
        recorded = self.episode.keyframe(self._restarts[row])
        if state_hash(self.engine.get_state()) == state_hash(recorded):
            return True
        self._set_state(self._restarts[row])
        return False

    def _repeat_requests(self, row: int, done: bool) -> None:
        """Requests of a row, and the edits of rows that were skipped before it. Where the state was taken over, all but
        the edits are in it already; done: they were repeated with a cut."""
        requests = [r for skipped in range(self._edited, row) for r in self._requests.get(skipped, ()) if r[0] in EDITS]
        if not done:
            taken = row in self._restarts
            requests += [r for r in self._requests.get(row, ()) if not taken or r[0] in EDITS]
        self._edited = row + 1
        if requests and self._apply_requests is not None:
            self._apply_requests(requests)

    def _step(self, row: int) -> ReplayStep:
        control = self.episode.control(row)
        self.engine.step(None if control is None else self._make_control(control), **self._looks_on)
        matches = None
        if self._hashes[row + 1]:
            matches = self.episode.state_hash(self.engine.get_state()) == int(self._hashes[row + 1])
        return ReplayStep(row, matches, self._points_error(row + 1))

    def _points_error(self, row: int) -> float:
        positions = getattr(self.engine, "positions", None)
        if positions is None or not self.episode.num_points:
            return float("nan")
        there, here = self.episode.positions(row), np.asarray(positions())
        if there.shape != here.shape:
            return float("nan")
        return float(np.sqrt(((there - here) ** 2).sum(axis=1)).max(initial=0.0))

    def _set_state(self, number: int) -> None:
        state = self.episode.keyframe(number)
        self.engine.set_state(state)
        back = self.engine.get_state()
        if state_hash(back) != state_hash(state):
            wrong = [n for n in sorted(state) if n not in back or state_hash({n: back[n]}) != state_hash({n: state[n]})]
            wrong += sorted(set(back) - set(state))
            raise ReplayError(f"the engine does not give back the state it was set to: {', '.join(wrong)}")

    def _next_keyframe(self, row: int) -> int:
        """First row behind `row` whose state is known, T when there is none."""
        return min((r for r in self._keyframes if r > row), default=self.episode.num_frames)

    def _explain(self, result: ReplayResult) -> str:
        parts = []
        if result.first_divergence is None:
            if result.exact:
                return f"{result.num_steps} steps repeated, equal to the bit"
            parts.append(f"{result.num_steps} steps repeated, {result.num_compared} compared, all equal to the bit")
        else:
            step = result.first_divergence
            parts.append(f"first differs after step {step} of {self.episode.num_frames}")
            between = range(result.last_equal + 1, step + 1)
            if len(between) > 1:
                parts.append(f"the {len(between) - 1} before it have no hash")
            asked = [verb for row in between for verb, _ in self._requests.get(row, ())]
            if asked:
                parts.append("requests before it: " + ", ".join(asked))
        if result.skipped:
            parts.append(f"{len(result.skipped)} steps skipped, the state before them is not known")
        if result.first_divergence is not None:
            parts += self.version_notes
        return "; ".join(parts)


def _version_notes(episode: Episode, versions: dict[str, Any] | None) -> list[str]:
    recorded = episode.meta.get("versions")
    if not versions or not isinstance(recorded, dict):
        return []
    return [
        f"recorded with {name} {recorded[name]}, this is {versions[name]}"
        for name in sorted(set(recorded) & set(versions))
        if str(recorded[name]) != str(versions[name])
    ]


def _namespace(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{key: _namespace(item) for key, item in value.items()})
    return value
