"""Where things are in a dispenser, and the surface of its frame. Frame: see scenes.dispenser.Dispenser; metres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.mesh.shapes import cylinder_surface

PLATE = 4e-3  # thickness of the side plate
SIDE_GAP = 3e-3  # between tape and plate
BLADE_ROOT = 6e-3  # of the blade's section above its edge
THREAD_GAP = 1e-4  # between tape and roller at the start


@dataclass(frozen=True)
class DispenserLayout:
    """Places in the (x, z) plane of the dispenser [m]: where the feed touches the roller (2,), the core's centre (2,),
    the blade's edge (2,). feed: unit vector along the feed, downwards (2,); free_length: straight tape, tail included.
    """

    touch: np.ndarray
    core: np.ndarray
    edge: np.ndarray
    feed: np.ndarray
    free_length: float


def lay_out(dispenser, roll_radius: float, half_thickness: float) -> DispenserLayout:
    """The feed is the inner common tangent of roll and roller, at `feed_angle` below the horizontal; its length follows
    from the clearance of the roll. roll_radius: of the outermost layer's middle surface."""
    angle, radius = dispenser.feed_angle, dispenser.roller_radius
    feed = np.array([np.cos(angle), -np.sin(angle)])
    back = np.array([np.sin(angle), np.cos(angle)])  # towards the backing, away from the sticky side
    touch = np.array([0.0, radius]) - (radius + half_thickness + THREAD_GAP) * back
    lowest = dispenser.clearance + roll_radius
    length = (lowest + roll_radius * back[1] - touch[1]) / np.sin(angle)
    core = touch - length * feed - roll_radius * back
    edge = np.array([dispenser.blade_reach, dispenser.blade_height])
    return DispenserLayout(touch, core, edge, feed, float(length + dispenser.tail))


def frame_surface(dispenser, layout: DispenserLayout, width: float, core_radius: float, reach: float):
    """Closed surface of plate, spindle, blade and handle, overlapping pieces of one body: vertices (n, 3), triangles.

    width: of the tape; core_radius: inner one of the core; reach: outer radius of the full roll.
    """
    inner = 0.5 * width + SIDE_GAP
    middle = inner + 0.5 * PLATE
    roller, handle = np.array([0.0, dispenser.roller_radius]), layout.core + np.array([0.012, reach + 0.03])
    pieces = [
        _capsule(layout.core, roller, 0.4 * core_radius, 0.7 * dispenser.roller_radius, middle, PLATE),
        _capsule(layout.core, handle, 0.4 * core_radius, 0.010, middle, PLATE),
        _capsule(roller, layout.edge + (0.0, BLADE_ROOT), 0.7 * dispenser.roller_radius, 2e-3, middle, PLATE),
        _spindle(layout.core, 0.8 * core_radius, -0.5 * width, inner + 0.5 * PLATE),
        _blade(layout.edge, -0.5 * width - SIDE_GAP, inner + 0.5 * PLATE),
        _handle(handle, middle),
    ]
    offsets = np.cumsum([0] + [len(v) for v, _ in pieces[:-1]])
    return np.vstack([v for v, _ in pieces]), np.vstack([t + o for (_, t), o in zip(pieces, offsets, strict=True)])


def blade_edge(layout: DispenserLayout, width: float) -> np.ndarray:
    """Ends of the cutting edge, (2, 3)."""
    half = 0.5 * width + 2e-3
    return np.array([[layout.edge[0], -half, layout.edge[1]], [layout.edge[0], half, layout.edge[1]]])


def prism(outline: np.ndarray, low: float, high: float):
    """A convex outline (n, 2) in (x, z), anticlockwise seen along +y, drawn from y = low to high: closed surface."""
    n = len(outline)
    rings = [np.column_stack([outline[:, 0], np.full(n, y), outline[:, 1]]) for y in (low, high)]
    k = np.arange(n)
    after = (k + 1) % n
    sides = np.vstack([np.column_stack([k, after, after + n]), np.column_stack([k, after + n, k + n])])
    fan = np.column_stack([np.zeros(n - 2, int), k[1:-1], k[2:]])
    return np.vstack(rings), np.vstack([sides, fan[:, ::-1], fan + n])


def _capsule(a, b, radius_a: float, radius_b: float, middle: float, thickness: float, segments: int = 24):
    """Convex hull of two discs in the (x, z) plane, as a plate."""
    from scipy.spatial import ConvexHull

    turn = np.linspace(0.0, 2.0 * np.pi, segments, endpoint=False)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    points = np.vstack([np.asarray(a) + radius_a * circle, np.asarray(b) + radius_b * circle])
    outline = points[ConvexHull(points).vertices]  # anticlockwise in (x, z), clockwise seen along +y
    return prism(outline[::-1], middle - 0.5 * thickness, middle + 0.5 * thickness)


def _spindle(place, radius: float, low: float, high: float):
    vertices, triangles = cylinder_surface(radius, high - low, 40)
    turned = np.column_stack([vertices[:, 0], vertices[:, 2], -vertices[:, 1]])  # its axis z becomes y
    return turned + np.array([place[0], 0.5 * (low + high), place[1]]), triangles


def _blade(edge, low: float, high: float):
    """A wedge with its edge down."""
    section = np.array([[0.0, 0.0], [2.5e-3, BLADE_ROOT], [-0.5e-3, BLADE_ROOT]]) + edge
    return prism(section[::-1], low, high)


def _handle(place, middle: float):
    """A rounded grip over the roll, along x, reaching over the tape's middle."""
    from scenes.shapes import rounded_box

    vertices, triangles = rounded_box((0.09, 0.03, 0.024), 0.009, 4)
    return vertices + np.array([place[0], middle - 0.01, place[1]]), triangles
