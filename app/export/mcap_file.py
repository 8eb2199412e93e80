"""MCAP with JSON messages, for Foxglove and the like: https://mcap.dev/spec.

Times of messages are simulated time since the first state, in nanoseconds. Channels:

    /tf        foxglove.FrameTransforms   tools in the world
    /events    foxglove.Log               what happened
    /points    foxglove.PointCloud        positions of all points, with --points
    /<pad>/..  foxglove.CompressedImage   images of pads, PNG
    /<camera>/image, depth  foxglove.CompressedImage    colours; depth as PNG of sixteen bits, in 0.1 mm
    /<camera>/calibration   foxglove.CameraCalibration
    /action /state /signals /tape ...     tacktile.Numbers: one object of named numbers or lists
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from app.export.demonstrations import Demonstration
from app.export.options import ExportError, need
from app.export.streams import Stream, as_rgb, camera_geometry, camera_names, depth_png, png, streams
from devices.rotations import quat_from_matrix

_FLOAT32 = 7  # foxglove.PackedElementField
_INFO = 2  # foxglove.Log level
Message = tuple[int, str, dict[str, Any]]  # [ns], topic, value

_NUMBER, _TEXT = {"type": "number"}, {"type": "string"}


def _object(title: str, **properties: Any) -> dict[str, Any]:
    return {"title": title, "type": "object", "properties": properties}


_STAMP = _object("time", sec={"type": "integer", "minimum": 0}, nsec={"type": "integer", "minimum": 0})
_VECTOR = _object("foxglove.Vector3", x=_NUMBER, y=_NUMBER, z=_NUMBER)
_ROTATION = _object("foxglove.Quaternion", x=_NUMBER, y=_NUMBER, z=_NUMBER, w=_NUMBER)
_NUMBERS = {"type": "array", "items": _NUMBER}
_BYTES = {"type": "string", "contentEncoding": "base64"}
_TRANSFORM = _object(
    "foxglove.FrameTransform", timestamp=_STAMP, parent_frame_id=_TEXT, child_frame_id=_TEXT, translation=_VECTOR,
    rotation=_ROTATION,
)  # fmt: skip
_FIELD = _object("foxglove.PackedElementField", name=_TEXT, offset={"type": "integer"}, type={"type": "integer"})
SCHEMAS = {
    "foxglove.FrameTransforms": _object(
        "foxglove.FrameTransforms", transforms={"type": "array", "items": _TRANSFORM}
    ),
    "foxglove.Log": _object(
        "foxglove.Log", timestamp=_STAMP, level={"type": "integer"}, message=_TEXT, name=_TEXT, file=_TEXT,
        line={"type": "integer"},
    ),
    "foxglove.PointCloud": _object(
        "foxglove.PointCloud", timestamp=_STAMP, frame_id=_TEXT,
        pose=_object("foxglove.Pose", position=_VECTOR, orientation=_ROTATION), point_stride={"type": "integer"},
        fields={"type": "array", "items": _FIELD}, data=_BYTES,
    ),
    "foxglove.CompressedImage": _object(
        "foxglove.CompressedImage", timestamp=_STAMP, frame_id=_TEXT, data=_BYTES, format=_TEXT
    ),
    "foxglove.CameraCalibration": _object(
        "foxglove.CameraCalibration", timestamp=_STAMP, frame_id=_TEXT, width={"type": "integer"},
        height={"type": "integer"}, distortion_model=_TEXT, D=_NUMBERS, K=_NUMBERS, R=_NUMBERS, P=_NUMBERS,
    ),
    "tacktile.Numbers": {
        "title": "tacktile.Numbers", "type": "object",
        "additionalProperties": {"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER}]},
    },
}  # fmt: skip


def write_mcap(path: Path, demo: Demonstration) -> None:
    """One demonstration, messages in order of time."""
    need("mcap")
    from mcap.writer import Writer

    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start(profile="", library="tacktile")
        schemas: dict[str, int] = {}
        channels: dict[str, int] = {}
        count = 0
        for stamp, topic, value in _messages(demo):
            schema = _schema_of(topic, demo)
            if schema not in schemas:
                text = json.dumps(SCHEMAS[schema]).encode()
                schemas[schema] = writer.register_schema(name=schema, encoding="jsonschema", data=text)
            if topic not in channels:
                channels[topic] = writer.register_channel(
                    topic=topic, message_encoding="json", schema_id=schemas[schema]
                )
            writer.add_message(
                channel_id=channels[topic], log_time=stamp, publish_time=stamp, sequence=count,
                data=json.dumps(value, separators=(",", ":")).encode(),
            )  # fmt: skip
            count += 1
        about = {"scene": demo.episode.scene_name, "task": demo.task, "label": demo.episode.label or "",
                 "episode": demo.name}  # fmt: skip
        writer.add_metadata("tacktile", about)
        writer.finish()


def _schema_of(topic: str, demo: Demonstration) -> str:
    fixed = {"/tf": "foxglove.FrameTransforms", "/events": "foxglove.Log", "/points": "foxglove.PointCloud"}
    if topic in fixed:
        return fixed[topic]
    if topic.endswith("/calibration") and topic[1:-12] in camera_names(demo):
        return "foxglove.CameraCalibration"
    return "foxglove.CompressedImage" if topic in map(_image_topic, streams(demo)) else "tacktile.Numbers"


def _image_topic(stream: Stream) -> str:
    """/pad/indentation, /ego/image"""
    return f"/{stream.source}/{stream.key[len(stream.source) + 1 :]}"


def _messages(demo: Demonstration) -> Iterator[Message]:
    actions, action_names = demo.action
    images = [(_image_topic(stream), stream, stream.images()) for stream in streams(demo)]
    geometry = {camera: camera_geometry(demo, camera) for camera in camera_names(demo)}
    events: dict[int, list[str]] = {}
    for row, text in demo.episode.events():
        events.setdefault(row, []).append(text)
    for k, frame in enumerate(demo.frames):
        stamp = round(demo.time[k] * 1e9)
        cameras = {camera: poses[k] for camera, (_, poses) in geometry.items()}
        yield stamp, "/tf", {"transforms": _transforms(demo, k, stamp, cameras)}
        for topic, value in _numbers(demo, k).items():
            yield stamp, topic, value
        if k < len(actions):
            yield stamp, "/action", dict(zip(action_names, actions[k].tolist(), strict=True))
        for topic, stream, shown in images:
            yield stamp, topic, _compressed(next(shown), stream, stamp)
        for camera, (intrinsics, _) in geometry.items():
            yield stamp, f"/{camera}/calibration", _calibration(demo, camera, intrinsics[k], stamp)
        if demo.options.points and demo.episode.num_points:
            yield stamp, "/points", _cloud(demo.positions(k), stamp)
        for text in events.get(int(frame), ()):
            log = {"level": _INFO, "message": text, "name": demo.episode.scene_name, "file": "", "line": 0}
            yield stamp, "/events", {"timestamp": _stamp(stamp)} | log


def _numbers(demo: Demonstration, k: int) -> dict[str, dict[str, Any]]:
    """Observations by the first word of their name."""
    found: dict[str, dict[str, Any]] = {"/clock": {"simulated": float(demo.episode.time.simulated[demo.frames[k]]),
                                                   "wall": float(demo.episode.time.wall[demo.frames[k]])}}  # fmt: skip
    for name, (rows, _) in demo.observations.items():
        if not name.endswith(("_pos", "_quat")):
            value = rows[k].tolist()
            found.setdefault("/" + name.split("_")[0], {})[name] = value[0] if len(value) == 1 else value
    if demo.stage is not None:
        stages, names = demo.stages
        found["/stage"] = {"stage": int(demo.stage[k])} | dict(zip(names, stages[k].astype(int).tolist(), strict=True))
    return found


def _transforms(demo: Demonstration, k: int, stamp: int, cameras: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Of tools, and of cameras (world from camera, (4, 4))."""
    found = [_transform(name, pose[:3, 3], quat_from_matrix(pose[:3, :3]), stamp) for name, pose in cameras.items()]
    for name, (rows, _) in demo.observations.items():
        turned = demo.observations.get(name[:-4] + "_quat")
        if name.endswith("_pos") and turned is not None:
            found.append(_transform(name[:-4], rows[k], turned[0][k], stamp))
    return found


