"""The real window around the scene without physics; started by test_view_window.py, also by hand for a look."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.session import Session
from app.settings import Settings
from app.tactile import for_view
from app.view.window import Window
from devices.keyboard import Keyboard
from tests.app.fake_scene import FakeEngine, FakeScene


class FakeReader:
    """A pad with a dent that comes and goes, dots and a colour image."""

    def __init__(self):
        rows, columns = np.mgrid[:60, :80]
        self.bump = np.exp(-((rows - 30.0) ** 2 + (columns - 40.0) ** 2) / 200.0)
        self.rest = np.stack(np.meshgrid(np.linspace(8, 72, 9), np.linspace(6, 54, 7)), axis=-1).reshape(-1, 2)
        self.frame = 0

    def read(self) -> dict:
        self.frame += 1
        deep = 0.5e-3 + 0.2e-3 * np.sin(0.2 * self.frame)
        away = self.rest - (40.0, 30.0)
        pad = {
            "indentation": deep * self.bump, "rgb": np.uint8(200 * self.bump[..., None] * (1.0, 0.6, 0.3)),
            "marker_pixel": self.rest + 4e3 * deep * away / 40.0, "wrench": np.array([0.3, -0.1, -2e3 * deep, 0, 0, 0]),
            "force": np.array([0.0, 0.0, 2e3 * deep]),
        }  # fmt: skip
        return {"left": pad}

    def for_view(self, tactile: dict) -> list:
        return for_view(tactile, {"left": self.rest}, {"left": (7, 9)})

    def coats(self, tactile: dict) -> dict:
        return {}


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
    session = Session("fake", (), "cpu", scene, engine, tactile=FakeReader())
    FrameLoop(session, Operator(keyboard, keyboard), window, wiring).run()
    (folder / "closed").write_text("in good order")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
