"""Start of a step: inertial target x_tilde, start guess, and the velocity at its end.

Backward Euler:  x_tilde = x + h v + h^2 g, h = dt.  BDF2: x_hat = (4 x - x_prev)/3, v_hat = (4 v - v_prev)/3,
h = 2 dt / 3, x_tilde = x_hat + h v_hat + h^2 g, v = (x_new - x_hat)/h. After a reset the history is the straight line
x_prev = x - dt v.
"""

from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def predict_kernel(
    x: wp.array(dtype=wp.vec3d),
    v: wp.array(dtype=wp.vec3d),
    x_prev: wp.array(dtype=wp.vec3d),
    v_prev: wp.array(dtype=wp.vec3d),
    gravity: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    dt: wp.float64,
    bdf2: int,
    start_velocity: int,
    # Out:
    x_start_out: wp.array(dtype=wp.vec3d),
    x_hat_out: wp.array(dtype=wp.vec3d),
    x_tilde_out: wp.array(dtype=wp.vec3d),
    dx_out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    h = step_size[0]
    x_hat = x[i]
    v_hat = v[i]
    if bdf2 == 1:
        third = wp.float64(1.0) / wp.float64(3.0)
        x_hat = (x[i] * wp.float64(4.0) - x_prev[i]) * third
        v_hat = (v[i] * wp.float64(4.0) - v_prev[i]) * third
    x_start_out[i] = x[i]
    x_hat_out[i] = x_hat
    x_tilde_out[i] = x_hat + v_hat * h + gravity[i] * (h * h)
    dx = wp.vec3d()
    if start_velocity == 1:
        dx = v[i] * dt
    dx_out[i] = dx


@wp.func
def rotation_from_vector(r: wp.vec3d) -> wp.mat33d:
    """exp of the cross-product matrix of r [rad] (Rodrigues), series near zero."""
    one = wp.float64(1.0)
    t2 = wp.dot(r, r)
    a = one - t2 / wp.float64(6.0)
    b = wp.float64(0.5) - t2 / wp.float64(24.0)
    if t2 > wp.float64(1e-8):
        t = wp.sqrt(t2)
        a = wp.sin(t) / t
        b = (one - wp.cos(t)) / t2
    k = wp.skew(r)
    return wp.identity(n=3, dtype=wp.float64) + k * a + (k * k) * b


@wp.kernel
def rigid_guess_kernel(
    body_node: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3d),
    v: wp.array(dtype=wp.vec3d),
    dt: wp.float64,
    dx_out: wp.array(dtype=wp.vec3d),
):
    """Bodies start with the rigid rotation: the affine prediction would inflate a spinning one by (omega dt)^2 / 2."""
    b = wp.tid()
    f = body_node[b]
    a = wp.matrix_from_cols(x[f + 1], x[f + 2], x[f + 3])
    rate = wp.matrix_from_cols(v[f + 1], v[f + 2], v[f + 3]) * wp.inverse(a)
    half = wp.float64(0.5)
    omega = wp.vec3d(rate[2, 1] - rate[1, 2], rate[0, 2] - rate[2, 0], rate[1, 0] - rate[0, 1]) * half
    turn = rotation_from_vector(omega * dt)
    dx_out[f] = v[f] * dt
    for k in range(1, 4):
        dx_out[f + k] = turn * x[f + k] - x[f + k]


@wp.kernel
def finish_kernel(
    x: wp.array(dtype=wp.vec3d),
    x_start: wp.array(dtype=wp.vec3d),
    x_hat: wp.array(dtype=wp.vec3d),
    step_size: wp.array(dtype=wp.float64),
    v: wp.array(dtype=wp.vec3d),
    x_prev_out: wp.array(dtype=wp.vec3d),
    v_prev_out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    x_prev_out[i] = x_start[i]
    v_prev_out[i] = v[i]
    v[i] = (x[i] - x_hat[i]) / step_size[0]
