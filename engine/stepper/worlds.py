"""Per-world control of Newton: who is still iterating, how far a step may go, when to accept it.

Every world has its own step bound, line search and stopping test, so that it evolves as it would alone.
"""

from __future__ import annotations

import numpy as np
import warp as wp

wp.set_module_options({"enable_backward": False})

MOST_EARLY = wp.constant(6)  # halvings before pairs are searched; beyond, the barrier may be what falls
SPREAD = wp.constant(wp.float64(1.7320508075688774))  # length of a vector over its largest component, at most


@wp.struct
class Worlds:
    """Newton state by world, arrays (W,)."""

    active: wp.array(dtype=int)  # still iterating
    searching: wp.array(dtype=int)  # line search not yet accepted
    stalled: wp.array(dtype=int)  # line search found no descent in this step
    alpha: wp.array(dtype=wp.float64)  # step length
    bound: wp.array(dtype=wp.float64)  # admissible step of the current update
    smallest_bound: wp.array(dtype=wp.float64)  # smallest bound met in the step
    update: wp.array(dtype=wp.float64)  # largest raw update [m]
    reach: wp.array(dtype=wp.float64)  # longest displacement that one iteration may try [m]
    early: wp.array(dtype=wp.float64)  # share of the update left by the search without the barrier
    taken: wp.array(dtype=wp.float64)  # share of the last update that was accepted in all
    longest: wp.array(dtype=wp.float64)  # bound of the components of the present displacement of any point [m]
    travel: wp.array(dtype=wp.float64)  # how far any point may have moved since the step began; see narrow.py [m]
    along: wp.array(dtype=wp.float64)  # update . last update [kg m2]
    before: wp.array(dtype=wp.float64)  # last update . last update [kg m2]
    stretch: wp.array(dtype=wp.float64)  # factor on the update; see stretch.py [-]
    slope: wp.array(dtype=wp.float64)  # gradient . dx [J]
    energy: wp.array(dtype=wp.float64)  # at the current x [J]
    trial_energy: wp.array(dtype=wp.float64)  # at the trial x [J]
    contact_force: wp.array(dtype=wp.float64)  # sum of normal forces [N]
    force_change: wp.array(dtype=wp.float64)  # sum of their changes by the last raw update [N]
    iterations: wp.array(dtype=int)
    halvings: wp.array(dtype=int)
    min_gap: wp.array(dtype=wp.float64)  # [m]


def make_worlds(num_worlds: int, device: str) -> Worlds:
    worlds = Worlds()
    for name, var in Worlds.vars.items():
        setattr(worlds, name, wp.zeros(num_worlds, dtype=var.type.dtype, device=device))
    return worlds


@wp.kernel
def begin_step_kernel(s: Worlds):
    w = wp.tid()
    s.active[w] = 1
    s.stalled[w] = 0
    s.iterations[w] = 0
    s.halvings[w] = 0
    s.smallest_bound[w] = wp.float64(1.0)


@wp.kernel
def open_bound_kernel(s: Worlds):
    w = wp.tid()
    s.bound[w] = wp.float64(1.0)


@wp.kernel
def open_reach_kernel(s: Worlds, floor: wp.float64):
    """After the guess: an iteration may move points as far as it did, or `floor`."""
    w = wp.tid()
    s.reach[w] = wp.max(floor, s.update[w])


@wp.kernel
def limit_kernel(
    s: Worlds,
    node_world: wp.array(dtype=int),
    dx: wp.array(dtype=wp.vec3d),
):
    """Shorten wild directions: their length says little, and the pair search over their sweep would cost the step."""
    i = wp.tid()
    w = node_world[i]
    if s.update[w] > s.reach[w]:
        dx[i] = dx[i] * (s.reach[w] / s.update[w])


@wp.kernel
def bound_longest_kernel(s: Worlds):
    """After the update was limited."""
    w = wp.tid()
    s.longest[w] = wp.min(s.update[w], s.reach[w])
    s.early[w] = wp.float64(1.0)


@wp.kernel
def shorten_kernel(s: Worlds, share: wp.array(dtype=wp.float64)):
    """The motions of some worlds are cut to a share after they were measured."""
    w = wp.tid()
    s.longest[w] = share[w] * s.longest[w]
    s.slope[w] = share[w] * s.slope[w]


@wp.kernel
def shorten_motion_kernel(
    node_world: wp.array(dtype=int), share: wp.array(dtype=wp.float64), dx: wp.array(dtype=wp.vec3d)
):
    i = wp.tid()
    dx[i] = share[node_world[i]] * dx[i]


@wp.kernel
def node_free_kernel(
    s: Worlds,
    node_world: wp.array(dtype=int),
    node_fixed: wp.array(dtype=int),
    node_free_out: wp.array(dtype=int),
):
    """A node takes part when its world still iterates and no satisfied drive holds it."""
    i = wp.tid()
    free = int(0)
    if s.active[node_world[i]] == 1 and node_fixed[i] == 0:
        free = 1
    node_free_out[i] = free


