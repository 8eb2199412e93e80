"""Preconditioned conjugate gradients, captured: per-world scalars, counts on the device, no host read inside.

Worlds share the launches but not the scalars: each world's iterates are those of its solo run. A world that has
converged (or is inactive) keeps alpha = beta = 0 and waits.
"""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.struct
class WorldScalars:
    """Scalars of one PCG run by world; all float64 (W,)."""

    rz: wp.array(dtype=wp.float64)
    rz_next: wp.array(dtype=wp.float64)
    rz_initial: wp.array(dtype=wp.float64)
    p_ap: wp.array(dtype=wp.float64)
    running: wp.array(dtype=int)
    broken: wp.array(dtype=int)  # no direction: the preconditioner was not positive definite


@wp.kernel
def start_kernel(
    gradient: wp.array(dtype=wp.vec3d),
    node_free: wp.array(dtype=int),
    x_out: wp.array(dtype=wp.vec3d),
    r_out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    x_out[i] = wp.vec3d()
    if node_free[i] == 1:
        r_out[i] = -gradient[i]
    else:
        r_out[i] = wp.vec3d()


@wp.kernel
def dot_kernel(
    a: wp.array(dtype=wp.vec3d),
    b: wp.array(dtype=wp.vec3d),
    node_world: wp.array(dtype=int),
    node_free: wp.array(dtype=int),
    out: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    if node_free[i] == 1:
        wp.atomic_add(out, node_world[i], wp.dot(a[i], b[i]))


@wp.kernel
def begin_kernel(s: WorldScalars, iterations: wp.array(dtype=int), condition: wp.array(dtype=int)):
    """One thread: a world runs when its residual is not zero already."""
    iterations[0] = 0
    condition[0] = 0
    for w in range(s.rz.shape[0]):
        s.rz_initial[w] = s.rz[w]
        s.rz_next[w] = wp.float64(0.0)
        s.p_ap[w] = wp.float64(0.0)
        s.running[w] = 0
        s.broken[w] = 0
        if s.rz[w] > wp.float64(0.0):
            s.running[w] = 1
            condition[0] = 1
        elif s.rz[w] != wp.float64(0.0):  # negative or not a number
            s.broken[w] = 1


@wp.kernel
def copy_kernel(a: wp.array(dtype=wp.vec3d), b_out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    b_out[i] = a[i]


@wp.kernel
def advance_kernel(
    s: WorldScalars,
    node_world: wp.array(dtype=int),
    node_free: wp.array(dtype=int),
    p: wp.array(dtype=wp.vec3d),
    ap: wp.array(dtype=wp.vec3d),
    x_out: wp.array(dtype=wp.vec3d),
    r_out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    w = node_world[i]
    if node_free[i] == 1 and s.running[w] == 1 and s.p_ap[w] > wp.float64(0.0):
        alpha = s.rz[w] / s.p_ap[w]
        x_out[i] = x_out[i] + p[i] * alpha
        r_out[i] = r_out[i] - ap[i] * alpha


@wp.kernel
def direction_kernel(
    s: WorldScalars,
    node_world: wp.array(dtype=int),
    node_free: wp.array(dtype=int),
    z: wp.array(dtype=wp.vec3d),
    p_out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    w = node_world[i]
    if node_free[i] == 1 and s.running[w] == 1:
        p_out[i] = z[i] + p_out[i] * (s.rz_next[w] / s.rz[w])


@wp.kernel
def finish_kernel(
    s: WorldScalars,
    tolerance: wp.array(dtype=wp.float64),
    max_iterations: int,
    iterations: wp.array(dtype=int),
    condition: wp.array(dtype=int),
    total: wp.array(dtype=int),
):
    """One thread: roll the scalars over; a world stops at |r|_M^-1 <= tolerance * |r_0|_M^-1, or broken on
    loss of definiteness."""
    tol2 = tolerance[0] * tolerance[0]
    iterations[0] = iterations[0] + 1
    total[0] = total[0] + 1
    go = int(0)
    for w in range(s.rz.shape[0]):
        if s.running[w] == 1:
            if not s.p_ap[w] > wp.float64(0.0) or not s.rz_next[w] >= wp.float64(0.0):
                s.running[w] = 0
                s.broken[w] = 1
            elif s.rz_next[w] <= tol2 * s.rz_initial[w]:
                s.running[w] = 0
            else:
                go = 1
            s.rz[w] = s.rz_next[w]
        s.rz_next[w] = wp.float64(0.0)
        s.p_ap[w] = wp.float64(0.0)
    if iterations[0] >= max_iterations:
        go = 0
    condition[0] = go


class ConjugateGradients:
    """Solves matrix * x = -gradient; `multiply(p, ap)` and `precondition(r, z)` are launchers."""

    def __init__(self, model, max_iterations: int):
        n, w, device = model.num_nodes, model.num_worlds, model.device
        self.device, self.n = device, n
        self.node_world = model.node_world
        self.max_iterations = max_iterations
        zeros = lambda: wp.zeros(n, dtype=wp.vec3d, device=device)  # noqa: E731
        self.x, self.r, self.z, self.p, self.ap = zeros(), zeros(), zeros(), zeros(), zeros()
        scalars = WorldScalars()
        for name in ("rz", "rz_next", "rz_initial", "p_ap"):
            setattr(scalars, name, wp.zeros(w, dtype=wp.float64, device=device))
        scalars.running = wp.zeros(w, dtype=int, device=device)
        scalars.broken = wp.zeros(w, dtype=int, device=device)
        self.scalars = scalars
        self.iterations = wp.zeros(1, dtype=int, device=device)
        self.condition = wp.zeros(1, dtype=int, device=device)
        self.total = wp.zeros(1, dtype=int, device=device)
        self.tolerance = wp.zeros(1, dtype=wp.float64, device=device)

    def launch(self, gradient, node_free, multiply, precondition) -> None:
        s, device, n = self.scalars, self.device, self.n
        wp.launch(start_kernel, n, [gradient, node_free], [self.x, self.r], device=device)
        precondition(self.r, self.z)
        s.rz.zero_()
        wp.launch(dot_kernel, n, [self.r, self.z, self.node_world, node_free], [s.rz], device=device)
        wp.launch(copy_kernel, n, [self.z], [self.p], device=device)
        wp.launch(begin_kernel, 1, [s, self.iterations, self.condition], device=device)

        def iterate():
            multiply(self.p, self.ap)
            wp.launch(dot_kernel, n, [self.p, self.ap, self.node_world, node_free], [s.p_ap], device=device)
            wp.launch(
                advance_kernel,
                n,
                [s, self.node_world, node_free, self.p, self.ap, self.x, self.r],
                device=device,
            )
            precondition(self.r, self.z)
            wp.launch(dot_kernel, n, [self.r, self.z, self.node_world, node_free], [s.rz_next], device=device)
            wp.launch(direction_kernel, n, [s, self.node_world, node_free, self.z, self.p], device=device)
            wp.launch(
                finish_kernel,
                1,
                [s, self.tolerance, self.max_iterations, self.iterations, self.condition, self.total],
                device=device,
            )

        wp.capture_while(self.condition, iterate)
