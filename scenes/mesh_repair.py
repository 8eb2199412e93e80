"""Repair of a triangle surface on request, through trimesh; says what it changed."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from scenes.mesh_defects import RELATIVE_AREA, find_defects

MERGE_SHARE = 1e-6  # [-] vertices closer than this share of the largest extent become one


def repair_surface(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(vertices, triangles, what was done). Vertices nearer than MERGE_SHARE of the extent merge; degenerate, double
    and unused elements go; winding is made consistent and outward; small holes are filled. What is left broken is for
    `find_defects` to say.
    """
    import trimesh  # here: half a second, and few scenes need it

    done: list[str] = []
    count = len(vertices)
    reach = MERGE_SHARE * float(np.ptp(vertices, axis=0).max())
    vertices, triangles = join_near(vertices, np.asarray(triangles, dtype=np.int64), reach)
    _note(done, count - len(vertices), "vertices merged")
    triangles = _drop(done, triangles, _degenerate(vertices, triangles), "degenerate triangles removed")
    triangles = _drop(done, triangles, _double(triangles), "double triangles removed")
    mesh = trimesh.Trimesh(vertices, triangles, process=False)
    before = mesh.faces.copy()
    if any(d.kind == "open edge" for d in find_defects(vertices, triangles)):
        mesh.fill_holes()
        _note(done, len(mesh.faces) - len(before), "triangles added in small holes")
    before = mesh.faces.copy()
    trimesh.repair.fix_winding(mesh)
    trimesh.repair.fix_inversion(mesh, multibody=True)
    turned = np.sum(np.sign(_handed(before)) != np.sign(_handed(mesh.faces)))
    _note(done, int(turned), "triangles turned to face outwards")
    vertices, triangles = np.array(mesh.vertices), np.array(mesh.faces)
    used = np.unique(triangles)
    _note(done, len(vertices) - len(used), "unused vertices removed")
    return vertices[used], np.searchsorted(used, triangles).astype(np.int32), done


def join_near(vertices: np.ndarray, triangles: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices at equal places, then chains of vertices nearer than `reach` [m], made one, in order of first use."""
    _, first, inverse = np.unique(vertices + 0.0, axis=0, return_index=True, return_inverse=True)
    vertices, triangles = _pick(vertices, triangles, first, inverse.reshape(-1))
    pairs = cKDTree(vertices).query_pairs(reach, output_type="ndarray")
    if not len(pairs):
        return vertices, triangles
    n = len(vertices)
    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    _, first = np.unique(label, return_index=True)
    return _pick(vertices, triangles, first, label)


def _pick(vertices: np.ndarray, triangles: np.ndarray, first: np.ndarray, label: np.ndarray):
    """Vertices `first` (one a label) in their old order, triangles renumbered by label."""
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return vertices[first[order]], rank[label][triangles]


def _degenerate(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    corners = vertices[triangles]
    edges = np.roll(corners, -1, axis=1) - corners
    double_area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    return double_area <= 2.0 * RELATIVE_AREA * (edges**2).sum(axis=2).max(axis=1)


def _double(triangles: np.ndarray) -> np.ndarray:
    _, first = np.unique(np.sort(triangles, axis=1), axis=0, return_index=True)
    again = np.ones(len(triangles), bool)
    again[first] = False
    return again


def _drop(done: list[str], triangles: np.ndarray, bad: np.ndarray, text: str) -> np.ndarray:
    _note(done, int(bad.sum()), text)
    return triangles[~bad]


def _note(done: list[str], count: int, text: str) -> None:
    if count:
        done.append(f"{count} {text}")


def _handed(faces: np.ndarray) -> np.ndarray:
    """+1 or -1 for the cyclic order of each face's vertex ids: changes when, and only when, a face is turned."""
    a, b, c = faces.T
    return (
        np.sign((b - a).astype(np.float64)) * np.sign((c - b).astype(np.float64)) * np.sign((c - a).astype(np.float64))
    )
