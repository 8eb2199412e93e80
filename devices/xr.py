"""VR controllers and tracked hands through OpenXR, without a picture: any runtime that offers XR_MND_headless.

One session serves both hands of a process. Its own thread reads it 90 times a second and looks again for a runtime
that is missing or went away, so a headset that is switched on later is found by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from devices.buttons import Buttons
from devices.contract import Feedback, Health, Kind, Sample, Status
from devices.hand_stream import HandState, HandStream
from devices.keymap import KeyMap, load_keymap
from devices.xr_session import SIDES, HandReading, XrProblem, XrSession

PERIOD = 1.0 / 90.0  # [s] between two readings
RETRY = 2.0  # [s] between two searches for a runtime
SQUEEZE_DOWN, SQUEEZE_UP = 0.6, 0.4  # [-] where a squeeze counts as held, and as let go
STICK_DOWN, STICK_UP = 0.7, 0.5
HAPTIC_FULL_FORCE = 20.0  # [N] on the tool felt at full strength
HAPTIC_PERIOD, HAPTIC_LENGTH = 0.05, 0.06  # [s]
_HEALTH = {"library": Health.NO_LIBRARY, "lost": Health.LOST}
ANALOG = {  # button -> (value, sign): from a threshold on it counts as pressed
    "SQUEEZE": ("squeeze", 1.0), "STICK_UP": ("stick_y", 1.0), "STICK_DOWN": ("stick_y", -1.0),
    "STICK_LEFT": ("stick_x", -1.0), "STICK_RIGHT": ("stick_x", 1.0),
}  # fmt: skip


class XrLink:
    """The process's one session and its reader thread. `add` and `remove` count its devices.

    make: opens a session. Devices get every reading through `take(controller, hand, now)`, in the thread.
    """

    def __init__(self, make: Callable[[], XrSession] = XrSession, clock: Callable[[], float] = time.monotonic):
        self._make, self._clock = make, clock
        self._lock = threading.RLock()
        self._devices: list[Any] = []
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._pulses: dict[str, float] = {}  # side -> amplitude wanted
        self.status = Status(Health.NOT_FOUND, "the OpenXR session has not been opened")
        self.runtime = ""
        self.has_hands = False
        self._tried = threading.Event()

    def add(self, device: Any) -> None:
        with self._lock:
            self._devices.append(device)
            if self._thread is None:
                self._stop.clear()
                self._tried.clear()
                self._thread = threading.Thread(target=self._run, name="openxr-reader", daemon=True)
                self._thread.start()
        self._tried.wait(5.0)  # so that the first status is the truth

    def remove(self, device: Any) -> None:
        with self._lock:
            if device in self._devices:
                self._devices.remove(device)
            thread = self._thread if not self._devices else None
            if thread is not None:
                self._stop.set()
                self._thread = None
        if thread is not None:
            thread.join(timeout=5.0)
            self.status = Status(Health.NOT_FOUND, "the OpenXR session is closed")

    def pulse(self, side: str, amplitude: float) -> None:
        self._pulses[side] = amplitude

    def _run(self) -> None:
        stop, session = self._stop, None  # OpenXR handles live and die in this thread
        while not stop.is_set():
            if session is None:
                session = self._open()
                self._tried.set()
                if session is None:
                    stop.wait(RETRY)
                    continue
            try:
                self._turn(session)
            except XrProblem as problem:
                self._lost(problem)
                session.close()
                session = None
                stop.wait(RETRY)
                continue
            stop.wait(PERIOD)
        if session is not None:
            session.close()

    def _open(self) -> XrSession | None:
        try:
            session = self._make()
        except XrProblem as problem:
            was_there = self.status.health is Health.LOST
            health = Health.LOST if was_there else _HEALTH.get(problem.kind, Health.NOT_FOUND)
            self.status = Status(health, str(problem))
            return None
        self.runtime, self.has_hands = session.runtime, session.has_hands
        self.status = Status(Health.NOT_FOUND, f"{session.runtime}: the session is starting")
        return session

    def _turn(self, session: XrSession) -> None:
        readings = session.read()
        if readings is None:
            return
        self.status = Status(Health.OK)
        now = self._clock()
        with self._lock:
            for device in self._devices:
                device.take(*readings[device.side], now)
        for side in SIDES:
            amplitude = self._pulses.pop(side, 0.0)
            if amplitude > 0.0:
                session.vibrate(side, amplitude, HAPTIC_LENGTH)

    def _lost(self, problem: XrProblem) -> None:
        self.status = Status(Health.LOST, f"{problem}. It is found again by itself when it is back.")
        with self._lock:
            for device in self._devices:
                device.take(HandReading(), HandReading(), self._clock())


LINK = XrLink()


class _XrDevice:
    """What a controller and a hand have in common."""

    def __init__(self, side: str, link: XrLink, clock: Callable[[], float]):
        if side not in SIDES:
            raise ValueError(f"{self.name}:{side}; legal: {', '.join(f'{self.name}:{s}' for s in SIDES)}")
        self.side = side
        self._link, self._clock = link, clock
        self._lock = threading.RLock()
        self._sequence, self._t_receive = 0, clock()

    def open(self) -> Status:
        self._link.add(self)
        return self.status()

    def close(self) -> None:
        self._link.remove(self)
        self.take(HandReading(), HandReading(), self._clock())


class XrController(_XrDevice):
    """A controller: its grip pose moves the tool, the trigger closes the gripper, buttons by the key map's `xr`."""

    name = "xr"

    def __init__(
        self,
        side: str = "right",
        keymap: KeyMap | None = None,
        link: XrLink = LINK,
        clock: Callable[[], float] = time.monotonic,
    ):
        super().__init__(side, link, clock)
        self._buttons = Buttons((keymap or load_keymap()).xr)
        self._reading = HandReading()
        self._pulsed_at = -np.inf
        self._felt, self._knock = frozenset(), False  # events of the last feedback; one of them waits to be told

    def take(self, controller: HandReading, hand: HandReading, now: float) -> None:
        """From the reader thread: every button edge is kept until the next poll."""
        with self._lock:
            held = set(controller.clicks)
            for button, (value, sign) in ANALOG.items():
                amount = sign * controller.values.get(value, 0.0)
                down, up = (SQUEEZE_DOWN, SQUEEZE_UP) if value == "squeeze" else (STICK_DOWN, STICK_UP)
                if amount >= (up if button in self._buttons.held else down):
                    held.add(button)
            self._buttons.set(held)
            self._reading = controller
            self._sequence += 1
            self._t_receive = now

    def poll(self, now: float) -> Sample:
        with self._lock:
            reading = self._reading
            pressed, released, _ = self._buttons.take()
            return Sample(
                kind=Kind.POSE,
                t_receive=self._t_receive,
                sequence=self._sequence,
                pose=reading.pose,
                gripper=float(np.clip(reading.values.get("trigger", 0.0), 0.0, 1.0)),
                buttons=self._buttons.verbs(),
                pressed=pressed,
                released=released,
                valid=reading.active and reading.valid,
                confidence=1.0 if reading.tracked else 0.5,
                raw={"values": dict(reading.values), "buttons": sorted(self._buttons.held)},
            )

    def status(self) -> Status:
        status = self._link.status
        if not status.ok:
            return status
        with self._lock:
            if not self._reading.active:
                return Status(Health.STALE, f"the {self.side} controller is off or asleep: press a button on it")
            if not self._reading.valid:
                return Status(Health.OK, f"the {self.side} controller is out of sight")
            return Status(Health.OK)

    def feedback(self, feedback: Feedback) -> None:
        """Hums with the force on the tool; an event is a knock."""
        amplitude = min(max(feedback.force, feedback.grip_force) / HAPTIC_FULL_FORCE, 1.0)
        self._knock |= bool(set(feedback.events) - self._felt)  # an event that lasts knocks once
        self._felt = frozenset(feedback.events)
        amplitude = max(amplitude, 0.8 if self._knock else 0.0)
        now = self._clock()
        if amplitude >= 0.02 and now - self._pulsed_at >= HAPTIC_PERIOD:
            self._pulsed_at, self._knock = now, False
            self._link.pulse(self.side, amplitude)

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name, "kind": Kind.POSE.value, "side": self.side, "product": self._link.runtime,
            "profile": self._reading.profile, "buttons": dict(self._buttons.actions),
            "mapping": {"frame": "camera", "clutch_mode": "hold_in"},
        }  # fmt: skip


