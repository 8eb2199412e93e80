"""Start checks of a single mesh: what would lose mass, bending or contact without a word is refused here by name.

Every refusal is a MeshError that names mesh, element, place and what is legal; what is only suspicious is appended to
a list of warnings. Tolerances are relative to the size of the element, so a model scaled to a tenth stays legal.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from engine.mesh.mass import polyhedron_moments
from engine.mesh.proximity import vertices_on_edges
from engine.mesh.rest import tet_volumes, triangle_normals
from engine.mesh.topology import boundary_of_tets, edge_table, half_edges, open_half_edges

FLAT_TRIANGLE = 1e-8  # area over longest side squared; an equilateral triangle has 0.43
FLAT_TET = 1e-8  # volume over longest side cubed; a regular tetrahedron has 0.12
COINCIDENT = 1e-9  # distance of two vertices over the mesh's bounding diagonal
LARGE = 10.0  # [m] a mesh larger than this is probably in millimetres
MODEL_LARGE = 3.0  # [m] a model whose every moving part is larger than this probably is, too
SMALL = 1e-4  # [m] a mesh smaller than this is probably scaled twice


class MeshError(ValueError):
    """A mesh cannot be simulated as it is. Attributes: mesh (name), element (e.g. "triangle 12"), message."""

    def __init__(self, mesh: str, element: str, message: str):
        super().__init__(f"mesh '{mesh}', {element}: {message}")
        self.mesh, self.element, self.message = mesh, element, message


def place(position: np.ndarray) -> str:
    """A position as text, "(0.1, 0, -0.25) m"."""
    return "(" + ", ".join(f"{value:.6g}" for value in np.asarray(position)) + ") m"


def check_shell(name: str, vertices, triangles, rest, warnings: list[str]) -> None:
    """All checks of a thin sheet. vertices, rest (n, 3) [m]; triangles (t, 3). Raises MeshError."""
    check_referenced(name, vertices, triangles, "triangle")
    check_triangles(name, vertices, triangles)
    if rest is not vertices:
        check_triangles(name, rest, triangles, " at rest")
    check_manifold(name, vertices, triangles)
    check_welded(name, vertices)
    check_t_vertices(name, vertices, triangles)
    check_units(name, vertices, warnings)


def check_tets(name: str, vertices, tets, warnings: list[str]) -> None:
    """All checks of a tetrahedral mesh. vertices (n, 3) [m]; tets (m, 4). Raises MeshError."""
    check_referenced(name, vertices, tets, "tet")
    volume = tet_volumes(vertices, tets)
    corners = vertices[tets]
    longest = np.max(
        [np.linalg.norm(corners[:, i] - corners[:, j], axis=1) for i in range(4) for j in range(i)], axis=0
    )
    flat = np.abs(volume) <= FLAT_TET * longest**3
    inverted = volume < 0.0
    for bad, what in ((flat, "no volume"), (inverted, "inverted")):
        if bad.any():
            i = int(np.argmax(bad))
            remedy = "swap two of its vertex ids" if what == "inverted" else "remove it"
            raise MeshError(
                name, f"tet {i}",
                f"{what}: signed volume {volume[i]:.3g} m3 with a longest side of {longest[i]:.3g} m, at "
                f"{place(corners[i].mean(axis=0))} ({int(bad.sum())} of {len(tets)} tets). Legal is more than "
                f"{FLAT_TET:g} longest side cubed, vertices (a, b, c, d) with d on the side to which (b-a) x (c-a) "
                f"points; {remedy}",
            )  # fmt: skip
    _refuse_duplicates(name, vertices, tets, "tet")
    _refuse_crowded_faces(name, vertices, tets)
    check_welded(name, vertices)
    check_t_vertices(name, vertices, boundary_of_tets(tets))
    check_units(name, vertices, warnings)


def _refuse_crowded_faces(name: str, vertices, tets) -> None:
    faces, count = np.unique(np.sort(tets[:, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]].reshape(-1, 3), axis=1),
                             axis=0, return_counts=True)  # fmt: skip
    if (count > 2).any():
        face = faces[int(np.argmax(count > 2))]
        raise MeshError(
            name, f"face {face.tolist()}",
            f"belongs to {int(count.max())} tets, at {place(vertices[face].mean(axis=0))}; legal is one or two",
        )  # fmt: skip


def check_surface(name: str, vertices, triangles, warnings: list[str]) -> None:
    """Checks of a stiff surface (body or static), open or closed. Closedness is asked for where volume is needed.

    Edges of three triangles and an inside-out surface lose neither contact nor, where they pass `require_closed`, mass:
    they only warn.
    """
    check_referenced(name, vertices, triangles, "triangle")
    check_triangles(name, vertices, triangles)
    check_units(name, vertices, warnings)
    table = edge_table(triangles)
    crowded = table.edge_count > 2
    if crowded.any():
        i = int(np.argmax(crowded))
        warnings.append(
            f"mesh '{name}', edge {table.edges[i].tolist()}: is shared by {table.edge_count[i]} triangles, at "
            f"{place(vertices[table.edges[i]].mean(axis=0))} ({int(crowded.sum())} such edges)"
        )
    if len(open_half_edges(triangles)) == 0 and enclosed_volume(vertices, triangles) < 0.0:
        warnings.append(f"mesh '{name}' is inside-out: its normals point inward; use triangles[:, ::-1]")


def check_referenced(name: str, vertices, elements, what: str) -> None:
    """Every vertex belongs to an element: one that does not has no mass and no contact."""
    used = np.zeros(len(vertices), dtype=bool)
    used[elements.reshape(-1)] = True
    if not used.all():
        i = int(np.argmin(used))
        raise MeshError(
            name, f"vertex {i}",
            f"belongs to no {what}, so it has no mass and no contact, at {place(vertices[i])} "
            f"({int((~used).sum())} of {len(vertices)} vertices); remove such vertices",
        )  # fmt: skip


def check_triangles(name: str, vertices, triangles, when: str = "") -> None:
    """Triangles have three different vertices, an area and no twin."""
    sides = np.linalg.norm(vertices[triangles] - vertices[np.roll(triangles, -1, axis=1)], axis=2)
    area = 0.5 * np.linalg.norm(triangle_normals(vertices, triangles), axis=1)
    flat = area <= FLAT_TRIANGLE * sides.max(axis=1) ** 2
    if flat.any():
        i = int(np.argmax(flat))
        raise MeshError(
            name, f"triangle {i}",
            f"has no area{when}: {area[i]:.3g} m2 with a longest side of {sides[i].max():.3g} m, vertices "
            f"{triangles[i].tolist()} at {place(vertices[triangles[i]].mean(axis=0))} ({int(flat.sum())} of "
            f"{len(triangles)} triangles). Legal is more than {FLAT_TRIANGLE:g} longest side squared; remove it",
        )  # fmt: skip
    _refuse_duplicates(name, vertices, triangles, "triangle")


def _refuse_duplicates(name: str, vertices, elements, what: str) -> None:
    _, first, inverse, count = np.unique(
        np.sort(elements, axis=1), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    repeated = np.flatnonzero(count[inverse.reshape(-1)] > 1)
    if len(repeated):
        original = int(first[inverse.reshape(-1)[repeated[0]]])
        twins = [int(i) for i in repeated if inverse.reshape(-1)[i] == inverse.reshape(-1)[original]]
        raise MeshError(
            name, f"{what} {twins[1]}",
            f"has the same vertices {sorted(elements[original].tolist())} as {what} {twins[0]}, at "
            f"{place(vertices[elements[original]].mean(axis=0))}; remove one (mass and contact would count twice)",
        )  # fmt: skip


def check_manifold(name: str, vertices, triangles) -> None:
    """No edge has three triangles, and neighbours wind the same way (one side of the sheet is one side)."""
    table = edge_table(triangles)
    crowded = table.edge_count > 2
    if crowded.any():
        i = int(np.argmax(crowded))
        beside = np.flatnonzero((table.triangle_edges == i).any(axis=1))
        raise MeshError(
            name, f"edge {table.edges[i].tolist()}",
            f"is shared by {table.edge_count[i]} triangles {beside.tolist()}, at "
            f"{place(vertices[table.edges[i]].mean(axis=0))} ({int(crowded.sum())} such edges); bending is defined for "
            "two at most: split the mesh there and tie the parts",
        )  # fmt: skip
    directed = half_edges(triangles)
    _, first, inverse, count = np.unique(directed, axis=0, return_index=True, return_inverse=True, return_counts=True)
    if (count > 1).any():
        k = int(np.argmax(count > 1))
        sides = np.flatnonzero(inverse.reshape(-1) == k)[:2] // 3
        edge = directed[first[k]]
        raise MeshError(
            name, f"triangles {int(sides[0])} and {int(sides[1])}",
            f"wind opposite ways across edge {edge.tolist()}, at {place(vertices[edge].mean(axis=0))}; reverse the "
            "vertex order of one part so that all normals are on one side",
        )  # fmt: skip


def check_welded(name: str, vertices) -> None:
    """No two vertices at the same place: a seam that looks closed but carries no force."""
    size = float(np.linalg.norm(vertices.max(axis=0) - vertices.min(axis=0)))
    pairs = cKDTree(vertices).query_pairs(COINCIDENT * size, output_type="ndarray")
    if len(pairs):
        i, j = sorted(pairs[np.lexsort(pairs.T[::-1])[0]].tolist())
        raise MeshError(
            name, f"vertices {i} and {j}",
            f"lie at the same place {place(vertices[i])} ({len(pairs)} such pairs), so the mesh is torn; merge them",
        )  # fmt: skip


def check_t_vertices(name: str, vertices, triangles) -> None:
    """No vertex lies inside an edge it does not split (a T-vertex: the two sides would part)."""
    edges = edge_table(triangles).edges
    hits = vertices_on_edges(vertices, np.unique(triangles), edges, relative=1e-6)
    if len(hits):
        vertex, edge = int(hits[0, 0]), edges[hits[0, 1]]
        raise MeshError(
            name, f"vertex {vertex}",
            f"lies inside edge {edge.tolist()} without splitting it (T-vertex), at {place(vertices[vertex])} "
            f"({len(hits)} such vertices); split the triangle there",
        )  # fmt: skip


def require_closed(name: str, vertices, triangles, purpose: str) -> None:
    """The surface encloses a positive volume. Raises MeshError: open, mixed winding, inside-out, or flat."""
    loose = open_half_edges(triangles)
    if len(loose):
        edge = half_edges(triangles)[loose[0]]
        table = edge_table(triangles)
        where = place(vertices[edge].mean(axis=0))
        torn = _coincident_pairs(vertices)
        hanging = vertices_on_edges(vertices, np.unique(triangles), table.edges, relative=1e-6)
        if (table.edge_count % 2 == 0).all():
            cause = "neighbouring triangles wind opposite ways; make the winding consistent"
        elif torn:
            cause = f"{torn} pairs of vertices lie at the same place: merge them (STL files store each corner anew)"
        elif len(hanging):
            cause = (
                f"vertex {hanging[0, 0]} lies inside edge {table.edges[hanging[0, 1]].tolist()} without splitting it"
            )
        else:
            cause = "fill the hole, or declare mass=[kg] instead of density for an open surface"
        raise MeshError(
            name, f"edge {edge.tolist()}",
            f"the surface is not closed at {where} ({len(loose)} open edges), but {purpose} needs a volume: {cause}",
        )  # fmt: skip
    volume = enclosed_volume(vertices, triangles)
    size = float(np.linalg.norm(vertices.max(axis=0) - vertices.min(axis=0)))
    if abs(volume) <= 1e-12 * size**3:
        raise MeshError(
            name, "surface",
            f"encloses no volume ({volume:.3g} m3 in a box of diagonal {size:.3g} m), but {purpose} needs one",
        )  # fmt: skip
    if volume < 0.0:
        raise MeshError(
            name, "surface",
            f"is inside-out: it encloses {volume:.3g} m3; reverse the vertex order of every triangle "
            "(triangles[:, ::-1]) so that normals point outward",
        )  # fmt: skip


def enclosed_volume(vertices, triangles) -> float:
    """Signed volume inside a closed surface [m3], positive when normals point outward."""
    return float(polyhedron_moments(vertices, triangles)[0, 0])


def _coincident_pairs(vertices) -> int:
    size = float(np.linalg.norm(vertices.max(axis=0) - vertices.min(axis=0)))
    return len(cKDTree(vertices).query_pairs(COINCIDENT * size, output_type="ndarray"))


def check_units(name: str, vertices, warnings: list[str]) -> None:
    """Warn when a mesh is larger than 10 m or smaller than 0.1 mm."""
    extent = float((vertices.max(axis=0) - vertices.min(axis=0)).max())
    if extent > LARGE:
        warnings.append(
            f"mesh '{name}' is {extent:.4g} m across: are its numbers millimetres? Scaled by 0.001 it would be "
            f"{extent:.4g} mm"
        )
    elif extent < SMALL:
        warnings.append(f"mesh '{name}' is only {extent:.3g} m across: was it scaled to metres twice?")


def check_model_units(sizes: dict[str, float]) -> list[str]:
    """Warnings about the moving meshes taken together. sizes: largest extent of each [m].

    One mesh a hundred times the usual size is a file in millimetres in a scene in metres; a model with nothing smaller
    than 3 m is in millimetres as a whole.
    """
    if not sizes:
        return []
    found, extents = [], np.array(list(sizes.values()))
    if extents.min() > MODEL_LARGE:
        found.append(
            f"every moving mesh is larger than {MODEL_LARGE:g} m ({extents.min():.4g} to {extents.max():.4g} m): is "
            "the whole model in millimetres?"
        )
    for name, extent in sizes.items():
        others = np.array([e for other, e in sizes.items() if other != name])
        if len(others) and extent > 100.0 * np.median(others) and extent > 1.0:
            found.append(
                f"mesh '{name}' is {extent:.4g} m across, {extent / np.median(others):.0f} times the usual size of the "
                "other moving meshes: are its numbers millimetres?"
            )
    return found


def check_options(options, model) -> list[str]:
    """Settings that are legal but make the result wrong without a sign of it. Returns sentences, empty when fine.

    A Newton tolerance near g dt stops a step before gravity has acted: a released roll then hangs in the air and a pad
    creeps without contact. `options` is an Options, `model` a Model (its gravity is read).
    """
    found = []
    gravity = float(np.linalg.norm(model.gravity))
    fall = gravity * options.dt
    if fall > 0.0 and options.newton_tolerance > 0.2 * fall:
        found.append(
            f"Options.newton_tolerance is {options.newton_tolerance:g} m/s but gravity changes velocities by only "
            f"{fall:.3g} m/s a step (dt {options.dt:.4g} s): released objects may hang in the air. Keep it under "
            f"{0.2 * fall:.2g} m/s"
        )
    return found
