"""The keyboard as a rate device: the window feeds it, the loop polls it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from devices.contract import VERBS, Feedback, Health, Kind, Sample, Status
from devices.keymap import AXIS_ACTIONS, MODIFIERS, KeyMap, load_keymap

HELD_FOR = 30.0  # [s] without a look at the keys, after which the window is taken for dead


class Keyboard:
    """Keys that are down push; verbs come as edges.

    A key that was down while the operator typed, or when the window lost focus, is dead until it has been let go and
    pressed afresh: typing a label never drives the robot, and coming back to the window never starts a motion. A key
    that was pressed and released between two polls still counts for one frame.
    """

    name = "keyboard"

    def __init__(self, keymap: KeyMap | None = None, clock: Callable[[], float] = time.monotonic):
        self.keymap = keymap or load_keymap()
        self._clock = clock
        self._opened = False
        self._forget()

    def _forget(self) -> None:
        self._down: frozenset[str] = frozenset()  # physical keys at the last feed
        # Action of each key that is obeyed, settled at its press: letting go of Ctrl does not turn Ctrl+W into W.
        # A key that is down and not in here is dead.
        self._obeyed: dict[str, str] = {}
        self._tapped: list[str] = []  # actions pressed since the last poll
        self._pressed: list[str] = []
        self._released: list[str] = []
        self._held_verbs: frozenset[str] = frozenset()
        self._listening = True
        self._sequence = 0
        self._t_receive = self._clock()

    def open(self) -> Status:
        self._forget()
        self._opened = True
        return self.status()

    def close(self) -> None:
        self._opened = False
        self._forget()

    def feed(
        self, down: Iterable[str], pressed: Iterable[str], released: Iterable[str], focused: bool, typing: bool
    ) -> None:
        """Called by the window once a tick, also from within a step.

        Args: down: names of the keys held now (`keymap.KEY_NAMES`). pressed, released: edges of this tick in order; a
        key in both that is not down was tapped. focused: the window has the keyboard. typing: a text box has it.
        """
        down = frozenset(down)
        pressed, released = list(pressed), list(released)
        self._t_receive = self._clock()
        self._listening = focused and not typing
        if not self._listening:
            self._down = down
            self._tapped = []
            self._obey({})
            return
        # A press counts when the key was up before, so that the key repeat of the system is not a press.
        fresh = [key for key in pressed if key not in self._down or key in released]
        fresh += [key for key in sorted(down - self._down) if key not in fresh]
        modifier = next((m for m, names in MODIFIERS.items() if set(names) & (down | set(fresh))), "")
        obeyed = {key: action for key, action in self._obeyed.items() if key in down and key not in fresh}
        for key in fresh:
            # With Ctrl or Alt held a bare binding is silent: Ctrl+S must not pull the arm back.
            action = self.keymap.keys.get(f"{modifier}+{key}" if modifier else key)
            if action is None:
                continue
            self._tapped.append(action)
            if action in VERBS:
                self._pressed.append(action)
            if key in down:
                obeyed[key] = action
            elif action in VERBS:  # down and up within one tick
                self._released.append(action)
        self._down = down
        self._obey(obeyed)

    def _obey(self, obeyed: dict[str, str]) -> None:
        """Set the keys in force; verbs that end are release edges."""
        held = frozenset(action for action in obeyed.values() if action in VERBS)
        self._released += sorted(self._held_verbs - held)
        self._held_verbs, self._obeyed = held, obeyed

    def poll(self, now: float) -> Sample:
        """What is held, plus what was tapped since the last poll. Raises nothing; a closed keyboard is at rest."""
        push = np.zeros(7)
        for action in dict.fromkeys([*self._obeyed.values(), *self._tapped]):  # two keys of one action push once
            if action in AXIS_ACTIONS:
                index, sign = AXIS_ACTIONS[action]
                push[index] += sign
        sample = Sample(
            kind=Kind.RATE,
            t_receive=self._t_receive,
            sequence=self._sequence,
            twist=push[:6],
            gripper=float(push[6]),
            buttons=self._held_verbs,
            pressed=tuple(self._pressed),
            released=tuple(self._released),
            raw={"down": sorted(self._down), "listening": self._listening},
        )
        self._tapped, self._pressed, self._released = [], [], []
        self._sequence += 1
        return sample

    def status(self) -> Status:
        if not self._opened:
            return Status(Health.NOT_FOUND, "the keyboard is closed")
        message = "" if self._listening else "keys are off: the window has no focus or a text box has the keyboard"
        return Status(Health.OK, message)

    def feedback(self, feedback: Feedback) -> None:
        """A keyboard gives nothing back."""

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": Kind.RATE.value,
            "keymap": dict(self.keymap.keys),
            "keymap_files": list(self.keymap.source),
            # W is away from the operator, wherever the camera stands. A held key stays held until the window tells that
            # it is up, however long a step keeps the window from looking
            "mapping": {"frame": "camera", "stale_after": HELD_FOR},
        }
