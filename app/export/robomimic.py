"""HDF5 as robomimic and Isaac Lab read it: data/demo_i/{actions, states, rewards, dones, obs/*, next_obs/*}.

Layout: https://robomimic.github.io/docs/datasets/overview.html. Demonstration i has N = n - 1 samples: observations and
states before each action in `obs` and `states`, those after it in `next_obs`. Beyond the published layout each
demonstration has `time` (simulated [s], (N,)) and the attributes `success`, `episode`, `task`, and every vector an
attribute `names`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from app.export.demonstration_set import DemonstrationSet
from app.export.demonstrations import Demonstration
from app.export.options import ExportError, ExportOptions, Progress
from app.export.streams import Stream, camera_geometry, camera_names, streams

_GYM = 2  # robomimic's number for environments that are not its own; Isaac Lab writes the same


def write_robomimic(path: Path, demos: DemonstrationSet, options: ExportOptions, progress: Progress) -> None:
    """Writes one file with all demonstrations and masks `train` and `valid`."""
    masks = demos.split(options.valid)
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        total = 0
        for number, demo in enumerate(demos):
            progress(f"{demo.name} -> demo_{number}", number / len(demos))
            if number == 0:
                data.attrs["env_args"] = json.dumps(_env_args(demo))
            group = data.create_group(f"demo_{number}")
            _write_demo(group, demo)
            total += len(demo) - 1
        data.attrs["total"] = total
        mask = file.create_group("mask")
        for name, numbers in masks.items():
            mask.create_dataset(name, data=np.array([f"demo_{k}" for k in numbers], dtype="S"))


def _env_args(demo: Demonstration) -> dict[str, Any]:
    versions = demo.episode.meta.get("versions") or {}
    return {
        "env_name": demo.episode.scene_name,
        "env_version": str(versions.get("tacktile", "")),
        "type": _GYM,
        "env_kwargs": {"control_freq": 1.0 / demo.dt, "dt": demo.dt, "action": demo.options.action},
    }


def _write_demo(group: h5py.Group, demo: Demonstration) -> None:
    count = len(demo) - 1
    actions, names = demo.action
    _vector(group, "actions", actions, names)
    group.create_dataset("rewards", data=_at_the_end(count, demo.success is True).astype(np.float64))
    group.create_dataset("dones", data=_at_the_end(count, True).astype(np.int64))
    group.create_dataset("time", data=demo.time[:-1])
    if demo.options.points and demo.episode.num_points:
        states = _positions(demo)
        _vector(group, "states", states[:-1], [])
        group["states"].attrs["meaning"] = "positions of all points [m], x y z of each; NaN: not there yet before a cut"
    else:
        states, of = demo.robot_state
        _vector(group, "states", states[:-1], of)
    for name, (rows, of) in demo.observations.items():
        _vector(group, f"obs/{name}", rows[:-1], of)
        _vector(group, f"next_obs/{name}", rows[1:], of)
    for stream in streams(demo):
        _images(group, stream, len(demo))
    for camera in camera_names(demo):
        for name, rows in zip(("intrinsics", "extrinsics"), camera_geometry(demo, camera), strict=True):
            _vector(group, f"obs/{camera}_{name}", rows[:-1], [])
            _vector(group, f"next_obs/{camera}_{name}", rows[1:], [])
    if demo.stage is not None:
        stages, names = demo.stages
        group.create_dataset("stage", data=demo.stage[:-1])
        _vector(group, "stages", stages[:-1], names)
    group.attrs["num_samples"] = count
    group.attrs["episode"] = demo.name
    group.attrs["task"] = demo.task
    if demo.success is not None:
        group.attrs["success"] = demo.success


def _vector(group: h5py.Group, name: str, rows: np.ndarray, names: list[str]) -> None:
    dataset = group.create_dataset(name, data=rows, compression="gzip", shuffle=True)
    if names:
        dataset.attrs["names"] = np.array(names, dtype="S")


def _at_the_end(count: int, on: bool) -> np.ndarray:
    out = np.zeros(count, bool)
    out[-1] = on
    return out


def _positions(demo: Demonstration) -> np.ndarray:
    """(n, 3 P) float32, NaN where a later cut adds points."""
    out = np.full((len(demo), 3 * demo.episode.num_points), np.nan, np.float32)
    for k in range(len(demo)):
        x = demo.positions(k).reshape(-1)
        out[k, : len(x)] = x
    return out


def _images(group: h5py.Group, stream: Stream, count: int) -> None:
    """obs and next_obs of one image, a frame at a time. Depth (h, w) becomes (h, w, 1) float32, as robomimic has it.
    count: of states."""
    datasets = None
    for k, image in enumerate(stream.images()):
        image = image[..., None].astype(np.float32) if image.ndim == 2 else image
        if datasets is None:
            shape = (count - 1, *image.shape)
            datasets = [
                group.create_dataset(f"{kind}/{stream.key}", shape, image.dtype, chunks=(1, *image.shape),
                                     compression="gzip", shuffle=True)
                for kind in ("obs", "next_obs")
            ]  # fmt: skip
        if k < count - 1:
            datasets[0][k] = image
        if k:
            datasets[1][k - 1] = image


def check_robomimic(path: Path, demos: DemonstrationSet) -> str:
    """Reads the file again as a trainer would. Says what is in it; raises ExportError for what is wrong."""
    with h5py.File(path, "r") as file:
        json.loads(file["data"].attrs["env_args"])
        names = list(file["data"])
        if len(names) != len(demos):
            raise ExportError(f"{path.name} holds {len(names)} demonstrations, {len(demos)} were written")
        masked = sum((list(file["mask"][name][:]) for name in ("train", "valid")), [])
        if sorted(m.decode() for m in masked) != sorted(names):
            raise ExportError(f"{path.name}: the masks train and valid do not share out all demonstrations")
        total = 0
        for number, demo in enumerate(demos):
            group = file[f"data/demo_{number}"]
            count = int(group.attrs["num_samples"])
            total += count
            _check_lengths(group, number, count)
            if not np.array_equal(group["actions"][:], demo.action[0]):
                raise ExportError(f"{path.name}: actions of demo_{number} are not those of {demo.name}")
            if not np.array_equal(group["time"][:], demo.time[:-1]):
                raise ExportError(f"{path.name}: times of demo_{number} are not those of {demo.name}")
        if int(file["data"].attrs["total"]) != total:
            raise ExportError(f"{path.name}: total is {file['data'].attrs['total']}, the demonstrations hold {total}")
        observed = ", ".join(file["data/demo_0/obs"])
    return f"{len(demos)} demonstrations, {total} samples; observations: {observed}"


def _check_lengths(group: h5py.Group, number: int, count: int) -> None:
    def look(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape[0] != count:
            raise ExportError(f"{name} of demo_{number} has {item.shape[0]} rows, expected {count}")

    group.visititems(look)
    if set(group["obs"]) != set(group["next_obs"]):
        raise ExportError(f"obs and next_obs of demo_{number} differ in their names")
