"""A wound roll as data, and its file: an .npz with a version and plain arrays, no pickle."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.materials import ContactMaterial, ShellMaterial
from engine.npz import read_npz

if TYPE_CHECKING:
    from engine.tape.winding import RollSpec

FORMAT_VERSION = 1
MAX_BYTES = 1 << 30  # of all arrays of one roll
ARRAYS = {  # name -> (dtype, shape of a row)
    "rest_vertices": (np.float64, (3,)),
    "vertices": (np.float64, (3,)),
    "triangles": (np.int64, (3,)),
    "row_angle": (np.float64, ()),
    "hub_vertices": (np.float64, (3,)),
    "hub_triangles": (np.int64, (3,)),
    "hub_transform": (np.float64, (4,)),
}
FOOT_ARRAYS = {
    "point": (np.int64, ()),
    "on_core": (np.bool_, ()),
    "corners": (np.int64, (3,)),
    "place": (np.float64, (3,)),
    "distance": (np.float64, ()),
}


@dataclass(frozen=True)
class Feet:
    """Where wound points stuck: each to the core (first turn) or to the strip under it. F feet.

    Kept as they were when the roll was wound, so that a settled roll knows the load of every bond.
    """

    point: np.ndarray  # vertex of the strip, int64 (F,)
    on_core: np.ndarray  # it stuck to the core, bool (F,)
    corners: np.ndarray  # of the triangle under it, vertex ids of the core or the strip, int64 (F, 3)
    place: np.ndarray  # anchor over the triangle, coordinates of engine.adhesion.anchor [-, -, m], float64 (F, 3)
    distance: np.ndarray  # to the triangle when it stuck [m], float64 (F,)


@dataclass(frozen=True)
class SettleRecord:
    """How a roll came to rest: what was left when settling ended."""

    steps: int
    speed: float  # largest point speed over the last steps [m/s]
    elastic_energy: float  # membrane and bending [J]
    membrane_energy: float  # [J]
    min_distance: float  # smallest gap beyond both half-thicknesses [m], inf when nothing is within dhat
    travel: float  # farthest that a point moved while settling [m]


@dataclass(frozen=True)
class RollAsset:
    """A wound strip and its core, in the roll frame (see engine.tape.winding). Arrays are not to be written to.

    Points stand row by row from the strip's inner end; a row has cells_across + 1 points.
    """

    spec: RollSpec
    rest_vertices: np.ndarray  # flat strip [m], float64 (n, 3)
    vertices: np.ndarray  # wound [m], float64 (n, 3)
    triangles: np.ndarray  # int64 (t, 3), normals away from the axis
    row_angle: np.ndarray  # winding angle of each row [rad], float64 (rows,); the free end keeps the last wound one
    hub_vertices: np.ndarray  # core in its own frame, axis y [m], float64 (h, 3)
    hub_triangles: np.ndarray  # int64 (k, 3)
    hub_transform: np.ndarray  # core -> roll frame, rigid (4, 4)
    feet: Feet | None = None  # where points stuck
    settled: SettleRecord | None = None

    @property
    def num_rows(self) -> int:
        return len(self.row_angle)

    @property
    def num_wound_rows(self) -> int:
        """Rows on the spiral, the tangent row included."""
        return int(np.searchsorted(self.row_angle, self.row_angle[-1])) + 1

    @property
    def row_of_point(self) -> np.ndarray:
        """int (n,)."""
        return np.arange(len(self.vertices)) // (self.spec.cells_across + 1)

    @property
    def arc_length(self) -> np.ndarray:
        """Rest arc length of each row from the inner end [m], (rows,)."""
        return self.spec.cell * np.arange(self.num_rows)

    @property
    def outer_radius(self) -> float:
        """Of the wound points [m]."""
        wound = self.vertices[: self.num_wound_rows * (self.spec.cells_across + 1)]
        return float(np.linalg.norm(wound[:, [0, 2]], axis=1).max())

    def moved(self, vertices, hub_transform, settled: SettleRecord) -> RollAsset:
        """The same roll in another state."""
        return replace(self, vertices=vertices, hub_transform=hub_transform, settled=settled)


def save_roll(path, asset: RollAsset) -> None:
    """Write an asset; beside the target first and renamed, so that a killed save never leaves half a file."""
    path = Path(path)
    header = {
        "kind": "tacktile roll",
        "version": FORMAT_VERSION,
        "spec": asdict(asset.spec),
        "settled": None if asset.settled is None else asdict(asset.settled),
    }
    arrays = {name: getattr(asset, name) for name in ARRAYS}
    if asset.feet is not None:
        arrays.update({f"foot_{name}": getattr(asset.feet, name) for name in FOOT_ARRAYS})
    for name, values in arrays.items():
        if values.dtype == np.int64:
            arrays[name] = values.astype(np.int32)
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as f:
        np.savez_compressed(f, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    os.replace(partial, path)


def load_roll(path) -> RollAsset:
    """Read `save_roll`. Raises FileNotFoundError, or ValueError when the file is not a roll, is damaged or is newer."""
    from engine.tape.winding import RollSpec  # here: winding makes assets

    try:
        found = read_npz(path, MAX_BYTES)
        header = json.loads(found.pop("header").tobytes().decode())
        version = int(header["version"])
        if header["kind"] != "tacktile roll":
            raise ValueError(f"its kind is {header['kind']!r}")
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"'{path}' is not a roll file: {error}") from error
    if version > FORMAT_VERSION:
        raise ValueError(f"'{path}' has roll format {version}; this version reads up to {FORMAT_VERSION}")
    arrays = _taken(path, found, ARRAYS, "")
    feet = Feet(**_taken(path, found, FOOT_ARRAYS, "foot_")) if "foot_point" in found else None
    try:
        spec = dict(header["spec"])
        spec["material"] = ShellMaterial(**spec["material"])
        spec["contact"] = ContactMaterial(**spec["contact"])
        record = None if header["settled"] is None else SettleRecord(**header["settled"])
        asset = RollAsset(spec=RollSpec(**spec), feet=feet, settled=record, **arrays)
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"'{path}' has a header that does not describe a roll: {error}") from error
    _check(path, asset)
    return asset


def _taken(path, found: dict, wanted: dict, prefix: str) -> dict[str, np.ndarray]:
    """The wanted arrays in their types. Raises ValueError for one that is missing or of the wrong shape."""
    arrays = {}
    for name, (dtype, row) in wanted.items():
        key = prefix + name
        if key not in found:
            raise ValueError(f"'{path}' lacks the array '{key}'; a roll needs {', '.join(prefix + n for n in wanted)}")
        arrays[name] = found[key].astype(dtype)
        if arrays[name].shape[1:] != row:
            raise ValueError(f"'{path}': array '{key}' has rows of shape {arrays[name].shape[1:]}, expected {row}")
    return arrays


def _check(path, asset: RollAsset) -> None:
    """Shapes that belong together. Raises ValueError naming both."""
    points = asset.num_rows * (asset.spec.cells_across + 1)
    for name in ("vertices", "rest_vertices"):
        if len(getattr(asset, name)) != points:
            raise ValueError(
                f"'{path}': array '{name}' has {len(getattr(asset, name))} points; {asset.num_rows} rows of "
                f"{asset.spec.cells_across + 1} make {points}"
            )
    for name, limit in (("triangles", points), ("hub_triangles", len(asset.hub_vertices))):
        values = getattr(asset, name)
        if len(values) and not 0 <= values.min() <= values.max() < limit:
            raise ValueError(f"'{path}': array '{name}' speaks of point {values.max()}; there are {limit}")
