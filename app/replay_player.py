"""Playing an episode in a view: by states or by inputs, with another one beside it, and onto a film."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from app.cutting import take_topology
from app.export.options import ExportError
from app.frame import Frame, Request
from app.record import EpisodeError
from app.recorded_scene import versions_of
from app.replay import ReplayError, StateReplay
from app.replay_compare import Comparison
from app.replay_film import Film, film_path
from app.replay_inputs import RESOLUTION, InputTrack
from app.session import Session
from app.tactile import IMAGES
from engine.types import StepReport

TICK = 1.0 / 60.0  # [s] between looks at the window
IMAGE_ROWS = 30  # rows to look back for a pad's image: the recorder keeps one of every few
SPEEDS = (1.0, 0.5, 0.25, 0.1)
SLOW = 0.25


def for_view(frame: Frame) -> Frame:
    """A recorded frame as the panels want it: tables are dicts again, the device's state of then is left out."""
    report = frame.report
    if report is not None:
        table = dict(vars(StepReport()))
        table |= {name: value for name, value in vars(report).items() if value is not None}
        table["stage_seconds"] = (
            dict(vars(table["stage_seconds"])) if hasattr(table["stage_seconds"], "__dict__") else {}
        )
        report = StepReport(**{name: table[name] for name in vars(StepReport())})
    return replace(frame, status=None, control=None, report=report)


