"""A model whose shell has been cut: the builder's parts, kept with the model, are cut and the model is built anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.builder.parts import CutShell, MeshPart
from engine.cutting.cut import CutRecord, mean_edge
from engine.cutting.path import plan_paths
from engine.cutting.planar import rest_plane
from engine.cutting.surgery import Surgery, operate
from engine.mesh.rest import hinge_shape, triangle_areas
from engine.mesh.topology import hinges
from engine.types import Model

LARGEST_KERF = 1e-5  # [m]
KERF_SHARE = 3e-3  # of the mean edge, for finer meshes


class Source:
    """What a model was built from, safe from later calls on its builder; has what `build_model` reads."""

    def __init__(self, builder):
        self.gravity = builder.gravity
        self.parts = {name: replace(part) for name, part in builder.parts.items()}
        self.bodies, self.joints, self.rolls = dict(builder.bodies), dict(builder.joints), dict(builder.rolls)
        self.ignored_meshes, self.ignored_layers = set(builder.ignored_meshes), set(builder.ignored_layers)
        self.adhesion, self.model_warnings = list(builder.adhesion), list(builder.model_warnings)
        for part in self.parts.values():
            part.carrier = None if part.carrier is None else part.carrier.copy()


def plan(model: Model, record: CutRecord) -> list:
    """Paths of a cut on the model as it is now (engine.cutting.path). Raises ValueError when there is none."""
    part = _source(model).parts[record.mesh]
    points = rest_plane(record.mesh, part.rest, part.triangles).flatten(part.rest)
    clearance = 2.0 * part.contact.half_thickness + part.contact.dhat
    paths = [path for line in record.lines for path in plan_paths(points, part.triangles, line, clearance)]
    if not paths:
        line = record.lines[0]
        raise ValueError(
            f"the cut from {line[0].tolist()} to {line[-1].tolist()} m in the rest plane parts nothing: it does not "
            f"cross mesh '{record.mesh}', runs along its border or an older cut, or is shorter than a cell (mean edge "
            f"{mean_edge(part.rest, part.triangles):.3g} m)"
        )
    return paths


def surgery_of(model: Model, record: CutRecord) -> Surgery:
    """What the cut does to the mesh. Raises ValueError when nothing would part."""
    paths, part = plan(model, record), _source(model).parts[record.mesh]
    points = rest_plane(record.mesh, part.rest, part.triangles).flatten(part.rest)
    seam = np.arange(len(points)) if part.cut is None else part.cut.seam
    surgery = operate(points, part.triangles, seam, paths, _kerf(part))
    if not surgery.doubled:
        raise ValueError(
            f"the cut in mesh '{record.mesh}' parts nothing: it runs along one edge inside the sheet; make it longer "
            f"than two cells (mean edge {mean_edge(part.rest, part.triangles):.3g} m)"
        )
    return surgery


def recut(model: Model, record: CutRecord, surgery: Surgery) -> Model:
    """The model with one mesh cut; worlds, device and names are kept, topology_version grows."""
    from engine.builder.assembly import build_model  # here: assembly makes Sources

    source = Source(_source(model))
    source.parts[record.mesh] = _cut_part(source.parts[record.mesh], surgery)
    triangles = model.meshes[record.mesh].triangles
    source.adhesion = [_cut_adhesion(a, record.mesh, triangles, surgery) for a in source.adhesion]
    fresh = build_model([source] * model.num_worlds, model.device)
    fresh.topology_version = model.topology_version + 2  # an edit of riders adds one for the time it lasts
    return fresh


def _cut_adhesion(part, mesh: str, triangles: np.ndarray, s: Surgery):
    """The declaration on the cut mesh. triangles: before the cut."""
    if part.mesh == mesh:
        part = replace(part, triangle_side=part.triangle_side[s.parent])
    if part.start is not None and mesh in part.partners:  # a piece for each triangle: anchors may lie beside it
        piece = dict(zip(s.parent[::-1].tolist(), s.triangles[::-1], strict=True))
        known = {tuple(sorted(t)): piece[k] for k, t in enumerate(triangles.tolist())}
        corners = [known.get(tuple(sorted(t)), t) for t in part.start[:, 1:].tolist()]
        part = replace(part, start=np.column_stack([part.start[:, 0], np.array(corners)]))
    return part


def _source(model: Model) -> Source:
    if model.source is None:
        raise ValueError(
            "this model cannot be cut: its worlds differ, or it was not made by ModelBuilder.finalize; cut in one world"
        )
    return model.source


def _kerf(part: MeshPart) -> float:
    return (
        part.cut.kerf if part.cut is not None else min(LARGEST_KERF, KERF_SHARE * mean_edge(part.rest, part.triangles))
    )


def _cut_part(part: MeshPart, s: Surgery) -> MeshPart:
    area = triangle_areas(part.rest, part.triangles)
    shape = hinge_shape(part.rest, hinges(part.triangles)) if part.cut is None else part.cut.hinge_shape
    whole = part.cut or CutShell(np.arange(len(part.rest)), area, area, shape, _kerf(part), len(part.rest))
    pieces = triangle_areas(s.mixed(part.rest, material=True), s.triangles)
    share = pieces / np.bincount(s.parent, weights=pieces)[s.parent]
    cut = CutShell(
        s.seam, whole.area[s.parent] * share, whole.cell_area[s.parent], _cut_hinges(part, whole.hinge_shape, s),
        whole.kerf, whole.vertices,
    )  # fmt: skip
    mass = part.material.density * part.material.thickness * cut.area / 3.0
    carrier = np.full(len(s.seam), -1)
    for body in np.unique(part.carrier[part.carrier >= 0]):
        carrier[s.parents_all(part.carrier == body)] = body
    return replace(
        part,
        vertices=s.mixed(part.vertices),
        rest=s.mixed(part.rest),
        triangles=s.triangles,
        velocity=s.mixed(part.velocity, material=True),
        pinned=s.parents_all(part.pinned),
        carrier=carrier,
        point_mass=np.bincount(s.triangles.reshape(-1), weights=np.repeat(mass, 3), minlength=len(s.seam)),
        cut=cut,
    )


def _cut_hinges(part: MeshPart, shape: np.ndarray, s: Surgery) -> np.ndarray:
    """Shape factors of the new hinges: a side that was there before keeps its bending energy at any bend, its pieces
    share it by length; sides inside an old triangle are flat and follow the rule of any mesh."""
    rest = s.mixed(part.rest, material=True)
    fresh, before = hinges(s.triangles), hinges(part.triangles)
    result = hinge_shape(rest, fresh)
    # the old side on which a new one lies: its two ends stand for material between the same two old vertices
    n = len(part.rest)
    used = np.where(s.material > 1e-9, s.corners, -1)
    ends = np.concatenate([used[fresh[:, 0]], used[fresh[:, 1]]], axis=1)
    high = ends.max(axis=1)
    low = np.where(ends >= 0, ends, n).min(axis=1)
    within = ((ends == low[:, None]) | (ends == high[:, None]) | (ends < 0)).all(axis=1) & (low < high)
    keys = before[:, :2].min(axis=1) * n + before[:, :2].max(axis=1)
    order = np.argsort(keys)
    at = order[np.minimum(np.searchsorted(keys, low * n + high, sorter=order), len(keys) - 1)]
    same = within & (keys[at] == low * n + high)
    length = np.linalg.norm(rest[fresh[:, 1]] - rest[fresh[:, 0]], axis=1)
    whole = np.linalg.norm(part.rest[low % n] - part.rest[high], axis=1)
    result[same] = (shape[at] * length / np.where(whole > 0.0, whole, 1.0))[same]
    return result
