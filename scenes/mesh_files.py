"""Triangle surfaces from STL, OBJ and PLY files: units, defects by name and place, repair on request.

STL keeps no connectivity, so corners that agree to rounding are always joined there. OBJ is read here (positions and
faces only): its vertices are the file's own, not split by normals or texture, and a bad line is named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from scenes.errors import Place, SceneError, legal_list
from scenes.mesh_defects import Defect, find_defects
from scenes.mesh_repair import join_near, repair_surface
from scenes.polygons import triangulate
from scenes.units import UNITS

MAX_BYTES = 256 << 20  # [byte] mesh file
MAX_TRIANGLES = 500_000
MAX_CORNERS = 256  # of one face in an OBJ: cutting it into triangles takes the third power of that
FARTHEST = 1e9  # of a coordinate, in the file's unit: beyond it squares of distances lose their meaning
LARGEST_GUESS = 2.0  # [m] a mesh without declared units larger than this is taken for millimetres, and refused
SMALLEST_GUESS = 1e-4  # [m] smaller than this: likewise


@dataclass(frozen=True)
class SurfaceMesh:
    """vertices (n, 3) float64 [m]; triangles (t, 3) int32, outward; notes: what was guessed or repaired, as sentences;
    defects: what is still wrong (empty after a successful repair of a closed surface)."""

    vertices: np.ndarray
    triangles: np.ndarray
    notes: tuple[str, ...] = ()
    defects: tuple[Defect, ...] = field(default=())

    @property
    def closed(self) -> bool:
        return not any(d.kind in ("open edge", "non-manifold edge") for d in self.defects)


def read_surface(
    path: str | Path,
    units: str | None = None,
    scale: float = 1.0,
    repair: bool = False,
    origin: str = "file",
    place: Place | None = None,
) -> SurfaceMesh:
    """Read a surface and bring it to metres.

    units: unit of the file's numbers (m, mm, cm, um, in), None: metres are guessed with a note, and a size that no
    tabletop scene has in metres is refused. repair: see scenes.mesh_repair. Defects that nobody can simulate (not a
    number, empty) raise SceneError; all others are listed in `.defects` and judged by the caller.
    """
    path = Path(path)
    vertices, triangles, *joined = _READERS[_suffix(path, place)](path, place)
    vertices, triangles = check_arrays(path, vertices, triangles, place)
    vertices, notes = to_metres(path, vertices, units, scale, place)
    notes += tuple(joined)
    if repair:
        vertices, triangles, repaired = repair_surface(vertices, triangles)
        notes += tuple(f"{path.name}: {text}" for text in repaired)
        if not len(triangles):
            raise SceneError(f"{path.name}: nothing is left after repair: {'; '.join(repaired)}", place)
    vertices = vertices - origin_of(vertices, origin)
    defects = tuple(find_defects(vertices, triangles))
    return SurfaceMesh(vertices, triangles, notes, defects)


def demand_sound(mesh: SurfaceMesh, path: Path, place: Place | None, closed: bool, repaired: bool) -> None:
    """Raise SceneError listing the defects that keep a mesh from being a body (closed) or an obstacle."""
    allowed = ("separate vertices",) if closed else ("separate vertices", "open edge", "inside-out", "zero volume")
    bad = [d for d in mesh.defects if d.kind not in allowed]
    if not bad:
        return
    cure = "repair could not mend it" if repaired else "write repair: true to mend what can be mended"
    if any(d.kind == "open edge" for d in bad):
        cure += "; an open surface can be a static, or a body with mass and inertia"
    wanted = "a sound closed surface" if closed else "a sound surface"
    raise SceneError(f"{path.name} is not {wanted}: {'; '.join(map(str, bad))}. {cure}", place)


def to_metres(
    path: Path, vertices: np.ndarray, units: str | None, scale: float, place: Place | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Vertices in metres and notes. SceneError when no unit is declared and the size says that it is not metres."""
    factor = UNITS["length"][units] if units else 1.0
    scaled = vertices * (factor * scale)
    extent = float(np.ptp(scaled, axis=0).max())
    if not extent > 0.0 or not np.isfinite(extent):
        raise SceneError(f"{path.name} has no extent: all vertices lie in one place", place)
    size = " x ".join(f"{value:.4g}" for value in np.ptp(scaled, axis=0))
    if units is not None:
        large = f"{path.name} measures {size} m with units: {units}; is that meant?"
        return scaled, ((large,) if extent > 10.0 * LARGEST_GUESS else ())
    if not SMALLEST_GUESS <= extent <= LARGEST_GUESS:
        likely = "mm" if extent > LARGEST_GUESS else "m with a scale"
        raise SceneError(
            f"{path.name} has no declared units and would measure {size} m; it looks like {likely}. "
            f"Write units: {legal_list(UNITS['length'])}",
            place,
        )
    return scaled, (f"{path.name} has no declared units; metres are assumed, so it measures {size} m",)


