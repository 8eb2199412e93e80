"""A hand seen by a camera: its landmarks come over the socket protocol from a process of their own, `hand_camera.py`.

Why a process: MediaPipe brings its own numpy and OpenCV, and a picture costs 30 ms that the loop does not have. Here
the points are gated, filtered and turned into a pose and a pinch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from devices import hand_geometry as hand
from devices.contract import Feedback, Health, Kind, Sample, Status
from devices.hand_stream import HandState, HandStream
from devices.network import NetworkDevice, parse_address
from devices.xr_session import SIDES

PORTS = {"right": 47448, "left": 47449}
CAMERA_SCRIPT = Path(__file__).with_name("hand_camera.py")
MODEL_URL = (
    "https://storage.googleapis.com/mediapipe-models/hand_landmarker/hand_landmarker/float16/latest/hand_landmarker.task"
)


class CameraHand:
    """detail: "right", "left", or "right:PORT". Raises ValueError for another one."""

    name = "hands"

    def __init__(self, detail: str = "right", clock: Callable[[], float] = time.monotonic):
        side, _, address = detail.partition(":")
        if side not in SIDES:
            raise ValueError(f"hands:{detail}; legal: hands, hands:left, hands:right, hands:right:PORT")
        self.side = side
        if not address:
            address = str(PORTS[side])
        parse_address(address)
        self._network = NetworkDevice(address, side, clock)
        self._stream = HandStream(side)
        self._state = HandState(False, "no hand has been seen yet")
        self._clock = clock
        self._taken = -1  # sequence of the reading that went through the stream

    @property
    def port(self) -> int:
        return self._network.port

    def open(self) -> Status:
        self._network.open()
        return self.status()

    def close(self) -> None:
        self._network.close()

    def poll(self, now: float) -> Sample:
        """The newest picture's hand; pictures that came since the last poll and are older are left out."""
        sample = self._network.poll(now)
        if sample.joints is None:
            self._state = HandState(False, "no hand has been seen yet")
        elif sample.sequence != self._taken:
            self._taken = sample.sequence
            at = sample.t_receive if sample.t_device is None else sample.t_device
            joints = sample.joints if sample.pose is None else sample.joints + sample.pose[:3]
            confidence = sample.confidence if sample.valid else 0.0
            self._state = self._stream.take(joints, confidence, at)
        state = self._state
        return replace(
            sample,
            kind=Kind.JOINTS,
            pose=state.pose,
            joints=state.landmarks,
            gripper=state.closure,
            valid=sample.valid and state.valid,
            raw={**sample.raw, "reason": state.reason},
        )

    def status(self) -> Status:
        status = self._network.status()
        if status.health is Health.NOT_FOUND and "waiting" in status.message:
            return replace(status, message=f"waiting for the camera's process. Start it:\n{command(self.side)}")
        if status.ok and self._state.reason:
            return replace(status, message=self._state.reason)
        return status

    def feedback(self, feedback: Feedback) -> None:
        """A bare hand feels nothing."""

    def describe(self) -> dict[str, Any]:
        return {
            **self._network.describe(), "name": self.name, "kind": Kind.JOINTS.value, "side": self.side,
            "joints": "mediapipe21",
            "mapping": {"frame": "camera", "gripper_mode": "switch", "pose_linear_limit": 0.4, "stale_after": 0.25},
        }  # fmt: skip


def command(side: str = "right", python: str = "~/.cache/tacktile/hands/bin/python") -> str:
    """The line that starts the camera's process in its own environment. It may end up among the events of a recording,
    so no user's name stands in it."""
    script = str(CAMERA_SCRIPT)
    home = str(Path.home())
    if script.startswith(home + os.sep):
        script = "~" + script[len(home) :]
    return f"{python} {script} --model ~/.cache/tacktile/hands/hand_landmarker.task --side {side}"


def setup_lines() -> str:
    """The lines that make that environment."""
    return (
        "python3 -m venv ~/.cache/tacktile/hands\n"
        "~/.cache/tacktile/hands/bin/pip install mediapipe\n"
        f"curl -o ~/.cache/tacktile/hands/hand_landmarker.task {MODEL_URL}"
    )


def probe() -> Status:
    """Is there what the camera's process needs, as far as it can be seen from here?"""
    place = Path("~/.cache/tacktile/hands").expanduser()
    problems = []
    if not (place / "bin" / "python").exists() and not (place / "Scripts" / "python.exe").exists():
        problems.append("the environment of the camera's process is missing")
    if not (place / "hand_landmarker.task").exists():
        problems.append("the hand model is missing")
    if problems:
        return Status(Health.NO_LIBRARY, f"{' and '.join(problems)}. Make it:\n{setup_lines()}\nthen:\n{command()}")
    if not cameras():
        return Status(Health.NOT_FOUND, "no camera is plugged in (/dev/video*)")
    return Status(Health.OK, f"start the camera's process, then --input hands:\n{command()}")


def cameras() -> list[str]:
    """Camera nodes of Linux; elsewhere ["0"], which only the process itself can try."""
    devices = Path("/dev")
    return sorted(str(p) for p in devices.glob("video*")) if Path("/sys").is_dir() else ["0"]


def tip_distance(landmarks: np.ndarray) -> float:
    """[m] thumb to index, for the device screen."""
    return hand.pinch_distance(hand.landmarks_of(landmarks))
