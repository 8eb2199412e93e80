"""The real window around the scene without physics, driven by a socket; started by test_device_window.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from app.device_list import DeviceList
from app.loop import FrameLoop
from app.operator import Operator
from app.session import Session
from app.settings import Settings
from app.view.window import Window
from app.wiring import Wiring
from devices.contract import Health, Status
from devices.keyboard import Keyboard
from devices.network import NetworkDevice
from devices.registry import DeviceEntry, open_device
from tests.app.fake_scene import FakeEngine, FakeScene

FOUND = [
    DeviceEntry("keyboard", Status(Health.OK), "keys of the window"),
    DeviceEntry("spacemouse", Status(Health.NOT_FOUND, "no SpaceMouse is plugged in. Plug it in."), "a SpaceMouse"),
    DeviceEntry("gamepad", Status(Health.NO_LIBRARY, "PySDL2 is missing. Install it."), "a gamepad"),
    DeviceEntry("network:0", Status(Health.OK), "a tracker of your own"),
]


def main(folder: Path) -> None:
    """Writes what happens, a line a frame, to folder/log.jsonl until the window is closed."""
    settings = Settings.load()
    settings.window_width, settings.window_height = 1280, 720
    settings.overlay_seen = True
    keyboard = Keyboard()
    keyboard.open()
    device = NetworkDevice("0")
    device.open()
    (folder / "port").write_text(str(device.port))
    window = Window(settings, keyboard.feed, keyboard.keymap.keys)
    scene = FakeScene()
    engine = FakeEngine(scene)
    log = (folder / "log.jsonl").open("w", encoding="utf-8")
    operator = Operator(keyboard, keyboard, settings.profile)

    def note(frame) -> None:
        seat = loop.operator.seats["right"]
        line = {
            "index": frame.index, "mode": frame.mode, "palm": engine.body_transform("palm")[:3, 3].tolist(),
            "events": frame.events, "problem": window.problem, "screen": window.state.devices,
            "axes": list(seat.settings.axes), "centre": list(seat.settings.centre), "span": list(seat.settings.span),
            "deadband": seat.settings.deadband, "clutch": seat.settings.clutch_mode, "testing": seat.testing,
            "calibrating": seat.calibration.phase if seat.calibration else "", "twist": seat.sample.twist.tolist(),
            "waiting": seat.mapping.reason, "seats": {r: s.device.name for r, s in loop.operator.seats.items()},
            "tested": list(seat.tested), "role": window.state.text.get("devices.new_role", ""),
        }  # fmt: skip
        log.write(json.dumps(line) + "\n")
        log.flush()
        if frame.index == 5 and operator.device is keyboard:
            operator.use(device)

    wiring = Wiring(sinks=[note], compute="CPU", open_device=open_device)
    loop = FrameLoop(Session("fake", (), "cpu", scene, engine), operator, window, wiring)
    loop._device_list = DeviceList(lambda: FOUND)
    loop.run()
    (folder / "profile.json").write_text(json.dumps(operator.profile()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
