"""The device screen, worked with the mouse in the real window while a device pushes."""

from __future__ import annotations

import json
import socket
import threading
import time

import numpy as np
import pytest

from devices.wire import message
from tests.app.desk import ROOT, Desk, needs_desk

pytestmark = needs_desk


class Pusher:
    """A device that sends what it is pushed to fifty times a second."""

    def __init__(self, port: int):
        self._link = socket.create_connection(("127.0.0.1", port), 5)
        self._link.sendall(message(tacktile=1, name="test stick"))
        self.twist, self.buttons, self._taps = [0.0] * 6, [], []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def push(self, **axes) -> None:
        names = ("x", "y", "z", "rx", "ry", "rz")
        self.twist = [float(axes.get(name, 0.0)) for name in names]

    def tap(self, verb: str) -> None:
        self._taps.append(verb)

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            taps, self._taps = self._taps, []
            self._link.sendall(message(twist=self.twist, buttons=self.buttons, pressed=taps))

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._link.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("devices")
    desk = Desk(folder, [str(ROOT / "tests/app/device_window_app.py"), str(folder)])
    yield desk
    desk.end()


@pytest.fixture(scope="module")
def stick(desk):
    stick = Pusher(int((desk.folder / "port").read_text()))
    desk.wait(lambda f: f["mode"] == "DRIVING", "the stick driving")
    yield stick
    stick.close()


def click(desk, name: str, true, what: str) -> dict:
    """Clicks until it has an effect: at one picture a second a click may fall between two of them."""
    for _ in range(3):
        desk.click(name)
        end = time.monotonic() + 10.0
        while time.monotonic() < end:
            if true(desk.last()):
                return desk.last()
            time.sleep(0.05)
    pytest.fail(f"{what} did not come; last frame: {desk.last()}")


def palm(frame) -> np.ndarray:
    return np.array(frame["palm"])


def test_the_screen_opens_from_the_status_bar_and_lists_what_is_there(desk, stick):
    click(desk, "status.devices", lambda f: f["screen"], "the device screen")
    for name in ("devices", "devices.use_spacemouse", "devices.use_network:0", "devices.test", "devices.seat_right"):
        desk.wait_drawn(name)
    assert not desk.last()["problem"]


def test_bars_move_with_the_push(desk, stick):
    """The pixels of the first bar: right of its middle blue when pushed, grey at rest."""

    def blue() -> int:
        x0, y0, x1, y1 = map(round, desk.wait_drawn("devices.bar_0"))
        right = desk.picture("bar.png")[(y0 + y1) // 2, (x0 + x1) // 2 + 4 : x1].astype(int)
        return int(np.sum(right[:, 2] - right[:, 0] > 60))

    assert blue() == 0
    stick.push(x=0.8)
    desk.wait(lambda f: f["twist"][0] == 0.8, "the push")
    end = time.monotonic() + 20.0
    while blue() <= 40:
        assert time.monotonic() < end, "the bar did not move"
        time.sleep(0.2)
    stick.push()
    desk.wait(lambda f: f["twist"][0] == 0.0, "rest")


def test_a_test_moves_no_robot(desk, stick):
    click(desk, "devices.test", lambda f: f["testing"], "the test")
    start = palm(desk.last())
    stick.push(x=1.0, z=1.0)
    stick.tap("record")
    desk.wait(lambda f: f["tested"] == ["record"] and f["twist"][0] == 1.0, "the tested press")
    time.sleep(0.5)
    np.testing.assert_array_equal(palm(desk.last()), start)
    stick.push()
    desk.wait(lambda f: f["twist"][0] == 0.0, "rest")
    click(desk, "devices.test", lambda f: not f["testing"] and not f["waiting"], "the end of the test")
    stick.push(z=1.0)
    desk.wait(lambda f: palm(f)[2] > start[2] + 0.01, "the tool going up")
    stick.push()


def test_turn_round_and_swap_change_what_an_axis_does(desk, stick):
    click(desk, "devices.invert_0", lambda f: f["axes"][0] == "-x", "x turned round")
    desk.wait(lambda f: not f["waiting"], "rest")
    before = palm(desk.last())
    stick.push(x=1.0)
    moved = desk.wait(lambda f: np.abs(palm(f) - before).max() > 0.005, "the tool moving")
    assert palm(moved)[0] < before[0] - 0.004
    stick.push()
    click(desk, "devices.swap_1", lambda f: f["axes"][1:3] == ["z", "y"], "y and z exchanged")
    desk.wait(lambda f: not f["waiting"] and f["twist"][0] == 0.0, "rest")
    before = palm(desk.last())
    stick.push(y=1.0)
    desk.wait(lambda f: palm(f)[2] > before[2] + 0.005, "y lifting the tool")
    stick.push()


def test_steppers_and_clutch(desk, stick):
    was = desk.last()["deadband"]
    click(desk, "devices.deadband+", lambda f: f["deadband"] == pytest.approx(was + 0.05), "a wider deadband")
    click(desk, "devices.clutch_toggle", lambda f: f["clutch"] == "toggle", "another clutch")
    click(desk, "devices.clutch_hold_out", lambda f: f["clutch"] == "hold_out", "the first clutch again")


def test_calibration_finds_centre_and_span(desk, stick):
    stick.push(x=0.1, y=-0.05)
    desk.wait(lambda f: f["twist"][0] == 0.1, "a stick that rests off its centre")
    start = palm(desk.last())
    click(desk, "devices.calibrate", lambda f: f["calibrating"] == "reach", "its rest being found")
    for x in (0.7, -0.5):
        stick.push(x=x, y=-0.05)
        desk.wait(lambda f, x=x: f["twist"][0] == x, "the ends")
        time.sleep(0.2)
    stick.push(x=0.1, y=-0.05)
    desk.wait(lambda f: f["twist"][0] == 0.1, "rest")
    done = click(desk, "devices.calibrated", lambda f: f["centre"][0] != 0.0, "the calibration")
    assert done["centre"][:2] == pytest.approx([0.1, -0.05]) and done["span"][:2] == pytest.approx([0.6, 1.0])
    time.sleep(0.5)
    np.testing.assert_allclose(palm(desk.last()), start, atol=1e-9)  # it rests where it rests


def test_another_device_takes_a_role(desk, stick):
    click(desk, "devices.role_pedal", lambda f: f["role"] == "pedal", "the role")
    click(desk, "devices.use_keyboard", lambda f: f["seats"].get("pedal") == "keyboard", "a pedal")
    click(desk, "devices.free_pedal", lambda f: "pedal" not in f["seats"], "no pedal")


def test_it_looks_right_and_closes(desk, stick):
    stick.push(x=-0.4, z=0.7, rz=0.5)
    stick.buttons = ["fine"]
    desk.wait(lambda f: f["twist"][0] == -0.4, "a push")
    time.sleep(0.3)
    desk.picture("devices.png")
    click(desk, "devices.close", lambda f: not f["screen"], "the view again")
    assert not desk.last()["problem"] and "Traceback" not in desk.said()


def test_what_was_changed_is_remembered_by_device(desk, stick):
    desk.press("Escape")
    stick.close()
    assert desk.close_politely() == 0, desk.said()
    kept = json.loads((desk.folder / "profile.json").read_text())
    own = next(value for key, value in kept.items() if key.startswith("network"))
    assert own["mapping"]["axes"][:3] == ["-x", "z", "y"] and own["mapping"]["centre"][0] == pytest.approx(0.1)
