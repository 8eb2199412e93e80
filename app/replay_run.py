"""Seeing an episode again: in the window by its states, or step by step by its inputs."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from app.cutting import cut_of, take_topology
from app.frame import Frame, Request
from app.headless import has_display
from app.progress import TerminalBar
from app.record import Episode
from app.recorded_scene import scene_of, versions_of
from app.replay import InputReplay, StateReplay
from app.session import Session, choose_compute, load_session, quiet_warp
from app.settings import Settings, config_dir
from app.tactile import IMAGES
from app.tape import edit_adhesive, edit_friction
from engine.types import Control, StepReport

TICK = 1.0 / 60.0  # [s] between looks at the window
IMAGE_ROWS = 30  # rows to look back for a pad's image: the recorder keeps one of every few


def replay_episode(path: Path, by_inputs: bool, scene: str | None, compute: str | None, console: Console) -> int:
    """Replays; returns the exit status: 0, or 1 when a replay by inputs differs from the recording.

    Raises:
        FileNotFoundError, app.record.EpisodeError, app.replay.ReplayError: it cannot be opened or does not fit.
        ValueError: no such scene or processor.
    """
    quiet_warp()
    with Episode(path) as episode:
        where, sentence = choose_compute(compute or str(versions_of(episode).get("compute", "")) or None)
        if by_inputs or not has_display():
            console.print(escape(sentence), soft_wrap=True)
            if not by_inputs:
                console.print("no display was found: replaying by inputs, without a window")
            session = load_session(*scene_of(episode, scene), where, TerminalBar(console, None).loading)
            return _by_inputs(episode, session, console)
        return _by_states(episode, scene_of(episode, scene), where, console)


def _by_inputs(episode: Episode, session: Session, console: Console) -> int:
    bar = TerminalBar(console, episode.num_frames)

    class Seen:
        """What the bar wants of a frame."""

        def __init__(self, index: int, factor: float):
            self.index, self.realtime_factor = index, factor

    begin = time.perf_counter()

    def on_step(step) -> None:
        done = step.frame + 1
        bar.update(Seen(done, done * session.dt / max(time.perf_counter() - begin, 1e-9)))

    try:
        replay = InputReplay(
            episode, session.engine, lambda fields: Control(**fields), partial(_repeat, session.engine),
            versions_of(episode),
        )  # fmt: skip
        result = replay.run(on_step=on_step)
    finally:
        bar.stop()
    console.print(escape(f"{episode.name}: {result.text}"), soft_wrap=True)
    return 0 if result.first_divergence is None else 1


def _repeat(engine, requests: list[tuple[str, Any]]) -> None:
    """What the operator changed in the physics itself."""
    for verb, value in requests:
        if verb == "set_adhesion":
            with suppress(KeyError, ValueError):  # refused now as it was then
                edit_adhesive(engine, value)
        elif verb == "set_friction":
            with suppress(KeyError, ValueError):
                edit_friction(engine, value)
        elif verb == "cut":
            with suppress(KeyError, ValueError):
                engine.apply([cut_of(value)])


def _by_states(episode: Episode, scene: tuple[str, list[str]], compute: str, console: Console) -> int:
    from app.view.window import Window
    from devices.keyboard import Keyboard
    from devices.keymap import load_keymap

    user_map = config_dir() / "keymap.yaml"
    keyboard = Keyboard(load_keymap(user_map if user_map.is_file() else None))
    keyboard.open()
    window = Window(Settings.load(), keyboard.feed, keyboard.keymap.keys)
    try:
        session = load_session(*scene, compute, window.progress)
        window.set_scene(session.scene, session.engine.positions())
        if len(episode.keyframe_rows) and take_topology(session.engine, episode.keyframe(0)):
            window.set_model(session.model, session.engine.positions())  # it was cut before the recording began
        replay = StateReplay(episode, session.model.points_per_world)
        window.state.overlay = False
        Player(replay, window, session, keyboard).run()
    finally:
        window.close()
    return 0


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
    """Plays a StateReplay in a view: pause, single rows, slow motion, scrubbing.

    Args:
        replay: frames by row. view: as for `app.loop.FrameLoop`. session: its pads and scene name are shown.
        keyboard: its keys of pause, step, slow, reset and help act; None: the window's buttons alone.
    """

    def __init__(
        self, replay: StateReplay, view, session: Session, keyboard=None, clock=time.monotonic, sleep=time.sleep
    ):
        self.replay, self.view, self.session, self._keyboard = replay, view, session, keyboard
        self.seconds = 0.0
        self.paused = False
        self.speed = 1.0
        self._row = -1
        self._exact: int | None = 0  # number of the exact state whose meshes are shown
        self._clock, self._sleep = clock, sleep

    def run(self) -> None:
        """Until the view closes."""
        last = self._clock()
        while not self.view.closed:
            now = self._clock()
            if not self.paused:
                self.seconds = min(self.seconds + self.speed * (now - last), self.replay.duration)
            last = now
            self.once()
            self._sleep(max(0.0, TICK - (self._clock() - now)))

    def once(self) -> None:
        """Wishes, then the row of the moment when it is another one."""
        pressed = self._keyboard.poll(self._clock()).pressed if self._keyboard is not None else ()
        for wish in (*self.view.poll(), *map(Request, pressed)):
            self._carry_out(wish)
        row = self.replay.row_at(self.seconds)
        if row != self._row:
            self._row = row
            self._follow_model(row)
            frame = for_view(self.replay.frame(row))
            self.view.draw(frame, self.info(frame))
        self.view.tick()

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

    def _carry_out(self, wish: Request) -> None:
        if wish.verb == "pause":
            self.paused = not self.paused if wish.value is None else bool(wish.value)
        elif wish.verb == "seek":
            self.seconds = min(max(float(wish.value), 0.0), self.replay.duration)
        elif wish.verb == "step":
            self.paused = True
            row = min(self.replay.row_at(self.seconds) + 1, len(self.replay) - 1)
            self.seconds = float(self.replay.time[row])
        elif wish.verb == "slow":
            self.speed = 1.0 if self.speed < 1.0 else 0.25
        elif wish.verb == "reset":
            self.seconds = 0.0
        elif wish.verb == "help":
            self.view.toggle_help()

    def info(self, frame) -> dict[str, Any]:
        """See `app.info.loop_info`; here with `replay`: seconds (length) and now."""
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
            "coat_depth": coats,
            "replay": {
                "seconds": self.replay.duration,
                "now": float(self.replay.time[self._row]),
                "paused": self.paused,
            },
        }

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
