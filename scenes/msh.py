"""Gmsh MSH files, text, 2.2 and 4.1: nodes and linear tetrahedra. Format: Gmsh reference manual, "File formats"."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scenes.errors import Place, SceneError

_TETRA = 4
_SKIPPED = (1, 2, 3, 15)  # lines, triangles, quadrangles and points that come with the tetrahedra


class _Lines:
    """Lines of a file with their numbers, so that errors name the line."""

    def __init__(self, text: str, path: Path):
        self.lines, self.path, self.at = text.splitlines(), path, 0

    def fail(self, message: str) -> SceneError:
        return SceneError(message, Place(str(self.path), max(self.at, 1), 1))

    def next(self) -> str:
        if self.at >= len(self.lines):
            raise self.fail("the file ends in the middle of a section")
        self.at += 1
        return self.lines[self.at - 1].strip()

    def integers(self, least: int) -> list[int]:
        text = self.next()
        try:
            values = [int(word) for word in text.split()]
        except ValueError:
            raise self.fail(f"whole numbers belong here, not '{text[:60]}'") from None
        if len(values) < least:
            raise self.fail(f"{least} whole numbers belong here, not '{text[:60]}'")
        return values

    def floats(self, least: int) -> list[float]:
        text = self.next()
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            raise self.fail(f"numbers belong here, not '{text[:60]}'") from None
        if len(values) < least:
            raise self.fail(f"{least} numbers belong here, not '{text[:60]}'")
        return values


def read_msh(data: bytes, path: Path, place: Place | None) -> tuple[np.ndarray, np.ndarray]:
    """(points (n, 3), tets (m, 4)) as the file has them. Raises SceneError naming the line."""
    if not data.lstrip().startswith(b"$MeshFormat"):
        raise SceneError(f"{path.name} is not a Gmsh file: it does not begin with $MeshFormat", place)
    lines = _Lines(data.decode("latin-1"), path)
    nodes: dict[int, list[float]] | None = None
    tets: list[list[int]] | None = None
    major = 0
    while lines.at < len(lines.lines):
        section = lines.next()
        if section == "$MeshFormat":
            major = _version(lines, path, place)
        elif section == "$Nodes":
            nodes = _nodes_2(lines) if major == 2 else _nodes_4(lines)
        elif section == "$Elements":
            tets = _elements_2(lines) if major == 2 else _elements_4(lines)
    if nodes is None or tets is None:
        raise SceneError(f"{path.name} lacks {'$Nodes' if nodes is None else '$Elements'}", place)
    index = {tag: i for i, tag in enumerate(nodes)}
    try:
        cells = np.array([[index[tag] for tag in tet] for tet in tets], dtype=np.int64).reshape(-1, 4)
    except KeyError as error:
        raise SceneError(f"{path.name}: a tetrahedron names node {error}, which is not there", place) from None
    return np.array(list(nodes.values()), dtype=np.float64).reshape(-1, 3), cells


def _version(lines: _Lines, path: Path, place: Place | None) -> int:
    words = lines.next().split()
    if words[:1] not in (["2"], ["2.2"], ["4.1"]):
        raise lines.fail(f"MSH version '{words[0] if words else ''}' is not read; legal: 2.2, 4.1 (gmsh -format msh41)")
    if words[1:2] != ["0"]:
        raise lines.fail("a binary MSH file is not read; save it as text (gmsh -save -bin 0)")
    return int(words[0][0])


def _nodes_2(lines: _Lines) -> dict[int, list[float]]:
    nodes = {}
    for _ in range(lines.integers(1)[0]):
        values = lines.floats(4)
        if values[0] != values[0] // 1 or abs(values[0]) >= 2**53:
            raise lines.fail(f"a node is numbered {values[0]}; a whole number belongs here")
        nodes[int(values[0])] = values[1:4]
    return nodes


def _nodes_4(lines: _Lines) -> dict[int, list[float]]:
    nodes = {}
    for _ in range(lines.integers(4)[0]):
        count = lines.integers(4)[3]
        tags = [lines.integers(1)[0] for _ in range(count)]
        for tag in tags:
            nodes[tag] = lines.floats(3)[:3]
    return nodes


def _elements_2(lines: _Lines) -> list[list[int]]:
    tets = []
    for _ in range(lines.integers(1)[0]):
        values = lines.integers(3)
        corners = values[3 + values[2] :]
        if _is_tet(values[1], len(corners), lines):
            tets.append(corners)
    return tets


def _elements_4(lines: _Lines) -> list[list[int]]:
    tets = []
    for _ in range(lines.integers(4)[0]):
        block = lines.integers(4)
        for _ in range(block[3]):
            corners = lines.integers(2)[1:]
            if _is_tet(block[2], len(corners), lines):
                tets.append(corners)
    return tets


def _is_tet(kind: int, corners: int, lines: _Lines) -> bool:
    if kind in _SKIPPED:
        return False
    if kind != _TETRA:
        raise lines.fail(f"element type {kind} is not a linear tetrahedron (4)")
    if corners != 4:
        raise lines.fail(f"a tetrahedron has {corners} corners, not 4")
    return True
