"""Hands on Monado's `remote` driver: head and two controllers of the Index kind, placed over TCP port 4242.

Packets of 376 bytes, little-endian floats; offsets measured against Monado 25.0.0 (`r_remote_data` of its sources).
"""

from __future__ import annotations

import socket
import struct

HEADER = b"mndrmt3\0"
SIZE = 376
OFFSETS = {"left": 136, "right": 256}
POSE, CURLS, ANALOG, FLAGS = 0, 52, 72, 104


class Remote:
    """Every `send` places both hands anew."""

    def __init__(self, port: int = 4242, timeout: float = 5.0):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout)
        self._socket.settimeout(timeout)
        self._packet = bytearray(self._receive())
        self._packet[:8] = HEADER  # Monado 25.0.0 sends its first packet without one
        for side in OFFSETS:
            self.place(side, (0.0, 1.0, -0.5))

    def _receive(self) -> bytes:
        data = b""
        while len(data) < SIZE:
            part = self._socket.recv(SIZE - len(data))
            if not part:
                raise ConnectionError("Monado's remote driver hung up")
            data += part
        return data

    def place(
        self, side: str, position, quaternion=(0.0, 0.0, 0.0, 1.0), trigger=0.0, squeeze=0.0, stick=(0.0, 0.0),
        curls=(0.0,) * 5, a=False, b=False, active=True, hand=True,
    ) -> None:  # fmt: skip
        """position [m] and quaternion (x y z w) in OpenXR's axes; curls of the five fingers, thumb first, in [0, 1]."""
        at = OFFSETS[side]
        struct.pack_into("<4f3f", self._packet, at + POSE, *quaternion, *position)
        struct.pack_into("<5f", self._packet, at + CURLS, *curls)
        struct.pack_into("<fff2f", self._packet, at + ANALOG, trigger, squeeze, squeeze, *stick)
        flags = (hand, active, False, False, a, a, b, b, trigger > 0.5, trigger > 0.0, False, False, False)
        struct.pack_into("<13B", self._packet, at + FLAGS, *map(int, flags))

    def send(self) -> None:
        self._socket.sendall(self._packet)

    def close(self) -> None:
        self._socket.close()
