"""Winding a strip around a core: parameters, the spiral, the start state of a roll. See docs/physics/roll.md.

Roll frame: the core's axis is y, its centre the origin; the strip leaves the top of the roll along +x. The strip's
normals point away from the axis, so its adhesive side is the one against its normals.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from engine.adhesion.sticking import START_REACH
from engine.materials import ContactMaterial, ShellMaterial
from engine.mesh import shapes
from engine.tape.asset import RollAsset
from engine.tape.layers import find_feet

RAMP = np.pi / 4.0  # angle over which every turn steps up by one pitch, ahead of the strip's first edge [rad]
BOND_SHARE = 0.98  # of the reach within which points stick at the start: room for rounding and facets of the core
HUB_SAG_SHARE = 0.1  # the core's facets may lie this share of dhat below its circle
REACH = BOND_SHARE * START_REACH  # [dhat]
MAX_TURNS = 64.0


@dataclass(frozen=True)
class RollSpec:
    """What is wound on what. All lengths [m].

    Attributes:
        width, cells_across: the strip; its cells are squares of width / cells_across (an even number: no net twist).
        turns: wound turns, 1..64; rounded up to a whole cell.
        free_length: straight end beyond the tangent point, rounded to whole cells; 0 = none.
        core_inner_radius, core_outer_radius, core_width (None = width), core_density [kg/m3]: the hollow core.
        material: of the strip; its thickness gives mass and stiffness.
        contact: of strip and core. Layers touch at twice the half_thickness; dhat beyond it contact begins.
        pitch: radial distance of two layers; None = the smaller of `neutral_pitch` and `bonding_pitch`.
    """

    width: float = 0.019
    cells_across: int = 6
    turns: float = 2.0
    free_length: float = 0.0
    core_inner_radius: float = 0.01905
    core_outer_radius: float = 0.0211
    core_width: float | None = None
    core_density: float = 700.0
    material: ShellMaterial = field(default_factory=ShellMaterial)
    contact: ContactMaterial = field(default_factory=lambda: ContactMaterial(dhat=0.18e-3))
    pitch: float | None = None

    def __post_init__(self):
        for name in ("width", "core_inner_radius", "core_outer_radius", "core_density"):
            self._require(name, getattr(self, name) > 0.0, "it must be greater than 0")
        self._require("cells_across", int(self.cells_across) == self.cells_across and self.cells_across >= 1,
                      "it must be a whole number of at least 1")  # fmt: skip
        self._require("cells_across", self.cells_across % 2 == 0, "it must be even: an odd zig-zag twists the strip")
        self._require("turns", 1.0 <= self.turns <= MAX_TURNS, f"it must lie in 1..{MAX_TURNS:g}")
        self._require("free_length", self.free_length >= 0.0, "it must be at least 0 [m]")
        self._require("core_outer_radius", self.core_outer_radius > self.core_inner_radius,
                      f"it must be greater than core_inner_radius, {self.core_inner_radius!r} [m]")  # fmt: skip
        self._require("core_outer_radius", self.core_outer_radius > 2.0 * self.cell,
                      f"it must be greater than two cells, {2.0 * self.cell:g} m; more cells_across make them smaller")
        if self.core_width is not None:
            self._require("core_width", self.core_width > 0.0, "it must be greater than 0, or None for the strip's")
        least, which = 2.0 * self.contact.half_thickness + self.sag, "pitch"
        more = f"twice the half_thickness and the sag of a cell's chord, {self.sag:.3g} m (more cells_across lower it)"
        if self.pitch is None:
            which, more = "cells_across", f"{more}; a contact.dhat above {2.0 * self.sag / REACH:.3g} m gives room"
        self._require(which, self.layer_pitch > least,
                      f"layers {self.layer_pitch:.4g} m apart cross: it must be greater than {least:.4g} m, {more}")

    def _require(self, name: str, legal: bool, sentence: str) -> None:
        if not legal:
            raise ValueError(f"RollSpec.{name} is {getattr(self, name)!r}; {sentence}")

    @property
    def cell(self) -> float:
        """Side of a cell [m]."""
        return self.width / self.cells_across

    @property
    def sag(self) -> float:
        """How far the middle of a cell's chord lies inside the circle, on the core, where it is largest [m]."""
        return chord_sag(self.cell, self.core_outer_radius)

    @property
    def neutral_pitch(self) -> float:
        """Layers at which the closest corner and chord are dhat beyond touching: no pressure, no tension [m]."""
        return 2.0 * self.contact.half_thickness + self.contact.dhat + self.sag

    @property
    def bonding_pitch(self) -> float:
        """Layers at which every point is near enough to the chord under it to stick there from the start [m]."""
        return 2.0 * self.contact.half_thickness + REACH * self.contact.dhat - self.sag

    @property
    def layer_pitch(self) -> float:
        return min(self.neutral_pitch, self.bonding_pitch) if self.pitch is None else float(self.pitch)

    @property
    def candidate_slack(self) -> float:
        """Options.candidate_slack that suits the roll [m]. The automatic one, a tenth of a cell, is two pitches: five
        layers to either side would be listed."""
        return 0.25 * self.contact.dhat

    @property
    def inner_radius(self) -> float:
        """Radius of the first layer's points [m]: as far from the core as layers are from each other."""
        return self.core_outer_radius + self.layer_pitch

    @property
    def hub_segments(self) -> int:
        """Facets of the core: enough that they lie within a share of dhat of its circle."""
        sag = HUB_SAG_SHARE * self.contact.dhat
        return max(24, 4 * int(np.ceil(0.25 * np.pi / np.sqrt(2.0 * sag / self.core_outer_radius))))


