"""A 3Dconnexion SpaceMouse through pyspacemouse: a reader thread drains it, `poll` hands out what it says now.

Why not simply read once a frame: one read takes one HID report, a moving cap sends 125 to 250 a second, so a 30 Hz
loop would lag by seconds. Why `poll` drains as well: while the window draws it holds the interpreter, the thread
starves, and what the operating system has queued meanwhile is still the truth.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from devices import spacemouse_find as find
from devices.contract import Feedback, Health, Kind, Sample, Status
from devices.keymap import KeyMap, load_keymap

SILENCE = 0.2  # [s] a deflected cap repeats itself every 8 to 16 ms; silence this long means that it is gone
DRAIN_PAUSE = 0.003  # [s] between two looks at an empty queue
REPLUG_PAUSE = 0.5  # [s] between two searches for a device that is not there
REPORT_SIZE = 16  # [bytes] more than any report; the system hands out one report a read whatever the size


class _Tap:
    """The HID device as pyspacemouse sees it; keeps the last report, which pyspacemouse does not show."""

    def __init__(self, device: Any):
        self._device = device
        self.report = b""
        self.again = False  # hand out the last report once more

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def read(self, size: int) -> bytearray:
        if self.again:
            self.again = False
            return bytearray(self.report)
        data = self._device.read(max(size, REPORT_SIZE))
        if data:
            self.report = bytes(data)
        return data


class SpaceMouse:
    """Rate device. `wanted`: serial number or path of the one to use when several are plugged in.

    Never raises for hardware: what is wrong stands in `status()`. A device that is missing or goes away is looked for
    again twice a second, and takes up its work when it comes (the mapping stage then waits for it to be at rest).
    """

    name = "SpaceMouse"

    def __init__(
        self, wanted: str | None = None, keymap: KeyMap | None = None, clock: Callable[[], float] = time.monotonic
    ):
        self.wanted = wanted
        self._buttons_to_verbs = (keymap or load_keymap()).buttons
        self._clock = clock
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._mouse: Any = None
        self._tap: _Tap | None = None
        self._t_state: float | None = None  # stamp of the last report taken
        self._status = Status(Health.NOT_FOUND, "the SpaceMouse has not been opened")
        self._info: dict[str, Any] = {}
        self._sequence = 0
        self._edges: list[tuple[bool, str]] = []  # (pressed?, verb), in the order in which they happened
        self._rest()

    def _rest(self) -> None:
        self._twist = np.zeros(6)
        self._t_half = [-np.inf, -np.inf]  # [s] last report that carried translation, rotation
        self._t_receive = self._clock()
        self._held: tuple[str, ...] = ()  # button names

    # ---- life

    def open(self) -> Status:
        """Find and open the device and start the reader. The status says how it went; the search goes on either way."""
        if self._thread is None:
            self._stop.clear()
            self._connect()
            self._thread = threading.Thread(target=self._read_loop, name="spacemouse-reader", daemon=True)
            self._thread.start()
        return self.status()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)
            self._thread = None
        with self._lock:
            self._disconnect(Status(Health.NOT_FOUND, "the SpaceMouse is closed"))

    def _connect(self) -> None:
        """Search without the lock (it may take 50 ms, and the loop must go on polling), adopt with it."""
        result = find.open_spacemouse(self.wanted, _Tap)
        with self._lock:
            if result.mouse is not None and self._stop.is_set():
                result.mouse.close()
                return
            # A mouse that was there and is being looked for stays LOST until it is back or something new is wrong.
            if not (self._status.health is Health.LOST and result.status.health is Health.NOT_FOUND):
                self._status = result.status
            if result.mouse is not None:
                self._mouse, self._tap, self._info = result.mouse, result.tap, result.info
                self._t_state = None
                self._rest()

    def _disconnect(self, status: Status) -> None:
        """Caller holds the lock. Whatever was held is released: a lost device must not leave a button down."""
        if self._mouse is not None:
            try:
                self._mouse.close()
            except Exception:  # a driver that fails to close what is gone has nothing to tell
                pass
        self._mouse = self._tap = None
        self._note_buttons(())
        self._rest()
        self._status = status

    def _read_loop(self) -> None:
        while not self._stop.is_set():
            if self._mouse is None:
                self._connect()
            with self._lock:
                if self._mouse is not None:
                    self._drain()
                missing = self._mouse is None
            self._stop.wait(REPLUG_PAUSE if missing else DRAIN_PAUSE)

    # ---- reports

    def _drain(self) -> None:
        """Take every report that waits. Caller holds the lock."""
        try:
            while True:
                state = self._mouse.read()
                if state.t == self._t_state or state.t < 0.0:  # pyspacemouse stamps each report; -1: none so far
                    return
                self._t_state = state.t
                self._take(state)
        except Exception as error:  # easyhid raises HIDException; a driver under stress may raise anything
            name = self._info.get("product") or "SpaceMouse"
            text = f"{name} went away ({error}). Plug it in again: it is found by itself."
            self._disconnect(Status(Health.LOST, text))

    def _take(self, state: Any) -> None:
        now = self._clock()
        report = self._tap.report
        layout = find.layout_seen(self._mouse.info, report)
        if layout is not None:  # this model's firmware packs its reports the other way: read them so from now on
            buttons = list(state.buttons)
            self._mouse = type(self._mouse)(info=layout, device=self._tap)
            self._tap.again = True
            state = self._mouse.read()
            state.buttons[:] = buttons
            self._t_state = state.t
        axes = (state.x, state.y, state.z, state.roll, state.pitch, state.yaw)
        self._twist = np.clip(np.array(axes, dtype=float), -1.0, 1.0)
        for half, axis in enumerate(("x", "roll")):
            if self._mouse.info.mappings[axis].channel == report[0]:
                self._t_half[half] = now
        names = self._mouse.info.button_names
        self._note_buttons(tuple(name for name, down in zip(names, state.buttons, strict=False) if down))
        self._t_receive = now
        self._sequence += 1

    def _note_buttons(self, held: tuple[str, ...]) -> None:
        """Edges by verb: two buttons of one verb are one."""
        before, after = self._verbs(self._held), self._verbs(held)
        self._edges += [(False, verb) for verb in sorted(before - after)]
        self._edges += [(True, verb) for verb in sorted(after - before)]
        self._held = held

    def _verbs(self, buttons: tuple[str, ...]) -> frozenset[str]:
        return frozenset(self._buttons_to_verbs[b] for b in buttons if b in self._buttons_to_verbs)

    # ---- contract

    def poll(self, now: float) -> Sample:
        """The cap as it is now, and every button edge since the last poll. Silence of a deflected cap is rest."""
        with self._lock:
            if self._mouse is not None:
                self._drain()
            now = max(now, self._clock())  # reports drained just now are younger than the caller's clock
            twist = self._twist.copy()
            for half in (0, 1):
                if now - self._t_half[half] > SILENCE:
                    twist[3 * half : 3 * half + 3] = 0.0
            edges, self._edges = self._edges, []
            return Sample(
                kind=Kind.RATE,
                t_receive=self._t_receive,
                sequence=self._sequence,
                twist=twist,
                buttons=self._verbs(self._held),
                pressed=tuple(verb for down, verb in edges if down),
                released=tuple(verb for down, verb in edges if not down),
                valid=self._mouse is not None,
                raw={"axes": self._twist.tolist(), "buttons": list(self._held), "report": list(self._report())},
            )

    def _report(self) -> bytes:
        return self._tap.report if self._tap is not None else b""

    def status(self) -> Status:
        with self._lock:
            status = self._status
            if not status.ok:
                return status
            ages = [self._clock() - t for t in self._t_half]
            silent = [bool(np.any(self._twist[3 * h : 3 * h + 3])) and ages[h] > SILENCE for h in (0, 1)]
            if not any(silent):
                return status
            name = self._info.get("product") or "SpaceMouse"
            age = max(a for a, s in zip(ages, silent, strict=True) if s)
            text = f"{name} fell silent {age:.1f} s ago while pushed: out of radio range, or its battery is low"
            return replace(status, health=Health.STALE, message=text)

    def feedback(self, feedback: Feedback) -> None:
        """A SpaceMouse gives nothing back."""

    def describe(self) -> dict[str, Any]:
        with self._lock:
            return {
                "name": self.name,
                "kind": Kind.RATE.value,
                **self._info,
                "buttons": dict(self._buttons_to_verbs),
                "mapping": {"frame": "camera"},
            }
