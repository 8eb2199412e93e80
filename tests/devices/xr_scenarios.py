"""Scenarios with a real OpenXR runtime: Monado with its `remote` driver; see .ci/monado.sh and test_xr.

`python -m tests.devices.xr_scenarios NAME` prints what happened as JSON. Runs inside the runtime's own root folder, so
it needs no more than numpy, PyYAML and pyopenxr.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time

import numpy as np

from devices import hand_geometry
from devices.contract import Feedback, Health, Kind
from devices.mapping import MappingSettings, start_mapping, to_command
from devices.xr import LINK, XrController, XrHand, probe
from tests.devices.monado_remote import Remote


class Hands:
    """The remote, sending at 90 Hz while a device is polled."""

    def __init__(self):
        self.remote = Remote()

    def until(self, device, condition, seconds: float = 10.0):
        """Send and poll until the sample is as wanted; edges on the way are kept."""
        pressed, released, end, sample = [], [], time.monotonic() + seconds, None
        while time.monotonic() < end:
            self.remote.send()
            sample = device.poll(time.monotonic())
            pressed += sample.pressed
            released += sample.released
            if condition(sample):
                return sample, pressed, released
            time.sleep(1 / 90)
        raise SystemExit(f"waited in vain: {device.status()}, {sample}")


def near(pose, position, tolerance=2e-3) -> bool:
    return pose is not None and bool(np.abs(np.asarray(pose[:3]) - position).max() < tolerance)


def rounded(values, digits=4):
    return [round(float(v), digits) for v in np.ravel(values)]


def controllers():
    """Grip poses, trigger, squeeze, stick and buttons of both hands, in the device frame."""
    hands = Hands()
    right, left = XrController("right"), XrController("left")
    right.open(), left.open()
    half = math.sqrt(0.5)
    hands.remote.place("right", (0.2, 1.2, -0.4), (0.0, half, 0.0, half), trigger=0.25)  # a quarter turn about up
    hands.remote.place("left", (-0.2, 1.0, -0.3), trigger=1.0, squeeze=1.0)
    # the local space may stand anywhere: motions are compared, not places
    a, _, _ = hands.until(right, lambda s: s.valid and abs(s.gripper - 0.25) < 0.01)
    b, _, _ = hands.until(left, lambda s: s.valid and s.gripper > 0.99 and "clutch" in s.buttons)
    hands.remote.place("right", (0.2 + 0.1, 1.2 + 0.05, -0.4 - 0.03), (0.0, half, 0.0, half), trigger=0.25)
    c, _, _ = hands.until(right, lambda s: s.valid and np.linalg.norm(s.pose[:3] - a.pose[:3]) > 0.11)
    hands.remote.place("right", (0.3, 1.25, -0.43), (0.0, 0.0, 0.0, 1.0), trigger=0.25, a=True)
    d, pressed, _ = hands.until(right, lambda s: s.valid and "press" in s.buttons)
    hands.remote.place("right", (0.3, 1.25, -0.43), stick=(0.0, 1.0))
    e, more, released = hands.until(right, lambda s: "checkpoint" in s.pressed or "checkpoint" in s.buttons)
    before, _, _ = hands.until(right, lambda s: s.valid)
    answer = {
        "kind": a.kind.value, "motion": rounded(c.pose[:3] - a.pose[:3]), "quaternion": rounded(a.pose[3:]),
        "upright": rounded(before.pose[3:]), "trigger": round(a.gripper, 2), "left": sorted(b.buttons),
        "pressed": pressed + more, "released": released, "profile": right.describe()["profile"],
        "runtime": right.describe()["product"], "probe": probe().health.value, "confidence": a.confidence,
    }  # fmt: skip
    # a pulse each way: the runtime takes it (what it does with it cannot be seen from here)
    pulses = []
    for feedback in (Feedback(force=10.0), Feedback(events=("touch",))):
        time.sleep(0.06)
        right.feedback(feedback)
        pulses.append(dict(LINK._pulses))
        hands.until(right, lambda s: not LINK._pulses)
    answer["pulses"] = pulses
    answer["status"] = right.status().health.value
    right.close(), left.close()
    answer["closed"] = right.status().message
    return answer


def taps():
    """Presses shorter than a slow step: 100 taps, polled after every tenth."""
    hands = Hands()
    device = XrController("right")
    device.open()
    hands.until(device, lambda s: s.valid)
    pressed, released = [], []
    for k in range(100):
        for a in (True, False):
            hands.remote.place("right", (0.0, 1.0, -0.5), a=a)
            hands.remote.send()
            sequence = device._sequence
            while device._sequence < sequence + 3:  # the runtime samples its devices at its own rate
                time.sleep(0.002)
        if k % 10 == 9:
            sample = device.poll(time.monotonic())
            pressed += sample.pressed
            released += sample.released
    device.close()
    return {"pressed": len(pressed), "released": len(released)}


def lost_tracking():
    """The controller goes to sleep while it drives and comes back elsewhere: the tool does not follow the leap."""
    hands = Hands()
    device = XrController("right")
    device.open()
    settings = MappingSettings().with_advice(device.describe()["mapping"])
    state, moved = start_mapping(settings), np.zeros(3)

    def drive(seconds, position, condition=lambda s: True, **more):
        nonlocal state, moved
        end, sample = time.monotonic() + 10.0, None
        reached = None
        while time.monotonic() < end:
            hands.remote.place("right", position(time.monotonic()), squeeze=1.0, **more)
            hands.remote.send()
            sample = device.poll(time.monotonic())
            command, state = to_command(
                sample, device.status(), settings, state, now=time.monotonic(), dt=1 / 30
            )
            moved += command.twist[:3] / 30
            if reached is None and condition(sample):
                reached = time.monotonic()
            if reached is not None and time.monotonic() - reached > seconds:
                return sample, command
            time.sleep(1 / 90)
        raise SystemExit(f"waited in vain: {device.status()}, {sample}")

    drive(0.3, lambda t: (0.0, 1.0, -0.5), lambda s: s.valid and "clutch" in s.buttons)
    still = moved.copy()
    start = time.monotonic()
    drive(1.5, lambda t: (min(0.1 * (t - start), 0.05), 1.0, -0.5))  # three times as long as the motion
    followed = moved.copy()
    _, command = drive(0.3, lambda t: (0.05, 1.0, -0.5), lambda s: not s.valid, active=False)
    asleep = device.status()
    away = command.engaged
    drive(0.5, lambda t: (0.6, 1.4, -0.1), lambda s: s.valid and "clutch" in s.buttons)
    after = moved.copy()
    device.close()
    return {
        "still": rounded(still), "followed": rounded(followed), "away": away, "health": asleep.health.value,
        "message": asleep.message, "jump": rounded(after - followed, 6),
    }  # fmt: skip


def hands():
    """26 joints, their order, curled fingers, and a hand that goes away."""
    world = Hands()
    device = XrHand("right")
    device.open()
    world.remote.place("right", (0.2, 1.2, -0.4), curls=(0.0,) * 5)
    flat, _, _ = world.until(device, lambda s: s.joints is not None)
    world.remote.place("right", (0.2, 1.2, -0.4), curls=(0.3, 0.9, 0.9, 0.9, 0.9))
    end = time.monotonic() + 1.0
    bent, _, _ = world.until(device, lambda s: s.joints is not None and time.monotonic() > end)
    marks = [hand_geometry.landmarks_of(s.joints) for s in (flat, bent)]
    spans = [[float(np.linalg.norm(m[tip] - m[0])) for tip in hand_geometry.TIPS.values()] for m in marks]
    world.remote.place("right", (0.2, 1.2, -0.4), hand=False, active=False)
    gone, _, _ = world.until(device, lambda s: not s.valid)
    answer = {
        "kind": flat.kind.value, "shape": list(flat.joints.shape), "spans": spans, "gone": gone.raw["reason"],
        "status": device.status().health.value, "valid": [flat.valid, bent.valid],
        "reasons": [flat.raw["reason"], bent.raw["reason"]],
        "palm": [hand_geometry.palm_length(m) for m in marks],
        "bend": [hand_geometry.bend_towards_normal(m) for m in marks],
        "problem": [hand_geometry.implausible(m) for m in marks], "joints": device.describe()["joints"],
        "is_joints": flat.kind is Kind.JOINTS,
    }  # fmt: skip
    device.close()
    return answer


def left_hand():
    world = Hands()
    device = XrHand("left")
    device.open()
    world.remote.place("left", (-0.2, 1.2, -0.4), curls=(0.3, 0.8, 0.8, 0.8, 0.8))
    bent, _, _ = world.until(
        device, lambda s: s.joints is not None and abs(hand_geometry.bend_towards_normal(marks(s))) > 0.2
    )
    answer = {"bend": hand_geometry.bend_towards_normal(marks(bent)), "valid": bent.valid}
    device.close()
    return answer


def marks(sample):
    return hand_geometry.landmarks_of(sample.joints)


def service_dies():
    """The runtime is killed while a controller drives: last, as nobody starts it again."""
    world = Hands()
    device = XrController("right")
    device.open()
    world.until(device, lambda s: s.valid)
    os.kill(int(os.environ["TACKTILE_MONADO_PID"]), signal.SIGKILL)
    end = time.monotonic() + 15.0
    while device.status().health is not Health.LOST and time.monotonic() < end:
        time.sleep(0.01)
    status, sample = device.status(), device.poll(time.monotonic())
    device.close()
    return {"health": status.health.value, "message": status.message, "valid": sample.valid, **service_down()}


def service_down():
    """The runtime is installed, nobody serves it: the doctor's text, and a device that waits."""
    device = XrController("right")
    status = device.open()
    sample = device.poll(time.monotonic())
    device.close()
    return {"probe": [probe().health.value, probe().message], "opened": status.message, "valid": sample.valid}


if __name__ == "__main__":
    scenarios = {f.__name__: f for f in (controllers, taps, lost_tracking, hands, left_hand, service_dies)}
    names = list(scenarios) if sys.argv[1:] == ["all"] else sys.argv[1:]
    print("RESULT " + json.dumps({name: scenarios[name]() for name in names}))
