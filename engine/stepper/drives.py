"""Kinematic targets of driven bodies: held exactly when they can be, pulled by augmented Lagrangian when they cannot.

Without a force limit a driven body starts the step at its target; when contact lets it get there its nodes leave the
solve (Li et al. 2020, section on kinematic boundary conditions). Otherwise a spring pulls, stiffened by multipliers
over a few rounds, and the report says how far it stayed behind; a round is the last one when contacts are crushed.
With a force limit the spring saturates instead.
"""

from __future__ import annotations

import numpy as np
import warp as wp

wp.set_module_options({"enable_backward": False})

STIFFNESS_RATIO = 1e3  # drive stiffness over mass / h^2
LIMIT_TRAVEL = 1e-4  # [m] distance behind its target at which a limited drive pulls with its whole force, at most
REACHED = 1e-7  # [m] root mean square distance at which an unlimited drive counts as satisfied
NOTICED = 1e-5  # [m] distance short of its target that is told of an unlimited drive
HELD_BACK = 2e-3  # [m] and of a limited one, which always lags by up to LIMIT_TRAVEL
MAX_ROUNDS = 4  # multiplier updates of a blocked drive in one step
CRUSHED = 1e-4  # smallest gap over dhat below which a world's drives pull no harder


@wp.kernel
def guess_kernel(
    stencils: wp.array2d(dtype=int),
    point_node: wp.array(dtype=int),
    force_limit: wp.array(dtype=wp.float64),
    target: wp.array2d(dtype=wp.vec3d),
    x: wp.array(dtype=wp.vec3d),
    dx_out: wp.array(dtype=wp.vec3d),
):
    """An unlimited drive starts at its target; a limited one as it moves (it may be pressing against something)."""
    e = wp.tid()
    if not wp.isfinite(force_limit[e]):
        for k in range(int(4)):
            node = point_node[stencils[e, k]]
            dx_out[node] = target[e, k] - x[node]


@wp.kernel
def measure_kernel(
    stencils: wp.array2d(dtype=int),
    point_node: wp.array(dtype=int),
    metric: wp.array(dtype=wp.mat44d),
    target: wp.array2d(dtype=wp.vec3d),
    x: wp.array(dtype=wp.vec3d),
    gap_out: wp.array(dtype=wp.float64),
):
    """Root mean square distance of the body's matter from its target [m]."""
    e = wp.tid()
    m = metric[e]
    square = wp.float64(0.0)
    for a in range(int(4)):
        for b in range(int(4)):
            ea = x[point_node[stencils[e, a]]] - target[e, a]
            eb = x[point_node[stencils[e, b]]] - target[e, b]
            square += m[a, b] * wp.dot(ea, eb)
    gap_out[e] = wp.sqrt(wp.max(square, wp.float64(0.0)))


@wp.kernel
def hold_kernel(
    stencils: wp.array2d(dtype=int),
    point_node: wp.array(dtype=int),
    force_limit: wp.array(dtype=wp.float64),
    gap: wp.array(dtype=wp.float64),
    reached: wp.float64,
    node_fixed_out: wp.array(dtype=int),
):
    e = wp.tid()
    if not wp.isfinite(force_limit[e]) and gap[e] <= reached:
        for k in range(int(4)):
            node_fixed_out[point_node[stencils[e, k]]] = 1


@wp.kernel
def raise_multiplier_kernel(
    stencils: wp.array2d(dtype=int),
    point_node: wp.array(dtype=int),
    element_world: wp.array(dtype=int),
    force_limit: wp.array(dtype=wp.float64),
    target: wp.array2d(dtype=wp.vec3d),
    x: wp.array(dtype=wp.vec3d),
    gap: wp.array(dtype=wp.float64),
    reached: wp.float64,
    world_gap: wp.array(dtype=wp.float64),
    crushed: wp.array(dtype=wp.float64),
    stiffness: wp.array(dtype=wp.float64),
    # In and out:
    multiplier: wp.array2d(dtype=wp.vec3d),
    world_active: wp.array(dtype=int),
):
    e = wp.tid()
    world = element_world[e]
    if not wp.isfinite(force_limit[e]) and gap[e] > reached and world_gap[world] > crushed[world]:
        for k in range(int(4)):
            error = x[point_node[stencils[e, k]]] - target[e, k]
            multiplier[e, k] = multiplier[e, k] + error * stiffness[e]
        world_active[world] = 1


