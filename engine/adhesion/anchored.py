"""What all interface laws share: a record and an anchor by sticky point, frozen rows for the step, state in and out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from engine.adhesion.sticking import Touch, start_positions, stuck_at_start
from engine.adhesion.sticky_surface import AdhesionPart, sticky_surface
from engine.contact.stencils import StencilBlocks, stride_of
from engine.contact.term import StencilTerm
from engine.types import Model


class AnchoredTerm(StencilTerm):
    """Base of the laws. A subclass names its law and its structs, and writes the kernels.

    Every history has `triangle` (vec3i, global point ids, -1 = free), `place` (anchor over it), `row` (of the material)
    and `spent` (work dissipated so far [J]).
    """

    law = ""
    History: type
    Frozen: type
    Materials: type
    kernels: tuple[wp.Kernel, wp.Kernel, wp.Kernel]  # freeze, derivatives, value

    def __init__(self, model: Model, parts: Sequence[AdhesionPart]):
        self.device, self.num_worlds = model.device, model.num_worlds
        self.sticky = sticky_surface(model, list(parts), self.law)
        self.size = size = self.sticky.size
        self.stride = stride_of(self.device)
        self.blocks = StencilBlocks(max(size, 1), self.device, turning=True)
        self.touch = Touch(self.sticky, self.device)
        self.history, self.frozen, self.materials = self.History(), self.Frozen(), self.Materials()
        for struct, kind in ((self.history, self.History), (self.frozen, self.Frozen)):
            for name, var in kind.vars.items():
                setattr(struct, name, wp.zeros(max(size, 1), dtype=var.type.dtype, device=self.device))
        for name, var in self.Materials.vars.items():
            rows = max(len(self.sticky.materials), 1)
            setattr(self.materials, name, wp.zeros(rows, dtype=var.type.dtype, device=self.device))
        self._write_materials()
        self._place_start(model)
        self.initial = self.get_state()

    def _write_materials(self) -> None:
        for name in self.Materials.vars if self.sticky.materials else ():
            values = np.array([self.parameter(material, name) for material in self.sticky.materials])
            getattr(self.materials, name).assign(values)

    def set_material(self, mesh: str, partner: str, material) -> None:
        """Edit between steps: the declaration that rules this pair gets another material of the same law.

        What is stuck keeps its anchor and history; it pulls by the new material from the next step on. Not part of
        `get_state`; `Engine.save` writes it beside the state. Raises KeyError for a pair that this law does not rule,
        ValueError for a material of another law.
        """
        if getattr(material, "law", None) != self.law:
            raise ValueError(f"material is {material!r}; this interface needs one of the law '{self.law}'")
        row, step = self.sticky.row_of(mesh, partner), self.sticky.arrays.rows_per_world
        for w in range(self.num_worlds if step else 1):
            self.sticky.materials[row + w * step] = material
        self._write_materials()

    def use_materials(self, materials: list, per_world: int) -> None:
        """Each world has its own `per_world` rows of the material table; materials: all of them, world-major."""
        self.sticky.materials, self.sticky.arrays.rows_per_world = list(materials), per_world
        for name, var in self.Materials.vars.items():
            if len(getattr(self.materials, name)) != len(materials):  # captured graphs hold the arrays
                setattr(self.materials, name, wp.zeros(len(materials), dtype=var.type.dtype, device=self.device))
        self._write_materials()

    def start_at(self, fields: dict[str, np.ndarray]) -> None:
        """Another start than the one that the first world's geometry gave, histories as of `get_state`."""
        self.set_state(fields)
        self.initial = self.get_state()

    def parameter(self, material, name: str):
        """Value of one field of the law's materials struct."""
        return getattr(material, name)

    def sticks_at_all(self) -> np.ndarray:
        """Materials that can stick, bool by row."""
        return self.materials.work.numpy() > 0.0

    def start_bonds(self, x: np.ndarray, points: np.ndarray, triangles: np.ndarray) -> dict[str, np.ndarray]:
        """Further fields of history of the points that start stuck; arrays of their number. x: (P, 3)."""
        return {}

    def after_start(self, x: wp.array) -> None:
        """Called when the start is in place; x: positions, vec3d (P,)."""

    def _place_start(self, model: Model) -> None:
        """Points in reach at the start are stuck, unloaded, alike in every world."""
        slot, triangles, row = stuck_at_start(model, self.sticky)
        can = self.sticks_at_all()[row] if len(row) else np.zeros(0, bool)
        slot, triangles, row = slot[can], triangles[can], row[can]
        x = start_positions(model)
        fields = self.get_state()
        fields["triangle"][:] = -1
        if len(slot):
            points = self.sticky.points[slot]
            own = {"row": row, "place": anchor_coordinates_host(x[points], *(x[triangles[:, k]] for k in range(3)))}
            own |= self.start_bonds(x, points, triangles)
            for w in range(self.num_worlds):
                at = slot + w * self.sticky.per_world
                fields["triangle"][at] = triangles + w * model.points_per_world
                for name, values in own.items():
                    fields[name][at] = values
        self.set_state(fields)
        if self.size:
            self.after_start(wp.array(x, dtype=wp.vec3d, device=self.device))

    # the step -------------------------------------------------------------------------------------------------------
    def freeze_inputs(self) -> list:
        """What the law's freeze kernel reads besides surface, history and materials."""
        return []

    def launch_begin_step(self, inputs) -> None:
        b = self.blocks
        b.count.zero_()
        wp.launch(
            self.kernels[0],
            self.stride,
            [self.sticky.arrays, self.history, self.materials, *self.freeze_inputs(), self.size, self.stride],
            [self.frozen, b.points, b.weights, b.first_side, b.count],
            device=self.device,
        )

    def launch_derivatives(self, inputs) -> None:
        b = self.blocks
        wp.launch(
            self.kernels[1],
            self.stride,
            [b.count, b.points, self.frozen, inputs.x, self.stride],
            [b.block, b.turns, b.gradient],
            device=self.device,
        )

    def launch_value(self, inputs, world_energy) -> None:
        b = self.blocks
        wp.launch(
            self.kernels[2],
            self.stride,
            [b.count, b.points, self.frozen, inputs.x, self.stride],
            [world_energy],
            device=self.device,
        )

    # history --------------------------------------------------------------------------------------------------------
    def get_state(self) -> dict[str, np.ndarray]:
        return {name: array.copy() for name, array in self.views(wp.array.numpy).items()}

    def views(self, host) -> dict[str, np.ndarray]:
        """The history as `host` (warp array -> numpy array) gives it."""
        return {name: host(getattr(self.history, name)) for name in self.History.vars}

    def set_state(self, arrays: dict[str, np.ndarray]) -> None:
        for name in self.History.vars:
            getattr(self.history, name).assign(np.ascontiguousarray(arrays[name]))

    def reset(self, world: int | None = None) -> None:
        n = self.sticky.per_world
        rows = slice(None) if world is None else slice(world * n, (world + 1) * n)
        state = self.get_state()
        for name, values in state.items():
            values[rows] = self.initial[name][rows]
        self.set_state(state)

    # reading --------------------------------------------------------------------------------------------------------
    def stuck_points(self) -> np.ndarray:
        """Global ids of the points that are stuck now, int."""
        return self.sticky.points[self.history.triangle.numpy()[: self.size, 0] >= 0]

    def spent_work(self) -> np.ndarray:
        """Work dissipated so far [J], (W,)."""
        if self.size == 0:
            return np.zeros(self.num_worlds)
        return self.history.spent.numpy()[: self.size].reshape(self.num_worlds, -1).sum(axis=1)

    def damage(self) -> np.ndarray:
        """0 intact to 1 free [-], by sticky point, (S,) in the order of `sticky.points`."""
        raise NotImplementedError


def anchor_coordinates_host(y: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Host twin of `anchor.anchor_coordinates`, all (n, 3)."""
    e, f, d = b - a, c - a, y - a
    normal = np.cross(e, f)
    square = np.einsum("ij,ij->i", normal, normal)
    q1 = np.einsum("ij,ij->i", normal, np.cross(d, f)) / square
    q2 = np.einsum("ij,ij->i", normal, np.cross(e, d)) / square
    return np.stack([q1, q2, np.einsum("ij,ij->i", d, normal) / np.sqrt(square)], axis=1)