def chord_sag(chord: float, radius: float) -> float:
    """Distance of a chord's middle from its circle [m]."""
    return radius - np.sqrt(radius**2 - 0.25 * chord**2)


def spiral_radius(theta, inner_radius: float, pitch: float):
    """Radius at winding angle theta [m]: constant over each turn but for a smooth ramp before its end.

    r(theta + 2 pi) = r(theta) + pitch, so layers are everywhere one pitch apart. Every turn ramps where the next one
    has to pass over the strip's first edge; until there the first layer keeps its distance from the core.
    """
    turn = np.asarray(theta, float) / (2.0 * np.pi)
    whole = np.floor(turn)
    share = RAMP / (2.0 * np.pi)
    along = np.clip((turn - whole - (1.0 - share)) / share, 0.0, 1.0)
    return inner_radius + pitch * (whole + 0.5 * (1.0 - np.cos(np.pi * along)))


def spiral_angles(spec: RollSpec) -> np.ndarray:
    """Winding angle of each wound row [rad], (n,), ascending from 0 to at least 2 pi turns.

    Neighbours are exactly one cell apart in space, so cells stay flat and unstretched and bend at their rows only:
    the membrane is at rest to rounding.
    """
    cell, target = spec.cell, 2.0 * np.pi * spec.turns

    def place(theta):
        return spiral_radius(theta, spec.inner_radius, spec.layer_pitch) * np.exp(1j * theta)

    angles = [0.0]
    while angles[-1] < target - 1e-9:
        here, step = place(angles[-1]), 2.0 * np.arcsin(0.5 * cell / float(abs(place(angles[-1]))))
        for _ in range(50):  # secant-free fixed point: a chord grows almost in proportion to its angle
            chord = abs(place(angles[-1] + step) - here)
            step *= cell / chord
            if abs(chord - cell) <= 1e-15 * cell:
                break
        angles.append(angles[-1] + step)
    return np.array(angles)


def wound_rows(spec: RollSpec) -> tuple[np.ndarray, np.ndarray]:
    """(places of all rows in the (x, z) plane of the roll frame as complex numbers x + i z, winding angles [rad]).

    Rows of the free end go straight on along the last chord: a free end carries no moment, so its first hinge is flat.
    Their angles stay at the last wound one.
    """
    angles = spiral_angles(spec)
    rows = spiral_radius(angles, spec.inner_radius, spec.layer_pitch) * np.exp(-1j * angles)
    tangent = (rows[-1] - rows[-2]) / spec.cell
    tangent /= abs(tangent)
    free = round(spec.free_length / spec.cell)
    rows = np.concatenate([rows, rows[-1] + spec.cell * np.arange(1, free + 1) * tangent])
    return rows / tangent, np.concatenate([angles, np.full(free, angles[-1])])


def wind_roll(spec: RollSpec) -> RollAsset:
    """A roll in the roll frame, wound without tension, not settled yet (`engine.settling.settle_roll`).

    The strip's rest mesh is flat, so the wound part carries the bending moment D / r. Raises ValueError naming the
    parameter that is illegal (already when the spec is made).
    """
    rows, angles = wound_rows(spec)
    count, across = len(rows), spec.cells_across + 1
    rest, triangles = shapes.grid_mesh((count - 1) * spec.cell, spec.width, count - 1, spec.cells_across)
    vertices = np.empty_like(rest)
    vertices[:, 0] = np.repeat(rows.real, across)
    vertices[:, 1] = rest[:, 1]
    vertices[:, 2] = np.repeat(rows.imag, across)
    hub_vertices, hub_triangles = hub_mesh(spec)
    asset = RollAsset(
        spec=spec, rest_vertices=rest, vertices=vertices, triangles=triangles, row_angle=angles,
        hub_vertices=hub_vertices, hub_triangles=hub_triangles, hub_transform=np.eye(4),
    )  # fmt: skip
    return replace(asset, feet=find_feet(asset))


def hub_mesh(spec: RollSpec) -> tuple[np.ndarray, np.ndarray]:
    """The core: a closed ring around y, its cells along the axis as wide as two of the strip's, (n, 3) [m], (t, 3)."""
    width = spec.width if spec.core_width is None else spec.core_width
    rings = max(1, round(width / (2.0 * spec.cell)))
    vertices, triangles = shapes.ring_surface(
        spec.core_inner_radius, spec.core_outer_radius, width, spec.hub_segments, rings
    )
    return vertices[:, [1, 2, 0]], triangles  # a cyclic change of axes keeps the winding
