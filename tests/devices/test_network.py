"""A tracker that speaks JSON lines: what it may say, and what a hostile one cannot do."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from devices import network
from devices.contract import VERBS, Feedback, Health, Kind
from devices.network import NetworkDevice, is_loopback, parse_address
from devices.registry import open_device
from devices.wire import MAX_LINE, Reading, WireError, message, parse

ROOT = Path(__file__).resolve().parents[2]
POSE = [0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0]


class Clock:
    """Real time, or stopped; with an offset to let time pass."""

    offset, stopped = 0.0, None

    def __call__(self) -> float:
        return (time.monotonic() if self.stopped is None else self.stopped) + self.offset


@pytest.fixture
def made():
    """Opens devices and links, closes what was left open."""
    things = []

    def make(thing):
        things.append(thing)
        if isinstance(thing, NetworkDevice):
            thing.open()
        return thing

    yield make
    for thing in reversed(things):
        thing.close()


def connect(device: NetworkDevice, hello: bool = True) -> socket.socket:
    link = socket.create_connection(("127.0.0.1", device.port), timeout=5)
    if hello:
        link.sendall(message(tacktile=1, name="test"))
    return link


def until(device, condition, seconds: float = 10.0):
    """Poll until it holds; the edges on the way are kept."""
    pressed, released, end = [], [], time.monotonic() + seconds
    while time.monotonic() < end:
        sample = device.poll(time.monotonic())
        pressed += sample.pressed
        released += sample.released
        if condition(sample):
            return sample, pressed, released
        time.sleep(0.002)
    pytest.fail(f"waited in vain: {device.status()}, {sample}")


# ---- the words


def test_a_full_message():
    got = parse(
        message(
            tacktile=1, name="glove", t=12, pose=np.array(POSE), joints=np.ones((21, 3)), twist=[2, -2, 0, 0, 0, 0.5],
            gripper=1, buttons=["clutch", "fine"], pressed=["record"], valid=False, confidence=0.25, side="left",
        )
    )  # fmt: skip
    assert got.hello and got.name == "glove" and got.kind is Kind.JOINTS and got.t == 12.0
    np.testing.assert_array_equal(got.twist, [1, -1, 0, 0, 0, 0.5])
    np.testing.assert_allclose(got.pose, POSE)
    assert got.joints.shape == (21, 3) and got.gripper == 1.0
    assert got.buttons == {"clutch", "fine"} and got.pressed == ("record",)
    assert (got.valid, got.confidence, got.side) == (False, 0.25, "left")
    assert parse(message(pose=POSE)).kind is Kind.POSE and parse(message(twist=[0] * 6)).kind is Kind.RATE
    assert parse(b"{}") == Reading() and parse(message(buttons=[])).buttons == frozenset()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"POST / HTTP/1.1", "not JSON"),
        (b"[1, 2]", "a list; legal: one JSON object a line"),
        (b"[" * 9000, "not JSON"),
        (b'{"a":' * 1500, "not JSON"),
        (b'{"t": 1' + b"0" * 9000 + b"}", "t = inf; legal: a number"),
        (b'{"t": NaN}', "NaN is not a number of JSON"),
        (b'{"t": true}', "t = True; legal: a number"),
        (b'{"gripper": 1.5}', "gripper = 1.5; legal: -1 to 1"),
        (b'{"gripper": "1"}', "gripper = 1; legal: a number"),
        (b'{"twist": [1, 2, 3]}', r"twist = \[1.0, 2.0, 3.0\]; legal: six numbers"),
        (b'{"twist": [1e999, 0, 0, 0, 0, 0]}', "twist = .*; legal: six numbers, finite"),
        (b'{"pose": [0, 0, 0, 0, 0, 0, 0]}', "its quaternion .* has length 0; legal: 1"),
        (b'{"pose": [1e6, 0, 0, 0, 0, 0, 1]}', "pose = .*; legal: seven numbers, finite, at most 100"),
        (b'{"joints": [[1, 2]]}', "joints = .*; legal: up to 64 rows of three numbers"),
        (b'{"joints": ' + json.dumps([[0, 0, 0]] * 65).encode() + b"}", "legal: up to 64 rows"),
        (b'{"buttons": ["jump"]}', "buttons: unknown verb 'jump'; legal: clutch, fine"),
        (b'{"buttons": [["clutch"]]}', "buttons = .*; legal: a list of at most 32 verbs"),
        (b'{"buttons": ' + json.dumps(["fine"] * 40).encode() + b"}", "at most 32 verbs"),
        (b'{"valid": 1}', "valid = 1.0; legal: true, false"),
        (b'{"side": "up"}', "side = 'up'; legal: left, right"),
        (b'{"name": "a\\u0007"}', "name = .*; legal: up to 60 printable characters"),
        (b'{"tacktile": 2}', "tacktile = 2.0; legal: 1"),
        (b'{"fly": 1}', "unknown field 'fly'; legal: buttons, confidence"),
        (b"\xff\xfe{}", "not JSON"),
        (b"x" * (MAX_LINE + 1), f"a message of {MAX_LINE + 1} bytes; legal: at most {MAX_LINE}"),
    ],
)
def test_what_does_not_fit_is_named(line, text):
    with pytest.raises(WireError, match=text):
        parse(line)


def test_mutated_messages_raise_nothing_but_wire_errors():
    rng = random.Random(3)
    seed = message(tacktile=1, t=1.5, pose=POSE, joints=[[0.1, 0.2, 0.3]] * 5, buttons=["clutch"], gripper=0.5)
    kept = 0
    for _ in range(10000):
        data = bytearray(seed)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(data))
            action = rng.random()
            if action < 0.4:
                data[at] = rng.randrange(256)
            elif action < 0.6:
                del data[at : at + rng.randint(1, 8)]
            elif action < 0.8:
                data[at:at] = rng.choice((b"[", b"]", b"{", b'"', b"1e9", b"-", b"null", b"\xed\xa0\x80", b"\\u0000"))
            else:
                data[at:at] = data[at : at + rng.randint(1, 40)]
        try:
            reading = parse(bytes(data))
        except WireError as error:
            assert len(str(error)) < 600
            continue
        kept += 1
        for array in (reading.pose, reading.joints, reading.twist):
            assert array is None or np.isfinite(array).all()
        assert (reading.buttons or frozenset()) <= set(VERBS)
    assert kept > 20  # digits changed to digits, for one


def test_addresses():
    assert parse_address("") == ("tcp", "127.0.0.1", 47447)
    assert parse_address("7000") == ("tcp", "127.0.0.1", 7000)
    assert parse_address("udp") == ("udp", "127.0.0.1", 47447)
    assert parse_address("udp:192.168.1.5:99") == ("udp", "192.168.1.5", 99)
    assert parse_address("[::1]:7000") == ("tcp", "::1", 7000)
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("localhost") and not is_loopback("0.0.0.0")
    for bad in ("seven", "127.0.0.1:x", "70000", "udp:-1"):
        with pytest.raises(ValueError, match="legal: network:PORT, network:HOST:PORT"):
            parse_address(bad)
    with pytest.raises(ValueError, match="legal: network:PORT"):
        open_device("network:seven")


# ---- a sender that behaves


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_pose_comes_through(made, protocol):
    device = made(NetworkDevice(f"{protocol}:0"))
    assert device.status().health is Health.NOT_FOUND
    assert device.status().message == f"waiting for a tracker on {protocol} 127.0.0.1:{device.port}."
    body = {"t": 5.0, "pose": POSE, "gripper": 0.7, "buttons": ["fine"], "confidence": 0.5}
    if protocol == "tcp":
        link = made(connect(device))
        link.sendall(message(**body))
    else:
        link = made(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        link.sendto(message(tacktile=1, **body), ("127.0.0.1", device.port))
    sample, pressed, _ = until(device, lambda s: s.pose is not None)
    assert sample.kind is Kind.POSE and sample.valid and device.status().ok
    np.testing.assert_allclose(sample.pose, POSE)
    assert (sample.t_device, sample.gripper, sample.confidence) == (5.0, 0.7, 0.5)
    assert sample.buttons == {"fine"} and pressed == ["fine"]
    assert device.describe()["kind"] == "pose"


def test_every_tap_counts_and_the_newest_reading_is_used(made):
    """Trap 22: 200 taps between two polls of a slow step, in order."""
    device = made(NetworkDevice("0"))
    link = made(connect(device))
    rng, order = random.Random(5), []
    for k in range(100):
        verb = rng.choice(("record", "grip_toggle", "arm_cut"))
        order.append(verb)
        if k % 2:
            link.sendall(message(pressed=[verb], pose=[k, *POSE[1:]]))
        else:
            link.sendall(message(buttons=[verb]) + message(buttons=[]))
    sample, pressed, released = until(device, lambda s: s.pose is not None and s.pose[0] == 99.0)
    assert pressed == order and released == order and sample.buttons == frozenset()


def test_a_push_that_is_not_repeated_is_over(made):
    """Trap 18."""
    clock = Clock()
    device = made(NetworkDevice("0", clock=clock))
    link = made(connect(device))
    link.sendall(message(twist=[1, 0, 0, 0, 0, 0], gripper=1))
    sample, _, _ = until(device, lambda s: s.twist[0] == 1.0)
    clock.offset += 1.0
    sample = device.poll(clock())
    assert not sample.twist.any() and sample.gripper == 0.0
    assert device.status().health is Health.STALE and "fell silent 1.0 s ago while pushed" in device.status().message


def test_hanging_up_is_a_loss_and_lets_go_of_the_buttons(made):
    device = made(NetworkDevice("0"))
    link = connect(device)
    link.sendall(message(pose=POSE, buttons=["clutch"]))
    until(device, lambda s: "clutch" in s.buttons)
    link.close()
    sample, _, released = until(device, lambda s: not s.valid)
    assert released == ["clutch"] and sample.pose is None
    assert device.status().health is Health.LOST and device.status().message == "test hung up. Start it again."
    again = made(connect(device))
    again.sendall(message(pose=POSE))
    until(device, lambda s: s.valid and s.pose is not None)
    assert device.status().ok


def test_feedback_goes_back_at_most_thirty_times_a_second(made):
    clock = Clock()
    clock.stopped = 1000.0
    device = made(NetworkDevice("0", clock=clock))
    link = made(connect(device))
    until(device, lambda s: s.valid)
    for force in (1.0, 2.0):
        device.feedback(Feedback(force=force, events=("touch",)))
    clock.offset += 0.05
    device.feedback(Feedback(force=3.0))
    lines = link.makefile("rb")
    assert json.loads(lines.readline()) == {"tacktile": 1, "ok": True}
    assert json.loads(lines.readline())["feedback"] == {"force": 1.0, "grip_force": 0.0, "events": ["touch"]}
    assert json.loads(lines.readline())["feedback"]["force"] == 3.0


def test_one_hand_of_two(made):
    left = made(NetworkDevice("0", side="left"))
    link = made(connect(left))
    link.sendall(message(pose=[1, *POSE[1:]], side="left") + message(pose=POSE, side="right", buttons=["fine"]))
    link.sendall(message(pressed=["record"]))
    sample, pressed, _ = until(left, lambda s: s.sequence >= 3)
    assert sample.pose[0] == 1.0 and pressed == ["record"] and not sample.buttons


def test_the_adapter_of_the_documentation(made):
    """Thirty lines, run as they are printed."""
    script = ROOT / "docs/examples/tracker_adapter.py"
    code = [line for line in script.read_text().splitlines() if line and not line.startswith('"""')]
    assert len(code) <= 30 and "import tacktile" not in script.read_text()
    assert script.read_text() in (ROOT / "docs" / "devices.md").read_text(), "the page shows what is run here"
    device = made(NetworkDevice("0"))
    run = subprocess.Popen([sys.executable, str(script), str(device.port), "0.6"])
    sample, pressed, released = until(device, lambda s: s.pose is not None and s.pose[1] > 0.01)
    assert run.wait(20) == 0
    assert sample.raw["sender"] == "circle" and sample.kind is Kind.POSE and 0.0 < sample.gripper < 0.5
    np.testing.assert_allclose((sample.pose[0] + 0.05) ** 2 + sample.pose[1] ** 2, 0.05**2, rtol=1e-9)
    assert pressed == ["clutch"] and released == ["clutch"]


