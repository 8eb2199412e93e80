"""A LeRobot data set, version 3.0, through pyarrow and av alone.

    meta/info.json                           features, rates, paths
    meta/stats.json                          statistics of every feature over the set
    meta/tasks.parquet                       instruction -> task_index
    meta/episodes/chunk-000/file-000.parquet where each episode lies, and its own statistics
    data/chunk-000/file-000.parquet          a row a frame, a row group an episode
    videos/<key>/chunk-000/file-000.mp4      episodes one behind the other

Format: https://huggingface.co/docs/lerobot/lerobot-dataset-v3. A frame is a state with the action taken in it, so
an episode has n - 1 frames. `timestamp` is simulated time since the first of them; the rate is that of the simulation.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from app.export.demonstration_set import DemonstrationSet
from app.export.demonstrations import Demonstration
from app.export.lerobot_tables import (
    CHUNK,
    DataFiles,
    VideoFiles,
    write_episodes,
    write_tasks,
)
from app.export.options import ExportError, ExportOptions, Progress, need
from app.export.rendering import View
from app.export.statistics import ImageStatistics, Statistics, combine, statistics
from app.export.streams import camera_geometry, camera_names, camera_pictures, depth_png, streams
from app.export.video import check_video
from app.record.camera_file import DEPTH_UNIT

VERSION = "v3.0"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
DATA_MB, VIDEO_MB = 100, 200

_INDEX = {name: "int64" for name in ("frame_index", "episode_index", "index", "task_index")}


def write_lerobot(root: Path, demos: DemonstrationSet, options: ExportOptions, progress: Progress) -> None:
    """Writes the data set into the empty folder `root`."""
    need("pyarrow.parquet")
    files, videos, tasks = DataFiles(root, DATA_PATH, DATA_MB), {}, {}
    episodes: list[dict[str, Any]] = []
    features: dict[str, Any] = {}
    fps, index = 0, 0
    view = View(options) if options.view else None
    try:
        for number, demo in enumerate(demos):
            progress(f"{demo.name} -> episode {number}", number / len(demos))
            fps = fps or _rate(demo)
            columns, now = _columns(demo, number, index, tasks.setdefault(demo.task, len(tasks)))
            found = {name: statistics(rows) for name, rows in columns.items()}
            for camera in camera_names(demo):
                _depth(demo, camera, columns, now, found)
            entry = {"episode_index": number, "tasks": [demo.task], "length": len(demo) - 1}
            entry |= {"dataset_from_index": index, "dataset_to_index": index + len(demo) - 1}
            entry |= files.append(columns, now)
            for key, images in _streams(demo, view).items():
                video = videos.setdefault(key, VideoFiles(root, VIDEO_PATH, key, Fraction(fps), VIDEO_MB))
                found[key], place = _append(video, images, len(demo) - 1)
                entry |= place
                now[key] = video.feature()
            if features and features != now:
                raise ExportError(f"{demo.name} has other columns than the episodes before it: {_other(features, now)}")
            features = now
            episodes.append(entry | {"stats": found})
            index += len(demo) - 1
    finally:
        files.close()
        for video in videos.values():
            video.close()
        if view is not None:
            view.close()
    write_tasks(root / "meta/tasks.parquet", tasks)
    write_episodes(root / "meta/episodes" / f"{CHUNK}.parquet", episodes)
    _write_json(root / "meta/stats.json", _whole(episodes))
    _write_json(root / "meta/info.json", _info(demos, features, fps, index, len(tasks)))


def _rate(demo: Demonstration) -> int:
    """Frames a second; LeRobot knows whole numbers alone."""
    exact = 1.0 / demo.dt
    if abs(exact - round(exact)) > 1e-6 * exact:
        base = exact * demo.options.every
        fit = [n for n in range(1, 1001) if base / n >= 1.0 and abs(base / n - round(base / n)) < 1e-6 * base / n]
        raise ExportError(
            f"{demo.name} has {exact:.6g} states a second; LeRobot needs a whole number: "
            + (f"--every {', '.join(map(str, fit[:6]))}" if fit else "no --every gives one")
        )
    return round(exact)


def _columns(
    demo: Demonstration, number: int, index: int, task: int
) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
    """Arrays of one episode by feature, and the features' descriptions."""
    count = len(demo) - 1
    action, action_names = demo.action
    state, state_names = demo.robot_state
    columns: dict[str, np.ndarray] = {"action": action.astype(np.float32)}
    features = {"action": _feature("float32", action_names)}
    columns["observation.state"] = state[:-1].astype(np.float32)
    features["observation.state"] = _feature("float32", state_names)
    for name, (rows, of) in demo.observations.items():
        if name in demo.state_parts:
            continue
        key = f"observation.{name}"
        columns[key] = rows[:-1].astype(np.float32)
        features[key] = _feature("float32", of)
    _cameras(demo, columns, features)
    if demo.stage is not None:
        stages, names = demo.stages
        columns["stage"], features["stage"] = demo.stage[:-1], {"dtype": "int64", "shape": [1], "names": None}
        columns["stages"], features["stages"] = stages[:-1], _feature("bool", names)
    ended = np.arange(count) == count - 1
    columns["next.reward"] = (ended & (demo.success is True)).astype(np.float32)
    columns["next.done"], columns["next.success"] = ended, ended & (demo.success is True)
    for name, kind in (("next.reward", "float32"), ("next.done", "bool"), ("next.success", "bool")):
        features[name] = {"dtype": kind, "shape": [1], "names": None}
    columns["timestamp"] = demo.time[:-1].astype(np.float32)
    features["timestamp"] = {"dtype": "float32", "shape": [1], "names": None}
    columns["frame_index"] = np.arange(count)
    columns["episode_index"] = np.full(count, number)
    columns["index"] = index + np.arange(count)
    columns["task_index"] = np.full(count, task)
    features |= {name: {"dtype": kind, "shape": [1], "names": None} for name, kind in _INDEX.items()}
    return columns, features


