"""Hands that work through a script from outside: what they push, on a window that is only a list of frames."""

from __future__ import annotations

import numpy as np
import pytest

from bench.hand_goals import REST, HandGoals, Push
from bench.pushing_hands import NEAR, CapHand, KeyHand
from devices.mapping import MappingSettings, shaped


class Table:
    """A tool that goes where it is pushed, with a wall at x = `wall` [m] that pushes back with 40 N."""

    def __init__(self, wall: float = np.inf):
        self.x, self.target, self.wall = np.zeros(3), np.zeros(3), wall
        self.pushed, self.now = [REST], []
        self._frame()

    def _frame(self) -> None:
        self.x = np.minimum(self.target, [self.wall, np.inf, np.inf])
        force = 40.0 if self.target[0] > self.wall + 1e-9 else 0.0
        tool = {"target": self.target.copy(), "reached": self.x, "quaternion": [0, 0, 0, 1], "force": force}
        self.now.append({"time": len(self.now) / 30, "tool": "hand", "tools": {"hand": tool}, "task": {}})

    def frames(self) -> list:
        return self.now

    def until(self, true) -> dict:
        for _ in range(100):
            self.target = self.target + np.clip(self.pushed[-1].way / 5, -0.005, 0.005)
            self._frame()
            if true(self.now[-1]):
                return self.now[-1]
        raise RuntimeError("not reached")

    def push(self, push: Push) -> None:
        self.pushed.append(push)


def play(table: Table, goals: str, tmp_path) -> HandGoals:
    script = tmp_path / "script.yaml"
    script.write_text("goals:\n" + goals)
    hands = HandGoals(table, table, {}, lambda stage: None)
    hands.play(script)
    return hands


def test_it_goes_to_a_place_and_rests_there(tmp_path):
    table = Table()
    play(table, "  - {to: [0.05, -0.02, 0.0], tolerance: 0.002}\n", tmp_path)
    assert np.abs(table.x - [0.05, -0.02, 0.0]).max() < 0.002
    assert table.pushed[-1] is REST


def test_against_a_wall_it_stops_pushing_instead_of_winding_up(tmp_path):
    table = Table(wall=0.02)
    play(table, "  - {to: [0.5, 0.0, 0.0], tolerance: 0.002, within: 9}\n", tmp_path)
    assert table.x[0] == pytest.approx(0.02)
    assert table.now[-1]["time"] < 1.0, "it went on with the next goal"
    assert table.target[0] < 0.07


def test_along_a_wall_it_goes_on(tmp_path):
    table = Table(wall=0.02)
    play(table, "  - {to: [0.5, 0.2, 0.0], tolerance: 0.002, within: 9}\n", tmp_path)
    assert table.x[1] == pytest.approx(0.2, abs=0.002)


class Keys:
    """A window that remembers which keys are down."""

    def __init__(self):
        self.down, self.pressed = set(), []

    def xdo(self, verb: str, key: str) -> None:
        (self.down.add if verb == "keydown" else self.down.discard)(key)

    def press(self, key: str) -> None:
        self.pressed.append(key)


def test_keys_follow_signs_and_go_gently_near_the_place():
    keys = Keys()
    hand = KeyHand(keys)
    hand.push(Push(np.array([0.1, 0.0, -0.1]), np.array([0.0, 0.3, 0.0])))
    assert keys.down == {"d", "q", "o"}
    hand.push(Push(np.array([0.5 * NEAR, 0.0, 0.0]), np.zeros(3), 0.5))
    assert keys.down == {"d", "shift"} and keys.pressed == ["minus"]
    hand.push(REST)
    assert not keys.down


def test_keys_put_right_what_is_nearly_there_before_they_go_far():
    keys = Keys()
    KeyHand(keys).push(Push(np.array([0.1, 0.0, 0.5 * NEAR]), np.zeros(3), exact=True))
    assert keys.down == {"e", "shift"}


def test_the_cap_is_pushed_so_that_the_mapping_gives_what_is_meant():
    class Cap:
        def push(self, axes):
            self.axes = np.array(axes) / 350

    cap, settings = Cap(), MappingSettings()
    hand = CapHand(cap)
    hand.push(Push(np.array([0.3, 0.0, -0.4]), np.array([0.0, -0.05, 0.0]), 0.5))
    got = shaped(cap.axes, settings.deadband, settings.expo)
    assert got == pytest.approx([0.3, 0.0, -0.4, 0.0, -0.3, 0.0], abs=2e-3)
    hand.push(REST)
    assert not cap.axes.any()