class DriveControl:
    """Writes targets into the model's BodyDrive energy and steers the augmented Lagrangian."""

    def __init__(self, model, step_size: float):
        found = [e for e in model.energies if e.name == "drive" and e.num_elements > 0]
        self.energy = found[0] if found else None
        self.model, self.device = model, model.device
        self.infos = [b for b in model.bodies.values() if b.driven]
        self.count = len(self.infos)  # driven bodies of one world
        self.body_from_mesh_inverse = [np.linalg.inv(b.com_from_mesh) for b in self.infos]
        if self.energy is None:
            return
        mass = np.array([np.broadcast_to(b.mass, model.num_worlds) for b in self.infos]).T.reshape(-1)
        limit = self.energy.force_limit.numpy()
        self.limited = np.isfinite(limit)
        soft = STIFFNESS_RATIO * mass / step_size**2
        self.base_stiffness = np.where(
            self.limited, np.maximum(soft, np.where(self.limited, limit, 0.0) / LIMIT_TRAVEL), soft
        )
        self.gap = wp.zeros(self.energy.num_elements, dtype=wp.float64, device=self.device)
        self.world_of = np.arange(self.energy.num_elements) // self.count
        self.crushed = wp.array(_crushed_gap(model), dtype=wp.float64, device=self.device)

    def node_targets(self, body_transform: np.ndarray) -> np.ndarray:
        """(W, D, 4, 4) mesh poses -> (W*D, 4, 3) targets of origin and columns."""
        worlds = body_transform.shape[0]
        out = np.empty((worlds, self.count, 4, 3))
        for d, mesh_from_body in enumerate(self.body_from_mesh_inverse):
            pose = body_transform[:, d] @ mesh_from_body
            out[:, d, 0] = pose[:, :3, 3]
            out[:, d, 1:] = np.swapaxes(pose[:, :3, :3], 1, 2)
        return out.reshape(-1, 4, 3)

    def begin(self, body_transform: np.ndarray) -> None:
        if self.energy is None:
            return
        self.energy.target.assign(self.node_targets(body_transform))
        self.energy.multiplier.zero_()
        self.energy.stiffness.assign(self.base_stiffness)

    def launch_guess(self, x, dx) -> None:
        if self.energy is None:
            return
        e = self.energy
        wp.launch(
            guess_kernel,
            e.num_elements,
            [e.stencils, self.model.embedding.point_node, e.force_limit, e.target, x],
            [dx],
            device=self.device,
        )

    def launch_measure_and_hold(self, x, node_fixed) -> None:
        if self.energy is None:
            return
        e, point_node = self.energy, self.model.embedding.point_node
        wp.launch(
            measure_kernel,
            e.num_elements,
            [e.stencils, point_node, e.metric, e.target, x],
            [self.gap],
            device=self.device,
        )
        wp.launch(
            hold_kernel,
            e.num_elements,
            [e.stencils, point_node, e.force_limit, self.gap, wp.float64(REACHED)],
            [node_fixed],
            device=self.device,
        )

    def behind(self, world_gap) -> np.ndarray:
        """Unlimited drives that have not reached their target and may pull harder, bool (W*D,). world_gap: smallest
        gap of a contact by world [m], (W,)."""
        if self.energy is None:
            return np.zeros(0, bool)
        free = world_gap.numpy() > self.crushed.numpy()
        return (self.gap.numpy() > REACHED) & ~self.limited & free[self.world_of]

    def launch_raise(self, x, world_gap, world_active) -> None:
        e = self.energy
        wp.launch(
            raise_multiplier_kernel,
            e.num_elements,
            [e.stencils, self.model.embedding.point_node, e.element_world, e.force_limit, e.target, x, self.gap]
            + [wp.float64(REACHED), world_gap, self.crushed]
            + [e.stiffness, e.multiplier, world_active],
            device=self.device,
        )

    def blocked(self, world_gap) -> list[str]:
        """Sentences about drives that stayed noticeably short of their targets, and of what they crush meanwhile.
        world_gap: as for `behind`."""
        if self.energy is None:
            return []
        found, gap, limit = [], self.gap.numpy(), self.energy.force_limit.numpy()
        for row in np.flatnonzero(gap > np.where(self.limited, HELD_BACK, NOTICED)):
            name, short = self.infos[row % self.count].name, f"{gap[row] * 1e3:.2f} mm short of its target"
            why = f"held back by its force limit of {limit[row]:g} N," if self.limited[row] else "blocked"
            found.append(f"drive of '{name}' is {why} {short}")
            pressed, world = world_gap.numpy(), self.world_of[row]
            if not self.limited[row] and pressed[world] <= self.crushed.numpy()[world]:
                found[-1] += (
                    f"; surfaces are crushed to a gap of {pressed[world]:.1e} m: it pulls no harder, but only a "
                    "force_limit on the body spares what lies between"
                )
        return found

    def largest_gap(self) -> float:
        return float(self.gap.numpy().max(initial=0.0)) if self.energy is not None else 0.0

    def node_gradient(self, assembly, energies) -> np.ndarray:
        """Share of the drives in the gradient of the last linearisation [N], (N, 3)."""
        out = np.zeros((self.model.num_nodes, 3))
        start = 0
        for energy in energies:
            size = energy.num_elements * energy.stencil_size
            if energy is self.energy:
                nodes = self.model.embedding.point_node.numpy()[energy.stencils_host.reshape(-1)]
                np.add.at(out, nodes, assembly.element_gradient.numpy()[start : start + size])
            start += size
        return out


def _crushed_gap(model) -> np.ndarray:
    """Gap from which on a world counts as crushed [m], (W,); less than any where nothing touches."""
    if model.collision is None or len(model.collision.triangles) == 0:
        return np.full(model.num_worlds, -1.0)
    dhat = model.collision.surface_dhat.numpy().reshape(model.num_worlds, -1)
    return CRUSHED * dhat.min(axis=1)
