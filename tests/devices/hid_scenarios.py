"""Scenarios with a SpaceMouse behind the stand-in HID library; each runs in a process of its own (see test_spacemouse).

`python -m tests.devices.hid_scenarios NAME` prints what happened as JSON. The stand-in is picked up through
LD_LIBRARY_PATH, so the bytes pass through the real HID binding and the real decoder.
"""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import sys
import time

import numpy as np

from devices.contract import Health
from devices.mapping import MappingSettings, start_mapping, to_command
from devices.registry import list_devices
from devices.spacemouse import SpaceMouse

_SENDER = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def send(report: bytes) -> None:
    """One report; waits while the receiver's queue is full, as the wire does."""
    _SENDER.sendto(report, os.environ["FAKEHID_SOCK"])


def move13(x=0, y=0, z=0, rx=0, ry=0, rz=0) -> bytes:
    return struct.pack("<B6h", 1, x, y, z, rx, ry, rz)


def move7(report_id, a=0, b=0, c=0) -> bytes:
    return struct.pack("<B3h", report_id, a, b, c)


def button(mask: int) -> bytes:
    return bytes([3, mask, 0])


def until(mouse: SpaceMouse, condition, seconds: float = 10.0):
    """Poll until the sample (or the status) is as wanted; the edges seen on the way are kept. Fails loudly."""
    pressed, released = [], []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sample = mouse.poll(time.monotonic())
        pressed += sample.pressed
        released += sample.released
        if condition(sample, mouse.status()):
            return sample, pressed, released
        time.sleep(0.002)
    raise SystemExit(f"waited in vain: {mouse.status()}, {sample}")


def opened(**kwargs) -> SpaceMouse:
    mouse = SpaceMouse(**kwargs)
    mouse.open()
    return mouse


class Clock:
    """Real time plus an offset, to let silence pass without waiting for it."""

    offset = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.offset


def axes():
    """Each axis alone, pushed positive as the hardware counts: the twist it makes. Layout by environment."""
    mouse = opened()
    split = os.environ["WIRE"] == "7"
    rows = []
    for axis in range(6):
        raw = [0] * 6
        raw[axis] = 175  # half of the device's 350
        for report in (move7(1, *raw[:3]), move7(2, *raw[3:])) if split else (move13(*raw),):
            send(report)
        want = {0: 0.5, 1: -0.5, 2: -0.5, 3: 0.5, 4: -0.5, 5: -0.5}[axis]
        sample, _, _ = until(mouse, lambda s, _, a=axis, w=want: abs(s.twist[a] - w) < 1e-9)
        rows.append(sample.twist.tolist())
    info = mouse.describe()
    mouse.close()
    return {"rows": rows, "model": info["model"], "raw_report": list(sample.raw["report"][:1])}


def firmware_with_other_layout():
    """The table says one layout, the wire speaks the other; a button held across the discovery stays held."""
    mouse = opened()
    split = os.environ["WIRE"] == "7"
    send(button(2))
    until(mouse, lambda s, _: "clutch" in s.buttons)
    for _ in range(2 if split else 1):  # one report of 13 bytes says it all
        for report in (move7(1, 0, 0, -350), move7(2, 0, 0, 350)) if split else (move13(0, 0, -350, 0, 0, 350),):
            send(report)
    sample, pressed, released = until(mouse, lambda s, _: s.twist[2] == 1.0 and s.twist[5] == -1.0)
    mouse.close()
    return {"twist": sample.twist.tolist(), "pressed": pressed, "released": released, "held": sorted(sample.buttons)}


def freshest_of_many():
    """400 reports in one go, then one poll: the last one counts."""
    mouse = opened()
    for k in range(400):
        send(move13(x=k - 50))
    sample, _, _ = until(mouse, lambda s, _: s.sequence == 400)
    mouse.close()
    return {"x": float(sample.twist[0]), "expected": 349 / 350}


