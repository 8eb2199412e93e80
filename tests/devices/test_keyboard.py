from __future__ import annotations

import random

import numpy as np
import pytest

from devices.contract import VERBS, Health
from devices.keyboard import HELD_FOR, Keyboard
from devices.keymap import AXIS_ACTIONS, DEFAULT_KEYMAP, KEY_NAMES, load_keymap
from devices.mapping import MappingSettings, start_mapping, to_command


class Hands:
    """Fingers on a keyboard, feeding as the window does."""

    def __init__(self):
        self.time = 100.0
        self.keyboard = Keyboard(clock=lambda: self.time)
        self.keyboard.open()
        self.down: set[str] = set()
        self.focused, self.typing = True, False

    def tick(self, press=(), release=()):
        self.down |= set(press)
        self.down -= set(release)
        self.keyboard.feed(set(self.down), list(press), list(release), self.focused, self.typing)

    def poll(self):
        return self.keyboard.poll(self.time)


@pytest.fixture
def hands():
    return Hands()


@pytest.mark.parametrize(
    ("key", "axis", "sign"),
    [
        ("D", 0, 1),
        ("A", 0, -1),
        ("W", 1, 1),
        ("S", 1, -1),
        ("E", 2, 1),
        ("Q", 2, -1),
        ("K", 3, 1),
        ("UpArrow", 3, -1),
        ("O", 4, 1),
        ("U", 4, -1),
        ("J", 5, 1),
        ("RightArrow", 5, -1),
    ],
)
def test_default_keys(hands, key, axis, sign):
    hands.tick(press=[key])
    np.testing.assert_array_equal(hands.poll().twist, sign * np.eye(6)[axis])
    np.testing.assert_array_equal(hands.poll().twist, sign * np.eye(6)[axis])  # still held
    hands.tick(release=[key])
    assert not hands.poll().twist.any()


def test_grip_keys_opposites_and_two_keys_of_one_action(hands):
    hands.tick(press=["X", "W", "S", "I", "UpArrow"])
    sample = hands.poll()
    assert sample.gripper == 1.0 and sample.twist[1] == 0.0 and sample.twist[3] == -1.0


def test_tap_within_a_slow_step_counts_once(hands):
    """Trap 22: the window is ticked during the step, the loop polls after it."""
    hands.tick(press=["R"])
    hands.tick(release=["R"])
    hands.tick(press=["W", "R"], release=["W", "R"])  # down and up between two ticks
    sample = hands.poll()
    assert sample.pressed == ("record", "record") and sample.released == ("record", "record")
    assert sample.twist[1] == 1.0 and sample.buttons == frozenset()
    sample = hands.poll()
    assert sample.pressed == () and sample.released == () and not sample.twist.any()


def test_random_taps_none_lost(hands):
    rng = random.Random(3)
    keys = {"R": "record", "Space": "grip_toggle", "F5": "checkpoint"}
    wanted, got = [], []
    for _ in range(1000):
        key = rng.choice(list(keys))
        wanted.append(keys[key])
        if rng.random() < 0.3:
            hands.tick(press=[key], release=[key])
        else:
            hands.tick(press=[key])
            if rng.random() < 0.3:
                hands.tick(press=[])  # held over a tick
            hands.tick(release=[key])
        if rng.random() < 0.2:
            got += hands.poll().pressed
    assert got + list(hands.poll().pressed) == wanted


def test_key_repeat_is_not_a_press(hands):
    hands.tick(press=["R"])
    for _ in range(5):
        hands.tick(press=["R"])
    assert hands.poll().pressed == ("record",)


def test_press_is_seen_even_when_the_window_reports_no_edge(hands):
    hands.keyboard.feed({"P"}, [], [], True, False)
    assert hands.poll().pressed == ("pause",)


def test_typing_a_label_does_not_drive(hands):
    """Trap 20, with every letter and with the key that ends the typing still down."""
    hands.tick(press=["W"])
    hands.typing = True
    for key in "SWADQERPZX":
        hands.tick(press=[key])
    sample = hands.poll()
    assert not sample.twist.any() and sample.gripper == 0 and sample.pressed == () and sample.buttons == frozenset()
    assert "text box" in hands.keyboard.status().message
    hands.typing = False
    hands.tick()
    sample = hands.poll()
    assert not sample.twist.any() and sample.pressed == () and not sample.buttons
    hands.tick(release=["W"])
    hands.tick(press=["W"])  # pressed afresh: it drives
    assert hands.poll().twist[1] == 1.0
    hands.tick(release=list("SADQERPZX"))
    assert hands.poll().twist[1] == 1.0


def test_losing_focus_releases_every_key(hands):
    """Trap 20."""
    hands.tick(press=["W", "C", "X", "LeftShift"])
    assert hands.poll().buttons == {"clutch", "fine"}
    hands.tick(press=["D"], release=["D"])  # a tap that was not polled yet goes too
    hands.focused = False
    hands.tick()
    sample = hands.poll()
    assert not sample.twist.any() and sample.gripper == 0 and sample.buttons == frozenset()
    assert sample.released == ("clutch", "fine")
    hands.focused = True
    hands.tick()  # the system says that they are all still down
    sample = hands.poll()
    assert not sample.twist.any() and sample.buttons == frozenset() and sample.pressed == ()
    hands.tick(release=["W"])
    hands.tick(press=["W"])
    assert hands.poll().twist[1] == 1.0


