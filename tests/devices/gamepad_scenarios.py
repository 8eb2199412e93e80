"""Scenarios with SDL's virtual game controllers; each runs in a process of its own (SDL's state is the process's).

`python -m tests.devices.gamepad_scenarios NAME` prints what happened as JSON. The pads are made by SDL itself
(SDL_JoystickAttachVirtualEx), so everything from its controller layer on is the real thing.
"""

from __future__ import annotations

import ctypes
import json
import random
import sys
import time
import warnings

from devices.contract import Feedback, Health
from devices.gamepad import Gamepad, probe
from devices.mapping import MappingSettings, start_mapping, to_command
from devices.registry import list_devices

warnings.simplefilter("ignore")
import sdl2  # noqa: E402

ALL_BUTTONS = (1 << 21) - 1


class Virtual:
    """A pad that the test holds in its hands. rumbles: (low, high) of every order that reached it."""

    def __init__(self, name: str = "Test Pad"):
        self.rumbles: list[tuple[int, int]] = []
        fields = dict(sdl2.SDL_VirtualJoystickDesc._fields_)
        self._rumble = fields["Rumble"](self._on_rumble)
        self._description = sdl2.SDL_VirtualJoystickDesc(
            version=1, type=sdl2.SDL_JOYSTICK_TYPE_GAMECONTROLLER, naxes=6, nbuttons=21, nhats=0, vendor_id=0x1234,
            product_id=0x5678, button_mask=ALL_BUTTONS, axis_mask=63, name=name.encode(), Rumble=self._rumble,
        )  # fmt: skip
        self.index = sdl2.SDL_JoystickAttachVirtualEx(ctypes.byref(self._description))
        assert self.index >= 0, sdl2.SDL_GetError()
        self.instance = sdl2.SDL_JoystickGetDeviceInstanceID(self.index)
        self.handle = sdl2.SDL_JoystickOpen(self.index)
        for axis in (4, 5):  # SDL's triggers rest at the lower end
            sdl2.SDL_JoystickSetVirtualAxis(self.handle, axis, -32768)

    def _on_rumble(self, _, low, high):
        self.rumbles.append((low, high))
        return 0

    def axis(self, number: int, value: float) -> None:
        """Sticks in [-1, 1]; triggers (4, 5) in [0, 1]."""
        counts = round(65535 * value - 32768) if number >= 4 else round(32767 * value)
        assert sdl2.SDL_JoystickSetVirtualAxis(self.handle, number, counts) == 0

    def button(self, number: int, down: bool) -> None:
        assert sdl2.SDL_JoystickSetVirtualButton(self.handle, number, int(down)) == 0

    def unplug(self) -> None:
        for index in range(sdl2.SDL_NumJoysticks()):
            if sdl2.SDL_JoystickGetDeviceInstanceID(index) == self.instance:
                sdl2.SDL_JoystickDetachVirtual(index)
                return


def until(pad: Gamepad, condition, seconds: float = 10.0):
    """Poll until the sample (or the status) is as wanted; the edges seen on the way are kept. Fails loudly."""
    pressed, released = [], []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sample = pad.poll(time.monotonic())
        pressed += sample.pressed
        released += sample.released
        if condition(sample, pad.status()):
            return sample, pressed, released
        time.sleep(0.002)
    raise SystemExit(f"waited in vain: {pad.status()}, {sample}")


def started(*virtuals: str, wanted=None) -> tuple:
    pad = Gamepad(wanted)
    pad.open()
    made = [Virtual(name) for name in virtuals]
    if made:
        until(pad, lambda s, st: st.ok)
    return (pad, *made)


def axes():
    pad, hand = started("Test Pad")
    rows = []
    for number in range(4):
        hand.axis(number, 0.5)
        sample, _, _ = until(pad, lambda s, _: abs(s.twist).max() > 0.49)
        rows.append([round(v, 3) for v in sample.twist.tolist()])
        hand.axis(number, 0.0)
        until(pad, lambda s, _: abs(s.twist).max() < 1e-3)
    for number in (11, 12, 13, 14):  # the cross, pressed as SDL numbers it
        hand.button(number, True)
        sample, _, _ = until(pad, lambda s, _: abs(s.twist).max() > 0.9)
        rows.append(sample.twist.tolist())
        hand.button(number, False)
        until(pad, lambda s, _: abs(s.twist).max() < 1e-3)
    described = pad.describe()
    pad.close()
    return {"rows": rows, "product": described["product"], "closed": pad.status().message}


def triggers():
    """They count as buttons from half way on, with hysteresis."""
    pad, hand = started("Test Pad")
    seen = []
    for value in (0.45, 0.55, 0.45, 0.35, 0.45, 1.0, 0.0):
        hand.axis(5, value)
        sample, pressed, released = until(
            pad, lambda s, _, v=value: abs(s.raw["axes"]["TRIGGERRIGHT"] - v) < 0.01
        )
        seen.append([value, "press" in sample.buttons, pressed, released])
    pad.close()
    return {"seen": seen}


def taps():
    """1,000 taps on three buttons, polled by a slow and uneven loop."""
    rng = random.Random(7)
    pad, hand = started("Test Pad")
    order, pressed, released = [], [], []
    verbs = {0: "grip_toggle", 3: "arm_cut", 6: "record"}
    for _ in range(1000):
        which = rng.choice(tuple(verbs))
        order.append(verbs[which])
        for down in (True, False):
            hand.button(which, down)
            sequence = pad._sequence
            while pad._sequence == sequence:  # as the hardware reports: one state after the other
                time.sleep(0.0005)
        if rng.random() < 0.1:
            sample = pad.poll(time.monotonic())
            pressed += sample.pressed
            released += sample.released
    sample = pad.poll(time.monotonic())
    pad.close()
    return {"same": pressed + list(sample.pressed) == order, "released": len(released + list(sample.released))}


