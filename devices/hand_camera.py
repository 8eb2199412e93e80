#!/usr/bin/env python3
"""Watches hands with a camera and sends their landmarks to Tacktile: a program and an environment of its own.

    python hand_camera.py --model hand_landmarker.task [--camera 0] [--side right|left|both] [--facing operator|scene]

Needs mediapipe (which brings numpy and OpenCV) and a model file; nothing of Tacktile. A video file may stand for the
camera. MediaPipe 0.10.30 and later ship no hand model: fetch it, the messages say whence.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import time

PORTS = {"right": 47448, "left": 47449}
MODEL_URL = (
    "https://storage.googleapis.com/mediapipe-models/hand_landmarker/hand_landmarker/float16/latest/hand_landmarker.task"
)
FOCAL = 0.95  # [-] focal length over picture width of a usual webcam (55 degrees across)
RETRY = 1.0  # [s] between two attempts to reach Tacktile
# rows: device axes (x right, y away, z up) in those of the picture (x right, y down, z into it)
AXES = {
    "operator": ((-1, 0, 0), (0, 0, -1), (0, -1, 0)),  # the camera looks at the operator, as a webcam does
    "scene": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),  # it looks where the operator looks
}


class Refusal(SystemExit):
    """Ends the program with a sentence and exit status 2."""

    def __init__(self, text: str):
        print(text, file=sys.stderr)
        super().__init__(2)


def read_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="hand_landmarker.task")
    parser.add_argument("--camera", default="0", help="number, node or video file")
    parser.add_argument("--side", default="right", choices=("right", "left", "both"))
    parser.add_argument("--facing", default="operator", choices=tuple(AXES), help="what the camera looks at")
    parser.add_argument("--mirror", action="store_true", help="the camera turns its picture left to right")
    parser.add_argument("--confidence", type=float, default=0.5, help="from which on a hand counts as found")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="default: 47448 for the right hand, 47449 for the left")
    return parser.parse_args(arguments)


def load_libraries(model: str):
    """(cv2, mediapipe, vision). Exits with the line that mends it."""
    if not os.path.isfile(model):
        raise Refusal(f"there is no hand model at {model}. Fetch it:\ncurl -o {model} {MODEL_URL}")
    try:
        import cv2
        import mediapipe
        from mediapipe.tasks.python import vision
    except ImportError as error:
        line = f"{sys.executable} -m pip install mediapipe"
        raise Refusal(f"mediapipe is not installed here ({error}). Install it: {line}") from None
    return cv2, mediapipe, vision


def make_detector(mediapipe, vision, model: str, confidence: float):
    """To be closed by `with`."""
    options = vision.HandLandmarkerOptions(
        base_options=mediapipe.tasks.BaseOptions(model_asset_path=model),
        running_mode=vision.RunningMode.VIDEO,
        num_hands=2,
        min_hand_detection_confidence=confidence,
        min_hand_presence_confidence=confidence,
        min_tracking_confidence=confidence,
    )
    try:
        return vision.HandLandmarker.create_from_options(options)
    except Exception as error:  # noqa: BLE001 - MediaPipe raises what its C++ side says
        text = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        what = f"{model} is no hand model that this mediapipe reads ({text})"
        raise Refusal(f"{what}. Fetch it again:\ncurl -o {model} {MODEL_URL}") from None


def open_camera(cv2, camera: str):
    source = int(camera) if camera.isdigit() else camera
    capture = cv2.VideoCapture(source)
    if capture.isOpened():
        return capture
    if not camera.isdigit() and not os.path.exists(camera):
        raise Refusal(f"there is no camera or video at {camera}. Cameras here: {', '.join(nodes()) or 'none'}")
    node = f"/dev/video{camera}" if camera.isdigit() else camera
    if os.path.exists(node) and not os.access(node, os.R_OK | os.W_OK):
        raise Refusal(f"you may not read {node}. Join its group, then log in again: sudo usermod -aG video $USER")
    raise Refusal(
        f"camera {camera} cannot be opened. Cameras here: {', '.join(nodes()) or 'none'}. Plug one in, or close the "
        "program that uses it."
    )


def nodes() -> list[str]:
    names = os.listdir("/dev") if os.path.isdir("/dev") else []
    return sorted(f"/dev/{name}" for name in names if name.startswith("video"))


def message(image, world, side: str, score: float, size: tuple[int, int], facing: str, t: float) -> dict:
    """One hand as a line of the protocol.

    image: 21 landmarks in the picture, x and y in [0, 1]; world: the same in metres about the hand's middle. The
    place of the hand is found from its size in the picture: depth = focal * length / length in pixels.
    """
    width, height = size
    axes = AXES[facing]
    spans = [(0, 5), (0, 9), (0, 13), (0, 17), (5, 17)]
    pixels = sum(((image[a].x - image[b].x) * width) ** 2 + ((image[a].y - image[b].y) * height) ** 2 for a, b in spans)
    metres = sum((world[a].x - world[b].x) ** 2 + (world[a].y - world[b].y) ** 2 for a, b in spans)
    focal = FOCAL * width
    depth = min(max(focal * (metres / max(pixels, 1.0)) ** 0.5, 0.1), 3.0)
    wrist = ((image[0].x - 0.5) * width * depth / focal, (image[0].y - 0.5) * height * depth / focal, depth)

    def turned(x, y, z):
        return [round(row[0] * x + row[1] * y + row[2] * z, 5) for row in axes]

    joints = [turned(p.x - world[0].x, p.y - world[0].y, p.z - world[0].z) for p in world]
    return {
        "t": t, "side": side, "confidence": round(min(max(score, 0.0), 1.0), 3), "joints": joints,
        "pose": [*turned(*wrist), 0.0, 0.0, 0.0, 1.0],
    }  # fmt: skip


class Link:
    """A connection to Tacktile that comes back by itself; while there is none, hands are forgotten."""

    def __init__(self, host: str, port: int):
        self.host, self.port, self._socket, self._next = host, port, None, 0.0

    def send(self, body: dict) -> None:
        try:
            if self._socket is None:
                if time.monotonic() < self._next:
                    return
                self._next = time.monotonic() + RETRY
                self._socket = socket.create_connection((self.host, self.port), 1.0)
                self._socket.sendall(b'{"tacktile": 1, "name": "hand camera"}\n')
                print(f"connected to Tacktile on port {self.port}", flush=True)
            self._socket.sendall(json.dumps(body).encode() + b"\n")
        except OSError:
            if self._socket is not None:
                self._socket.close()
                self._socket = None
                print("Tacktile hung up", flush=True)


def side_of(category: str, mirror: bool) -> str:
    """MediaPipe names hands as if the picture were mirrored (its model was trained on selfies)."""
    named = category.lower()
    return named if mirror else {"left": "right", "right": "left"}[named]


def watch(options: argparse.Namespace) -> None:
    cv2, mediapipe, vision = load_libraries(options.model)
    capture = open_camera(cv2, options.camera)
    sides = ("right", "left") if options.side == "both" else (options.side,)
    links = {side: Link(options.host, options.port or PORTS[side]) for side in sides}
    with make_detector(mediapipe, vision, options.model, options.confidence) as detector:
        pictures, hands = send_hands(options, cv2, mediapipe, capture, detector, links)
    print(f"{pictures} pictures, {hands} hands", flush=True)


def send_hands(options, cv2, mediapipe, capture, detector, links: dict[str, Link]) -> tuple[int, int]:
    """Until the video ends: (pictures, hands sent)."""
    live = options.camera.isdigit() or options.camera.startswith("/dev/")
    start, last, pictures, hands = time.monotonic(), -1, 0, 0
    while True:
        good, frame = capture.read()
        if not good:
            if live:
                raise Refusal(f"camera {options.camera} sends no more pictures: plug it in again")
            return pictures, hands
        pictures += 1
        t = time.monotonic() - start if live else pictures / (capture.get(cv2.CAP_PROP_FPS) or 30.0)
        last = max(last + 1, int(1000 * t))  # MediaPipe wants a time that grows
        picture = mediapipe.Image(image_format=mediapipe.ImageFormat.SRGB, data=cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
        found = detector.detect_for_video(picture, last)
        height, width = frame.shape[:2]
        for image, world, labels in zip(found.hand_landmarks, found.hand_world_landmarks, found.handedness):  # noqa: B905
            side = side_of(labels[0].category_name, options.mirror)
            if side in links:
                hands += 1
                links[side].send(message(image, world, side, labels[0].score, (width, height), options.facing, t))


if __name__ == "__main__":
    try:
        watch(read_arguments(sys.argv[1:]))
    except KeyboardInterrupt:
        pass
