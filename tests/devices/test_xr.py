"""VR controllers and hands: through a real OpenXR runtime (Monado) where it runs; what is said where it does not."""

from __future__ import annotations

import builtins
import json
import subprocess
import time
import types
from pathlib import Path

import numpy as np
import pytest

from devices import hand_geometry, xr, xr_session
from devices.contract import Feedback, Health, Kind
from devices.registry import open_device
from devices.xr import XrController, XrHand, XrLink
from devices.xr_bindings import ACTIONS, PROFILES, binding_path
from devices.xr_session import HandReading, XrProblem, z_up

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ["sh", str(ROOT / ".ci" / "monado.sh")]


# ---- Monado


@pytest.fixture(scope="module")
def monado() -> dict:
    """What every scenario reports; one service for all of them."""
    check = subprocess.run([*SCRIPT, "check"], capture_output=True, text=True, timeout=60)
    if check.returncode != 0:
        pytest.skip(check.stdout.strip() or "Monado cannot run here")
    command = [*SCRIPT, "run", "python3", "-m", "tests.devices.xr_scenarios", "all"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return json.loads(lines[0][7:])


def test_grip_poses_values_and_buttons(monado):
    got = monado["controllers"]
    assert got["kind"] == "pose" and got["profile"] == "/interaction_profiles/valve/index_controller"
    assert "Monado" in got["runtime"] and got["probe"] == "OK" and got["confidence"] == 1.0
    # moved by (0.1, 0.05, -0.03) in OpenXR's axes: right, up, towards where it looks
    np.testing.assert_allclose(got["motion"], [0.1, 0.03, 0.05], atol=1e-3)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(got["quaternion"], [0, 0, half, half], atol=1e-3)  # about up
    np.testing.assert_allclose(got["upright"], [0, 0, 0, 1], atol=1e-3)
    assert got["trigger"] == 0.25 and got["left"] == ["clutch"]
    assert got["pressed"] == ["press", "checkpoint"] and got["released"] == ["press"]


def test_haptics_are_taken(monado):
    assert monado["controllers"]["pulses"] == [{"right": 0.5}, {"right": 0.8}]
    assert monado["controllers"]["status"] == "OK" and "closed" in monado["controllers"]["closed"]


def test_no_tap_is_lost(monado):
    """Trap 22."""
    assert monado["taps"] == {"pressed": 100, "released": 100}


def test_loss_of_tracking_is_no_jump(monado):
    got = monado["lost_tracking"]
    assert not any(got["still"]) and 0.045 < got["followed"][0] < 0.0501
    assert got["away"] is False and got["health"] == "STALE" and "right controller is off" in got["message"]
    assert got["jump"] == [0.0, 0.0, 0.0]


def test_hands_of_26_joints(monado):
    got = monado["hands"]
    assert got["is_joints"] and got["shape"] == [26, 3] and got["joints"] == "openxr26"
    assert got["valid"] == [True, True] and got["problem"] == ["", ""]
    flat, bent = got["spans"]
    assert all(b < 0.7 * f for f, b in zip(flat[:4], bent[:4], strict=True)), "curled tips come to the wrist"
    np.testing.assert_allclose(*got["palm"], rtol=1e-6)
    # the test of which hand it is, against hands that Monado's makers bent: right positive, left negative
    assert abs(got["bend"][0]) < 0.05 and got["bend"][1] > 0.3 and monado["left_hand"]["bend"] < -0.3
    assert monado["left_hand"]["valid"] and "out of sight" in got["gone"] and got["status"] == "OK"


def test_a_runtime_that_dies_is_a_loss_and_one_without_service_says_so(monado):
    got = monado["service_dies"]
    assert got["health"] == "LOST" and "went away" in got["message"] and got["valid"] is False
    assert got["probe"][0] == "NOT_FOUND"
    for text in (got["probe"][1], got["opened"]):
        assert "installed but does not answer" in text and "Start it: monado-service" in text


# ---- without a runtime


class Session:
    """An OpenXR session that the test holds in its hands."""

    runtime, has_hands = "a runtime", True
    problem: XrProblem | None = None

    def __init__(self):
        self.readings = {side: (HandReading(), HandReading()) for side in xr_session.SIDES}
        self.pulses, self.closed = [], False

    def read(self):
        if self.problem:
            raise self.problem
        return self.readings

    def vibrate(self, side, amplitude, seconds):
        self.pulses.append((side, amplitude))

    def close(self):
        self.closed = True


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def missing_module(monkeypatch, name):
    real = builtins.__import__

    def refuse(wanted, *args, **kwargs):
        if wanted == name:
            raise ImportError(f"No module named {name!r}")
        return real(wanted, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


def test_package_missing(monkeypatch):
    missing_module(monkeypatch, "xr")
    status = xr.probe()
    assert status.health is Health.NO_LIBRARY and "pip install 'tacktile[xr]'" in status.message


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        ("RuntimeUnavailableError", "runtime", "no OpenXR runtime is active.*apt-get install.*XR_RUNTIME_JSON"),
        ("RuntimeFailureError", "service", "does not answer.*Start it: monado-service"),
        ("FormFactorUnavailableError", "headset", "sees no headset. Switch it on"),
        ("LimitReachedError", "service", r"gave no session \(LimitReachedError\)"),
    ],
)
def test_what_stands_in_the_way_of_a_session(monkeypatch, error, kind, text):
    def fail():
        raise type(error, (Exception,), {})()

    module = types.SimpleNamespace(enumerate_instance_extension_properties=fail)
    monkeypatch.setattr(xr_session, "_load", lambda: module)
    with pytest.raises(XrProblem, match=text) as caught:
        xr_session.XrSession()
    assert caught.value.kind == kind


