"""Surfaces that start crossing or touching, and closed surfaces that start one inside the other (world 0).

Uses the same filters as contact: pairs that share a point, that move with the same body or not at all, ignored pairs
and meshes without self-collision are legal however they lie.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.builder.layout import lay_out_world
from engine.builder.parts import MeshPart
from engine.builder.surfaces import build_surfaces, ignored_table
from engine.mesh import proximity
from engine.mesh.checks import MeshError, place
from engine.mesh.topology import open_half_edges

GAP_SHARE = 1e-6  # a gap below this share of the pair's dhat counts as touching


@dataclass
class _Scene:
    """World 0 at the start. Arrays by point id or by surface."""

    parts: list[MeshPart]
    first_point: np.ndarray  # of each surface, int (S,)
    positions: np.ndarray  # [m], float64 (P, 3)
    carrier: np.ndarray  # what moves a point, int (P,)
    surface: np.ndarray  # int (P,)
    half_thickness: np.ndarray  # [m], float64 (S,)
    dhat: np.ndarray  # [m], float64 (S,)
    silent: np.ndarray  # True where two surfaces never touch, bool (S, S)
    vertices: np.ndarray
    edges: np.ndarray
    triangles: np.ndarray

    def may_touch(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """bool (k,) for pairs of elements given by their point ids (k, i) and (k, j)."""
        shared = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
        owner = self.carrier[np.hstack([first, second])]
        together = (owner == owner[:, :1]).all(axis=1)  # one body, or nothing: free points have a node each
        return ~shared & ~together & ~self.silent[self.surface[first[:, 0]], self.surface[second[:, 0]]]

    def sliver(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """A length that counts as nothing, GAP_SHARE of the smaller dhat [m], (k,)."""
        dhat = self.dhat[self.surface[np.column_stack([first[:, 0], second[:, 0]])]]
        return GAP_SHARE * dhat.min(axis=1)

    def legal_distance(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Distances must be greater than this: the half thicknesses and a sliver of dhat [m], (k,)."""
        a, b = self.surface[first[:, 0]], self.surface[second[:, 0]]
        return self.half_thickness[a] + self.half_thickness[b] + self.sliver(first, second)


def check_start_state(builder, like=None) -> list[str]:
    """Raise MeshError for the worst pair that crosses or touches; return warnings about nested closed surfaces.

    like: another builder of the same topology that has passed: two meshes that lie as they do there are not compared.
    """
    scene = _gather(builder)
    moved = np.array([part.kind != "static" for part in scene.parts])  # what stands still may stand in anything
    if like is not None:
        moved = _moved(builder, like)
        if not moved.any():
            return []
    _leave_out(scene, moved)
    crossings = _crossings(scene)
    if crossings:
        raise _error(scene, crossings, max(crossings, key=lambda touch: touch.depth))
    touches = _touches(scene)
    if touches:
        raise _error(scene, touches, max(touches, key=lambda touch: touch.depth))
    return _nested(scene)


def _moved(builder, like) -> np.ndarray:
    """Meshes that lie otherwise than in `like`, or have another contact thickness, bool (S,)."""
    return np.array(
        [
            not np.array_equal(a.vertices, b.vertices)
            or (a.contact.half_thickness, a.contact.dhat) != (b.contact.half_thickness, b.contact.dhat)
            for a, b in zip(builder.parts.values(), like.parts.values(), strict=True)
        ]
    )


def _leave_out(scene: _Scene, moved: np.ndarray) -> None:
    """Only pairs with a moved mesh are left, and of the others only elements near one."""
    scene.silent |= ~(moved[:, None] | moved[None, :])
    mine = moved[np.maximum(scene.surface, 0)] & (scene.surface >= 0)
    reach = 2.0 * (scene.half_thickness.max() + scene.dhat.max())
    low, high = scene.positions[mine].min(axis=0) - reach, scene.positions[mine].max(axis=0) + reach

    def near(elements: np.ndarray) -> np.ndarray:
        corners = scene.positions[elements.reshape(len(elements), -1)]
        inside = ((corners.min(axis=1) <= high) & (corners.max(axis=1) >= low)).all(axis=1)
        return elements[inside | mine[elements.reshape(len(elements), -1)[:, 0]]]

    scene.vertices, scene.edges, scene.triangles = near(scene.vertices), near(scene.edges), near(scene.triangles)


def _gather(builder) -> _Scene:
    parts, bodies = list(builder.parts.values()), list(builder.bodies.values())
    layout = lay_out_world(parts, bodies)
    surfaces = build_surfaces(parts, layout)
    positions = np.zeros((layout.num_points, 3))
    for part in parts:
        positions[layout.mesh_points[part.name]] = part.vertices
    silent = ignored_table(parts, builder.ignored_meshes, builder.ignored_layers).astype(bool)
    silent |= np.diag([not part.contact.self_collision for part in parts])
    return _Scene(
        parts, np.array([layout.mesh_points[part.name].start for part in parts]), positions, layout.carrier_key(),
        surfaces.point_surface, np.array([part.contact.half_thickness for part in parts]),
        np.array([part.contact.dhat for part in parts]), silent, surfaces.vertices, surfaces.edges, surfaces.triangles,
    )  # fmt: skip


def _pairs(scene: _Scene, first: np.ndarray, second: np.ndarray, with_thickness: bool):
    """Elements (point ids) whose boxes meet and that may touch: two arrays (k, i) and (k, j)."""

    def margin(elements):
        surface = scene.surface[elements[:, 0]]
        return scene.half_thickness[surface] + GAP_SHARE * scene.dhat[surface] if with_thickness else 0.0

    tree = proximity.BoxTree(*proximity.boxes(scene.positions, second, margin(second)))
    pairs = tree.overlaps(*proximity.boxes(scene.positions, first, margin(first)))
    if first is second:
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]  # each pair once
    one, two = first[pairs[:, 0]], second[pairs[:, 1]]
    keep = scene.may_touch(one, two)
    return one[keep], two[keep]


