"""Direct sparse fallback on the CPU (scipy SuperLU) of the whole matrix, matrix-free contacts included."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl


def stencil_matrix(stencils, num_nodes: int):
    """Matrix of the stencil blocks that stayed matrix-free, (3N, 3N) scipy CSR."""
    count = int(stencils.free_count.numpy()[0])
    entries = stencils.entries.numpy()[:count]
    node = stencils.node.numpy()[:count]
    coefficient = stencils.coefficient.numpy()[:count]
    block = stencils.free_block.numpy()[:count]
    follow = coefficient[:, :, None, None] * np.eye(3)  # of an entry: from its displacement to what the block acts on
    if stencils.turning:
        follow = follow + entry_turns(stencils, node)
    rows, cols, values = [], [], []
    for k in range(node.shape[1]):
        for m in range(node.shape[1]):
            keep = (entries > k) & (entries > m)
            rows.append(node[keep, k]), cols.append(node[keep, m])
            values.append(follow[keep, k].transpose(0, 2, 1) @ block[keep] @ follow[keep, m])
    row, col, value = np.concatenate(rows), np.concatenate(cols), np.concatenate(values)
    i = (3 * row[:, None, None] + np.arange(3)[None, :, None]) + np.zeros((1, 1, 3), int)
    j = (3 * col[:, None, None] + np.arange(3)[None, None, :]) + np.zeros((1, 3, 1), int)
    return sp.csr_matrix((value.ravel(), (i.ravel(), j.ravel())), shape=(3 * num_nodes, 3 * num_nodes))


def entry_turns(stencils, node: np.ndarray) -> np.ndarray:
    """turn n^T of the entries of matrix-free stencils, (C, E, 3, 3). node (C, E): what they act on."""
    t, (count, entries) = stencils.turns, node.shape
    turn, normal = t.entry.numpy()[:count, :entries], t.normal.numpy()[t.free.numpy()[:count]]
    return np.einsum("cei,cj->ceij", turn, normal)


def solve_direct(assembly, stencils, node_free: np.ndarray) -> np.ndarray:
    """dx (N, 3) with matrix dx = -gradient on free nodes, zero elsewhere. World by world, so that each is solved as it
    would be alone."""
    n = assembly.model.num_nodes
    matrix = assembly.to_scipy().tocsr()
    for s in stencils:
        matrix = matrix + stencil_matrix(s, n)
    gradient = assembly.gradient.numpy().reshape(-1)
    dx = np.zeros(3 * n)
    world = np.where(node_free != 0, assembly.model.node_world.numpy(), -1)
    for w in np.unique(world[world >= 0]):
        dof = np.flatnonzero(np.repeat(world == w, 3))
        dx[dof] = spl.spsolve(matrix[dof][:, dof].tocsc(), -gradient[dof])
    return dx.reshape(-1, 3)