def test_ctrl_silences_bare_keys_and_makes_chords(hands):
    hands.tick(press=["LeftCtrl"])
    hands.tick(press=["S", "Z"])
    sample = hands.poll()
    assert sample.pressed == ("undo",) and not sample.twist.any() and sample.gripper == 0
    hands.tick(release=["LeftCtrl"])  # S and Z stay dead until pressed afresh
    sample = hands.poll()
    assert not sample.twist.any() and sample.gripper == 0 and sample.pressed == ()


def test_a_window_that_stops_feeding_stops_the_robot(hands):
    """Trap 18 for the keyboard: the time of the last feed is the time of the reading."""
    settings = MappingSettings(ramp_time=0.0)
    state = start_mapping(settings)
    hands.tick(press=["W"])
    command, state = to_command(hands.poll(), hands.keyboard.status(), settings, state, now=100.2, dt=1 / 30)
    assert command.twist[1] > 0
    command, state = to_command(hands.poll(), hands.keyboard.status(), settings, state, now=100.6, dt=1 / 30)
    assert not command.twist.any()


def test_a_held_key_drives_through_a_slow_step(hands):
    """A step of two seconds keeps the window from looking; the key is down all the same. A dead window is not."""
    settings = MappingSettings(ramp_time=0.0, **hands.keyboard.describe()["mapping"])
    state = start_mapping(settings)
    hands.tick(press=["W"])
    for later, drives in ((2.0, True), (HELD_FOR + 1.0, False)):
        now = hands.time + later
        command, _ = to_command(hands.poll(), hands.keyboard.status(), settings, state, now=now, dt=1 / 30)
        assert bool(command.twist.any()) == drives


def test_open_close_describe(hands):
    assert not Keyboard().status().ok and hands.keyboard.status().message == ""
    assert [hands.poll().sequence for _ in range(3)] == [0, 1, 2]
    hands.tick(press=["W"])
    hands.keyboard.close()
    assert not hands.poll().twist.any() and hands.keyboard.status().health is Health.NOT_FOUND
    assert hands.keyboard.open().ok
    assert hands.keyboard.describe()["keymap"]["Space"] == "grip_toggle"


# ---- key map


def write(tmp_path, text: str):
    path = tmp_path / "keys.yaml"
    path.write_text("version: 1\n" + text)
    return path


def test_default_map_reaches_every_action():
    keymap = load_keymap()
    assert set(keymap.keys.values()) == set(AXIS_ACTIONS) | set(VERBS)
    assert all(key.split("+")[-1] in KEY_NAMES for key in keymap.keys)
    assert keymap.keys_of("gain_up") == ("Equal", "KeypadAdd")
    with pytest.raises(ValueError, match="unknown action 'fly'; legal: move -x"):
        keymap.keys_of("fly")


def test_user_map_replaces_the_keys_of_an_action(tmp_path):
    path = write(
        tmp_path, "move: {'+x': keypad6}\nverbs: {record: [F2, ctrl+f3], help: []}\nspacemouse: {LEFT: record}\n"
    )
    keymap = load_keymap(path)
    assert keymap.keys["Keypad6"] == "move +x" and "D" not in keymap.keys
    assert keymap.keys_of("record") == ("F2", "Ctrl+F3") and "R" not in keymap.keys and keymap.keys_of("help") == ()
    assert keymap.keys["A"] == "move -x" and keymap.buttons["LEFT"] == "record" and keymap.buttons["RIGHT"] == "clutch"
    assert keymap.source == (str(DEFAULT_KEYMAP), str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("verbs:\n  fly: F2\n", r"keys.yaml:3: unknown verb 'fly'; legal: clutch, fine, grip_toggle"),
        ("move:\n  up: F2\n", r"keys.yaml:3: unknown move action 'up'; legal: -x, \+x"),
        ("keys: {}\n", r"keys.yaml:2: unknown section 'keys'; legal: move, turn, grip, verbs, spacemouse"),
        ("verbs: 3\n", r"keys.yaml:2: section 'verbs' must be a mapping, not 3"),
        ("verbs: {record: Spacebar}\n", r"keys.yaml:2: record: unknown key 'Spacebar'; legal: A, B, C.*Ctrl\+KEY"),
        ("verbs: {record: Shift+A}\n", r"keys.yaml:2: record: unknown key 'Shift\+A'"),
        (
            "verbs:\n  record: F2\n  pause: [F3, F2]\n",
            r"keys.yaml:4: key 'F2' is bound to 'pause' and to 'record' \(.*keys.yaml:3\)",
        ),
        ("verbs:\n  record: W\n", r"key 'W' is bound to 'record' and to 'move \+y' \(.*assets/keymap.yaml:\d+\)"),
        ("verbs:\n  record: F2\n  record: F3\n", r"keys.yaml:4: 'record' is written twice \(first in line 3\)"),
        ("spacemouse:\n  LEFT: jump\n", r"keys.yaml:3: unknown verb 'jump'; legal: clutch"),
        ("verbs: [\n", r"keys.yaml:\d: .*"),
    ],
)
def test_slips_in_a_key_map_are_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        load_keymap(write(tmp_path, text))


def test_version_and_missing_file(tmp_path):
    path = tmp_path / "keys.yaml"
    path.write_text("version: 2\n")
    with pytest.raises(ValueError, match=r"keys.yaml:1: version = 2; legal: 1"):
        load_keymap(path)
    path.write_text("- W\n")
    with pytest.raises(ValueError, match=r"keys.yaml:1: a key map is a mapping with version, move"):
        load_keymap(path)
    with pytest.raises(FileNotFoundError):
        load_keymap(tmp_path / "none.yaml")
