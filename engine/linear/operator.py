"""Matrix-vector product of the Newton matrix: assembled blocks by rows plus contacts that stay matrix-free."""

from __future__ import annotations

import warp as wp

from engine.contact.stencils import StencilBlocks, Turns

wp.set_module_options({"enable_backward": False})


@wp.kernel
def multiply_kernel(
    row_start: wp.array(dtype=int),
    column: wp.array(dtype=int),
    values: wp.array(dtype=wp.mat33d),
    node_free: wp.array(dtype=int),
    p: wp.array(dtype=wp.vec3d),
    ap_out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    total = wp.vec3d()
    if node_free[i] == 1:
        for k in range(row_start[i], row_start[i + 1]):
            total = total + values[k] * p[column[k]]
    ap_out[i] = total


@wp.kernel
def multiply_stencils_kernel(
    # Stencil blocks that are not folded into the matrix:
    count: wp.array(dtype=int),
    entries: wp.array(dtype=int),
    node: wp.array2d(dtype=int),
    coefficient: wp.array2d(dtype=wp.float64),
    block: wp.array(dtype=wp.mat33d),
    stride: int,
    # In:
    p: wp.array(dtype=wp.vec3d),
    # Out:
    ap_out: wp.array(dtype=wp.vec3d),
):
    c = wp.tid()
    while c < count[0]:
        n = entries[c]
        u = wp.vec3d()
        for k in range(n):
            u = u + p[node[c, k]] * coefficient[c, k]
        f = block[c] * u
        for k in range(n):
            wp.atomic_add(ap_out, node[c, k], f * coefficient[c, k])
        c += stride


@wp.kernel
def multiply_turning_kernel(
    # Stencil blocks that are not folded into the matrix and follow the turn of a surface:
    count: wp.array(dtype=int),
    entries: wp.array(dtype=int),
    node: wp.array2d(dtype=int),
    coefficient: wp.array2d(dtype=wp.float64),
    block: wp.array(dtype=wp.mat33d),
    t: Turns,
    stride: int,
    # In:
    p: wp.array(dtype=wp.vec3d),
    # Out:
    ap_out: wp.array(dtype=wp.vec3d),
):
    f = wp.tid()
    while f < count[0]:
        n = t.normal[t.free[f]]
        u = wp.vec3d()
        for k in range(entries[f]):
            q = p[node[f, k]]
            u = u + q * coefficient[f, k] + t.entry[f, k] * wp.dot(n, q)
        force = block[f] * u
        for k in range(entries[f]):
            wp.atomic_add(ap_out, node[f, k], force * coefficient[f, k] + n * wp.dot(t.entry[f, k], force))
        f += stride


def launch_multiply_stencils(blocks: StencilBlocks, p, ap) -> None:
    """ap += J^T B J p of the stencils that stay matrix-free."""
    b, turning = blocks, [blocks.turns] if blocks.turning else []
    wp.launch(
        multiply_turning_kernel if blocks.turning else multiply_stencils_kernel,
        b.stride,
        [b.free_count, b.entries, b.node, b.coefficient, b.free_block, *turning, b.stride, p],
        [ap],
        device=b.device,
    )