def starved_reader():
    """While the window draws, the reader does not run: poll alone is up to date. Closing ends a search under way."""
    mouse = opened()
    mouse._stop.set()
    mouse._thread.join()
    for k in range(5):
        send(move13(x=70 * k))
    x = float(mouse.poll(time.monotonic()).twist[0])
    mouse.close()
    mouse._connect()
    return {"x": x, "open_after_close": mouse.poll(time.monotonic()).valid}


def overdriven():
    """Caps reach beyond the nominal 350: the contract's range holds."""
    mouse = opened()
    send(move13(x=500, y=500))
    sample, _, _ = until(mouse, lambda s, _: s.twist[0] > 0)
    mouse.close()
    return {"twist": sample.twist.tolist()}


def buttons():
    mouse = opened()
    send(button(1))
    _, pressed, released = until(mouse, lambda s, _: "grip_toggle" in s.buttons)
    first = [pressed, released]
    send(button(3))
    _, pressed, released = until(mouse, lambda s, _: "clutch" in s.buttons)
    second = [pressed, released]
    send(button(0))
    _, pressed, released = until(mouse, lambda s, _: not s.buttons)
    mouse.close()
    return {"edges": [first, second, [pressed, released]]}


def taps():
    """1,000 taps on two buttons, polled by a slow and uneven loop."""
    rng = random.Random(7)
    mouse = opened()
    order, got_pressed, got_released = [], [], []
    for _ in range(1000):
        which = rng.choice((1, 2))
        order.append({1: "grip_toggle", 2: "clutch"}[which])
        send(button(which))
        send(button(0))
        if rng.random() < 0.1:
            sample = mouse.poll(time.monotonic())
            got_pressed += sample.pressed
            got_released += sample.released
    _, pressed, released = until(mouse, lambda s, _: s.sequence == 2000)
    mouse.close()
    return {"same": got_pressed + pressed == order, "released": len(got_released + released)}


def unplug():
    """Pushed and with a button down, pulled out, plugged in again still pushed: nothing moves until it has rested."""
    mouse = opened()
    settings = MappingSettings(rest_time=0.02, ramp_time=0.0)
    state = start_mapping(settings)
    travelled = []

    def command(state, sample):
        out, state = to_command(sample, mouse.status(), settings, state, now=time.monotonic(), dt=1 / 30)
        travelled.append(float(np.abs(out.twist).sum()))
        return out, state

    send(button(1))
    send(move13(x=350))
    sample, _, _ = until(mouse, lambda s, _: s.twist[0] == 1.0)
    out, state = command(state, sample)
    moving = travelled.pop()
    send(b"\xff")
    os.environ["FAKEHID_NONE"] = "1"
    sample, _, released = until(mouse, lambda s, st: st.health is Health.LOST)
    lost = mouse.status()
    lost_twist = sample.twist.tolist()
    out, state = command(state, sample)
    lost_engaged = out.engaged
    time.sleep(0.7)  # one search in vain
    still = mouse.status().health.value
    del os.environ["FAKEHID_NONE"]
    sample, _, _ = until(mouse, lambda s, st: st.ok)
    out, state = command(state, sample)
    send(move13(x=350))
    sample, _, _ = until(mouse, lambda s, _: s.twist[0] == 1.0)
    out, state = command(state, sample)
    reason = state.reason
    jump = sum(travelled)
    send(move13())
    until(mouse, lambda s, _: s.twist[0] == 0.0)
    for _ in range(30):
        out, state = command(state, mouse.poll(time.monotonic()))
        time.sleep(0.002)
    send(move13(x=-350))
    sample, _, _ = until(mouse, lambda s, _: s.twist[0] == -1.0)
    out, state = command(state, sample)
    mouse.close()
    return {
        "moving": moving,
        "message": lost.message,
        "lost_twist": lost_twist,
        "lost_engaged": lost_engaged,
        "released": released,
        "still": still,
        "jump": jump,
        "reason": reason,
        "after_rest": float(out.twist[0]),
        "threads_left": sum(t.name == "spacemouse-reader" for t in __import__("threading").enumerate()),
    }


