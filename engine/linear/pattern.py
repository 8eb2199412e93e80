"""Sparsity of the Newton matrix and the lists by which element blocks are gathered into it (host, numpy).

The matrix is stored in 3x3 blocks by rows (BSR), both triangles. Only blocks with row <= column are gathered; the
transposed slot is written beside. A gather in fixed order needs no atomics, so the assembly is deterministic on every
device.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pattern:
    """Sparsity of the matrix. U upper slots (row <= column), Z all slots, N nodes."""

    row_start: np.ndarray  # BSR row offsets, int32 (N+1,)
    column: np.ndarray  # BSR column of each slot, int32 (Z,), ascending in a row
    diagonal: np.ndarray  # slot of (i, i), int32 (N,)
    upper_slot: np.ndarray  # slot of an upper block, int32 (U,)
    lower_slot: np.ndarray  # slot of its transpose (itself on the diagonal), int32 (U,)
    mass: np.ndarray  # scalar mass coefficient of an upper block [kg, kg m, kg m2], float64 (U,)


@dataclass(frozen=True)
class Gather:
    """What each upper block and each node collects from the elements; G contributions to blocks. The longest lists of
    a model, so Assembly takes them over and nobody else keeps them."""

    gather_start: np.ndarray  # int32 (U+1,)
    gather_block: np.ndarray  # element block; transposed when encoded as -1 - block, int32 (G,)
    gather_weight: np.ndarray  # float64 (G,)
    node_gather_start: np.ndarray  # int32 (N+1,)
    node_gather_slot: np.ndarray  # element gradient slot, int32
    node_gather_weight: np.ndarray  # float64


def pair_index(a: int, b: int, k: int) -> int:
    """Index of block (a, b), a <= b, in the row-wise upper triangle of a k x k stencil."""
    return a * k - a * (a - 1) // 2 + (b - a)


def build_pattern(model, energies) -> tuple[Pattern, Gather]:
    """Of `energies` (with attributes stencils_host, stencil_size, num_blocks) under the model's embedding."""
    first = model.embedding.point_node.numpy()
    count = model.embedding.point_count.numpy()
    weights = model.embedding.point_weights.numpy()
    rows, cols, blocks, weight = [], [], [], []
    node_rows, node_slots, node_weights = [], [], []
    block_offset = gradient_offset = 0
    for energy in energies:
        k = energy.stencil_size
        stencils = energy.stencils_host
        element = np.arange(len(stencils))
        for a in range(k):
            for i, wa, ma in _riders(stencils[:, a], first, count, weights):
                e = element[ma]
                node_rows.append(i), node_slots.append(gradient_offset + e * k + a), node_weights.append(wa)
            for b in range(k):
                lo, hi = min(a, b), max(a, b)
                block = block_offset + element * energy.num_blocks + pair_index(lo, hi, k)
                code = block if a <= b else -1 - block
                for i, wa, ma in _riders(stencils[:, a], first, count, weights, full=True):
                    for j, wb, mb in _riders(stencils[:, b], first, count, weights, full=True):
                        keep = ma & mb & (i <= j)
                        rows.append(i[keep]), cols.append(j[keep])
                        blocks.append(code[keep]), weight.append((wa * wb)[keep])
        block_offset += len(stencils) * energy.num_blocks
        gradient_offset += len(stencils) * k
    mass_rows, mass_cols, mass_values = _mass_entries(model)
    return _compress(
        model.num_nodes,
        [_concat(rows, np.int64), _concat(cols, np.int64), _concat(blocks, np.int64), _concat(weight, np.float64)],
        [mass_rows, mass_cols, mass_values],
        [_concat(node_rows, np.int64), _concat(node_slots, np.int64), _concat(node_weights, np.float64)],
    )


def _concat(parts, dtype):
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)


def _riders(points, first, count, weights, full=False):
    """Yield (node, weight, mask) for each of the up to four nodes that the points ride on.

    With full=True the arrays keep the length of `points` (masked entries are meaningless); else they are compressed.
    """
    n = count[points]
    for k in range(int(n.max(initial=0))):
        mask = n > k
        node = first[points] + k
        w = weights[points, k]
        yield (node, w, mask) if full else (node[mask], w[mask], mask)


def _mass_entries(model):
    free = np.flatnonzero(model.node_body.numpy() < 0)
    mass = model.node_mass.numpy()[free]
    rows, cols, values = [free], [free], [mass]
    body_node = model.body_node.numpy() if model.body_node is not None else np.zeros(0, int)
    if len(body_node):
        body_mass = model.body_mass.numpy()
        for a in range(4):
            for b in range(a, 4):
                rows.append(body_node + a), cols.append(body_node + b), values.append(body_mass[:, a, b])
    return _concat(rows, np.int64), _concat(cols, np.int64), _concat(values, np.float64)


def _compress(num_nodes, entries, mass, node_entries) -> tuple[Pattern, Gather]:
    rows, cols, blocks, weight = entries
    key = rows * num_nodes + cols
    mass_key = mass[0] * num_nodes + mass[1]
    unique, inverse = np.unique(np.concatenate([key, mass_key]), return_inverse=True)
    upper_of_entry, upper_of_mass = inverse[: len(key)], inverse[len(key) :]
    up_row, up_col = unique // num_nodes, unique % num_nodes
    order = np.argsort(upper_of_entry, kind="stable")  # contributions keep energy and element order
    mass_value = np.zeros(len(unique))
    np.add.at(mass_value, upper_of_mass, mass[2])
    off = up_row != up_col
    all_row = np.concatenate([up_row, up_col[off]])
    all_col = np.concatenate([up_col, up_row[off]])
    slot_order = np.argsort(all_row * num_nodes + all_col, kind="stable")
    slot_of = np.empty(len(all_row), np.int64)
    slot_of[slot_order] = np.arange(len(all_row))
    lower = slot_of[: len(unique)].copy()
    lower[off] = slot_of[len(unique) :]
    diagonal = np.empty(num_nodes, np.int64)
    diagonal[up_row[~off]] = slot_of[: len(unique)][~off]
    node_order = np.argsort(node_entries[0], kind="stable")
    i32 = lambda a: np.ascontiguousarray(a, dtype=np.int32)  # noqa: E731
    pattern = Pattern(
        row_start=_offsets(all_row, num_nodes),
        column=i32(all_col[slot_order]),
        diagonal=i32(diagonal),
        upper_slot=i32(slot_of[: len(unique)]),
        lower_slot=i32(lower),
        mass=mass_value,
    )
    return pattern, Gather(
        gather_start=_offsets(upper_of_entry, len(unique)),
        gather_block=i32(blocks[order]),
        gather_weight=np.ascontiguousarray(weight[order]),
        node_gather_start=_offsets(node_entries[0], num_nodes),
        node_gather_slot=i32(node_entries[1][node_order]),
        node_gather_weight=np.ascontiguousarray(node_entries[2][node_order]),
    )


def _offsets(keys, n):
    return np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=n))]).astype(np.int32)