class XrHand(_XrDevice):
    """A tracked hand: the wrist moves the tool, thumb and index finger pinch the gripper shut, 26 joints."""

    name = "xr-hand"

    def __init__(
        self, side: str = "right", link: XrLink = LINK, clock: Callable[[], float] = time.monotonic
    ):
        super().__init__(side, link, clock)
        self._stream = HandStream(side, filtered=False)  # runtimes filter by themselves
        self._state = HandState(False, "no hand has been seen yet")
        self._hand = HandReading()

    def take(self, controller: HandReading, hand: HandReading, now: float) -> None:
        with self._lock:
            self._hand = hand
            if hand.active and hand.valid:
                self._state = self._stream.take(hand.joints, 1.0 if hand.tracked else 0.5, now)
            else:
                self._state = HandState(False, f"the {self.side} hand is out of sight")
            self._sequence += 1
            self._t_receive = now

    def poll(self, now: float) -> Sample:
        with self._lock:
            state, hand = self._state, self._hand
            return Sample(
                kind=Kind.JOINTS,
                t_receive=self._t_receive,
                sequence=self._sequence,
                pose=state.pose,
                joints=None if hand.joints is None else hand.joints.copy(),
                gripper=state.closure,
                valid=state.valid,
                confidence=1.0 if hand.tracked else 0.5,
                raw={"reason": state.reason},
            )

    def status(self) -> Status:
        status = self._link.status
        if not status.ok:
            return status
        if not self._link.has_hands:
            return Status(Health.NOT_FOUND, f"{self._link.runtime} tracks no hands (no XR_EXT_hand_tracking)")
        with self._lock:
            return Status(Health.OK, self._state.reason)

    def feedback(self, feedback: Feedback) -> None:
        """A bare hand feels nothing."""

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name, "kind": Kind.JOINTS.value, "side": self.side, "product": self._link.runtime,
            "joints": "openxr26", "mapping": {"frame": "camera", "gripper_mode": "switch"},
        }  # fmt: skip


def probe() -> Status:
    """Is there a runtime that answers?"""
    if LINK.status.ok:
        return LINK.status
    try:
        session = XrSession()
    except XrProblem as problem:
        return Status(_HEALTH.get(problem.kind, Health.NOT_FOUND), str(problem))
    runtime, hands = session.runtime, session.has_hands
    session.close()
    return Status(Health.OK, f"{runtime}, hands: {'yes' if hands else 'no'}")
