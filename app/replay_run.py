"""Seeing an episode again: in the window by its states, or step by step by its inputs."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from app.cutting import take_topology
from app.headless import has_display
from app.progress import TerminalBar
from app.record import Episode, list_episodes
from app.recorded_scene import scene_of, versions_of
from app.replay import InputReplay, StateReplay
from app.replay_inputs import repeat
from app.replay_player import Player, for_view
from app.session import Session, choose_compute, load_session, quiet_warp
from app.settings import Settings, config_dir
from engine.types import Control

__all__ = ["Player", "for_view", "play", "replay_episode", "replay_in_loop"]


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

        sample = None

        def __init__(self, index: int, factor: float):
            self.index, self.realtime_factor = index, factor

    begin = time.perf_counter()

    def on_step(step) -> None:
        done = step.frame + 1
        bar.update(Seen(done, done * session.dt / max(time.perf_counter() - begin, 1e-9)))

    try:
        replay = InputReplay(
            episode, session.engine, lambda fields: Control(**fields), partial(repeat, session.engine),
            versions_of(episode),
        )  # fmt: skip
        result = replay.run(on_step=on_step)
    finally:
        bar.stop()
    console.print(escape(f"{episode.name}: {result.text}"), soft_wrap=True)
    return 0 if result.first_divergence is None else 1


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
        window.state.overlay = False
        play(episode, session, window, keyboard)
    finally:
        window.close()
    return 0


def play(episode: Episode, session: Session, view, keyboard, back: str = "") -> None:
    """An episode in a view that shows the session's scene, until it is closed. The session's engine follows the cuts.

    Raises ReplayError when it does not fit.
    """
    if len(episode.keyframe_rows) and take_topology(session.engine, episode.keyframe(0)):
        view.set_model(session.model, session.engine.positions())  # it was cut before the recording began
    replay = StateReplay(episode, session.model.points_per_world)
    others = [
        (info.name, info.path)
        for info in list_episodes(episode.path.parent)
        if info.sealed and info.scene_name == episode.scene_name and info.name != episode.name
    ]
    make = partial(_fresh_engine, session)
    Player(replay, view, session, keyboard, make_engine=make, others=tuple(others), back=back).run()


def _fresh_engine(session: Session):
    from engine import Engine

    return Engine(session.scene.model, session.scene.options)


def replay_in_loop(path: Path, loop, compute: str) -> None:
    """An episode in the window of a run (`Wiring.replay`): with the run's own scene when it is that of the episode, and
    an engine of its own, so that the run finds everything as it was.

    Raises what `replay_episode` raises.
    """
    running: Session = loop.session
    with Episode(path) as episode:
        same = episode.scene_name == running.scene.name and not hasattr(running.engine, "show")
        if same and versions_of(episode).get("overrides", []) == list(running.overrides):
            loop.view.progress("preparing the replay", -1.0)
            session = replace(running, engine=_fresh_engine(running))
            loop.view.ready()
        else:
            session = load_session(*scene_of(episode, None), compute, loop.view.progress)
            loop.view.set_scene(session.scene, session.engine.positions())
        play(episode, session, loop.view, loop.operator.keyboard, "back to the episodes")
