"""Parts: which groups of elements may touch at all, decided before any query.

A part is the share of one surface whose points ride alike: all static, all on the same body, or anything else (free
and mixed elements). Every filter that speaks of whole parts - static against static, a body against itself, ignored
surfaces, self-collision off, other worlds - is settled here once, on the host, as lists of partner parts. Queries
then start at the partner's own subtree of a grouped BVH, so pairs that may not touch are never visited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STATIC = -2  # rider of a point that rides on no node
FREE = -1  # rider of a free vertex, and of an element whose points ride differently


@dataclass
class PartnerTable:
    """For part a, entries offset[a]..offset[a+1]: partner part, surface pair (-1 = same surface) and direction.

    `sign` is +1 when the querying part lies on the first surface of the pair, -1 when on the second.
    """

    offset: np.ndarray  # int (parts + 1,)
    part: np.ndarray  # int (entries,)
    pair: np.ndarray  # int (entries,)
    sign: np.ndarray  # int (entries,)


@dataclass
class Parts:
    """Host result of `split`. Parts are numbered by (surface, rider), so world by world."""

    surface: np.ndarray  # surface of each part, int (parts,)
    rider: np.ndarray  # STATIC, FREE or first node of a body, int (parts,)
    vertex_part: np.ndarray  # int (nv,), -1 = takes no part
    edge_part: np.ndarray  # int (ne,)
    triangle_part: np.ndarray  # int (nt,)
    surface_pair: np.ndarray  # surfaces whose relative motion is tracked, int (pairs, 2), first < second
    vertex_triangle: PartnerTable
    edge_edge: PartnerTable
    edge_triangle: PartnerTable | None = None

    @property
    def num_parts(self) -> int:
        return len(self.surface)


def point_riders(point_count: np.ndarray, point_node: np.ndarray) -> np.ndarray:
    """STATIC for count 0, the body's first node for count 4, FREE otherwise; int (P,)."""
    return np.where(point_count == 0, STATIC, np.where(point_count == 4, point_node, FREE)).astype(np.int64)


def split(geometry: dict, riders: np.ndarray, edge_triangle: bool = False) -> Parts:
    """Sort the elements of `geometry` (host copies of CollisionGeometry by field name) into parts.

    riders: int (P,) from `point_riders`. edge_triangle: also list edge parts against triangle parts, for the
    intersection test. Raises ValueError when an element joins points of two surfaces.
    """
    surface = geometry["point_surface"]
    rider_span = int(riders.max(initial=0)) + 3

    def label(points: np.ndarray, what: str) -> np.ndarray:
        """surface * span + rider + 2 of each element, -1 when it does not collide."""
        owner = surface[points]
        if np.any(owner != owner[:, :1]):
            bad = int(np.flatnonzero(np.any(owner != owner[:, :1], axis=1))[0])
            raise ValueError(
                f"CollisionGeometry.{what}[{bad}] joins points of surfaces {sorted(set(owner[bad].tolist()))}; "
                f"all points of one element must lie on one surface"
            )
        ride = riders[points]
        ride = np.where(np.all(ride == ride[:, :1], axis=1), ride[:, 0], FREE)
        return np.where(owner[:, 0] < 0, -1, owner[:, 0].astype(np.int64) * rider_span + ride + 2)

    vertices = geometry["vertices"].reshape(-1, 1)
    labels = [label(vertices, "vertices"), label(geometry["edges"], "edges"), label(geometry["triangles"], "triangles")]
    unique, inverse = np.unique(np.concatenate(labels), return_inverse=True)
    if len(unique) and unique[0] == -1:
        unique, inverse = unique[1:], inverse - 1
    nv, ne = len(labels[0]), len(labels[1])
    vertex_part, edge_part, triangle_part = np.split(inverse.astype(np.int32), [nv, nv + ne])
    part_surface = (unique // rider_span).astype(np.int32)
    part_rider = (unique % rider_span - 2).astype(np.int64)

    first, second = _allowed_pairs(geometry, part_surface, part_rider)
    counts = [np.bincount(p[p >= 0], minlength=len(unique)) for p in (vertex_part, edge_part, triangle_part)]
    pair_key = np.where(part_surface[first] != part_surface[second],
                        _pair_key(part_surface[first], part_surface[second]), -1)
    keys = np.unique(pair_key[pair_key >= 0])
    pairs = np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32).reshape(-1, 2)

    def table(querying: np.ndarray, partner: np.ndarray) -> PartnerTable:
        order = np.lexsort((partner, querying))
        querying, partner = querying[order], partner[order]
        a, b = part_surface[querying], part_surface[partner]
        index = np.where(a == b, -1, np.searchsorted(keys, _pair_key(a, b)))
        offset = np.searchsorted(querying, np.arange(len(unique) + 1))
        return PartnerTable(offset.astype(np.int32), partner.astype(np.int32), index.astype(np.int32),
                            np.where(a < b, 1, -1).astype(np.int32))

    both_first, both_second = np.concatenate([first, second[first != second]]), \
        np.concatenate([second, first[first != second]])

    def directed(query_count: np.ndarray) -> PartnerTable:
        keep = (query_count[both_first] > 0) & (counts[2][both_second] > 0)
        return table(both_first[keep], both_second[keep])

    keep = (counts[1][first] > 0) & (counts[1][second] > 0)
    a, b = first[keep], second[keep]
    swap = counts[1][a] > counts[1][b]  # the smaller part queries the larger one's tree
    edge_edge = table(np.where(swap, b, a), np.where(swap, a, b))
    return Parts(part_surface, part_rider, vertex_part, edge_part, triangle_part, pairs, directed(counts[0]), edge_edge,
                 directed(counts[1]) if edge_triangle else None)


def _pair_key(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (np.minimum(a, b).astype(np.int64) << 32) | np.maximum(a, b).astype(np.int64)


def _allowed_pairs(geometry: dict, surface: np.ndarray, rider: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unordered part pairs (first <= second) of one world that may touch."""
    world = surface // geometry["surfaces_per_world"]
    local = geometry["surface_local"][surface] if len(surface) else surface
    ignored = geometry["ignored"]
    self_collision = geometry["surface_self_collision"]
    firsts, seconds = [], []
    starts = np.searchsorted(world, np.arange(world.max(initial=-1) + 2))
    for begin, end in zip(starts[:-1], starts[1:], strict=True):  # worlds: parts are sorted by surface
        i, j = np.triu_indices(end - begin)
        i, j = i + begin, j + begin
        same = surface[i] == surface[j]
        allowed = np.where(same, self_collision[surface[i]] != 0,
                           (ignored[local[i], local[j]] == 0) & (ignored[local[j], local[i]] == 0))
        allowed &= ~((rider[i] == rider[j]) & (rider[i] != FREE))  # static on static, a body on itself
        firsts.append(i[allowed])
        seconds.append(j[allowed])
    if not firsts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate(firsts), np.concatenate(seconds)
