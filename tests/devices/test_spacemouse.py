"""The SpaceMouse end to end: real report bytes, the real HID binding and decoder, a stand-in for the hardware."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from bench.spacemouse_reports import build_library
from devices import spacemouse_find as find
from devices.contract import Health
from devices.keymap import load_keymap
from tests.shared_data import shared_path

ROOT = Path(__file__).resolve().parents[2]
WIRELESS, COMPACT = "0xc63a", "0xc635"  # one report of 13 bytes; two of 7


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> Path:
    """Folder with the stand-in HID library."""
    source = shared_path("tools", "fakehid", "fakehid.c")
    if source is None:
        pytest.skip("the shared folder with the stand-in HID library is not there (TACKTILE_SHARED)")
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: the stand-in HID library cannot be built")
    pytest.importorskip("pyspacemouse", exc_type=ImportError)
    return build_library(source, tmp_path_factory.mktemp("fakehid"))


@pytest.fixture
def scenario(library, tmp_path):
    """Run a scenario of hid_scenarios in a process of its own; returns what it reports."""

    def run(name: str, folder: Path = library, sock: bool = True, **environment: str) -> dict:
        env = {k: v for k, v in os.environ.items() if not k.startswith("FAKEHID")}
        env |= {"LD_LIBRARY_PATH": str(folder), "OMP_NUM_THREADS": "1", **environment}
        if sock:
            env["FAKEHID_SOCK"] = str(tmp_path / "hid")
        command = [sys.executable, "-m", "tests.devices.hid_scenarios", name]
        done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize(
    ("pid", "wire", "model"), [(WIRELESS, "13", "SpaceMouseWirelessNew"), (COMPACT, "7", "SpaceMouseCompact")]
)
def test_axes_are_right_handed_and_z_up(scenario, pid, wire, model):
    # HID counts y towards the user and z down (USB HID usage tables); z up turns y and z of both halves round
    got = scenario("axes", FAKEHID_PID=pid, WIRE=wire)
    assert got["model"] == model
    np.testing.assert_allclose(got["rows"], np.diag([0.5, -0.5, -0.5, 0.5, -0.5, -0.5]), atol=1e-12)
    assert got["raw_report"] == [2 if wire == "7" else 1]


@pytest.mark.parametrize(("pid", "wire"), [(WIRELESS, "7"), (COMPACT, "13")])
def test_firmware_that_packs_reports_the_other_way(scenario, pid, wire):
    got = scenario("firmware_with_other_layout", FAKEHID_PID=pid, WIRE=wire)
    np.testing.assert_allclose(got["twist"], [0, 0, 1, 0, 0, -1])
    assert got["held"] == ["clutch"] and got["pressed"] == [] and got["released"] == []


def test_one_poll_gives_the_last_of_many_reports(scenario):
    got = scenario("freshest_of_many", FAKEHID_PID=WIRELESS)
    assert abs(got["x"] - (349 / 350)) < 1e-12


def test_poll_is_up_to_date_while_the_reader_starves(scenario):
    got = scenario("starved_reader", FAKEHID_PID=WIRELESS)
    assert abs(got["x"] - 0.8) < 1e-12 and got["open_after_close"] is False


def test_a_cap_beyond_its_range_stays_within_the_contract(scenario):
    np.testing.assert_allclose(scenario("overdriven", FAKEHID_PID=WIRELESS)["twist"], [1, -1, 0, 0, 0, 0])


def test_button_edges(scenario):
    assert scenario("buttons", FAKEHID_PID=COMPACT)["edges"] == [
        [["grip_toggle"], []],
        [["clutch"], []],
        [[], ["clutch", "grip_toggle"]],
    ]


def test_no_tap_is_lost(scenario):
    """Trap 22: 1,000 random taps, each shorter than a slow step."""
    assert scenario("taps", FAKEHID_PID=COMPACT) == {"same": True, "released": 1000}


def test_unplugged_and_replugged_without_a_jump(scenario):
    """Trap 18."""
    got = scenario("unplug", FAKEHID_PID=WIRELESS)
    assert got["moving"] > 0.1
    assert "SpaceMouse Compact (fake) went away" in got["message"] and "Plug it in again" in got["message"]
    assert got["lost_twist"] == [0.0] * 6 and got["lost_engaged"] is False
    assert got["released"] == ["grip_toggle"]  # a lost device leaves no button down
    assert got["still"] == "LOST"
    assert got["jump"] == 0.0 and "at rest" in got["reason"]
    assert got["after_rest"] == pytest.approx(-0.15)
    assert got["threads_left"] == 0


def test_two_at_once(scenario):
    """One of 13-byte reports, one of 7-byte reports; no press of either is lost, and one goes on without the other."""
    got = scenario("two_at_once")
    assert got["models"] == ["SpaceMouseWirelessNew", "SpaceMouseCompact"]
    np.testing.assert_allclose(got["a"], [1, 0, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(got["b"], [0, 1, 0, 0.5, 0, 0], atol=1e-12)
    assert got["same"] == [True, True] and got["after"] == 1.0 and got["still"] == "OK"


def test_a_report_during_a_slow_step_is_used_by_the_next_one(scenario):
    """40 steps of 80 ms in the application's loop, a report and half of the time a tap at a random moment of each."""
    got = scenario("slow_steps", FAKEHID_PID=WIRELESS)
    assert got["late"] == [] and got["each"] == 0 and got["taps"] == got["seen"] > 10