def two_at_once():
    """Two mice of different models in two roles: one sends 13 bytes, the other twice 7; each moves its own axis, one
    is pulled out and the other goes on."""
    folder = os.path.dirname(os.environ["FAKEHID_SOCK"])
    mice, sockets = [], [f"{folder}/a", f"{folder}/b"]
    for sock, pid in zip(sockets, ("0xc63a", "0xc635"), strict=True):
        os.environ["FAKEHID_SOCK"], os.environ["FAKEHID_PID"] = sock, pid
        mice.append(opened())

    def send_to(number, report):
        _SENDER.sendto(report, sockets[number])

    rng, order, got = random.Random(3), ([], []), ([], [])
    for _ in range(300):  # presses of both, mixed
        number, which = rng.randrange(2), rng.choice((1, 2))
        order[number].append({1: "grip_toggle", 2: "clutch"}[which])
        send_to(number, button(which))
        send_to(number, button(0))
        if rng.random() < 0.1:
            for k, mouse in enumerate(mice):
                got[k].extend(mouse.poll(time.monotonic()).pressed)
    for k, mouse in enumerate(mice):
        _, pressed, _ = until(mouse, lambda s, _, k=k: s.sequence == 2 * len(order[k]))
        got[k].extend(pressed)
    send_to(0, move13(x=350))
    send_to(1, move7(1, 0, -350, 0))
    send_to(1, move7(2, 175, 0, 0))
    a, _, _ = until(mice[0], lambda s, _: s.twist[0] == 1.0)
    b, _, _ = until(mice[1], lambda s, _: s.twist[1] == 1.0 and s.twist[3] == 0.5)
    os.environ["FAKEHID_NONE"] = "1"
    send_to(0, b"\xff")
    until(mice[0], lambda s, st: st.health is Health.LOST)
    send_to(1, move7(1, 350, 0, 0))
    after, _, _ = until(mice[1], lambda s, _: s.twist[0] == 1.0)
    models = [mouse.describe()["model"] for mouse in mice]
    still = mice[1].status().health.value
    for mouse in mice:
        mouse.close()
    return {
        "models": models, "a": a.twist.tolist(), "b": b.twist.tolist(), "same": [got[k] == order[k] for k in (0, 1)],
        "after": after.twist[0], "still": still,
    }  # fmt: skip


def _loop(mouse, engine=None):
    """The application's frame loop around the engine without physics, driven by a mouse."""
    from app.loop import FrameLoop
    from app.operator import Operator
    from app.session import Session
    from app.wiring import Wiring
    from tests.app.fake_scene import FakeEngine, FakeScene
    from tests.app.fakes import FakeView

    scene = FakeScene()
    engine = engine or FakeEngine(scene)
    loop = FrameLoop(Session("fake", (), "cpu", scene, engine), Operator(mouse), FakeView(), Wiring(pacing=False))
    return loop, engine


def slow_steps():
    """Steps of 80 ms; a report comes at a random moment of each, the next step that starts uses it, and a tap within a
    step counts once."""
    import threading

    mouse = opened()
    loop, engine = _loop(mouse)
    rng, plain_step, used, sent = random.Random(11), engine.step, [], []

    def slow(control=None, on_iteration=None):
        value, tap, at = rng.randrange(-350, 351), rng.random() < 0.5, rng.uniform(0.0, 0.075)

        def hand():
            time.sleep(at)
            send(move13(x=value))
            if tap:
                send(button(1))
                send(button(0))

        thread = threading.Thread(target=hand)
        thread.start()
        time.sleep(0.08)
        thread.join()
        sent.append((value / 350, tap))
        return plain_step(control, on_iteration)

    engine.step = slow
    for _ in range(40):
        frame = loop.frame_once()
        used.append((float(frame.sample.twist[0]), frame.sample.pressed.count("grip_toggle")))
    loop.close()
    late = [k for k in range(39) if abs(used[k + 1][0] - sent[k][0]) > 1e-9]
    return {
        "late": late, "taps": sum(tap for _, tap in sent[:-1]), "seen": sum(count for _, count in used),
        "each": [used[k + 1][1] == int(sent[k][1]) for k in range(39)].count(False),
    }  # fmt: skip