def tap_within_a_slow_step():
    pad, hand = started("Test Pad")
    pad.poll(time.monotonic())
    for number, down in ((0, True), (0, False), (11, True), (11, False)):
        hand.button(number, down)
        time.sleep(0.03)
    first, second = pad.poll(time.monotonic()), pad.poll(time.monotonic())
    pad.close()
    return {
        "pressed": first.pressed, "released": first.released, "held": sorted(first.buttons),
        "push": first.twist.tolist(), "later": second.twist.tolist(),
    }  # fmt: skip


def plug():
    """Missing, plugged in, pushed and pulled out, plugged in again still pushed: nothing moves until it rested."""
    pad = Gamepad()
    missing = pad.open()
    settings = MappingSettings(rest_time=0.02, ramp_time=0.0)
    state, travelled = start_mapping(settings), []

    def command(sample):
        nonlocal state
        out, state = to_command(sample, pad.status(), settings, state, now=time.monotonic(), dt=1 / 30)
        travelled.append(float(abs(out.twist).sum()))
        return out

    hand = Virtual("Test Pad")
    until(pad, lambda s, st: st.ok)
    for _ in range(30):
        command(pad.poll(time.monotonic()))
        time.sleep(0.002)
    hand.axis(0, 1.0)
    hand.button(9, True)
    command(until(pad, lambda s, _: s.twist[0] > 0.9 and "clutch" in s.buttons)[0])
    hand.button(9, False)
    command(until(pad, lambda s, _: s.twist[0] > 0.9 and not s.buttons)[0])
    moving = travelled.pop()
    hand.button(0, True)
    until(pad, lambda s, _: "grip_toggle" in s.buttons)
    hand.unplug()
    travelled.clear()
    sample, _, released = until(pad, lambda s, st: st.health is Health.LOST)
    lost = pad.status().message
    command(sample)
    again = Virtual("Test Pad")
    again.axis(0, 1.0)
    sample, _, _ = until(pad, lambda s, st: st.ok and s.twist[0] > 0.9)
    command(sample)
    reason, jump = state.reason, sum(travelled)
    again.axis(0, 0.0)
    until(pad, lambda s, _: s.twist[0] == 0.0)
    for _ in range(30):
        command(pad.poll(time.monotonic()))
        time.sleep(0.002)
    again.axis(0, -1.0)
    after = command(until(pad, lambda s, _: s.twist[0] < -0.9)[0]).twist[0]
    pad.close()
    return {
        "missing": missing.message, "moving": moving, "lost": lost, "valid": bool(sample.valid), "released": released,
        "jump": jump, "reason": reason, "after": float(after),
    }  # fmt: skip


def rumble():
    clock = [100.0]
    pad = Gamepad(clock=lambda: clock[0])
    pad.open()
    hand = Virtual("Test Pad")
    until(pad, lambda s, st: st.ok)
    pad.feedback(Feedback(force=0.0))
    quiet = len(hand.rumbles)
    pad.feedback(Feedback(force=10.0))
    pad.feedback(Feedback(force=10.1))  # too soon, and the same
    first = list(hand.rumbles)
    clock[0] += 0.25
    pad.feedback(Feedback(force=100.0, events=("touch",)))
    second = hand.rumbles[len(first) :]
    clock[0] += 0.25
    pad.feedback(Feedback(force=100.0, events=("touch",)))  # it goes on touching: no second knock
    clock[0] += 0.12
    pad.feedback(Feedback())
    third = hand.rumbles[len(first) + len(second) :]
    pad.close()
    return {"quiet": quiet, "first": first, "second": second, "third": third}


def two():
    """Two pads, chosen by name; each gets its own events."""
    left, right = Gamepad("Left"), Gamepad("Right")
    left.open(), right.open()
    hands = Virtual("Left Pad"), Virtual("Right Pad")
    until(left, lambda s, st: st.ok)
    until(right, lambda s, st: st.ok)
    hands[0].axis(0, 1.0)
    hands[1].button(0, True)
    a, _, _ = until(left, lambda s, _: s.twist[0] > 0.9)
    b, pressed, _ = until(right, lambda s, _: "grip_toggle" in s.buttons)
    other = Gamepad()
    other.open()
    until(other, lambda s, st: st.ok)
    note = other.status().message
    wrong = Gamepad("Wheel")
    listed = [entry.name for entry in list_devices() if entry.name.startswith("gamepad")]
    answer = wrong.open().message, probe()
    hands[0].unplug()
    until(left, lambda s, st: st.health is Health.LOST)
    still = right.status().health.value
    for device in (left, right, other, wrong):
        device.close()
    return {
        "left": [a.twist[0], sorted(a.buttons)], "right": [b.twist[0], pressed], "note": note, "wrong": answer[0],
        "probed": [[n, s.health.value] for n, s in answer[1]], "listed": listed, "still": still,
    }  # fmt: skip


if __name__ == "__main__":
    scenarios = (axes, triggers, taps, tap_within_a_slow_step, plug, rumble, two)
    print(json.dumps({f.__name__: f for f in scenarios}[sys.argv[1]]()))