def test_pulled_out_while_it_drives_the_robot_stops_within_one_frame(scenario):
    """Trap 18, in the application's loop."""
    got = scenario("stops_within_one_frame", FAKEHID_PID=WIRELESS)
    assert min(got["before"]) > 1e-3, "it was driving"
    assert got["after"] == [0.0] * 5
    assert all(mode == "PAUSED" and "Plug it in again" in text for mode, text in got["reasons"])
    assert got["resumed"] == [[0.0, False]] * 5, "back by itself, and still where it was"


def test_silence_is_rest(scenario):
    """Trap 18: a device that stops sending."""
    got = scenario("silence", FAKEHID_PID=COMPACT)
    np.testing.assert_allclose(got["half"], [0, 0, 0, 1, 0, 0])
    np.testing.assert_allclose(got["dead"], np.zeros(6))
    assert got["health"] == "STALE" and "fell silent 5." in got["message"]
    assert got["rest"] == "OK"


def test_nothing_plugged_in(scenario):
    got = scenario("status", FAKEHID_NONE="1")
    assert got["health"] == "NOT_FOUND" and got["valid"] is False
    assert got["message"] == "no SpaceMouse is plugged in. Plug it in: it is found by itself."
    listed = [row[0] for row in got["listed"]]
    assert listed[:2] == ["keyboard", "spacemouse"] and listed[-2:] == ["scripted:FILE", "none"]


def test_well_and_listed(scenario):
    got = scenario("status", FAKEHID_PID=COMPACT)
    assert got["health"] == "OK" and got["message"] == "" and got["closed"] == "the SpaceMouse is closed"
    assert got["listed"][1] == ["spacemouse", "OK", "SpaceMouse Compact (fake), /dev/null, serial FAKE1"]


def test_no_permission_prints_the_rule(scenario, tmp_path):
    """Trap 19."""
    node = tmp_path / "hidraw7"
    node.touch()
    got = scenario("no_permission", sock=False, FAKEHID_PID=COMPACT, FAKEHID_PATH=str(node))
    assert got["health"] == "NO_PERMISSION"
    assert f"you may not read SpaceMouse Compact (fake) at {node}" in got["message"]
    rule = 'KERNEL=="hidraw*", KERNELS=="*:256F:C635.*", MODE="0660", TAG+="uaccess"'
    assert f"echo '{rule}' | sudo tee /etc/udev/rules.d/70-tacktile-spacemouse.rules" in got["message"]
    assert "sudo udevadm control --reload-rules && sudo udevadm trigger" in got["message"]


def test_node_that_is_not_there_and_node_that_is_held(scenario):
    got = scenario("status", sock=False, FAKEHID_PATH="/dev/no_such_hidraw")
    assert got["health"] == "NOT_FOUND" and "--device=/dev/no_such_hidraw" in got["message"]
    got = scenario("status", sock=False, FAKEHID_PATH="/dev/null")
    assert got["health"] == "NOT_FOUND" and "Another program may hold it" in got["message"]