def origin_of(vertices: np.ndarray, origin: str) -> np.ndarray:
    """(3,) point that becomes the origin: the file's own, or the middle of the bounding box, of its top or bottom."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    middle = 0.5 * (low + high)
    ends = {"file": np.zeros(3), "centre": middle, "top": [*middle[:2], high[2]], "bottom": [*middle[:2], low[2]]}
    if origin not in ends:
        raise ValueError(f"origin is {origin!r}; legal values: {legal_list(ends)}")
    return np.asarray(ends[origin])


def check_arrays(
    path: Path, vertices: np.ndarray, cells: np.ndarray, place: Place | None, what: str = "triangles"
) -> tuple[np.ndarray, np.ndarray]:
    """float64 vertices and int32 cells, not empty, finite, indices in range. Raises SceneError."""
    vertices = np.ascontiguousarray(vertices, dtype=np.float64).reshape(-1, 3)
    if len(cells) == 0:
        raise SceneError(f"{path.name} holds no {what}", place)
    cells = np.asarray(cells, dtype=np.int64).reshape(len(cells), -1)
    if len(cells) > MAX_TRIANGLES:
        raise SceneError(f"{path.name} has {len(cells)} {what}; {MAX_TRIANGLES} at most: simplify it first", place)
    if cells.min() < 0 or cells.max() >= len(vertices):
        bad = int(np.flatnonzero(((cells < 0) | (cells >= len(vertices))).any(axis=1))[0])
        raise SceneError(
            f"{path.name}: element {bad} names a vertex that is not there ({len(vertices)} vertices)", place
        )
    _check_finite(path, vertices, place)
    return vertices, np.ascontiguousarray(cells, dtype=np.int32)


def _check_finite(path: Path, vertices: np.ndarray, place: Place | None) -> None:
    wrong = np.flatnonzero(~np.isfinite(vertices).all(axis=1))
    if len(wrong):
        raise SceneError(f"{path.name}: vertex {wrong[0]} is not a finite number ({len(wrong)} in all)", place)
    far = np.flatnonzero((np.abs(vertices) > FARTHEST).any(axis=1))
    if len(far):
        raise SceneError(f"{path.name}: vertex {far[0]} lies beyond {FARTHEST:g} ({len(far)} in all)", place)


def read_bytes(path: Path, place: Place | None) -> bytes:
    """The file, bounded. Raises SceneError."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise SceneError(f"{path} has {size >> 20} MiB; a mesh file has {MAX_BYTES >> 20} MiB at most", place)
        return path.read_bytes()
    except OSError as error:
        raise SceneError(f"cannot read {path}: {error.strerror or error}", place) from None


def _suffix(path: Path, place: Place | None) -> str:
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise SceneError(
            f"{path.name}: '{suffix}' is not a surface format; legal endings: {legal_list(_READERS)}", place
        )
    return suffix


def _read_stl(path: Path, place: Place | None) -> tuple:
    data = read_bytes(path, place)
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if count >= 0 and len(data) == 84 + 50 * count:  # binary: the size says so, whatever the header begins with
        records = np.frombuffer(data, dtype=np.dtype([("f", "<f4", 12), ("a", "<u2")]), offset=84)
        corners = records["f"][:, 3:].reshape(-1, 3).astype(np.float64)
    elif data.lstrip()[:5].lower() == b"solid" and b"facet" in data[:4096]:
        corners = _text_stl(data, path, place)
    else:
        said = f"its header promises {count} triangles in {84 + 50 * count} bytes, " if count >= 0 else ""
        raise SceneError(
            f"{path.name} is not an STL file: {said}it has {len(data)} bytes and is not text either", place
        )
    if not len(corners):
        return corners, np.zeros((0, 3), np.int64)
    _check_finite(path, corners, place)
    # Two units in the last place of a 32-bit number: neighbours that an exporter rounded apart, and no more.
    rounding = 2.0 * float(np.spacing(np.float32(np.max(np.abs(corners)))))
    exact = join_near(corners, np.arange(len(corners)).reshape(-1, 3), 0.0)
    near = join_near(*exact, rounding)
    apart = len(exact[0]) - len(near[0])
    return (*near, f"{path.name}: {apart} corners that rounding had parted were joined") if apart else near