def _cameras(demo: Demonstration, columns: dict[str, Any], features: dict[str, Any]) -> None:
    """The geometry of each camera."""
    for camera in camera_names(demo):
        for name, rows in zip(("intrinsics", "world_from_camera"), camera_geometry(demo, camera), strict=True):
            key, size = f"camera.{camera}.{name}", rows.shape[1]
            columns[key] = rows[:-1].reshape(len(rows) - 1, -1).astype(np.float32)
            features[key] = _feature("float32", [f"{i}{j}" for i in range(size) for j in range(size)])


def _depth(
    demo: Demonstration, camera: str, columns: dict[str, Any], features: dict[str, Any], stats: dict[str, Statistics]
) -> None:
    """Depth of a camera as PNGs of sixteen bits in units of 0.1 mm, which a video could not hold. Statistics are in
    these units, of every eighth pixel that sees something."""
    key, (h, w) = f"observation.depth.{camera}", demo.episode.cameras.size(camera)
    columns[key], seen = [], []
    for depth in camera_pictures(demo, camera, "depth", demo.frames[:-1] + 1):
        columns[key].append(depth_png(depth))
        some = depth[::8, ::8]
        seen.append(some[some > 0.0] / DEPTH_UNIT)
    found = statistics(np.concatenate(seen)) if any(map(len, seen)) else statistics(np.zeros(1))
    stats[key] = {name: value.reshape(1, 1, 1) for name, value in found.items()} | {"count": np.array([len(demo) - 1])}
    features[key] = {
        "dtype": "image", "shape": [h, w, 1], "names": ["height", "width", "channels"],
        "info": {"depth_unit": DEPTH_UNIT},
    }  # fmt: skip


def _feature(kind: str, names: list[str]) -> dict[str, Any]:
    return {"dtype": kind, "shape": [len(names)], "names": names}


def _streams(demo: Demonstration, view: View | None) -> dict[str, Any]:
    """Images by feature: of pads as recorded, and of the scene when it is drawn."""
    found = {}
    for stream in streams(demo):
        if stream.kind != "depth":
            name = stream.source if stream.of_camera else stream.key
            found[f"observation.images.{name}"] = stream.in_eight_bits()
    if view is not None:
        found["observation.images.view"] = view.images(demo.episode, demo.frames + 1)
    return found


def _append(video: VideoFiles, images, count: int) -> tuple[Statistics, dict[str, Any]]:
    """The first `count` images as one episode of a video; the last state has no action, so it is no frame."""
    found = ImageStatistics()
    place = video.begin_episode()
    for image, _ in zip(images, range(count), strict=False):
        found.add(image)
        video.append(image)
    return found.result(), place | video.end_episode()


def _other(a: dict[str, Any], b: dict[str, Any]) -> str:
    return ", ".join(sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name)))


def _whole(episodes: list[dict[str, Any]]) -> dict[str, Any]:
    names = episodes[0]["stats"]
    return {
        name: {k: v.tolist() for k, v in combine(entry["stats"][name] for entry in episodes).items()} for name in names
    }


