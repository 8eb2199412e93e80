"""The real window around the scene without physics and sets of its episodes; started by test_episode_window.py."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path

import numpy as np

from app.loop import FrameLoop
from app.operator import Operator
from app.record import Episode, Recorder, RecorderSettings
from app.record.layout import scene_layout
from app.replay import StateReplay
from app.replay_player import Player
from app.session import Session
from app.settings import Settings
from app.thumbnail import session_painter
from app.view.window import Window
from app.wiring import Wiring
from devices.keyboard import Keyboard
from tests.app.fake_scene import DT, FakeEngine, FakeScene
from tests.app.record.fake_engine import frame_at

SETTINGS = RecorderSettings(min_free_bytes=0, keyframe_every=10)


def recorder_of(session: Session, folder: Path) -> Recorder:
    return Recorder(
        folder, session.scene.name, get_state=session.engine.get_state, settings=SETTINGS,
        layout=scene_layout(session.scene, session.model), picture=session_painter(session),
    )  # fmt: skip


def record_some(folder: Path, count: int) -> None:
    """Episodes of 24, 30, ... steps in which the palm goes up, each a little faster than the one before."""
    scene = FakeScene()
    for number in range(count):
        engine = FakeEngine(scene)
        recorder = recorder_of(Session("fake", (), "cpu", scene, engine), folder)
        recorder.start(engine.positions())
        for index in range(1, 25 + 6 * number):
            control = engine.control()
            control.body_transform[0, 0, 2, 3] += 1e-3 * (1 + number)
            report = engine.step(control)
            plain = frame_at(engine_stub(engine), index)
            after = {"report": report, "signals": engine.signals(), "points": engine.positions()}
            recorder.write(dataclasses.replace(plain, dt=DT, time_sim=index * DT, control=control, **after))
        recorder.close()


def engine_stub(engine):
    """What `frame_at` steps is not the engine of the scene; only its other fields are wanted."""
    from tests.app.record.fake_engine import FakeEngine as Plain

    return Plain(4)


def main(folder: Path) -> None:
    """Writes what happens, a line a frame of the loop or of the player, to folder/log.jsonl."""
    sets = Path(os.environ["TACKTILE_DATA_DIR"]) / "episodes"
    record_some(sets / "first", 3)
    record_some(sets / "second", 1)
    settings = Settings.load()
    settings.window_width, settings.window_height = 1280, 720
    settings.overlay_seen = True
    keyboard = Keyboard()
    keyboard.open()
    window = Window(settings, keyboard.feed, keyboard.keymap.keys)
    scene = FakeScene()
    engine = FakeEngine(scene)
    log = (folder / "log.jsonl").open("w", encoding="utf-8")
    session = Session("fake", (), "cpu", scene, engine)

    def note(frame, **more) -> None:
        shelf = loop._shelf.view if loop._shelf is not None else None
        line = {
            "index": frame.index, "mode": frame.mode, "problem": window.problem, "browser": window.state.browser,
            "rows": [[r.name, r.label, r.kept, r.picture is not None] for r in shelf.rows] if shelf else [],
            "undo": shelf.undo if shelf else "", "thrown": shelf.thrown if shelf else 0,
            "folder": str(loop.wiring.recorder.folder) if loop.wiring.recorder is not None else "", **more,
        }  # fmt: skip
        log.write(json.dumps(line) + "\n")
        log.flush()

    class Told(Player):
        def once(self) -> None:
            super().once()
            about = window.state.about("replay")
            meter = about.get("meter")
            note(
                self._drawn, row=about["row"], by=about["by"], filmed=about["filmed"], film=about["film"],
                apart=about["compare"]["now"] if "compare" in about else None,
                known=meter.known if meter else 0, first_bit=meter.first_bit if meter else None,
            )  # fmt: skip

    def replay(path: Path, loop) -> None:
        with Episode(path) as episode:
            others = tuple((p.stem, p) for p in sorted(path.parent.glob("*.h5")) if p != path)
            shown = dataclasses.replace(session, engine=FakeEngine(scene))
            Told(
                StateReplay(episode, session.model.points_per_world), window, shown, keyboard,
                make_engine=lambda: FakeEngine(scene), others=others, back="back to the episodes",
            ).run()  # fmt: skip

    make = lambda session, folder=sets / "first": recorder_of(session, folder)  # noqa: E731
    wiring = Wiring(sinks=[note], compute="CPU", recorder=make(session), make_recorder=make, replay=replay)
    loop = FrameLoop(session, Operator(keyboard, keyboard), window, wiring)
    loop.run()


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(Path(sys.argv[1]))
