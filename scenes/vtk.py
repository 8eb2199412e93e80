"""Legacy VTK unstructured grids, 2.0 to 5.1: points and tetrahedra. Format: VTK User's Guide, "Simple Legacy"."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scenes.errors import Place, SceneError, legal_list

_TYPES = {
    "float": ">f4",
    "double": ">f8",
    "int": ">i4",
    "long": ">i8",
    "vtktypeint64": ">i8",
    "vtktypeint32": ">i4",
    "unsigned_char": ">u1",
}
_TETRA, _TRIANGLE_LIKE = 10, (1, 2, 3, 4, 5, 6, 7, 9)  # surface cells and lines beside the tets are skipped


class _Cursor:
    """Walks through header lines and value blocks, text or big-endian binary."""

    def __init__(self, data: bytes, path: Path, place: Place | None):
        self.data, self.path, self.place, self.at = data, path, place, 0
        self.binary = False

    def fail(self, message: str) -> SceneError:
        return SceneError(f"{self.path.name} (byte {self.at}): {message}", self.place)

    def line(self) -> str | None:
        """Next line that is not blank, None at the end."""
        while self.at < len(self.data):
            end = self.data.find(b"\n", self.at)
            end = len(self.data) if end < 0 else end
            text, self.at = self.data[self.at : end], end + 1
            if text.strip():
                return text.decode("latin-1").strip()
        return None

    def values(self, count: int, kind: str) -> np.ndarray:
        dtype = _TYPES.get(kind.lower())
        if dtype is None:
            raise self.fail(f"unknown number type '{kind}'; legal: {legal_list(_TYPES)}")
        if not 0 <= count <= len(self.data):
            raise self.fail(f"{count} values are promised, more than the file can hold")
        if self.binary:
            size = count * np.dtype(dtype).itemsize
            if self.at + size > len(self.data):
                raise self.fail(f"the file ends before {count} values of type {kind}")
            block = np.frombuffer(self.data, dtype=dtype, count=count, offset=self.at)
            self.at += size
            return block.astype(np.float64 if "f" in dtype else np.int64)
        words: list[bytes] = []
        while len(words) < count:
            end = self.data.find(b"\n", self.at)
            if self.at >= len(self.data):
                raise self.fail(f"the file ends after {len(words)} of {count} values")
            end = len(self.data) if end < 0 else end
            words += self.data[self.at : end].split()
            self.at = end + 1
        try:
            return np.array(words[:count], dtype=np.float64 if "f" in dtype else np.int64)
        except (ValueError, OverflowError) as error:
            raise self.fail(f"not a number among the values: {error}") from None


def read_vtk(data: bytes, path: Path, place: Place | None) -> tuple[np.ndarray, np.ndarray]:
    """(points (n, 3), tets (m, 4)) as the file has them. Raises SceneError with the byte where reading failed."""
    cursor = _Cursor(data, path, place)
    header = cursor.line() or ""
    if not header.startswith("# vtk DataFile Version"):
        raise SceneError(f"{path.name} is not a legacy VTK file: its first line is '{header[:40]}'", place)
    title_end = data.find(b"\n", cursor.at)  # the title may be blank, so it is skipped as a line, not as text
    cursor.at = title_end + 1
    encoding = (cursor.line() or "").upper()
    if encoding not in ("ASCII", "BINARY"):
        raise cursor.fail(f"the third line is '{encoding[:40]}'; it must be ASCII or BINARY")
    cursor.binary = encoding == "BINARY"
    dataset = (cursor.line() or "").upper().split()
    if dataset != ["DATASET", "UNSTRUCTURED_GRID"]:
        raise cursor.fail(f"'{' '.join(dataset)[:60]}' is not DATASET UNSTRUCTURED_GRID, which holds tetrahedra")
    try:
        return _read_grid(cursor)
    except (IndexError, ValueError, OverflowError) as error:
        if isinstance(error, SceneError):
            raise
        raise cursor.fail(f"a header line cannot be read: {error}") from None


def _read_grid(cursor: _Cursor) -> tuple[np.ndarray, np.ndarray]:
    points = offsets = connectivity = types = None
    while types is None or points is None or connectivity is None:
        text = cursor.line()
        if text is None:
            missing = [n for n, v in (("POINTS", points), ("CELLS", connectivity), ("CELL_TYPES", types)) if v is None]
            raise cursor.fail(f"the file ends without {legal_list(missing)}")
        words = text.split()
        key = words[0].upper()
        if key == "POINTS":
            points = cursor.values(3 * int(words[1]), words[2]).reshape(-1, 3)
        elif key == "CELLS":
            offsets, connectivity = _read_cells(cursor, int(words[1]), int(words[2]))
        elif key == "CELL_TYPES":
            types = cursor.values(int(words[1]), "int")
        elif key == "METADATA":  # ends at a blank line
            cursor.at = cursor.data.find(b"\n\n", cursor.at) + 2 or len(cursor.data)
        else:
            raise cursor.fail(f"'{text[:40]}' is not understood before the cells; legal: POINTS, CELLS, CELL_TYPES")
    if len(types) != len(offsets) - 1:
        raise cursor.fail(f"{len(types)} cell types for {len(offsets) - 1} cells")
    strange = sorted(set(types.tolist()) - {_TETRA, *_TRIANGLE_LIKE})
    if strange:
        raise cursor.fail(f"cell type {strange[0]} is not a tetrahedron (10); convert the mesh to linear tetrahedra")
    chosen = np.flatnonzero(types == _TETRA)
    if np.any(np.diff(offsets)[chosen] != 4):
        raise cursor.fail("a tetrahedron has not 4 corners")
    return points, connectivity[offsets[:-1][chosen, None] + np.arange(4)] if len(chosen) else np.zeros((0, 4), int)


def _read_cells(cursor: _Cursor, count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(offsets (cells + 1,), connectivity): version 5 stores both, older ones put a corner count before each cell."""
    mark = cursor.at
    following = (cursor.line() or "").split()
    if following[:1] and following[0].upper() == "OFFSETS":
        offsets = cursor.values(count, following[1])
        words = (cursor.line() or "").split()
        if words[:1] != ["CONNECTIVITY"]:
            raise cursor.fail("CONNECTIVITY must follow OFFSETS")
        return offsets, cursor.values(size, words[1])
    cursor.at = mark
    flat = cursor.values(size, "int")
    offsets, connectivity, at = [0], [], 0
    for _ in range(count):
        if at >= size or at + 1 + flat[at] > size:
            raise cursor.fail("the cell list ends inside a cell")
        connectivity.append(flat[at + 1 : at + 1 + flat[at]])
        at += 1 + int(flat[at])
        offsets.append(offsets[-1] + len(connectivity[-1]))
    return np.array(offsets), np.concatenate(connectivity) if connectivity else np.zeros(0, int)


def write_vtk(path: Path, vertices: np.ndarray, tets: np.ndarray, title: str = "tetrahedra") -> None:
    """Legacy VTK 3.0, text, metres: vertices (n, 3), tets (m, 4). Read back by `read_vtk` to the bit."""
    lines = ["# vtk DataFile Version 3.0", title, "ASCII", "DATASET UNSTRUCTURED_GRID"]
    lines.append(f"POINTS {len(vertices)} double")
    lines += [" ".join(f"{c:.17g}" for c in vertex) for vertex in vertices]
    lines.append(f"CELLS {len(tets)} {5 * len(tets)}")
    lines += [" ".join(map(str, (4, *tet))) for tet in tets]
    lines += [f"CELL_TYPES {len(tets)}", *["10"] * len(tets)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
