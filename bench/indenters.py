"""Indenters for the contact sheet: surfaces in the sensor frame, and the height field that a pad's camera would see.

Reference meshes when they lie beside the checkout (21 patterns, ten mechanical parts, a bolt and a nut), and the twelve
patterns that the project makes itself otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from engine.tactile.spec import Camera

ROOT = Path(__file__).resolve().parents[1]
FLAT = 50e-6  # [m] an indenter whose height varies by less within the contact has no relief of its own
RISE = 0.5  # of the depth of the press: what such a one is tilted by from end to end, so that its height varies
AXIS = np.array([0.8, 0.6, 0.0])  # about which it is tilted
COAT = (25.25e-3, 20.75e-3)  # [m] extents of the GelSight pad's coat
VIEW = (18.88e-3, 14.16e-3)  # [m] of it that its camera sees
STRIDE = 1e-3  # [m] between places tried along a part


@dataclass(frozen=True)
class Indenter:
    """vertices (n, 3) [m], face towards +z; triangles (m, 3), outwards; group: patterns, parts, own."""

    name: str
    group: str
    vertices: np.ndarray
    triangles: np.ndarray


def indenters(names: Sequence[str] = (), status: Callable[[str], None] = lambda text: None) -> list[Indenter]:
    """Those of these names, or all, in the order of the sheet: the reference meshes, or the project's own patterns
    where there are none. A mesh with defects is repaired, and told."""
    from scenes.mesh_files import read_surface

    shared = Path(os.environ.get("TACKTILE_SHARED", ROOT.parent / "shared")) / "data" / "taccel"
    files = [(path, "patterns", "mm") for path in sorted((shared / "patterns").glob("*.stl"))]
    files += [(path, "parts", "m") for k in range(1, 11) if (path := shared / "mech" / f"C{k}.stl").is_file()]
    files += [(path, "parts", "m") for path in sorted((shared / "bolt_and_nut").glob("*.stl"))]
    if not files:
        return [one for one in own_indenters() if not names or one.name in names]
    found = []
    for path, group, units in files:
        if names and path.stem not in names:
            continue
        surface = read_surface(path, units, repair=True)
        for note in surface.notes:
            status(f"{path.stem}: {note}")
        vertices = surface.vertices
        if group == "parts":  # long along z: laid down
            vertices = vertices[:, [2, 1, 0]] * (1.0, 1.0, -1.0)
        found.append(Indenter(path.stem, group, vertices, surface.triangles))
    return found


def own_indenters() -> list[Indenter]:
    """The scene press_patterns' blocks."""
    from scenes.patterns import PATTERNS, pattern_block

    made = [(name, pattern_block(name, 16e-3, DEFAULT_HEIGHT, 3e-3, 0.2e-3)) for name in PATTERNS]
    return [Indenter(name, "own", *block) for name, block in made]


DEFAULT_HEIGHT = 0.8e-3  # [m] of the project's own patterns over their block


