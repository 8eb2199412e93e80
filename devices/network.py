"""A tracker of your own, anywhere: it sends JSON lines over TCP or UDP, this device receives them.

Bound to the loopback interface unless another address is named. One sender at a time. A TCP connection must begin
with a hello, so a web page that a browser sends to this port is refused at its first line. Whatever a sender does, its
cost is bounded: length of a line, messages a second, edges kept, time to the hello.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from devices.contract import Feedback, Health, Kind, Sample, Status
from devices.wire import MAX_LINE, VERSION, Reading, WireError, parse

DEFAULT_PORT = 47447
SILENCE = 0.25  # [s] a push that is not repeated for this long is over
MOST_A_SECOND = 1000.0  # messages; beyond that TCP is read more slowly and UDP is dropped
BURST = 250.0  # messages that may come at once
MOST_EDGES = 256  # presses and releases kept between two polls
HELLO_TIME = 3.0  # [s] to the first line of a connection
IDLE_TIME = 2.0  # [s] after which a silent sender gives way to a new one
BAD_IN_A_ROW = 50  # messages that do not fit, after which a connection is closed
FEEDBACK_PERIOD = 1.0 / 30.0  # [s]


def parse_address(detail: str) -> tuple[str, str, int]:
    """(protocol, host, port) of `PORT`, `HOST:PORT`, `udp:PORT`, `udp:HOST:PORT`, or "" for the defaults.

    Raises ValueError naming what is legal.
    """
    protocol, rest = "tcp", detail
    for known in ("tcp", "udp"):
        if detail == known or detail.startswith(known + ":"):
            protocol, rest = known, detail[len(known) + 1 :]
    host, _, port = rest.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    number = int(port) if port.isascii() and port.isdigit() else DEFAULT_PORT if not port else -1
    if not 0 <= number <= 65535:  # 0: any that is free
        raise ValueError(
            f"network:{detail}: port {port!r}; legal: network:PORT, network:HOST:PORT, network:udp:PORT, "
            "network:udp:HOST:PORT with a port from 1 to 65535"
        )
    return protocol, host, number


def is_loopback(host: str) -> bool:
    """Only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class NetworkDevice:
    """Receives Samples. detail: see `parse_address`; side: only readings of this hand count ("" = all).

    Never raises for what comes over the wire; `status()` tells the last complaint. Raises ValueError for a bad detail.
    """

    name = "network"

    def __init__(self, detail: str = "", side: str = "", clock: Callable[[], float] = time.monotonic):
        self.protocol, self.host, self.port = parse_address(detail)
        self.side = side
        self._clock = clock
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._server: socket.socket | None = None
        self._client: socket.socket | None = None
        self._status = Status(Health.NOT_FOUND, "the network device has not been opened")
        self.received = self.refused = self.dropped = 0  # messages: taken, not understood, too many
        self._sequence = 0
        self._fed_at = -np.inf
        self._tokens, self._tokens_at = BURST, clock()
        self._reset()

    def _reset(self) -> None:
        """Nobody sends."""
        self._buffer = b""
        self._greeted = False
        self._bad = 0
        self._sender = ""
        self._since = self._clock()
        self._latest: Reading | None = None
        self._t_receive = self._clock()
        self._held: frozenset[str] = frozenset()
        self._edges: list[tuple[bool, str]] = []
        self._complaint = ""

    # ---- life

    def open(self) -> Status:
        with self._lock:
            if self._server is None:
                self._bind()
            if self._server is not None and self._thread is None:
                self._stop.clear()
                self._thread = threading.Thread(target=self._read_loop, name="network-reader", daemon=True)
                self._thread.start()
            return self.status()

    def _bind(self) -> None:
        kind = socket.SOCK_STREAM if self.protocol == "tcp" else socket.SOCK_DGRAM
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        server = socket.socket(family, kind)
        try:
            if self.protocol == "tcp":
                server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((self.host, self.port))
            if self.protocol == "tcp":
                server.listen(2)
        except OSError as error:
            server.close()
            self._status = Status(
                Health.NOT_FOUND,
                f"{self.protocol} port {self.port} of {self.host} cannot be opened ({error.strerror or error}). Close "
                f"the program that holds it, or take another: --input network:{self.port + 1}",
            )
            return
        server.setblocking(False)
        self._server, self.port = server, server.getsockname()[1]
        self._status = Status(Health.NOT_FOUND, self._waiting_text())

    def _waiting_text(self) -> str:
        text = f"waiting for a tracker on {self.protocol} {self.host}:{self.port}."
        if not is_loopback(self.host):
            text += " Anyone who reaches this address can drive the robot: use it in a closed network only."
        return text

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)
            self._thread = None
        with self._lock:
            self._hang_up(Status(Health.NOT_FOUND, "the network device is closed"))
            if self._server is not None:
                self._server.close()
                self._server = None

    def _read_loop(self) -> None:
        while not self._stop.is_set():
            sockets = [s for s in (self._server, self._client) if s is not None]
            try:
                select.select(sockets, [], [], 0.05)
            except (OSError, ValueError):  # closed meanwhile
                self._stop.wait(0.01)
            with self._lock:
                out_of_breath = not self._service()
            if out_of_breath:
                self._stop.wait(0.01)

    # ---- what comes in. Caller holds the lock.

    def _service(self) -> bool:
        """Takes what waits, as far as the budget goes; False when it is spent."""
        if self._server is None:
            return True
        now = self._clock()
        self._tokens = min(BURST, self._tokens + (now - self._tokens_at) * MOST_A_SECOND)
        self._tokens_at = now
        if self.protocol == "udp":
            return self._service_udp()
        self._accept(now)
        if self._client is None:
            return True
        if not self._greeted and now - self._since > HELLO_TIME:
            self._hang_up(Status(Health.NOT_FOUND, f"a sender said no hello within {HELLO_TIME:.0f} s"))
            return True
        return self._service_tcp()

    def _accept(self, now: float) -> None:
        with contextlib.suppress(OSError):
            newcomer, _ = self._server.accept()
            newcomer.setblocking(False)
            busy = self._client is not None and now - max(self._t_receive, self._since) < IDLE_TIME
            if busy:
                with contextlib.suppress(OSError):
                    newcomer.send(b'{"tacktile":1,"error":"another sender is connected"}\n')
                newcomer.close()
                return
            if self._client is not None:
                self._client.close()
            self._reset()
            self._client = newcomer

    def _service_tcp(self) -> bool:
        # Lines are taken from the buffer before more is read, so a flood waits in the system's buffers, not in ours.
        while self._client is not None:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                if self._tokens < 1.0:
                    return False
                self._buffer = rest
                self._tokens -= 1.0
                self._take_line(line)
                continue
            if len(self._buffer) > MAX_LINE:
                self._hang_up(Status(Health.LOST, f"a message longer than {MAX_LINE} bytes; the sender was cut off"))
                return True
            try:
                data = self._client.recv(8192)
            except (BlockingIOError, InterruptedError):
                return True
            except OSError as error:
                data = b""
                self._complaint = str(error)
            if not data:
                self._hang_up(Status(Health.LOST, f"{self._sender or 'the sender'} hung up. Start it again."))
                return True
            self._buffer += data
        return True

    def _service_udp(self) -> bool:
        for _ in range(int(BURST)):
            try:
                data, _ = self._server.recvfrom(MAX_LINE + 1)
            except (BlockingIOError, InterruptedError):
                return True
            except OSError as error:  # the system reports a sender that is gone, or a datagram cut short (Windows)
                self._complaint = str(error)
                continue
            if self._tokens < 1.0:
                self.dropped += 1
                continue
            self._tokens -= 1.0
            self._take_line(data)
        return False

    def _take_line(self, line: bytes) -> None:
        try:
            reading = parse(line)
            if not self._greeted and not reading.hello:
                raise WireError('the first message must carry "tacktile": 1')
        except WireError as error:
            self.refused += 1
            self._bad += 1
            self._complaint = str(error)
            if self.protocol == "tcp" and (not self._greeted or self._bad >= BAD_IN_A_ROW):
                self._refuse(str(error))
            return
        self._bad = 0
        if not self._greeted:
            self._greet(reading)
        self.received += 1
        self._take(reading)

    def _greet(self, reading: Reading) -> None:
        self._greeted, self._sender = True, reading.name
        self._status = Status(Health.OK)
        self._tell({"tacktile": VERSION, "ok": True})

    def _take(self, reading: Reading) -> None:
        if self.side and reading.side and reading.side != self.side:
            return
        self._sequence += 1
        self._t_receive = self._clock()
        if reading.kind is not None:
            self._latest = reading
        if reading.buttons is not None:
            self._edge(False, self._held - reading.buttons)
            self._edge(True, reading.buttons - self._held)
            self._held = reading.buttons
        for verb in reading.pressed:
            self._edge(True, (verb,))
            self._edge(False, (verb,))

    def _edge(self, down: bool, verbs) -> None:
        for verb in sorted(verbs):
            if len(self._edges) < MOST_EDGES:
                self._edges.append((down, verb))
            else:
                self.dropped += 1

    def _tell(self, answer: dict) -> None:
        """To the sender, if it listens; a full buffer is its own affair."""
        if self._client is not None:
            with contextlib.suppress(OSError):
                self._client.send(json.dumps(answer).encode() + b"\n")

    def _refuse(self, why: str) -> None:
        self._tell({"tacktile": VERSION, "error": why})
        greeted, health = self._greeted, Health.LOST if self._greeted else Health.NOT_FOUND
        what = self._sender or "a sender"
        self._hang_up(Status(health, f"{what} was cut off: {why}" if greeted else f"{what} was refused: {why}"))

    def _hang_up(self, status: Status) -> None:
        edges = [*self._edges, *((False, verb) for verb in sorted(self._held))]  # what was pressed before still counts
        if self._client is not None:
            self._client.close()
            self._client = None
        self._reset()
        self._edges, self._status = edges[:MOST_EDGES], status

    # ---- contract

    def poll(self, now: float) -> Sample:
        """The newest reading, and every button edge since the last poll. A push that is not repeated is rest."""
        with self._lock:
            self._service()
            edges, self._edges = self._edges, []
            latest, now = self._latest, max(now, self._clock())
            common = {
                "t_receive": self._t_receive,
                "sequence": self._sequence,
                "buttons": self._held,
                "pressed": tuple(verb for down, verb in edges if down),
                "released": tuple(verb for down, verb in edges if not down),
                "raw": {"sender": self._sender, "received": self.received, "refused": self.refused},
            }
            if latest is None:
                # buttons alone are at rest and well, a foot switch for one
                return Sample(**common, valid=self._greeted)
            silent = latest.kind is Kind.RATE and now - self._t_receive > SILENCE
            twist = np.zeros(6) if silent or latest.twist is None else latest.twist.copy()
            return Sample(
                kind=latest.kind,
                t_device=latest.t,
                twist=twist,
                pose=latest.pose,
                joints=latest.joints,
                gripper=0.0 if silent else latest.gripper,
                valid=latest.valid and self._greeted,
                confidence=latest.confidence,
                **common,
            )

    def status(self) -> Status:
        with self._lock:
            if not self._status.ok:
                return self._status
            pushing = self._latest is not None and self._latest.kind is Kind.RATE and np.any(self._latest.twist)
            age = self._clock() - self._t_receive
            if pushing and age > SILENCE:
                return Status(Health.STALE, f"{self._sender or 'the sender'} fell silent {age:.1f} s ago while pushed")
            if self._latest is not None and self._latest.kind is not Kind.RATE and age > IDLE_TIME:
                return Status(Health.STALE, f"{self._sender or 'the sender'} has been silent for {age:.0f} s")
            notes = [self._complaint] if self._complaint else []
            if not is_loopback(self.host):
                notes.append(f"open to the network at {self.host}:{self.port}")
            if self._tokens < 1.0:
                notes.append(f"more than {MOST_A_SECOND:.0f} messages a second come; the rest is left out")
            return Status(Health.OK, "; ".join(notes))

    def feedback(self, feedback: Feedback) -> None:
        """Sent back as a line, at most 30 times a second (TCP only)."""
        with self._lock:
            now = self._clock()
            if self._client is None or not self._greeted or now - self._fed_at < FEEDBACK_PERIOD:
                return
            self._fed_at = now
            self._tell(
                {"feedback": {"force": round(float(feedback.force), 4),
                              "grip_force": round(float(feedback.grip_force), 4), "events": list(feedback.events)}}
            )  # fmt: skip

    def describe(self) -> dict[str, Any]:
        with self._lock:
            kind = self._latest.kind.value if self._latest is not None else ""
            return {
                "name": self.name,
                "kind": kind,
                "product": self._sender,
                "address": f"{self.protocol}://{self.host}:{self.port}",
                "mapping": {"frame": "camera"},
            }


def probe() -> Status:
    """Can the default port be opened?"""
    device = NetworkDevice()
    device._bind()
    try:
        if device._server is None:
            return device._status
        return Status(Health.OK, f"will wait on {device.protocol} {device.host}:{device.port} for a tracker's lines")
    finally:
        device.close()