def test_broken_system_library(scenario, tmp_path):
    """Trap 19: a library that cannot be loaded."""
    (tmp_path / "libhidapi-hidraw.so.0").write_text("not a library")
    (tmp_path / "libhidapi-hidraw.so").write_text("not a library")
    got = scenario("status", folder=tmp_path)
    assert got["health"] == "NO_LIBRARY"
    assert got["message"].endswith("Install it: sudo apt-get install -y libhidapi-hidraw0")
    assert got["listed"][1][1] == "NO_LIBRARY"


def test_missing_package_and_missing_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "easyhid", None)
    opened = find.open_spacemouse(None, lambda device: device)
    assert opened.status.health is Health.NO_LIBRARY and "pip install 'pyspacemouse>=2.1,<3'" in opened.status.message

    # without any library the binding may load, bound to nothing, and fail at the first call
    class Unbound:
        def __init__(self):
            raise AttributeError("undefined symbol: hid_enumerate")

    monkeypatch.setitem(sys.modules, "easyhid", types.SimpleNamespace(Enumeration=Unbound))
    monkeypatch.setitem(sys.modules, "pyspacemouse", types.SimpleNamespace(get_device_specs=dict))
    monkeypatch.setattr(sys, "platform", "linux")
    opened = find.open_spacemouse(None, lambda device: device)
    assert opened.status.health is Health.NO_LIBRARY
    assert "hid_enumerate" in opened.status.message and "apt-get install -y libhidapi-hidraw0" in opened.status.message


def _found(path: str, usage=(1, 8), serial="", product="SpaceMouse Wireless") -> find.Found:
    return find.Found("UniversalReceiver", path, serial, product, 0x256F, 0xC652, usage)


def test_receiver_shows_several_interfaces():
    """Trap 19: only the multi-axis one speaks of the cap, wherever it stands in the list."""
    interfaces = [_found("/dev/hidraw1", (1, 6)), _found("/dev/hidraw3", (1, 8)), _found("/dev/hidraw2", (1, 2))]
    one, status = find.choose(interfaces, None)
    assert one.path == "/dev/hidraw3" and status.ok and status.message == ""
    one, status = find.choose([interfaces[0], interfaces[2]], None)
    assert one is None and status.health is Health.NOT_FOUND
    assert "/dev/hidraw1 (usage 1/6), /dev/hidraw2 (usage 1/2); needed is usage 1/8" in status.message
    assert "pair it with its receiver" in status.message
    # one node listed once per usage is one device; a library that knows no usages is taken at its word
    one, status = find.choose([_found("/dev/hidraw3", (1, 8)), _found("/dev/hidraw3", (1, 8))], None)
    assert one.path == "/dev/hidraw3" and status.message == ""
    assert find.choose([_found("/dev/hidraw0", (0, 0))], None)[0].path == "/dev/hidraw0"


def test_two_mice():
    """Trap 19: one is taken, and the message says how to take the other."""
    pair = [_found("/dev/hidraw5", serial="B2"), _found("/dev/hidraw4", serial="A1")]
    one, status = find.choose(pair, None)
    assert one.path == "/dev/hidraw4" and status.ok
    assert "2 SpaceMice" in status.message
    assert "--input spacemouse:A1 or --input spacemouse:B2" in status.message
    assert find.choose(pair, "B2")[0].path == "/dev/hidraw5"
    assert find.choose(pair, "/dev/hidraw5")[0].serial == "B2"
    one, status = find.choose(pair, "C3")
    assert one is None and "no SpaceMouse with serial or path 'C3'" in status.message and "A1" in status.message
    twins = [_found("/dev/hidraw5", serial="X"), _found("/dev/hidraw4", serial="X")]
    assert "spacemouse:/dev/hidraw4 or --input spacemouse:/dev/hidraw5" in find.choose(twins, None)[1].message


def test_every_model_that_the_library_knows_can_grip_and_let_go():
    """By its own buttons, and by none that the default key map does not know the verb of."""
    pyspacemouse = pytest.importorskip("pyspacemouse", exc_type=ImportError)
    bound = load_keymap().buttons
    models = pyspacemouse.get_device_specs()
    assert len(models) >= 13
    for name, spec in models.items():
        verbs = {bound[button] for button in spec.button_names if button in bound}
        assert not spec.button_names or {"grip_toggle", "clutch"} <= verbs, name
        turned = pyspacemouse.apply_axis_convention(spec, pyspacemouse.AxisConvention.HID_Z_UP)
        assert set(turned.mappings) >= {"x", "y", "z", "roll", "pitch", "yaw"}, name
