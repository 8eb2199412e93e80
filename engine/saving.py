"""State files: a plain .npz with a version and a fingerprint of the model it belongs to. No pickle."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path

import numpy as np
import warp as wp

from engine.npz import read_npz

FORMAT_VERSION = 1
COLLISION = (
    "surface_dhat", "surface_half_thickness", "surface_kappa", "surface_friction_mu", "surface_self_collision",
    "ignored",
)  # fmt: skip
LIVE = ("target", "multiplier")  # constructor values of energies that a run changes


class HostViews:
    """Warp array -> numpy array that shares its memory, made once for each array. Arrays on a GPU are copied anew."""

    MOST = 256  # arrays that a topology left behind are forgotten together

    def __init__(self):
        self._known: dict[int, tuple[wp.array, np.ndarray]] = {}

    def __call__(self, array: wp.array) -> np.ndarray:
        known = self._known.get(id(array))
        if known is not None and known[0] is array:
            return known[1]
        view = array.numpy()
        if array.device.is_cpu:
            if len(self._known) >= self.MOST:
                self._known.clear()
            self._known[id(array)] = (array, view)
        return view


def model_fingerprint(model) -> str:
    """Hash of topology, rest state, masses, materials and contact numbers: a state fits only the model it was saved
    from."""
    h = hashlib.sha256()
    h.update(f"{model.num_worlds} {model.nodes_per_world} {model.points_per_world} {model.gravity}".encode())
    h.update(" ".join([*model.meshes, *model.bodies, *model.joints]).encode())
    arrays = [model.node_start, model.node_mass, model.body_mass]
    arrays += [model.embedding.point_node, model.embedding.point_weights, model.embedding.point_offset]
    if model.collision is not None:
        arrays += [getattr(model.collision, name) for name in COLLISION]
    for array in arrays:
        h.update(np.ascontiguousarray(array.numpy()).tobytes())
    for energy in model.energies:
        h.update(energy.name.encode())
        h.update(energy.stencils_host.tobytes())
        for name, values in sorted(getattr(energy, "parameters", {}).items()):
            if name not in LIVE:
                h.update(np.ascontiguousarray(values).tobytes())
    for part in _adhesion_parts(model):
        h.update(f"{part.mesh} {part.partners} {part.material}".encode())
    return h.hexdigest()


def _adhesion_parts(model):
    """Declarations of adhesion, those of every world where worlds differ."""
    for maker in model.interfaces:
        words = getattr(maker, "keywords", {})
        yield from words.get("parts", ())
        for alone in words.get("models", ()):
            yield from _adhesion_parts(alone)


def save_state(path, arrays: dict[str, np.ndarray], fingerprint: str, options) -> None:
    """Written beside the target and renamed, so that a killed save never leaves half a file."""
    path = Path(path)
    header = json.dumps({"version": FORMAT_VERSION, "fingerprint": fingerprint, "options": asdict(options)})
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as f:
        np.savez_compressed(f, header=np.frombuffer(header.encode(), np.uint8), **arrays)
    os.replace(partial, path)


def load_state(path, fingerprint: str, options=None) -> dict[str, np.ndarray]:
    """Raises ValueError when the file is not a state, is newer than this version, is of another model, or was saved
    under other options (options None: any will do, and the run goes on differently)."""
    try:
        arrays = read_npz(path)
        header = json.loads(arrays.pop("header").tobytes().decode())
        version, _ = int(header["version"]), (header["fingerprint"][:1], header["options"].keys())
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"'{path}' is not a state file: {error}") from error
    if version > FORMAT_VERSION:
        raise ValueError(f"'{path}' has state format {version}; this version reads up to {FORMAT_VERSION}")
    if header["fingerprint"] != fingerprint:
        raise ValueError(
            f"'{path}' was saved from another model (fingerprint {header['fingerprint'][:12]}, this model "
            f"{fingerprint[:12]}): meshes, masses, materials, contact, joints or the number of worlds differ"
        )
    differing = [] if options is None else _differing(header["options"], asdict(options))
    if differing:
        raise ValueError(
            f"'{path}' was saved under other options ({', '.join(differing)}); the run would not go on as it was. "
            "load(path, any_options=True) takes it all the same"
        )
    return arrays


def _differing(saved: dict, own: dict) -> list[str]:
    return [
        f"{name} {saved.get(name)!r} there, {value!r} here" for name, value in own.items() if saved.get(name) != value
    ]
