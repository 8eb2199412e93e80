"""What the doctor says, the table device by verb, and the commands that print both."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from devices import doctor, gamepad, hands, network, xr
from devices.contract import VERBS, Health, Status
from devices.doctor import CHECKS, Finding, examine, split_fix
from devices.keymap import DEFAULT_KEYMAP, load_keymap
from devices.registry import AVAILABLE
from devices.sdl_pads import SdlMissing
from devices.spacemouse_find import LibraryMissing
from devices.verb_table import DEVICES, GROUPS, OWN, verb_row, verb_table

ROOT = Path(__file__).resolve().parents[2]


# ---- the table


def test_every_device_fills_every_column():
    table = verb_table(load_keymap())
    drivers = {name.split(":")[0] for name in AVAILABLE} - {"none"}
    assert set(table) == drivers, "a device that is not in the table has no promise to keep"
    for device, row in table.items():
        assert list(row) == list(GROUPS) and all(row.values()), device
    assert table["gamepad"]["press"] == "RIGHT_TRIGGER" and table["gamepad"]["clutch"] == "LEFT_SHOULDER"
    assert table["spacemouse"]["record"] == "key R", "a mouse with two buttons leaves it to the keyboard"
    assert table["xr"]["arm cut"] == "STICK_LEFT" and table["keyboard"]["move"].startswith("A D S W")
    assert {verb for verbs in GROUPS.values() for verb in verbs} <= set(VERBS)


@pytest.mark.parametrize("verb", ["press", "dispense", "arm_cut", "confirm_cut", "checkpoint", "record", "clutch"])
def test_a_missing_verb_is_named(tmp_path, verb):
    """Its keys taken away, every device that has no button of its own for it breaks the table."""
    path = tmp_path / "keymap.yaml"
    path.write_text(f"version: 1\nverbs: {{{verb}: []}}\n")
    keymap = load_keymap(path)
    column = next(name for name, verbs in GROUPS.items() if verb in verbs)
    broken = []
    for device in DEVICES:
        try:
            verb_row(device, keymap)
        except ValueError as error:
            broken.append(device)
            assert re.search(rf"{device}: nothing does '{column}' \({verb}\); bind a button", str(error))
    assert "keyboard" in broken and "hands" in broken and "gamepad" not in broken
    with pytest.raises(ValueError, match="keyboard: nothing does"):
        verb_table(keymap)


def test_a_missing_motion_is_named(tmp_path):
    path = tmp_path / "keymap.yaml"
    path.write_text("version: 1\nmove: {'+x': []}\n")
    with pytest.raises(ValueError, match=r"keyboard: nothing does 'move' \(motion\)"):
        verb_table(load_keymap(path))
    with pytest.raises(ValueError, match="device 'foot'; legal: keyboard, spacemouse"):
        verb_row("foot", load_keymap())
    assert set(OWN) < set(DEVICES)


def test_the_documentation_shows_the_table_of_the_default_keys():
    """docs/devices.md, "What does what": the same words as the bindings."""
    text = (ROOT / "docs" / "devices.md").read_text(encoding="utf-8")
    for device, row in verb_table(load_keymap(None, DEFAULT_KEYMAP)).items():
        line = f"| `{device}` | " + " | ".join(row.values()) + " |"
        assert line in text, f"write this line into docs/devices.md:\n{line}"


# ---- the doctor


def test_lines_to_type_are_split_from_the_sentence():
    found = split_fix("x", "y", Status(Health.NO_LIBRARY, "it is missing (why). Install it: pip install z"))
    assert found.status.message == "it is missing (why)." and found.fix == "pip install z"
    found = split_fix("x", "y", Status(Health.NO_PERMISSION, "you may not. Do this, then plug it in again:\na\nb"))
    assert found.status.message.endswith("plug it in again") and found.fix == "a\nb"
    found = split_fix("x", "y", Status(Health.OK, "all well"))
    assert found == Finding("x", "y", Status(Health.OK, "all well")) and found.ok


def fixes(*kinds: str) -> str:
    return "\n".join(f"{f.status.health.value} {f.status.message}\n{f.fix}" for f in examine(kinds))


def test_libraries_missing(monkeypatch):
    def no_hid():
        raise LibraryMissing("the system library hidapi is missing. Install it: sudo apt-get install -y libhidapi")

    def no_sdl():
        raise SdlMissing("the package PySDL2 is missing. Install it: pip install 'tacktile[gamepad]'")

    monkeypatch.setattr(doctor, "load_driver", no_hid)
    monkeypatch.setattr(doctor, "load_sdl", no_sdl)
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    assert "NO_LIBRARY the system library hidapi is missing.\nsudo apt-get install" in fixes("spacemouse")
    assert "NO_LIBRARY the package PySDL2 is missing.\npip install 'tacktile[gamepad]'" in fixes("gamepad")
    assert "NO_LIBRARY the package pyopenxr is missing\npip install 'tacktile[xr]'" in fixes("xr")


def test_permissions_runtime_camera_and_port(monkeypatch):
    pytest.importorskip("sdl2", exc_type=ImportError)
    monkeypatch.setattr(doctor, "refused_nodes", lambda: ["Some Pad (/dev/input/event7)"])
    monkeypatch.setattr(gamepad, "probe", lambda: [])
    text = fixes("gamepad")
    assert "NO_PERMISSION you may not read Some Pad" in text
    assert "sudo tee /etc/udev/rules.d/70-tacktile-gamepad" in text
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: True)
    monkeypatch.setenv("XR_RUNTIME_JSON", "/nowhere/runtime.json")
    service = "the OpenXR runtime does not answer: its service is not running. Start it: monado-service"
    monkeypatch.setattr(xr, "probe", lambda: Status(Health.NOT_FOUND, service))
    text = fixes("xr")
    assert "names /nowhere/runtime.json, which is not there\nunset XR_RUNTIME_JSON" in text
    assert "its service is not running.\nmonado-service" in text
    missing = Status(Health.NO_LIBRARY, "the hand model is missing. Make it:\ncurl x")
    monkeypatch.setattr(hands, "probe", lambda: missing)
    assert "the hand model is missing. Make it\ncurl x" in fixes("hands")
    monkeypatch.setattr(network, "probe", lambda: Status(Health.NOT_FOUND, "tcp port 47447 cannot be opened"))
    assert "NOT_FOUND tcp port 47447" in fixes("network")


def test_a_key_map_that_is_wrong_and_no_display(monkeypatch, tmp_path):
    monkeypatch.setenv("TACKTILE_CONFIG_DIR", str(tmp_path))
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    (tmp_path / "keymap.yaml").write_text("version: 1\nverbs: {fly: F2}\n")
    text = fixes("keyboard")
    assert "no display" in text or not sys.platform.startswith("linux")
    assert "keymap.yaml:2: unknown verb 'fly'" in text and f"edit {tmp_path}" in text


def test_a_check_that_breaks_is_a_finding_and_an_unknown_kind_is_refused(monkeypatch):
    def broken():
        raise OSError("the bus is on fire")
        yield

    monkeypatch.setitem(CHECKS, "network", broken)
    assert "looking failed: OSError: the bus is on fire" in fixes("network")
    with pytest.raises(ValueError, match="no device kind 'foot'; legal: keyboard, spacemouse, gamepad, xr, hands"):
        list(examine(("foot",)))


def test_the_commands():
    def run(*arguments):
        command = [sys.executable, "launch.py", "devices", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

    done = run("doctor", "network", "hands")
    assert "network port:" in done.stdout and done.returncode in (0, 1), done.stderr
    assert run("doctor", "foot").returncode == 2
    done = run("verbs")
    assert done.returncode == 0 and "RIGHT_TRIGGER" in done.stdout