class Player:
    """Plays a StateReplay in a view: pause, single rows, slow motion, scrubbing; the engine beside it when asked.

    Args:
        replay: frames by row. view: as for `app.loop.FrameLoop`. session: its pads and scene name are shown.
        keyboard: its keys of pause, step, slow, reset and help act; None: the window's buttons alone.
        make_engine: an engine of its own for the replay by inputs. others: (name, path) of episodes to compare with.
        back: what the button that ends it says, "" = there is none.
    """

    def __init__(
        self, replay: StateReplay, view, session: Session, keyboard=None, clock=time.monotonic, sleep=time.sleep,
        make_engine: Callable[[], Any] | None = None, others: tuple[tuple[str, Path], ...] = (), back: str = "",
    ):  # fmt: skip
        self.replay, self.view, self.session, self._keyboard = replay, view, session, keyboard
        self.seconds = 0.0
        self.paused = False
        self.speed = 1.0
        self.closed = False
        self.problem = ""  # what could not be done, for the panel
        self.track: InputTrack | None = None
        self.comparison: Comparison | None = None
        self.film: Film | None = None
        self.filmed = ""  # the last film, in words
        self._inputs = False  # what is shown is the engine's
        self._make_engine, self._others, self._back = make_engine, others, back
        self._row = -1
        self._drawn: Frame | None = None
        self._exact: int | None = 0  # number of the exact state whose meshes are shown
        self._model: Any = None  # shown, when it is not the one of the recorded states
        self._film_resumes = (0.0, True)
        self._clock, self._sleep = clock, sleep

    def run(self) -> None:
        """Until the view closes or the operator goes back."""
        last = self._clock()
        try:
            while not (self.view.closed or self.closed):
                now = self._clock()
                if not self.paused and self.film is None:
                    self.seconds = min(self.seconds + self.speed * (now - last), self.replay.duration)
                    if self.seconds >= self.replay.duration and not self._inputs:  # by inputs the engine may be behind
                        self.paused = True
                last = now
                self.once()
                self._sleep(max(0.0, TICK - (self._clock() - now)))
        finally:
            self.close()

    def close(self) -> None:
        """Lets go of what is open; a film that is not whole is dropped."""
        if self.film is not None:
            self.film.cancel()
            self.film = None
        if self.comparison is not None:
            self.comparison.close()
            self.comparison = None

    def once(self) -> None:
        """Wishes, then the row of the moment when it is another one."""
        pressed = self._keyboard.poll(self._clock()).pressed if self._keyboard is not None else ()
        for wish in (*self.view.poll(), *map(Request, pressed)):
            self._carry_out(wish)
        if self.film is not None:
            self.seconds = float(self.film.moments[self.film.count])
        row = self.replay.row_at(self.seconds)
        if self._inputs:
            row = self._step_towards(row)
        if row != self._row:
            self._row = row
            self._show(row)
        elif self._busy:  # the panels change although the scene does not
            self.view.draw(replace(self._drawn, stepped=False, events=()), self.info(self._drawn))
        self.view.tick()
        if self.film is not None:
            self._film_frame()

    # -- what is shown

    def _show(self, row: int) -> None:
        frame = for_view(self.replay.frame(row))
        if self._inputs:
            frame = replace(frame, points=np.asarray(self.track.points[row], float))
            self._set_model(self.track.models[row], frame.points)
        else:
            self._follow_model(row)
        self._drawn = frame = replace(frame, events=())  # the time line has those of all rows
        self.view.draw(frame, self.info(frame))

    @property
    def _busy(self) -> bool:
        return self._inputs or self.film is not None or (self.comparison is not None and self.comparison.done < 1.0)

    def _follow_model(self, row: int) -> None:
        """Rows before and after a cut show other meshes."""
        number = self.replay.exact_state_of(row)
        if number == self._exact or number is None:
            return
        self._exact = number
        engine, meshes = self.session.engine, self.session.model.meshes
        take_topology(engine, self.replay.episode.keyframe(number))
        if self.session.model.meshes is not meshes:
            self.view.set_model(self.session.model, engine.positions())

    def _set_model(self, model: Any, points: np.ndarray) -> None:
        """Meshes of the engine that runs by inputs."""
        shown = self._model or getattr(self.session, "model", None)
        if shown is not None and model.meshes is not shown.meshes and len(model.meshes):
            self.view.set_model(model, points)
        self._model = model

    def _step_towards(self, row: int) -> int:
        """By inputs: one step more while the moment lies ahead of what is known; time waits for the engine."""
        track = self.track
        if row > track.meter.known and not track.ended and (not self.paused or self._asked > track.meter.known):
            try:
                track.advance()
            except Exception as error:  # noqa: BLE001 - the engine failed, the window goes on
                track.ended = True
                self.problem = f"the engine ended: {type(error).__name__}: {error}"
        if row > track.meter.known:
            row = track.meter.known
            self.seconds = float(self.replay.time[row])
            if track.ended:
                self.paused = True
        if row == len(self.replay) - 1:
            self.paused = True
        return track.nearest(row)

    # -- wishes

    def _carry_out(self, wish: Request) -> None:
        action = getattr(self, f"_do_{wish.verb}", None)
        if action is None or (self.film is not None and wish.verb not in ("film", "replay_close", "help")):
            return
        self.problem = ""
        try:
            action(wish.value)
        except (ReplayError, EpisodeError, ExportError, OSError, ValueError) as error:
            self.problem = str(error)
            self._row = -1  # the panels are to say so

    def _do_pause(self, value) -> None:
        self.paused = not self.paused if value is None else bool(value)
        if not self.paused and self.seconds >= self.replay.duration:
            self.seconds = 0.0

    def _do_seek(self, value) -> None:
        self.seconds = min(max(float(value), 0.0), self.replay.duration)

    def _do_step(self, value) -> None:
        """One row on, or back with -1."""
        self.paused = True
        row = min(max(self.replay.row_at(self.seconds) + (-1 if value == -1 else 1), 0), len(self.replay) - 1)
        self._asked = row
        self.seconds = float(self.replay.time[row])

    _asked = -1  # row of a single step, which goes on although it is paused

    def _do_slow(self, value) -> None:
        self.speed = float(value) if value in SPEEDS else (1.0 if self.speed < 1.0 else SLOW)
        self._row = -1

    def _do_reset(self, value) -> None:
        self.seconds = 0.0

    def _do_help(self, value) -> None:
        self.view.toggle_help()

    def _do_replay_close(self, value) -> None:
        self.closed = True

    def _do_replay_by(self, value) -> None:
        """ "states" or "inputs"."""
        if value == "inputs" and self.track is None:
            if self._make_engine is None:
                raise ReplayError("this replay has no engine")
            self.view.progress("preparing the engine", -1.0)
            try:
                engine = self._make_engine()
                self.track = InputTrack(
                    self.replay.episode, engine, versions_of(self.replay.episode), lambda *_: self.view.tick_if_due()
                )
            finally:
                self.view.ready()
        if self._inputs != (value == "inputs"):
            self._inputs = value == "inputs"
            self._row = -1
            if not self._inputs and self._model is not None:
                meshes, self._model = self._model.meshes, None
                if meshes is not self.session.model.meshes:
                    self.view.set_model(self.session.model, self.session.engine.positions())

    def _do_compare(self, value) -> None:
        """A path, or None for none."""
        if self.comparison is not None:
            self.comparison.close()
            self.comparison = None
        self._row = -1
        if value is not None:
            self.comparison = Comparison(self.replay, Path(value))

    def _do_film(self, value) -> None:
        """Begins a film of what the trim keeps, or gives one up that is being made."""
        self._row = -1
        if self.film is not None:
            self.film.cancel()
            self.film, self.filmed = None, "the film was given up"
            self.seconds, self.paused = self._film_resumes
            return
        if not hasattr(self.view, "view_picture"):
            raise ReplayError("a film needs a window")
        first, last = self.replay.episode.kept
        if self._inputs:
            last = min(last, self.track.meter.known)
        self._film_resumes = (self.seconds, self.paused)
        path = film_path(self.replay.episode.path)
        self.film = Film(path, float(self.replay.time[first]), float(self.replay.time[last]))

    def _film_frame(self) -> None:
        try:
            self.film.append(self.view.view_picture())
            if not self.film.finished:
                return
            self.filmed = self.film.finish()
        except (ExportError, OSError) as error:
            self.film.cancel()
            self.filmed = f"no film: {error}"
        self.film, self._row = None, -1
        self.seconds, self.paused = self._film_resumes

    # -- what is told

    def info(self, frame) -> dict[str, Any]:
        """See `app.info.loop_info`; here with `replay` and, to be drawn as an outline, `ghost` (P, 3) [m]."""
        tactile = frame.extra.get("tactile", {})
        reader, pads, coats = self.session.tactile, [], {}
        if reader is not None:
            images = self._images(tactile)
            pads = reader.for_view({name: pad | images.get(name, {}) for name, pad in tactile.items()})
            coats = reader.coats(tactile)
        return {
            "scene_name": self.session.scene.name,
            "input": self.replay.episode.name,
            "slow": self.speed,
            "forces": self._forces(frame),
            "pads": pads,
            "tape": frame.extra.get("tape", {}),
            "guide": frame.extra.get("guide", {}),
            "coat_depth": coats,
            "ghost": self._ghost(),
            "replay": self._about(frame),
        }

    def _ghost(self) -> np.ndarray | None:
        """The other episode; by inputs what was recorded."""
        if self.comparison is not None:
            return self.comparison.points_at(float(self.replay.time[self._row]))
        return self.replay.episode.positions(self._row) if self._inputs else None

    def _about(self, frame: Frame) -> dict[str, Any]:
        episode, now = self.replay.episode, float(self.replay.time[self._row])
        about = {
            "seconds": self.replay.duration, "now": now, "paused": self.paused, "row": self._row,
            "rows": len(self.replay) - 1, "name": episode.name, "path": episode.path, "label": episode.label,
            "instruction": episode.instruction, "by": "inputs" if self._inputs else "states",
            "events": self.replay.events,
            "kept": [float(self.replay.time[row]) for row in episode.kept],
            "can_run": self._make_engine is not None, "others": self._others, "back": self._back,
            "problem": self.problem, "filmed": self.filmed,
            "film": None if self.film is None else self.film.done,
        }  # fmt: skip
        if self.comparison is not None:
            other = self.comparison
            about["compare"] = {
                "name": other.name, "path": other.path, "now": other.now(now, frame.points), "done": other.done,
                "times": other.times, "distance": other.distance, "seconds": other.replay.duration,
            }  # fmt: skip
        if self.track is not None:
            about["known"] = float(self.replay.time[self.track.meter.known])
            about["meter"] = self.track.meter
            about["resolution"] = RESOLUTION
            about["notes"] = self.track.notes
            about["ended"] = self.track.ended
        return about

    def _images(self, tactile: dict[str, dict]) -> dict[str, dict[str, np.ndarray]]:
        """Images of each pad; of the rows between two recorded ones, the earlier ones."""
        row = self._row
        while tactile and not any(name in pad for pad in tactile.values() for name in IMAGES):
            row -= 1
            if row < max(self._row - IMAGE_ROWS, 1):
                return {}
            tactile = self.replay.frame(row).extra.get("tactile", {})
        return {pad: {n: values[n] for n in IMAGES if n in values} for pad, values in tactile.items()}

    def _forces(self, frame) -> dict[str, np.ndarray]:
        """Force on the first tool [N]; which tool was driven is not recorded."""
        tools = getattr(self.session.scene, "tools", ())
        force = getattr(frame.signals, "drive_force", None)
        if not tools or force is None:
            return {}
        driven = [name for name, body in self.session.model.bodies.items() if body.driven]
        return {tools[0].name: -np.asarray(force)[0, driven.index(tools[0].palm)]}