def _crossings(scene: _Scene) -> list[proximity.Touch]:
    """Edges that pass through triangles. Those that only graze within rounding are left to `_touches`."""
    edges, triangles = _pairs(scene, scene.edges, scene.triangles, with_thickness=False)
    corners = [scene.positions[ids] for ids in (*edges.T, *triangles.T)]
    hit = proximity.segments_cross_triangles(*corners)
    hit[hit] = proximity.crossing_depth(*(corner[hit] for corner in corners)) > scene.sliver(edges[hit], triangles[hit])
    edges, triangles, corners = edges[hit], triangles[hit], [corner[hit] for corner in corners]
    depth, where = proximity.crossing_depth(*corners), proximity.crossing_points(*corners)
    return [
        proximity.Touch("crossing", tuple(e), tuple(t), x, float(d))
        for e, t, x, d in zip(edges.tolist(), triangles.tolist(), where, depth, strict=True)
    ]


def _pieces(elements: np.ndarray) -> list[np.ndarray]:
    """A hundred thousand rows at a time: measuring a pair takes a hundred times the memory of listing it."""
    return np.array_split(elements, len(elements) // 100_000 + 1)


def _touches(scene: _Scene) -> list[proximity.Touch]:
    """Vertex-triangle and edge-edge pairs no farther apart than their half thicknesses allow."""
    found = []
    points, triangles = _pairs(scene, scene.vertices[:, None], scene.triangles, with_thickness=True)
    edges_a, edges_b = _pairs(scene, scene.edges, scene.edges, with_thickness=True)
    for first, second, measure in (
        (points, triangles, proximity.point_triangle_distances),
        (edges_a, edges_b, proximity.segment_segment_distances),
    ):
        pieces = zip(_pieces(first), _pieces(second), strict=True)
        distance = np.concatenate([measure(*[scene.positions[ids] for ids in (*a.T, *b.T)]) for a, b in pieces])
        near = distance <= scene.legal_distance(first, second)
        for a, b, d in zip(first[near].tolist(), second[near].tolist(), distance[near], strict=True):
            reach = scene.half_thickness[scene.surface[a[0]]] + scene.half_thickness[scene.surface[b[0]]]
            where = scene.positions[a].mean(axis=0)
            found.append(proximity.Touch("touching", tuple(a), tuple(b), where, reach - d))
    return found


def _error(scene: _Scene, touches: list[proximity.Touch], worst: proximity.Touch) -> MeshError:
    first, second = (scene.surface[element[0]] for element in (worst.first, worst.second))
    name_a, name_b = scene.parts[first].name, scene.parts[second].name
    element_a, element_b = (_describe(scene, element) for element in (worst.first, worst.second))
    reach = scene.half_thickness[first] + scene.half_thickness[second]
    if worst.kind == "crossing":
        what = (
            f"starts crossing {element_b} of mesh '{name_b}' at {place(worst.position)}, "
            f"{1e3 * worst.depth:.4g} mm deep"
        )
        need = f"start them apart, with a gap of more than {1e3 * reach:.4g} mm (the sum of the half thicknesses)"
    else:
        what = (
            f"starts touching {element_b} of mesh '{name_b}' at {place(worst.position)}: the surfaces are "
            f"{1e3 * (reach - worst.depth):.4g} mm apart, their half thicknesses sum to {1e3 * reach:.4g} mm, so they "
            f"are {1e3 * max(worst.depth, 0.0):.4g} mm too deep"
        )
        need = "move them apart or lower half_thickness; the gap must be greater than the sum"
    others = {
        tuple(sorted((scene.parts[scene.surface[t.first[0]]].name, scene.parts[scene.surface[t.second[0]]].name)))
        for t in touches
    } - {tuple(sorted((name_a, name_b)))}
    also = "" if not others else "; also " + ", ".join(f"'{a}' and '{b}'" for a, b in sorted(others)[:5])
    return MeshError(name_a, element_a, f"{what} ({len(touches)} such pairs){also}. Legal: {need}")


def _describe(scene: _Scene, element: tuple[int, ...]) -> str:
    """An element in the words of its own mesh: local vertex ids."""
    start = scene.first_point[scene.surface[element[0]]]
    local = [int(i - start) for i in element]
    if len(local) == 1:
        return f"vertex {local[0]}"
    if len(local) == 2:
        return f"edge {local}"
    triangles = scene.parts[scene.surface[element[0]]].triangles
    return f"triangle {int(np.flatnonzero((triangles == local).all(axis=1))[0])}"


def _nested(scene: _Scene) -> list[str]:
    """Sentences for closed meshes that start wholly inside another closed mesh and may touch it."""
    found = []
    boxes = [(part.vertices.min(axis=0), part.vertices.max(axis=0)) for part in scene.parts]
    for i, (low, high) in enumerate(boxes):
        for j, (outer_low, outer_high) in enumerate(boxes):
            inside_box = i != j and (low > outer_low).all() and (high < outer_high).all()
            if not inside_box or scene.silent[i, j] or {scene.parts[i].kind, scene.parts[j].kind} == {"static"}:
                continue
            outer = scene.parts[j]
            if len(open_half_edges(outer.triangles)):
                continue
            if abs(proximity.winding_number(scene.parts[i].vertices[0], outer.vertices, outer.triangles)) > 0.5:
                found.append(
                    f"mesh '{scene.parts[i].name}' starts wholly inside the closed mesh '{outer.name}'; contact will "
                    "keep it there"
                )
    return found
