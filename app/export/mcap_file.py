"""MCAP with JSON messages, for Foxglove and the like: https://mcap.dev/spec.

Times of messages are simulated time since the first state, in nanoseconds. Channels:

    /tf        foxglove.FrameTransforms   tools in the world
    /events    foxglove.Log               what happened
    /points    foxglove.PointCloud        positions of all points, with --points
    /<pad>     foxglove.CompressedImage   images of pads, PNG
    /action /state /signals /tape ...     tacktile.Numbers: one object of named numbers or lists
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from app.export.demonstrations import Demonstration
from app.export.lerobot import DEPTH_AT_WHITE
from app.export.options import ExportError, need
from app.export.video import as_rgb

_FLOAT32 = 7  # foxglove.PackedElementField
_INFO = 2  # foxglove.Log level
Message = tuple[int, str, dict[str, Any]]  # [ns], topic, value

_NUMBER, _TEXT = {"type": "number"}, {"type": "string"}


def _object(title: str, **properties: Any) -> dict[str, Any]:
    return {"title": title, "type": "object", "properties": properties}


_STAMP = _object("time", sec={"type": "integer", "minimum": 0}, nsec={"type": "integer", "minimum": 0})
_VECTOR = _object("foxglove.Vector3", x=_NUMBER, y=_NUMBER, z=_NUMBER)
_ROTATION = _object("foxglove.Quaternion", x=_NUMBER, y=_NUMBER, z=_NUMBER, w=_NUMBER)
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
    return "foxglove.CompressedImage" if topic in map(_image_topic, demo.image_names()) else "tacktile.Numbers"


def _image_topic(path: str) -> str:
    return "/" + "/".join(path.split("/")[1:])


def _messages(demo: Demonstration) -> Iterator[Message]:
    actions, action_names = demo.action
    images = {_image_topic(path): demo.images(path) for path in demo.image_names()}
    events: dict[int, list[str]] = {}
    for row, text in demo.episode.events():
        events.setdefault(row, []).append(text)
    for k, frame in enumerate(demo.frames):
        stamp = round(demo.time[k] * 1e9)
        yield stamp, "/tf", {"transforms": _transforms(demo, k, stamp)}
        for topic, value in _numbers(demo, k).items():
            yield stamp, topic, value
        if k < len(actions):
            yield stamp, "/action", dict(zip(action_names, actions[k].tolist(), strict=True))
        for topic, stream in images.items():
            yield stamp, topic, _png(as_rgb(next(stream), DEPTH_AT_WHITE), topic, stamp)
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
    return found


def _transforms(demo: Demonstration, k: int, stamp: int) -> list[dict[str, Any]]:
    found = []
    for name, (rows, _) in demo.observations.items():
        turned = demo.observations.get(name[:-4] + "_quat")
        if name.endswith("_pos") and turned is not None:
            found.append({
                "timestamp": _stamp(stamp), "parent_frame_id": "world", "child_frame_id": name[:-4],
                "translation": dict(zip("xyz", rows[k].tolist(), strict=True)),
                "rotation": dict(zip("xyzw", turned[0][k].tolist(), strict=True)),
            })  # fmt: skip
    return found


def _png(image: np.ndarray, topic: str, stamp: int) -> dict[str, Any]:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(image).save(out, "PNG")
    data = base64.b64encode(out.getvalue()).decode()
    return {"timestamp": _stamp(stamp), "frame_id": topic[1:], "data": data, "format": "png"}


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