def height_field(vertices: np.ndarray, triangles: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Largest z of a surface over the places of a grid [m], (len(y), len(x)), float64: rays along z against the plane
    of every triangle that covers them. NaN: nothing there. x, y: evenly spaced, rising [m]."""
    field = np.full((len(y), len(x)), -np.inf)
    step_x, step_y = x[1] - x[0], y[1] - y[0]
    corners = vertices[triangles]
    low, high = corners[:, :, :2].min(axis=1), corners[:, :, :2].max(axis=1)
    columns = np.stack([np.ceil((low[:, 0] - x[0]) / step_x), np.floor((high[:, 0] - x[0]) / step_x) + 1], axis=1)
    rows = np.stack([np.ceil((low[:, 1] - y[0]) / step_y), np.floor((high[:, 1] - y[0]) / step_y) + 1], axis=1)
    columns, rows = columns.clip(0, len(x)).astype(int), rows.clip(0, len(y)).astype(int)
    for t in np.flatnonzero((columns[:, 1] > columns[:, 0]) & (rows[:, 1] > rows[:, 0])):
        a, u, v = corners[t, 0], corners[t, 1] - corners[t, 0], corners[t, 2] - corners[t, 0]
        twice_area = u[0] * v[1] - u[1] * v[0]
        if twice_area == 0.0:
            continue  # upright
        px, py = x[slice(*columns[t])][None, :] - a[0], y[slice(*rows[t])][:, None] - a[1]
        wu, wv = (px * v[1] - py * v[0]) / twice_area, (py * u[0] - px * u[1]) / twice_area
        inside = (wu >= -1e-9) & (wv >= -1e-9) & (wu + wv <= 1.0 + 1e-9)
        part = field[slice(*rows[t]), slice(*columns[t])]
        np.maximum(part, np.where(inside, a[2] + wu * u[2] + wv * v[2], -np.inf), out=part)
    return np.where(np.isfinite(field), field, np.nan)


def pixel_places(camera: Camera) -> tuple[np.ndarray, np.ndarray]:
    """x of the columns, y of the rows in the sensor frame [m], of a camera with parallel rays along its z."""
    assert camera.orthographic and np.array_equal(camera.sensor_from_camera[:3, :3], np.eye(3))
    rays = camera.rays().reshape(camera.height, camera.width, 2)
    return rays[0, :, 0] + camera.sensor_from_camera[0, 3], rays[:, 0, 1] + camera.sensor_from_camera[1, 3]


@dataclass(frozen=True)
class Placed:
    """An indenter in the sensor frame, its nearest point in the plane of the undeformed coat; tilt [rad]; reached
    (2, 2): lower and upper corner in x and y of what will reach into the coat [m]."""

    vertices: np.ndarray
    triangles: np.ndarray
    tilt: float
    reached: np.ndarray


def place(one: Indenter, depth: float, size: tuple[float, float] = COAT) -> Placed:
    """Turn the indenter's face to the coat and centre it; a long part goes where it shows the most relief.

    size: extents of the coat [m]; depth: of the press to come [m]. One that has no relief of its own at this depth is
    tilted about AXIS.
    """
    vertices = one.vertices - _middle(one.vertices)
    if one.group == "parts":
        vertices = vertices - (_richest(vertices, one.triangles, size, depth), 0.0, 0.0)
    tilt = _tilt(vertices, one.triangles, size, depth)
    if tilt:
        vertices = vertices @ Rotation.from_rotvec(tilt * AXIS).as_matrix().T
        vertices = vertices - _middle(vertices) * (1.0, 1.0, 0.0)
    x, y, field = _over_coat(vertices, one.triangles, size)
    facing = vertices * (1.0, -1.0, -1.0)  # half a turn about x
    rows, columns = np.nonzero(_pressed(field, depth))
    places = np.column_stack([x[columns], -y[rows]])
    reached = np.array([places.min(axis=0), places.max(axis=0)])
    return Placed(facing + (0.0, 0.0, np.nanmax(field)), one.triangles, tilt, reached)


def _middle(vertices: np.ndarray) -> np.ndarray:
    return 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))


def _over_coat(vertices: np.ndarray, triangles: np.ndarray, size) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, y = (np.linspace(-0.5 * extent, 0.5 * extent, round(extent / 0.15e-3)) for extent in size)
    return x, y, height_field(vertices, triangles, x, y)


def _pressed(field: np.ndarray, depth: float) -> np.ndarray:
    """How far each place reaches into the coat [m], 0 where it does not."""
    return np.nan_to_num(np.maximum(field - (np.nanmax(field) - depth), 0.0))


def _tilt(vertices: np.ndarray, triangles: np.ndarray, size, depth: float) -> float:
    """[rad] that makes a flat indenter's height vary by RISE of the depth; 0 for one of which nine tenths of what
    reaches into the coat do not lie within FLAT of each other."""
    x, y, field = _over_coat(vertices, triangles, size)
    into = _pressed(field, depth)
    low, high = np.quantile(into[into > 0.0], (0.05, 0.95))
    if high - low >= FLAT:
        return 0.0
    rows, columns = np.nonzero(into)
    along = np.column_stack([x[columns], y[rows]]) @ np.array([-AXIS[1], AXIS[0]])
    return float(np.arctan(RISE * depth / np.ptp(along)))


def _richest(vertices: np.ndarray, triangles: np.ndarray, size, depth: float) -> float:
    """Place along x [m] under the middle of the pad whose pressed relief rises and falls most within the camera's view
    (walls count as 45 degrees)."""
    reach = 0.5 * np.ptp(vertices[:, 0])
    pitch, half = 0.15e-3, 0.5 * size[0]
    x = np.arange(-reach - half, reach + half, pitch)
    y = np.linspace(-0.5 * size[1], 0.5 * size[1], round(size[1] / pitch))
    field = height_field(vertices, triangles, x, y)
    best, most = 0.0, -1.0
    last = max(reach - 0.25 * size[0], 0.0)
    for middle in np.arange(-last, last + 1e-9, STRIDE):
        over = np.abs(x - middle) < half  # the highest point of all that lies over the coat decides how deep it goes
        slope = np.hypot(*np.gradient(_pressed(field[:, over], depth), pitch))
        seen = np.ix_(np.abs(y) < 0.5 * VIEW[1], np.abs(x[over] - middle) < 0.5 * VIEW[0])
        relief = float(np.minimum(slope[seen], 1.0).sum())
        if relief > most:
            best, most = float(middle), relief
    return best