def test_a_runtime_that_needs_a_picture(monkeypatch):
    module = types.SimpleNamespace(
        enumerate_instance_extension_properties=list, MND_HEADLESS_EXTENSION_NAME="XR_MND_headless"
    )
    monkeypatch.setattr(xr_session, "_load", lambda: module)
    with pytest.raises(XrProblem, match="cannot run without a picture"):
        xr_session.XrSession()


def test_a_device_waits_for_its_runtime_and_finds_it_again(monkeypatch):
    monkeypatch.setattr(xr, "RETRY", 0.02)
    sessions = []

    def make():
        if not ready:
            raise XrProblem("service", "nobody serves")
        sessions.append(Session())
        return sessions[-1]

    ready = False
    link = XrLink(make)
    device = XrController("right", link=link)
    assert device.open().health is Health.NOT_FOUND and device.status().message == "nobody serves"
    ready = True
    until(lambda: sessions)
    until(lambda: device.status().health is Health.STALE)
    assert "right controller is off or asleep" in device.status().message
    pose = np.array([0, 0, 0, 0, 0, 0, 1.0])
    sessions[0].readings["right"] = (
        HandReading(True, True, True, pose, {"trigger": 0.5, "squeeze": 0.9}, frozenset({"A"})), HandReading()
    )  # fmt: skip
    until(lambda: device.poll(0.0).valid)
    sample = device.poll(time.monotonic())
    assert sample.kind is Kind.POSE and sample.gripper == 0.5 and sample.buttons == {"clutch", "press"}
    device.feedback(Feedback(force=5.0))
    until(lambda: sessions[0].pulses == [("right", 0.25)])
    sessions[0].problem, ready = XrProblem("lost", "it went away"), False
    until(lambda: device.status().health is Health.LOST)
    sample = device.poll(time.monotonic())
    assert not sample.valid and set(sample.released) == {"clutch", "press"} and sessions[0].closed
    ready = True
    until(lambda: len(sessions) == 2)
    other = XrHand("left", link=link)
    other.open()
    device.close()
    assert not sessions[1].closed, "the other device still needs it"
    other.close()
    until(lambda: sessions[1].closed)


def test_squeeze_has_hysteresis_and_guessed_places_count_less():
    device = XrController("left", link=XrLink(Session))
    held = []
    for value in (0.5, 0.65, 0.5, 0.35, 0.5):
        device.take(HandReading(True, True, False, np.zeros(7), {"squeeze": value}), HandReading(), 1.0)
        sample = device.poll(1.0)
        held.append("clutch" in sample.buttons)
    assert held == [False, True, True, False, False] and sample.confidence == 0.5


def test_z_up_is_a_rotation_of_the_axes():
    vector = types.SimpleNamespace
    pose = z_up(vector(x=1, y=2, z=3), vector(x=0.1, y=0.2, z=0.3, w=0.9))
    np.testing.assert_allclose(pose, [1, -3, 2, 0.1, -0.3, 0.2, 0.9])


def test_every_controller_can_drive():
    for profile, bindings in PROFILES.items():
        assert profile.startswith("/interaction_profiles/") and set(bindings) <= set(ACTIONS)
        for action in ("grip", "trigger", "haptic"):
            assert binding_path(bindings, action, "left").startswith("/user/hand/left/")
    touch = PROFILES["/interaction_profiles/oculus/touch_controller"]
    assert binding_path(touch, "A", "left").endswith("/x/click") and binding_path(touch, "MENU", "right") == ""


def test_sides():
    with pytest.raises(ValueError, match="xr:up; legal: xr:left, xr:right"):
        open_device("xr:up")
    assert hand_geometry.FROM_OPENXR[0] == 1 and len(hand_geometry.FROM_OPENXR) == 21
