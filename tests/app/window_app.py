"""The real window around the scene without physics; started by test_view_window.py, also by hand for a look."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.session import Session
from app.settings import Settings
from app.view.window import Window
from devices.keyboard import Keyboard
from tests.app.fake_scene import FakeEngine, FakeScene


def main(folder: Path) -> None:
    """Writes what happens, a line a frame, to folder/log.jsonl until the window is closed."""
    settings = Settings.load()
    settings.window_width, settings.window_height = 1280, 720
    keyboard = Keyboard()
    keyboard.open()
    window = Window(settings, keyboard.feed, keyboard.keymap.keys)
    window.progress("compiling kernels 3 of 27: contact.narrow", 0.4)
    scene = FakeScene()
    engine = FakeEngine(scene)
    window.state.scenes = [("fake_strip", "fake", "without physics")]
    log = (folder / "log.jsonl").open("w", encoding="utf-8")

    def note(frame) -> None:
        line = {
            "index": frame.index,
            "mode": frame.mode,
            "palm": engine.body_transform("palm")[:3, 3].tolist(),
            "down": frame.sample.raw["down"],
            "events": frame.events,
            "overlay": window.state.overlay,
            "rects": window.state.rects,
            "scale": window.state.settings.color_mode,
            "problem": window.problem,
        }
        log.write(json.dumps(line) + "\n")
        log.flush()

    def load(path, progress):
        progress("loading", 0.5)
        other = FakeScene("another")
        return Session(path, (), "cpu", other, FakeEngine(other))

    wiring = Wiring(sinks=[note], compute="CPU", load=load)
    FrameLoop(Session("fake", (), "cpu", scene, engine), Operator(keyboard, keyboard), window, wiring).run()
    (folder / "closed").write_text("in good order")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