def _info(demos: DemonstrationSet, features: dict[str, Any], fps: int, frames: int, tasks: int) -> dict[str, Any]:
    videos = any(feature["dtype"] == "video" for feature in features.values())
    return {
        "codebase_version": VERSION,
        "robot_type": "tacktile",
        "total_episodes": len(demos),
        "total_frames": frames,
        "total_tasks": tasks,
        "chunks_size": 1000,
        "data_files_size_in_mb": DATA_MB,
        "video_files_size_in_mb": VIDEO_MB,
        "fps": fps,
        "splits": {"train": f"0:{len(demos)}"},
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH if videos else None,
        "features": features,
    }


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def check_lerobot(root: Path, demos: DemonstrationSet) -> str:
    """Reads the data set again by its own tables. Says what is in it; raises ExportError for what is wrong."""
    parquet = need("pyarrow.parquet")
    info = json.loads((root / "meta/info.json").read_text(encoding="utf-8"))
    stats = json.loads((root / "meta/stats.json").read_text(encoding="utf-8"))
    entries = parquet.read_table(root / "meta/episodes").to_pylist()
    tasks = parquet.read_table(root / "meta/tasks.parquet").to_pydict()
    if len(entries) != len(demos) or info["total_frames"] != sum(e["length"] for e in entries):
        raise ExportError(f"{root.name}: {len(entries)} episodes listed, {len(demos)} were written")
    if set(stats) != set(info["features"]):
        raise ExportError(f"{root.name}: statistics and features differ: {set(stats) ^ set(info['features'])}")
    for entry, demo in zip(entries, demos, strict=True):
        _check_episode(root, info, entry, tasks, demo)
    for key in (name for name, f in info["features"].items() if f["dtype"] == "video"):
        _check_videos(root, info, entries, key)
    return f"{len(entries)} episodes, {info['total_frames']} frames at {info['fps']} Hz; {', '.join(info['features'])}"


def _check_episode(root: Path, info: dict, entry: dict, tasks: dict, demo: Demonstration) -> None:
    path = root / info["data_path"].format(chunk_index=entry["data/chunk_index"], file_index=entry["data/file_index"])
    columns = [name for name, feature in info["features"].items() if feature["dtype"] not in ("video", "image")]
    table = need("pyarrow.parquet").read_table(
        path, columns=columns, filters=[("episode_index", "==", entry["episode_index"])]
    )
    number = entry["episode_index"]
    if not table.num_rows == entry["length"] == entry["dataset_to_index"] - entry["dataset_from_index"]:
        raise ExportError(f"{root.name}: episode {number} has {table.num_rows} rows, {entry['length']} are listed")
    if not np.array_equal(np.array(table["action"].to_pylist(), np.float32), demo.action[0].astype(np.float32)):
        raise ExportError(f"{root.name}: actions of episode {number} are not those of {demo.name}")
    times = table["timestamp"].to_numpy()
    if np.abs(times - np.arange(len(times)) / info["fps"]).max() > 1e-4 or not np.allclose(times, demo.time[:-1]):
        raise ExportError(f"{root.name}: times of episode {number} are not the simulated ones at {info['fps']} Hz")
    named = dict(zip(tasks["task_index"], tasks["task"], strict=True))
    if {named.get(k) for k in table["task_index"].to_pylist()} != set(entry["tasks"]):
        raise ExportError(f"{root.name}: the task of episode {number} is not in the list of tasks")


def _check_videos(root: Path, info: dict, entries: list[dict], key: str) -> None:
    """Every file decodes, and its episodes fill it from end to end."""
    files: dict[tuple[int, int], int] = {}
    for entry in entries:
        place = (entry[f"videos/{key}/chunk_index"], entry[f"videos/{key}/file_index"])
        begin, end = (entry[f"videos/{key}/{name}_timestamp"] for name in ("from", "to"))
        frames = files.get(place, 0)
        if abs(begin - frames / info["fps"]) > 1e-9 or abs(end - begin - entry["length"] / info["fps"]) > 1e-9:
            raise ExportError(f"{root.name}: {key} of episode {entry['episode_index']} does not follow the one before")
        files[place] = frames + entry["length"]
    for (chunk, file), frames in files.items():
        path = root / info["video_path"].format(video_key=key, chunk_index=chunk, file_index=file)
        check_video(path, frames, Fraction(info["fps"]))
