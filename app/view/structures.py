"""Meshes on the screen: registered once a model (a cut makes another), moved every frame, coloured by what matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polyscope as ps
from scipy.spatial import cKDTree

from app import fields
from app.frame import Frame
from app.tape import strip_rows
from app.view import palette, tape_colors
from app.view.shading import Slab, split_sharp_edges
from engine.types import mesh_pose

SHEET_HALF = 1.5e-4  # [m] half the drawn thickness of a sheet at least: thinner ones flicker on what they lie on
MATERIALS = {  # finish of a scene's look -> material
    "matte": "tacktile_matte",
    "cardboard": "tacktile_matte",
    "satin": "tacktile_satin",
    "tape": "tacktile_satin",
    "gel": "tacktile_gloss",
    "gloss": "tacktile_gloss",
    "metal": "tacktile_metal",
}
FRONT_RADIUS = 4e-4  # [m] of the line where tape comes off
GHOST_RADIUS = 7e-4  # [m] of the line of an armed cut
CHEAP_SHADOW = 5_000  # points up to which the drawn shadow costs nothing that matters, at any quality
LIGHT = np.array([0.22, -0.16, -1.0])  # direction of the drawn shadow [m per m of height]


@dataclass
class _Drawn:
    """One mesh as it stands on the screen."""

    name: str
    info: Any
    mesh: Any
    source: np.ndarray  # drawn vertex -> vertex of the mesh
    slab: Slab | None = None
    half: float = 0.0  # [m]
    moves: str = "points"  # "points", "transform" or "never"
    dm_inv: np.ndarray | None = None
    coat: np.ndarray | None = None  # vertices of a pad's coat
    colored: str = ""  # name of the quantity that is shown
    row: np.ndarray | None = None  # of each vertex of a roll's strip


class Structures:
    """Registers the meshes of a scene and follows the Frames."""

    def __init__(self):
        self._drawn: dict[str, _Drawn] = {}
        self._scene = self._model = None
        self._pads: dict[str, np.ndarray] = {}
        self._shadow = None
        self._front = False  # the front line is on the screen
        self._ghost = False  # the armed cut is on the screen
        self.shadows = True

    def clear(self) -> None:
        self._drawn.clear()
        self._model = None
        self._shadow = None
        self._front = self._ghost = False
        ps.remove_all_structures()

    def register(self, scene, points: np.ndarray) -> None:
        """Registers every visible mesh of a scene.

        Args:
            scene: what `scenes.build_scene` gave.
            points: world-0 point positions [m], (P, 3).
        """
        self.clear()
        self._scene = scene
        self._pads = {pad.mesh: np.unique(np.asarray(pad.coat)) for pad in getattr(scene, "pads", ())}
        self.set_model(scene.model, points)
        self._frame_view(points)

    def set_model(self, model, points: np.ndarray) -> None:
        """The same scene with other meshes, after a cut: they take the places of those of the same name."""
        scene, self._model = self._scene, model
        self._drawn.clear()
        visuals = getattr(scene, "visuals", {}) or {}
        for name, info in model.meshes.items():
            visual = visuals.get(name)
            if visual is None or getattr(visual, "show", True):
                self._add(name, info, visual, points[info.points])
        for name, asset in (getattr(scene, "rolls", None) or {}).items():
            if name in self._drawn:
                self._drawn[name].row = strip_rows(np.asarray(self._drawn[name].info.rest), asset.spec.cell)
        self._add_shadow(points)

    def _add(self, name, info, visual, x) -> None:
        color, material = palette.LOOKS.get(info.kind, palette.LOOKS["body"])
        opacity = 1.0
        if visual is not None:
            color = tuple(getattr(visual, "color", None) or color)
            material = MATERIALS.get(str(getattr(visual, "finish", "")), material)
            opacity = 1.0 - float(getattr(visual, "transparency", 0.0))
        triangles = np.asarray(info.triangles)
        drawn = _Drawn(name, info, None, np.arange(len(x)))
        if info.kind == "shell":
            drawn.slab = Slab(triangles, len(x))
            drawn.half = max(SHEET_HALF, 0.5 * float(getattr(info.material, "thickness", 0.0) or 0.0))
            drawn.source, faces = drawn.slab.source, drawn.slab.triangles
            vertices = drawn.slab.positions(x, drawn.half)
        else:
            by_transform = info.kind == "body" and info.rest is not None and info.body >= 0
            reference = np.asarray(info.rest) if by_transform else x
            drawn.source, faces = split_sharp_edges(reference, triangles)
            if by_transform and info.visual is not None:  # a robot's link is drawn finer than it collides
                shown = np.asarray(info.visual[0])
                fine, faces = split_sharp_edges(shown, np.asarray(info.visual[1]))
                drawn.source = cKDTree(reference).query(shown[fine])[1]  # fields are shown from the nearest vertex
                vertices = shown[fine]
            else:
                vertices = reference[drawn.source]
            drawn.moves = "never" if info.kind == "static" else "transform" if by_transform else "points"
        if info.kind in ("shell", "solid") and len(triangles):
            rest = np.asarray(info.rest) if info.rest is not None else x
            drawn.dm_inv = fields.rest_inverse(rest, triangles)
        drawn.coat = self._pads.get(name)
        drawn.mesh = ps.register_surface_mesh(
            f"mesh {name}", vertices, faces, color=color, material=material, smooth_shade=True
        )
        if opacity < 1.0:
            drawn.mesh.set_transparency(opacity)  # Polyscope's "transparency" is an opacity
        self._drawn[name] = drawn

    def _frame_view(self, points: np.ndarray) -> None:
        """Fixed extents: automatic ones would make light and clipping planes breathe with the scene."""
        low, high = points.min(axis=0), points.max(axis=0)
        ps.set_automatically_compute_scene_extents(False)
        ps.set_bounding_box(low, high)
        ps.set_length_scale(max(float(np.linalg.norm(high - low)), 1e-3))
        ps.set_ground_plane_height_mode("manual")
        ps.set_ground_plane_height(float(low[2]) - 1e-3)

    def _add_shadow(self, points: np.ndarray) -> None:
        """A flat shadow on the largest static top: it shows how high the tool hovers, which shading alone does not."""
        floors = [d for d in self._drawn.values() if d.info.kind == "static"]
        self._shadow = None
        if not floors:
            return
        spans = []
        for d in floors:
            x = points[d.info.points]
            extent = x.max(axis=0) - x.min(axis=0)
            spans.append(extent[0] * extent[1])
        floor = floors[int(np.argmax(spans))]
        casters = [d for d in self._drawn.values() if d is not floor]
        if not casters:
            return
        x = points[floor.info.points]
        low, high = x.min(axis=0), x.max(axis=0)
        ids, faces, offset = [], [], 0
        for d in casters:
            own = np.arange(d.info.points.start, d.info.points.stop)
            ids.append(own)
            faces.append(np.asarray(d.info.triangles) + offset)
            offset += len(own)
        self._shadow_floor = (low, high)
        self._shadow_ids = np.concatenate(ids)
        self._shadow = ps.register_surface_mesh(
            "shadow", self._shadow_positions(points), np.concatenate(faces), color=(0.70, 0.70, 0.695), material="flat"
        )
        self._shadow.set_back_face_policy("identical")

    def _shadow_positions(self, points: np.ndarray) -> np.ndarray:
        low, high = self._shadow_floor
        x = points[self._shadow_ids].copy()
        height = np.maximum(x[:, 2] - high[2], 0.0)
        x[:, :2] += height[:, None] * LIGHT[:2]
        below = points[self._shadow_ids][:, 2] < high[2] - 1e-3
        x[:, :2] = np.clip(x[:, :2], low[:2] + 1e-4, high[:2] - 1e-4)
        x[:, 2] = high[2] + np.where(below, -2e-3, 1.2e-4)
        return x

    def update(
        self, frame: Frame, mode: str, limit: float, coat_depth: dict | None = None, tape: dict | None = None,
        cut: dict | None = None,
    ) -> float:  # fmt: skip
        """Moves and colours every mesh.

        Args:
            frame: with points (P, 3).
            mode: one of settings.COLOR_MODES.
            limit: upper end of the locked scale, in the field's unit.
            coat_depth: pad mesh -> depth of each coat vertex [m], for mode "depth".
            tape: `app.tape.TapeReader.read`, for modes "tape" and "adhesion".
            cut: with "lines" of an armed cut, polylines (k, 3) [m].

        Returns:
            Largest value of the field in this frame (0 for plain materials).
        """
        largest = 0.0
        points = np.asarray(frame.points)
        for drawn in self._drawn.values():
            x = points[drawn.info.points]
            self._move(drawn, x, points)
            values = self._values(drawn, x, frame, mode, coat_depth or {})
            if mode == "adhesion" and tape and drawn.name in tape["damage"]:
                values = np.nan_to_num(tape["damage"][drawn.name], nan=1.0)
            if values is not None:
                largest = max(largest, float(values.max(initial=0.0)))
            if mode == "tape" and tape and drawn.name in tape["damage"]:
                self._color_regions(drawn, tape)
            else:
                self._color(drawn, values, limit)
        self._draw_front(points, tape if mode in ("tape", "adhesion") else None)
        self._draw_ghost((cut or {}).get("lines", []))
        if self._shadow is not None:
            shown = self.shadows or len(self._shadow_ids) < CHEAP_SHADOW
            self._shadow.set_enabled(shown)
            if shown:
                self._shadow.update_vertex_positions(self._shadow_positions(points))
        return largest

    def _move(self, drawn: _Drawn, x: np.ndarray, points: np.ndarray) -> None:
        if drawn.moves == "transform":
            drawn.mesh.set_transform(body_transform(self._model, drawn.info, points))
        elif drawn.moves == "points":
            moved = drawn.slab.positions(x, drawn.half) if drawn.slab else x[drawn.source]
            drawn.mesh.update_vertex_positions(moved)

    def _values(self, drawn: _Drawn, x: np.ndarray, frame: Frame, mode: str, coat_depth: dict) -> np.ndarray | None:
        """The field on the mesh's vertices, None where it does not apply."""
        if mode == "strain" and drawn.dm_inv is not None:
            strain = fields.largest_strain(x, np.asarray(drawn.info.triangles), drawn.dm_inv)
            return fields.to_vertices(strain, np.asarray(drawn.info.triangles), len(x))
        if mode == "force" and frame.signals is not None and drawn.info.kind != "static":
            return np.linalg.norm(frame.signals.contact_force[0, drawn.info.points], axis=1)
        if mode == "depth" and drawn.coat is not None:
            depth = coat_depth.get(drawn.name)
            if depth is not None:
                values = np.zeros(len(x))
                values[drawn.coat] = depth
                return values
        return None

    def _color_regions(self, drawn: _Drawn, tape: dict) -> None:
        found = tape_colors.categories(tape["damage"][drawn.name], tape["rolls"].get(drawn.name), drawn.row)
        self._uncolor(drawn, but="regions")
        drawn.mesh.add_color_quantity("regions", tape_colors.colors(found)[drawn.source], enabled=True)
        drawn.colored = "regions"

    def _draw_front(self, points: np.ndarray, tape: dict | None) -> None:
        """The line where tape comes off, over all sticky meshes."""
        lines = [np.zeros((0, 2, 3))]
        for name, damage in (tape or {}).get("damage", {}).items():
            drawn = self._drawn.get(name)
            if drawn is not None:
                found = tape_colors.categories(damage, tape["rolls"].get(name), drawn.row)
                x = points[drawn.info.points]
                lines.append(tape_colors.front_line(x, np.asarray(drawn.info.triangles), found == 2))
        ends = np.concatenate(lines)
        if not len(ends):
            if self._front:
                ps.get_curve_network("front").set_enabled(False)
            return
        edges = np.arange(2 * len(ends)).reshape(-1, 2)
        front = ps.register_curve_network(
            "front", ends.reshape(-1, 3), edges, color=palette.TAPE["front"], material="flat", enabled=True
        )
        front.set_radius(FRONT_RADIUS, relative=False)
        self._front = True

    def _draw_ghost(self, lines: list[np.ndarray]) -> None:
        """Where an armed cut would run."""
        if not lines:
            if self._ghost:
                ps.get_curve_network("armed cut").set_enabled(False)
            return
        start = np.cumsum([0, *map(len, lines)])
        edges = [np.stack([np.arange(len(x) - 1), np.arange(1, len(x))], axis=1) for x in lines]
        ghost = ps.register_curve_network(
            "armed cut", np.concatenate(lines), np.concatenate([e + s for e, s in zip(edges, start[:-1], strict=True)]),
            color=palette.GHOST, material="flat", enabled=True,
        )  # fmt: skip
        ghost.set_radius(GHOST_RADIUS, relative=False)
        self._ghost = True

    def _uncolor(self, drawn: _Drawn, but: str = "") -> None:
        if drawn.colored and drawn.colored != but:
            drawn.mesh.remove_quantity(drawn.colored)
            drawn.colored = ""

    def _color(self, drawn: _Drawn, values: np.ndarray | None, limit: float) -> None:
        self._uncolor(drawn, but="" if values is None else "field")
        if values is None:
            return
        # added under the same name it replaces the old one; the locked range travels with it
        drawn.mesh.add_scalar_quantity(
            "field", values[drawn.source], enabled=True, cmap="viridis", vminmax=(0.0, limit)
        )
        drawn.colored = "field"


def body_transform(model, info, points: np.ndarray) -> np.ndarray:
    """Pose of a body's mesh, mesh frame to world, (4, 4), from the four frame points of its body."""
    body = list(model.bodies.values())[info.body]
    return mesh_pose(body, points[body.points : body.points + 4])