@wp.kernel
def apply_guess_kernel(
    s: Worlds,
    node_world: wp.array(dtype=int),
    dx: wp.array(dtype=wp.vec3d),
    x: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    x[i] = x[i] + dx[i] * s.bound[node_world[i]]


@wp.kernel
def slope_kernel(
    s: Worlds,
    node_world: wp.array(dtype=int),
    gradient: wp.array(dtype=wp.vec3d),
    dx: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    wp.atomic_add(s.slope, node_world[i], wp.dot(gradient[i], dx[i]))


@wp.func
def allowed_energy(s: Worlds, w: int) -> wp.float64:
    """Armijo's bound at the present share [J]. Energies carry rounding of about 1e-15 of their size; without the last
    term a converged state would stall."""
    return s.energy[w] + wp.float64(1e-4) * s.alpha[w] * s.slope[w] + wp.float64(1e-13) * wp.abs(s.energy[w])


@wp.kernel
def begin_early_kernel(s: Worlds, condition: wp.array(dtype=int)):
    """One thread. The first trial is the whole update."""
    condition[0] = 0
    for w in range(s.active.shape[0]):
        s.searching[w] = s.active[w]
        s.alpha[w] = wp.float64(1.0)
        if s.active[w] == 1:
            condition[0] = 1


@wp.kernel
def judge_early_kernel(s: Worlds, condition: wp.array(dtype=int), halvings: wp.array(dtype=int)):
    """One thread: Armijo by world, against the energy with the barrier."""
    condition[0] = 0
    halvings[0] = halvings[0] + 1
    for w in range(s.active.shape[0]):
        if s.searching[w] == 1:
            if s.trial_energy[w] <= allowed_energy(s, w) or halvings[0] > MOST_EARLY:
                s.searching[w] = 0
            else:
                s.alpha[w] = s.alpha[w] * wp.float64(0.5)
                s.halvings[w] = s.halvings[w] + 1
                condition[0] = 1


@wp.kernel
def begin_search_kernel(s: Worlds, condition: wp.array(dtype=int)):
    """One thread. The first trial is the whole admissible step."""
    condition[0] = 0
    for w in range(s.active.shape[0]):
        s.searching[w] = 0
        s.alpha[w] = wp.float64(0.0)
        if s.active[w] == 1:
            s.searching[w] = 1
            s.alpha[w] = s.bound[w]
            s.smallest_bound[w] = wp.min(s.smallest_bound[w], s.bound[w])
            condition[0] = 1


@wp.kernel
def trial_kernel(
    s: Worlds,
    node_world: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3d),
    dx: wp.array(dtype=wp.vec3d),
    trial_out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    trial_out[i] = x[i] + dx[i] * s.alpha[node_world[i]]


@wp.kernel
def judge_kernel(s: Worlds, max_halvings: int, condition: wp.array(dtype=int), halvings: wp.array(dtype=int)):
    """One thread: Armijo by world; an exhausted search takes no step and marks the world stalled."""
    condition[0] = 0
    halvings[0] = halvings[0] + 1
    for w in range(s.active.shape[0]):
        if s.searching[w] == 1:
            if s.trial_energy[w] <= allowed_energy(s, w):
                s.searching[w] = 0
                s.energy[w] = s.trial_energy[w]
            elif halvings[0] >= max_halvings:
                s.searching[w] = 0
                s.alpha[w] = wp.float64(0.0)
                s.stalled[w] = 1
            else:
                s.alpha[w] = s.alpha[w] * wp.float64(0.5)
                s.halvings[w] = s.halvings[w] + 1
                condition[0] = 1


@wp.kernel
def accept_kernel(
    s: Worlds,
    node_world: wp.array(dtype=int),
    dx: wp.array(dtype=wp.vec3d),
    x: wp.array(dtype=wp.vec3d),
    accepted_out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    d = dx[i] * s.alpha[node_world[i]]
    accepted_out[i] = d
    x[i] = x[i] + d


@wp.kernel
def converge_kernel(
    s: Worlds,
    tolerance: wp.array(dtype=wp.float64),
    contact_tolerance: wp.float64,
    force_floor: wp.array(dtype=wp.float64),
    solver_broken: wp.array(dtype=int),
    max_iterations: int,
    remaining: wp.array(dtype=int),
):
    """One thread: the update has been applied before it is tested. remaining[0] = worlds still iterating.

    Deep in the barrier an update is as small as the gap, so its size proves nothing: the contact forces must have
    settled too (their first-order change a small share of their sum, or too small to matter against the masses).
    """
    remaining[0] = 0
    for w in range(s.active.shape[0]):
        if s.active[w] == 1:
            s.iterations[w] = s.iterations[w] + 1
            s.taken[w] = s.alpha[w] * s.early[w]
            s.travel[w] = s.travel[w] + SPREAD * s.alpha[w] * s.longest[w]
            settled = s.force_change[w] <= contact_tolerance * (s.contact_force[w] + force_floor[w])
            if solver_broken[w] == 1:
                settled = False
            if (s.update[w] <= tolerance[0] and settled) or s.stalled[w] == 1 or s.iterations[w] >= max_iterations:
                s.active[w] = 0
            else:
                remaining[0] = remaining[0] + 1


def reach_floor(model) -> float:
    """Eight cells of the coarsest soft mesh [m], 0.1 without one: what any Newton iteration may move."""
    lengths = [0.0]
    for mesh in model.meshes.values():
        if mesh.kind in ("shell", "solid"):
            corners = mesh.rest[mesh.triangles]
            lengths.append(float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).mean()))
    return 8.0 * max(lengths) or 0.1