def _text_stl(data: bytes, path: Path, place: Place | None) -> np.ndarray:
    corners, in_loop = [], 0
    for number, line in enumerate(data.decode("latin-1").splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if words[0].lower() == "outer":
            in_loop = len(corners)
        elif words[0].lower() == "vertex":
            corners.append(_three_numbers(words[1:4], path, number))
        elif words[0].lower() == "endloop" and len(corners) - in_loop != 3:
            raise SceneError(f"a facet has {len(corners) - in_loop} corners; STL has 3", Place(str(path), number, 1))
    if len(corners) % 3:
        raise SceneError(f"{path.name} ends in the middle of a facet", place)
    return np.array(corners, dtype=np.float64).reshape(-1, 3)


def _read_obj(path: Path, place: Place | None) -> tuple[np.ndarray, np.ndarray]:
    vertices: list[list[float]] = []
    faces: list[tuple[list[int], int]] = []
    for number, line in enumerate(read_bytes(path, place).decode("utf-8", "replace").splitlines(), 1):
        words = line.split()
        if not words or words[0] not in ("v", "f"):
            continue
        if words[0] == "v":
            vertices.append(_three_numbers(words[1:4], path, number))
            if len(vertices) > 3 * MAX_TRIANGLES:
                message = f"more than {3 * MAX_TRIANGLES} vertices: simplify it first"
                raise SceneError(message, Place(str(path), number, 1))
            continue
        try:
            corners = [int(word.split("/")[0]) for word in words[1:]]
        except ValueError:
            raise SceneError(f"not a face: '{line.strip()[:60]}'", Place(str(path), number, 1)) from None
        corners = [c - 1 if c > 0 else len(vertices) + c for c in corners]
        if len(corners) > MAX_CORNERS or len(faces) >= MAX_TRIANGLES:
            most = f"{MAX_CORNERS} corners a face, {MAX_TRIANGLES} faces at most"
            raise SceneError(f"too large: {most}; simplify it first", Place(str(path), number, 1))
        if len(corners) < 3 or any(not 0 <= c < len(vertices) for c in corners):
            message = f"face '{line.strip()[:60]}' needs at least 3 corners among {len(vertices)} vertices so far"
            raise SceneError(message, Place(str(path), number, 1))
        faces.append((corners, number))
    points = np.array(vertices, dtype=np.float64).reshape(-1, 3)
    triangles: list = []
    for corners, number in faces:
        if len(corners) == 3:
            triangles.append(corners)
            continue
        pieces = triangulate(points[corners])
        if pieces is None:
            raise SceneError(f"a face of {len(corners)} corners crosses itself", Place(str(path), number, 1))
        triangles += [[corners[i] for i in piece] for piece in pieces]
    return points, np.array(triangles, dtype=np.int64).reshape(-1, 3)


def _read_ply(path: Path, place: Place | None) -> tuple[np.ndarray, np.ndarray]:
    import trimesh

    data = read_bytes(path, place)
    if data[:3] != b"ply":
        raise SceneError(f"{path.name} is not a PLY file: it does not begin with 'ply'", place)
    try:
        mesh = trimesh.load(path, file_type="ply", process=False)
        return np.array(mesh.vertices), np.array(getattr(mesh, "faces", np.zeros((0, 3), int)))
    except Exception as error:  # trimesh raises whatever its parser meets
        raise SceneError(f"{path.name} is not a readable PLY file: {error}", place) from None


def _three_numbers(words: list[str], path: Path, line: int) -> list[float]:
    try:
        if len(words) != 3:
            raise ValueError
        return [float(word) for word in words]
    except ValueError:
        raise SceneError(f"three numbers belong here, not '{' '.join(words)}'", Place(str(path), line, 1)) from None


_READERS = {".stl": _read_stl, ".obj": _read_obj, ".ply": _read_ply}
