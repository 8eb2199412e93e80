"""What the device screen is told and may ask for, without a window: axes, calibration, requests."""

from __future__ import annotations

import time

import numpy as np
import pytest

from app.device_calibration import Calibration
from app.device_list import DeviceList
from app.device_report import inverted, output_of, seat_report, swapped
from app.frame import Request
from app.seats import Seat
from devices.contract import Health, Status
from devices.mapping_settings import AXIS_NAMES, MappingSettings
from devices.registry import DeviceEntry
from tests.app.fakes import make_loop, texts
from tests.app.test_seats import Strings


def test_turning_round_and_swapping():
    axes = AXIS_NAMES
    assert inverted(axes, 1) == ("x", "-y", "z", "rx", "ry", "rz") and inverted(inverted(axes, 1), 1) == axes
    assert swapped(axes, 0) == ("y", "x", "z", "rx", "ry", "rz")
    assert swapped(axes, 2) == ("z", "y", "x", "rx", "ry", "rz")
    assert swapped(axes, 5) == ("x", "y", "z", "rz", "ry", "rx")
    turned = swapped(inverted(axes, 0), 0)
    assert turned[:2] == ("y", "-x") and output_of(turned, 0) == (1, -1)
    assert output_of(("y",) * 6, 0) is None and swapped(("y",) * 6, 0) == ("y",) * 6
    for index in range(6):  # whatever is clicked, the settings stay legal and no axis is lost
        axes = swapped(inverted(axes, index), (index + 1) % 6)
        MappingSettings(axes=axes)
    assert sorted(axis.lstrip("-") for axis in axes) == sorted(AXIS_NAMES)


def test_report_says_what_each_axis_does_now():
    seat = Seat("right", Strings((0.5, 0, 0, 0, 0, -1.0)))
    seat.change(axes=("-y", "x", "z", "rx", "ry", "rz"), deadband=0.1, expo=0.0)
    seat.poll(1.0)
    report = seat_report(seat, 1.02)
    x, y, rz = report["axes"][0], report["axes"][1], report["axes"][5]
    assert (x["does"], x["back"]) == ("world +y", "world -y") and (y["does"], y["back"]) == ("world -x", "world +x")
    assert y["inverted"] and not x["inverted"] and rz["does"] == "about world +z"
    assert x["value"] == 0.5 and x["push"] == pytest.approx(0.4 / 0.9) and rz["push"] == -1.0
    assert report["age"] == pytest.approx(0.02) and report["health"] == "OK" and report["calibration"] is None
    seat.mapping = seat.mapping.__class__(**{**vars(seat.mapping), "frame": "camera", "axis_lock": "translation"})
    camera = seat_report(seat, 1.0)["axes"]
    assert camera[0]["does"] == "away" and camera[2]["does"] == "up" and camera[5]["does"] == "locked"


def feed(calibration: Calibration, values, start: float = 0.0) -> Calibration:
    for k, value in enumerate(values):
        calibration = calibration.feed(np.array([value, *[0.0] * 5]), start + 0.05 * k)
    return calibration


def test_calibration_finds_rest_and_ends():
    rested = feed(Calibration(), [0.1, 0.12, 0.08] * 8)
    assert rested.phase == "reach" and rested.centre[0] == pytest.approx(0.1, abs=0.01)
    swept = feed(rested, [0.1, 0.8, 0.1, -0.5, 0.1], 2.0)
    centre, span = swept.result()
    assert centre[0] == pytest.approx(0.1, abs=0.01) and span[0] == pytest.approx(0.6, abs=0.01)
    assert span[1:] == (1.0,) * 5 and swept.progress == pytest.approx(1 / 6)
    MappingSettings(centre=centre, span=span)
    assert feed(rested, [0.8], 2.0).result()[1][0] == 1.0, "one end tells nothing of the other"
    assert feed(Calibration(), [0.0] * 5).result() is None


def test_calibration_refuses_a_hand_on_the_stick():
    moved = feed(Calibration(), [0.0, 0.2, 0.0] * 8)
    assert moved.phase == "failed" and "it moved" in moved.text and moved.result() is None
    pushed = feed(Calibration(), [0.7] * 30)
    assert pushed.phase == "failed" and "an axis is pushed" in pushed.text
    assert feed(pushed, [0.0] * 50) is pushed


def test_requests_of_the_screen():
    device = Strings((0.0,) * 6)
    loop = make_loop(device)
    seat = loop.operator.seats["right"]

    def ask(verb, value):
        loop.view.wishes = [Request(verb, value)]
        loop.frame_once()

    ask("device_axis", {"axis": 0, "what": "invert"})
    assert seat.settings.axes[0] == "-x"
    ask("device_setting", {"name": "deadband", "value": 0.2})
    assert seat.settings.deadband == 0.2
    for verb, value, said in (
        ("device_setting", {"name": "stale_after", "value": 9}, "'stale_after'; legal: axes, deadband"),
        ("device_setting", {"name": "deadband", "value": 9}, "MappingSettings.deadband = 9; legal: in [0, 1)"),
        ("device_test", {"role": "left"}, "nobody sits at 'left'; taken: right"),
        ("seat_input", {"role": "foot", "input": "none"}, "role 'foot'; legal: right, left, camera, pedal"),
    ):
        ask(verb, value)
        assert any(said in text for text in texts(loop)), said
    ask("device_reset", {"role": "right"})
    assert seat.settings == seat.advised
    ask("device_test", {})
    assert seat.testing and any("the robot does not move" in text for text in texts(loop))
    ask("device_test", {"on": False})
    ask("device_calibrate", {"step": "start"})
    assert seat.calibration is not None and seat.quiet
    ask("device_calibrate", {"step": "cancel"})
    assert seat.calibration is None and seat.settings.centre == (0.0,) * 6


def test_devices_come_and_go_in_roles():
    loop = make_loop(Strings())
    opened = []

    def open_device(spec):
        opened.append(Strings(name=spec))
        return opened[-1]

    loop.wiring.open_device = open_device
    loop.view.wishes = [Request("seat_input", {"role": "pedal", "input": "gamepad"})]
    loop.frame_once()
    assert loop.operator.seats["pedal"].device is opened[0]
    assert [s["role"] for s in loop.device_info(1.0)["seats"]] == ["right", "pedal"]
    loop.view.wishes = [Request("seat_input", {"role": "pedal", "input": None})]
    loop.frame_once()
    assert "pedal" not in loop.operator.seats and opened[0].closed
    loop.view.wishes = [Request("seat_input", {"role": "right", "input": "gamepad"})]
    loop.frame_once()
    assert loop.operator.device is opened[1]
    loop.view.wishes = [Request("seat_input", {"role": "left", "input": "xr"})]
    loop.frame_once()
    loop.close()
    assert opened[1].closed and opened[2].closed


def test_the_list_is_made_in_a_thread_and_survives_a_driver_that_fails():
    entries = [DeviceEntry("spacemouse", Status(Health.NOT_FOUND, ""), "a mouse")]
    listed = DeviceList(lambda: entries)
    listed.refresh()
    listed._thread.join(5.0)
    assert listed.entries == [("spacemouse", "NOT_FOUND", "a mouse")] and not listed.searching

    def fail():
        raise OSError("bus")

    broken = DeviceList(fail)
    broken.refresh()
    broken._thread.join(5.0)
    assert "looking for devices failed: bus" in broken.entries[0][2] and not broken.searching
    assert time.monotonic() > 0