def stops_within_one_frame():
    """Pulled out while it drives, at random moments: the frame after it moves nothing, pauses and says so; plugged in
    again, still pushed, nothing jumps."""
    mouse = opened()
    loop, _ = _loop(mouse)
    places, moved_before, after, reasons, resumed = [], [], [], [], []

    def place():
        return np.array(loop.operator.teleop.tools[0].position)

    def rest():
        until(mouse, lambda s, st: st.ok)
        send(move13())
        until(mouse, lambda s, _: not s.twist.any())
        for _ in range(20):
            loop.frame_once()
            time.sleep(0.01)

    rng = random.Random(5)
    for _ in range(5):
        rest()
        for _ in range(rng.randint(3, 8)):
            send(move13(x=350))
            start = place()
            loop.frame_once()
        moved_before.append(float(np.abs(place() - start).max()))
        os.environ["FAKEHID_NONE"] = "1"
        send(b"\xff")
        start = place()
        frame = loop.frame_once()  # the very next one
        after.append(float(np.abs(place() - start).max()))
        reasons.append([frame.mode, frame.paused_reason])
        del os.environ["FAKEHID_NONE"]
        until(mouse, lambda s, st: st.ok)
        for _ in range(5):
            send(move13(x=350))  # never let go of
            time.sleep(0.02)
            loop.frame_once()
        resumed.append([float(np.abs(place() - start).max()), loop.paused])
        places.append(place().tolist())
    loop.close()
    return {"before": moved_before, "after": after, "reasons": reasons, "resumed": resumed}


def silence():
    """A pushed cap that stops sending is at rest at once; translation and rotation of a split device separately."""
    clock = Clock()
    mouse = opened(clock=clock)
    send(move7(1, 350))
    send(move7(2, 350))
    until(mouse, lambda s, _: s.twist[0] == 1.0 and s.twist[3] == 1.0)
    clock.offset += 0.15
    send(move7(2, 350))
    until(mouse, lambda s, _: s.sequence == 3)
    clock.offset += 0.1
    half = mouse.poll(clock()).twist.tolist()
    clock.offset += 5.0
    dead, health, message = mouse.poll(clock()).twist.tolist(), mouse.status().health.value, mouse.status().message
    send(move7(1))
    send(move7(2))
    until(mouse, lambda s, _: s.sequence == 5)
    clock.offset += 5.0
    rest = mouse.status().health.value
    mouse.close()
    return {"half": half, "dead": dead, "health": health, "message": message, "rest": rest}


def status():
    mouse = opened()
    answer = mouse.status()
    sample = mouse.poll(time.monotonic())
    mouse.close()
    return {
        "health": answer.health.value,
        "message": answer.message,
        "valid": sample.valid,
        "closed": mouse.status().message,
        "listed": [[e.name, e.status.health.value, e.status.message] for e in list_devices()],
    }


def no_permission():
    """A node that the system refuses (root may open anything, so the refusal is put in by hand)."""

    system_open = os.open

    def refuse(path, *args, **kwargs):
        if path == os.environ["FAKEHID_PATH"]:
            raise PermissionError(13, "Permission denied", path)
        return system_open(path, *args, **kwargs)

    os.open = refuse
    return status()


if __name__ == "__main__":
    print(
        json.dumps(
            {
                f.__name__: f
                for f in (
                    axes,
                    firmware_with_other_layout,
                    freshest_of_many,
                    starved_reader,
                    overdriven,
                    buttons,
                    taps,
                    unplug,
                    two_at_once,
                    slow_steps,
                    stops_within_one_frame,
                    silence,
                    status,
                    no_permission,
                )
            }[sys.argv[1]]()
        )
    )
