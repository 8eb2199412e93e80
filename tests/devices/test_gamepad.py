"""A gamepad through SDL's own virtual controllers: no display, no kernel module, the real controller layer."""

from __future__ import annotations

import builtins
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from devices import gamepad, sdl_pads
from devices.contract import Health

ROOT = Path(__file__).resolve().parents[2]


def scenario(name: str) -> dict:
    pytest.importorskip("sdl2", reason="PySDL2 is not installed: pip install 'tacktile[gamepad]'", exc_type=ImportError)
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    command = [sys.executable, "-m", "tests.devices.gamepad_scenarios", name]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_sticks_and_cross_are_right_handed_and_z_up():
    got = scenario("axes")
    want = np.zeros((8, 6))
    want[0, 0], want[1, 1] = 0.5, -0.5  # left stick: right is +x; SDL counts y down, pulled back is towards you
    want[2, 5], want[3, 2] = -0.5, -0.5  # right stick: right swings right, pulled back goes down
    want[4, 3], want[5, 3], want[6, 4], want[7, 4] = -1, 1, -1, 1
    np.testing.assert_allclose(got["rows"], want, atol=1e-3)
    assert got["product"] == "Test Pad" and got["closed"] == "the gamepad is closed"


def test_triggers_are_buttons_with_hysteresis():
    held = [(value, down) for value, down, _, _ in scenario("triggers")["seen"]]
    assert held == [(0.45, False), (0.55, True), (0.45, True), (0.35, False), (0.45, False), (1.0, True), (0.0, False)]


def test_no_tap_is_lost():
    """Trap 22: 1,000 random taps."""
    assert scenario("taps") == {"same": True, "released": 1000}


def test_a_tap_within_a_slow_step_counts_once():
    got = scenario("tap_within_a_slow_step")
    assert got["pressed"] == ["grip_toggle"] and got["released"] == ["grip_toggle"] and got["held"] == []
    assert got["push"][3] == -1.0 and not any(got["later"])


def test_hot_plug_without_a_jump():
    """Trap 18."""
    got = scenario("plug")
    assert "no gamepad is plugged in" in got["missing"]
    assert got["moving"] > 0.1
    assert got["lost"].startswith("Test Pad went away") and "Plug it in again" in got["lost"]
    assert got["released"] == ["grip_toggle"]  # a lost device leaves no button down
    assert got["jump"] == 0.0 and "at rest" in got["reason"]
    assert got["after"] == pytest.approx(-0.15)


def test_rumble_tells_force_and_events():
    got = scenario("rumble")
    assert got["quiet"] == 0
    assert got["first"] == [[32767, 0]]
    assert got["second"] == [[65535, int(0.8 * 65535)]]
    assert got["third"] == [[65535, 0], [0, 0]]


def test_two_pads_by_name():
    got = scenario("two")
    assert got["left"][0] > 0.9 and got["left"][1] == []
    assert got["right"] == [0.0, ["grip_toggle"]]
    assert "2 gamepads: 'Left Pad', 'Right Pad'" in got["note"] and "--input gamepad:NAME" in got["note"]
    assert got["wrong"] == "no gamepad called 'Wheel'. Plugged in: Left Pad, Right Pad."
    assert got["probed"] == [["Left Pad", "OK"], ["Right Pad", "OK"]]
    assert got["listed"] == ["gamepad:Left Pad", "gamepad:Right Pad"]
    assert got["still"] == "OK"


def test_library_missing(monkeypatch):
    def refuse(name, *args, **kwargs):
        if name == "sdl2":
            raise ImportError("No module named 'sdl2'")
        return real(name, *args, **kwargs)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", refuse)
    pad = gamepad.Gamepad(pads=sdl_pads.SdlPads())
    status = pad.open()
    assert status.health is Health.NO_LIBRARY and "pip install 'tacktile[gamepad]'" in status.message
    assert not pad.poll(0.0).valid
    pad.close()


def test_library_too_old(monkeypatch):
    old = types.SimpleNamespace(dll=types.SimpleNamespace(version=2010))
    monkeypatch.setitem(sys.modules, "sdl2", old)
    with pytest.raises(sdl_pads.SdlMissing, match="SDL2 2010 is too old; needed is 2.24 or newer"):
        sdl_pads.SdlPads().start()


def test_no_permission_and_no_layout(monkeypatch):
    monkeypatch.setattr(gamepad, "refused_nodes", lambda: ["Some Pad (/dev/input/event7)"])
    status = gamepad._nothing_there(sdl_pads.SdlPads())
    assert status.health is Health.NO_PERMISSION
    assert "Some Pad (/dev/input/event7)" in status.message and 'TAG+="uaccess"' in status.message
    monkeypatch.setattr(gamepad, "refused_nodes", list)
    pads = sdl_pads.SdlPads()
    pads.unmapped = ["Old Stick"]
    status = gamepad._nothing_there(pads)
    assert status.health is Health.NOT_FOUND
    assert "'Old Stick' is plugged in" in status.message and "SDL_GAMECONTROLLERCONFIG" in status.message