# ---- one that does not


def test_only_this_machine_can_reach_it():
    device = NetworkDevice("0")
    device.open()
    assert device._server.getsockname()[0] == "127.0.0.1"
    device.close()
    wide = NetworkDevice("0.0.0.0:0")
    wide.open()
    assert "Anyone who reaches this address can drive the robot" in wide.status().message
    wide.close()


def test_a_taken_port_is_told_with_another_one(made):
    first = made(NetworkDevice("0"))
    second = made(NetworkDevice(str(first.port)))
    assert second.status().health is Health.NOT_FOUND
    assert f"tcp port {first.port} of 127.0.0.1 cannot be opened" in second.status().message
    assert f"--input network:{first.port + 1}" in second.status().message
    assert not second.poll(0.0).valid


def test_a_browser_is_refused_at_its_first_line(made):
    """Lines that would drive, in the body of a request that a web page can make a browser send."""
    device = made(NetworkDevice("0"))
    link = made(connect(device, hello=False))
    body = message(tacktile=1) + message(twist=[1, 0, 0, 0, 0, 0])
    link.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n" + body)
    assert b"error" in link.recv(1000)
    until(device, lambda s: device.refused == 1)
    assert link.recv(1000) == b"" and device.received == 0 and not device.poll(time.monotonic()).valid
    assert device.status().message.startswith("a sender was refused: not JSON")


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_reading_without_a_hello_does_not_drive(made, protocol):
    device = made(NetworkDevice(f"{protocol}:0"))
    line = message(twist=[1, 0, 0, 0, 0, 0])
    if protocol == "tcp":
        link = made(connect(device, hello=False))
        link.sendall(line)
    else:
        link = made(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        link.sendto(line, ("127.0.0.1", device.port))
    until(device, lambda s: device.refused == 1)
    assert not device.poll(time.monotonic()).valid and device.received == 0 and not device.status().ok
    if protocol == "tcp":
        assert 'the first message must carry "tacktile": 1' in device.status().message


def test_no_hello_and_no_end_of_line(made):
    clock = Clock()
    device = made(NetworkDevice("0", clock=clock))
    slow = made(connect(device, hello=False))
    slow.sendall(b'{"tack')
    until(device, lambda s: device._client is not None)
    clock.offset += 4.0
    until(device, lambda s: device._client is None)
    assert "said no hello within 3 s" in device.status().message
    long = made(connect(device))
    long.sendall(b'{"name": "' + b"a" * 40000)
    until(device, lambda s: device.status().health is Health.LOST)
    assert f"a message longer than {MAX_LINE} bytes" in device.status().message
    assert len(device._buffer) == 0


def test_nonsense_is_counted_told_and_in_the_end_cut_off(made):
    device = made(NetworkDevice("0"))
    link = made(connect(device))
    link.sendall(b"nonsense\n" * 20 + message(pose=POSE))
    sample, _, _ = until(device, lambda s: s.pose is not None)
    assert sample.valid and device.refused == 20 and device.status().message.startswith("not JSON")
    link.sendall(b"nonsense\n" * network.BAD_IN_A_ROW)
    until(device, lambda s: device.status().health is Health.LOST)
    assert "test was cut off: not JSON" in device.status().message


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_flood_costs_no_more_than_the_budget(made, protocol):
    """With the clock stopped no budget comes in: of 5,000 messages the first 250 are taken, then poll takes none."""
    clock = Clock()
    clock.stopped = 1000.0
    device = made(NetworkDevice(f"{protocol}:0", clock=clock))
    line = message(tacktile=1, pose=POSE, pressed=["record"] * 32)
    if protocol == "tcp":
        link = made(connect(device))
        link.setblocking(False)
        sent = 0
        for _ in range(5000):
            try:
                sent += link.send(line) == len(line)
            except BlockingIOError:
                break
    else:
        link = made(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        for _ in range(5000):
            link.sendto(line, ("127.0.0.1", device.port))
    until(device, lambda s: device._tokens < 1.0)
    for _ in range(20):
        sample = device.poll(clock())
    assert device.received <= network.BURST and len(device._edges) <= network.MOST_EDGES
    assert sample.valid and "more than 1000 messages a second come" in device.status().message
    assert len(device._buffer) <= MAX_LINE + 8192, "what is not taken waits at the sender's"
    clock.offset += 1.0
    until(device, lambda s: device._tokens > 1.0 or device.received > network.BURST)


def test_a_second_sender_waits_until_the_first_is_silent(made):
    clock = Clock()
    device = made(NetworkDevice("0", clock=clock))
    first = made(connect(device))
    first.sendall(message(pose=POSE))
    until(device, lambda s: s.pose is not None)
    second = made(connect(device))
    assert b"another sender is connected" in second.recv(200)
    assert device.poll(time.monotonic()).valid
    clock.offset += 10.0
    third = made(connect(device))
    third.sendall(message(pose=[0.9, *POSE[1:]]))
    until(device, lambda s: s.pose is not None and s.pose[0] == 0.9)


def test_closing_frees_the_port_and_the_thread():
    for _ in range(3):
        device = NetworkDevice("0")
        device.open()
        link = connect(device)
        until(device, lambda s: s.valid)
        thread = device._thread
        device.close()
        link.close()
        assert not thread.is_alive() and device._server is None
        assert device.status().message == "the network device is closed" and not device.poll(0.0).valid
