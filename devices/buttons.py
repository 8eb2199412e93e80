"""Buttons by name -> what they do: verbs with their edges, and pushes of an axis while held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from devices.contract import VERBS
from devices.keymap import AXIS_ACTIONS


class Buttons:
    """What is held, and every edge since the last `take`. Not thread safe: its device holds a lock.

    Args: actions: button name -> verb or axis action ("turn +x"), as a key map gives them; other buttons do nothing.
    """

    def __init__(self, actions: Mapping[str, str]):
        self.actions = dict(actions)
        self.held: frozenset[str] = frozenset()  # names of buttons
        self._edges: list[tuple[bool, str]] = []  # (pressed?, verb) in the order in which they happened
        self._tapped: list[str] = []  # axis actions pressed since the last take

    def press(self, name: str) -> None:
        self.set(self.held | {name})

    def release(self, name: str) -> None:
        self.set(self.held - {name})

    def set(self, held: Iterable[str]) -> None:
        """These are down now. Two buttons of one verb are one."""
        held = frozenset(held)
        before, after = self.verbs(self.held), self.verbs(held)
        self._edges += [(False, verb) for verb in sorted(before - after)]
        self._edges += [(True, verb) for verb in sorted(after - before)]
        self._tapped += [self.actions[b] for b in sorted(held - self.held) if self.actions.get(b) in AXIS_ACTIONS]
        self.held = held

    def verbs(self, held: frozenset[str] | None = None) -> frozenset[str]:
        held = self.held if held is None else held
        return frozenset(self.actions[b] for b in held if self.actions.get(b) in VERBS)

    def take(self) -> tuple[tuple[str, ...], tuple[str, ...], np.ndarray]:
        """(pressed verbs, released verbs, push (7,): twist and gripper). A tap since the last take pushes once more."""
        push = np.zeros(7)
        held = [self.actions[b] for b in self.held if self.actions.get(b) in AXIS_ACTIONS]
        for action in dict.fromkeys([*held, *self._tapped]):
            index, sign = AXIS_ACTIONS[action]
            push[index] += sign
        edges, self._edges, self._tapped = self._edges, [], []
        pressed = tuple(verb for down, verb in edges if down)
        return pressed, tuple(verb for down, verb in edges if not down), push
