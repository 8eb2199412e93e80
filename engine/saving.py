"""State files: a plain .npz with a version and a fingerprint of the model it belongs to. No pickle."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path

import numpy as np

FORMAT_VERSION = 1


def model_fingerprint(model) -> str:
    """Hash of topology, rest state and layout: a state fits only the model it was saved from."""
    h = hashlib.sha256()
    h.update(f"{model.num_worlds} {model.nodes_per_world} {model.points_per_world} {model.gravity}".encode())
    h.update(" ".join([*model.meshes, *model.bodies, *model.joints]).encode())
    for array in (model.node_start, model.node_mass, model.embedding.point_node, model.embedding.point_weights):
        h.update(np.ascontiguousarray(array.numpy()).tobytes())
    for energy in model.energies:
        h.update(energy.name.encode())
        h.update(energy.stencils_host.tobytes())
    return h.hexdigest()


def save_state(path, arrays: dict[str, np.ndarray], fingerprint: str, options) -> None:
    """Written beside the target and renamed, so that a killed save never leaves half a file."""
    path = Path(path)
    header = json.dumps({"version": FORMAT_VERSION, "fingerprint": fingerprint, "options": asdict(options)})
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as f:
        np.savez_compressed(f, header=np.frombuffer(header.encode(), np.uint8), **arrays)
    os.replace(partial, path)


def load_state(path, fingerprint: str) -> dict[str, np.ndarray]:
    """Raises ValueError when the file is not a state, is newer than this version, or is of another model."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes().decode())
        version = header["version"]
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"'{path}' is not a state file: {error}") from error
    if version > FORMAT_VERSION:
        raise ValueError(f"'{path}' has state format {version}; this version reads up to {FORMAT_VERSION}")
    if header["fingerprint"] != fingerprint:
        raise ValueError(
            f"'{path}' was saved from another model (fingerprint {header['fingerprint'][:12]}, this model "
            f"{fingerprint[:12]}): meshes, bodies, joints or the number of worlds differ"
        )
    return arrays