def _transform(frame: str, place: np.ndarray, turn: np.ndarray, stamp: int) -> dict[str, Any]:
    return {
        "timestamp": _stamp(stamp), "parent_frame_id": "world", "child_frame_id": frame,
        "translation": dict(zip("xyz", place.tolist(), strict=True)),
        "rotation": dict(zip("xyzw", turn.tolist(), strict=True)),
    }  # fmt: skip


def _calibration(demo: Demonstration, camera: str, intrinsics: np.ndarray, stamp: int) -> dict[str, Any]:
    h, w = demo.episode.cameras.size(camera)
    p = np.concatenate([intrinsics, np.zeros((3, 1))], axis=1)
    return {
        "timestamp": _stamp(stamp), "frame_id": camera, "width": w, "height": h, "distortion_model": "plumb_bob",
        "D": [0.0] * 5, "K": intrinsics.reshape(-1).tolist(), "R": np.eye(3).reshape(-1).tolist(),
        "P": p.reshape(-1).tolist(),
    }  # fmt: skip


def _compressed(image: np.ndarray, stream: Stream, stamp: int) -> dict[str, Any]:
    data = depth_png(image) if stream.kind == "depth" else png(as_rgb(image, stream.kind))
    encoded = base64.b64encode(data).decode()
    frame = stream.source if stream.of_camera else _image_topic(stream)[1:]
    return {"timestamp": _stamp(stamp), "frame_id": frame, "data": encoded, "format": "png"}


def _cloud(points: np.ndarray, stamp: int) -> dict[str, Any]:
    data = base64.b64encode(points.astype("<f4").tobytes()).decode()
    fields = [{"name": axis, "offset": 4 * i, "type": _FLOAT32} for i, axis in enumerate("xyz")]
    pose = {"position": {"x": 0, "y": 0, "z": 0}, "orientation": {"x": 0, "y": 0, "z": 0, "w": 1}}
    about = {"timestamp": _stamp(stamp), "frame_id": "world", "pose": pose}
    return about | {"point_stride": 12, "fields": fields, "data": data}


def _stamp(ns: int) -> dict[str, int]:
    return {"sec": ns // 10**9, "nsec": ns % 10**9}


def check_mcap(path: Path, demo: Demonstration) -> str:
    """Reads the file again. Says what is in it; raises ExportError for what is wrong."""
    need("mcap")
    from mcap.reader import make_reader

    times: dict[str, list[int]] = {}
    with open(path, "rb") as file:
        for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages():
            value = json.loads(message.data)
            if not isinstance(value, dict) or schema.name not in SCHEMAS:
                raise ExportError(f"{path.name}: a message of {channel.topic} is not what its schema says")
            times.setdefault(channel.topic, []).append(message.log_time)
    expected = [round(t * 1e9) for t in demo.time]
    if times.get("/tf") != expected or times.get("/action") != expected[:-1]:
        raise ExportError(f"{path.name}: messages do not stand at the simulated times of {demo.name}")
    return f"{path.name}: {sum(map(len, times.values()))} messages on {', '.join(sorted(times))}"
