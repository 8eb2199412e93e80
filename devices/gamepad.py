"""A game controller as a rate device: two sticks, a cross for the wrist, triggers and buttons; rumble as feedback.

A reader thread pumps SDL, so that a tap within a slow step is seen as down and up and not missed; `poll` pumps as
well, so that what it hands out is what the hands do now.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from devices.buttons import Buttons
from devices.contract import Feedback, Health, Kind, Sample, Status
from devices.keymap import KeyMap, load_keymap
from devices.sdl_pads import PADS, Pad, SdlMissing, SdlPads, refused_nodes

PUMP_PAUSE = 0.004  # [s]
FULL = 32767.0  # counts of a full push
TRIGGER_DOWN, TRIGGER_UP = 0.5, 0.4  # [-] where a trigger counts as pressed, and as let go
TRIGGERS = {"TRIGGERLEFT": "LEFT_TRIGGER", "TRIGGERRIGHT": "RIGHT_TRIGGER"}
RUMBLE_FULL_FORCE = 20.0  # [N] on the tool that rumbles at full strength
RUMBLE_PERIOD = 0.1  # [s] between two orders to the motors
RUMBLE_LENGTH = 250  # [ms] of one order: the motors stop by themselves when nothing follows
EVENT_STRENGTH = 0.8  # [-] of the light motor when something touches, is cut or is blocked
_RULE = 'KERNEL=="event*", SUBSYSTEM=="input", ENV{ID_INPUT_JOYSTICK}=="1", TAG+="uaccess"'


class Gamepad:
    """Rate device. `wanted`: number (from 1), serial, path or part of the name when several are plugged in.

    Never raises for hardware: what is wrong stands in `status()`. A pad that is missing or goes away is taken up when
    it comes (the mapping stage then waits for it to be at rest).
    """

    name = "gamepad"

    def __init__(
        self,
        wanted: str | None = None,
        keymap: KeyMap | None = None,
        clock: Callable[[], float] = time.monotonic,
        pads: SdlPads = PADS,
    ):
        self.wanted = wanted
        self._buttons = Buttons((keymap or load_keymap()).gamepad)
        self._clock = clock
        self._pads = pads
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._started = False
        self._pad: Pad | None = None
        self._last_name = ""  # of the pad that was there
        self._sticks = dict.fromkeys(("LEFTX", "LEFTY", "RIGHTX", "RIGHTY"), 0.0)
        self._triggers = dict.fromkeys(TRIGGERS, 0.0)
        self._problem = Status(Health.NOT_FOUND, "the gamepad has not been opened")
        self._sequence = 0
        self._t_receive = clock()
        self._rumbled_at, self._rumbled = -np.inf, (0.0, 0.0)
        self._felt, self._knock = frozenset(), False  # events of the last feedback; one of them waits to be told

    # ---- life

    def open(self) -> Status:
        with self._lock:
            if self._thread is None:
                try:
                    self._pads.start()
                except SdlMissing as error:
                    self._problem = Status(Health.NO_LIBRARY, str(error))
                    return self._problem
                self._started = True
                self._stop.clear()
                self._update()
                self._thread = threading.Thread(target=self._read_loop, name="gamepad-reader", daemon=True)
                self._thread.start()
        return self.status()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)
            self._thread = None
        with self._lock:
            if self._pad is not None:
                self._pads.rumble(self._pad, 0.0, 0.0, 0)
            if self._started:
                self._pads.stop()
                self._started = False
            self._drop(Status(Health.NOT_FOUND, "the gamepad is closed"))

    def _read_loop(self) -> None:
        while not self._stop.wait(PUMP_PAUSE):
            with self._lock:
                self._update()

    # ---- events

    def _update(self) -> None:
        """Take everything that waits. Caller holds the lock."""
        self._pads.pump()
        if self._pad is not None and not self._pad.attached:
            # an unplugged pad's last events count, then it is at rest
            self._last_name = self._pad.name
            self._drop(Status(Health.LOST, f"{self._pad.name} went away. Plug it in again: it is found by itself."))
        if self._pad is None:
            self._pad = self._choose()
            if self._pad is not None:
                self._problem = Status(Health.OK)
        if self._pad is None:
            return
        for what, name, value in self._pad.take():
            self._take(what, name, value)
        self._t_receive = self._clock()

    def _choose(self) -> Pad | None:
        with self._pads.lock:
            pads = sorted(self._pads.pads.values(), key=lambda pad: pad.instance)
        if self.wanted is not None:
            folded = self.wanted.casefold()
            numbered = {str(number): pad for number, pad in enumerate(pads, 1)}
            matches = [p for p in pads if self.wanted in (p.serial, p.path) or folded in p.name.casefold()]
            matches = [numbered[self.wanted]] if self.wanted in numbered else matches
            if pads and not matches and self._problem.health is not Health.LOST:
                names = ", ".join(p.name for p in pads)
                self._problem = Status(Health.NOT_FOUND, f"no gamepad called {self.wanted!r}. Plugged in: {names}.")
            pads = matches
        elif not pads and self._problem.health is not Health.LOST:
            self._problem = _nothing_there(self._pads)
        return pads[0] if pads else None

    def _take(self, what: str, name: str, value: int) -> None:
        self._sequence += 1
        if what == "button":
            (self._buttons.press if value else self._buttons.release)(name)
        elif name in self._sticks:
            self._sticks[name] = float(np.clip(value / FULL, -1.0, 1.0))
        else:
            amount = self._triggers[name] = float(np.clip(value / FULL, 0.0, 1.0))
            button = TRIGGERS[name]
            if button not in self._buttons.held and amount >= TRIGGER_DOWN:
                self._buttons.press(button)
            elif button in self._buttons.held and amount <= TRIGGER_UP:
                self._buttons.release(button)

    def _drop(self, status: Status) -> None:
        self._pad = None
        self._buttons.set(())
        self._sticks = dict.fromkeys(self._sticks, 0.0)
        self._triggers = dict.fromkeys(self._triggers, 0.0)
        self._problem = status

    # ---- contract

    def poll(self, now: float) -> Sample:
        """Sticks as they are, every button edge since the last poll. Stick forward is away, right stick is height and
        swing, the cross nods and rolls."""
        with self._lock:
            if self._started:
                self._update()
            pressed, released, push = self._buttons.take()
            s = self._sticks
            sticks = np.array([s["LEFTX"], -s["LEFTY"], -s["RIGHTY"], 0.0, 0.0, -s["RIGHTX"]])  # SDL counts y downwards
            return Sample(
                kind=Kind.RATE,
                t_receive=self._t_receive,
                sequence=self._sequence,
                twist=np.clip(sticks + push[:6], -1.0, 1.0),
                gripper=float(np.clip(push[6], -1.0, 1.0)),
                buttons=self._buttons.verbs(),
                pressed=pressed,
                released=released,
                valid=self._pad is not None,
                raw={"axes": {**s, **self._triggers}, "buttons": sorted(self._buttons.held)},
            )

    def status(self) -> Status:
        with self._lock:
            if self._pad is None:
                return self._problem
            others = len(self._pads.pads) - 1
            if others > 0 and self.wanted is None:
                names = ", ".join(repr(pad.name) for pad in self._pads.pads.values())
                text = f"{others + 1} gamepads: {names}. Using {self._pad.name!r}; to choose: --input gamepad:NAME"
                return replace(self._problem, message=text)
            return self._problem

    def feedback(self, feedback: Feedback) -> None:
        """The heavy motor hums with the force on the tool, the light one with the grip; an event is a knock."""
        with self._lock:
            if self._pad is None:
                return
            low = min(feedback.force / RUMBLE_FULL_FORCE, 1.0)
            high = min(0.5 * feedback.grip_force / RUMBLE_FULL_FORCE, 0.5)
            self._knock |= bool(set(feedback.events) - self._felt)  # an event that lasts knocks once
            self._felt = frozenset(feedback.events)
            high = max(high, EVENT_STRENGTH if self._knock else 0.0)
            now = self._clock()
            same = max(abs(low - self._rumbled[0]), abs(high - self._rumbled[1])) < 0.05
            quiet = low < 0.02 and high < 0.02 and max(self._rumbled) < 0.02
            if quiet or now - self._rumbled_at < RUMBLE_PERIOD * (2.0 if same else 1.0):
                return
            self._rumbled_at, self._rumbled, self._knock = now, (low, high), False
            self._pads.rumble(self._pad, low, high, RUMBLE_LENGTH)

    def describe(self) -> dict[str, Any]:
        with self._lock:
            pad = self._pad
            return {
                "name": self.name,
                "kind": Kind.RATE.value,
                "product": pad.name if pad is not None else self._last_name,
                "serial": pad.serial if pad is not None else "",
                "buttons": dict(self._buttons.actions),
                "axes": {"x": "left stick", "y": "left stick", "z": "right stick", "rz": "right stick",
                         "rx": "cross", "ry": "cross"},
                "mapping": {"frame": "camera", "deadband": 0.15, "expo": 0.4},
            }  # fmt: skip


def udev_lines() -> str:
    """The lines that let the user at the screen read game controllers."""
    return (
        f"echo '{_RULE}' | sudo tee /etc/udev/rules.d/70-tacktile-gamepad.rules\n"
        "sudo udevadm control --reload-rules && sudo udevadm trigger"
    )


def _nothing_there(pads: SdlPads) -> Status:
    """Why SDL shows no pad."""
    refused = refused_nodes()
    if refused:
        text = f"you may not read {', '.join(refused)}. Give the logged-in user access, then plug it in again:"
        return Status(Health.NO_PERMISSION, f"{text}\n{udev_lines()}")
    if pads.unmapped:
        text = (
            f"{pads.unmapped[0]!r} is plugged in, but SDL knows no controller layout for it. Make one with "
            "https://generalarcade.com/gamepadtool and put it into the variable SDL_GAMECONTROLLERCONFIG."
        )
        return Status(Health.NOT_FOUND, text)
    return Status(Health.NOT_FOUND, "no gamepad is plugged in. Plug it in, or pair it: it is found by itself.")


def probe() -> list[tuple[str, Status]]:
    """(name, status) of each gamepad plugged in; one nameless entry when there is none or the library is missing."""
    pads = PADS
    try:
        pads.start()
    except SdlMissing as error:
        return [("", Status(Health.NO_LIBRARY, str(error)))]
    try:
        pads.pump()
        found = [(pad.name, Status(Health.OK, f"{pad.name}, serial {pad.serial or 'unknown'}"))
                 for pad in pads.pads.values()]  # fmt: skip
        return found or [("", _nothing_there(pads))]
    finally:
        pads.stop()
