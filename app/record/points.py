"""Display positions in micrometres, coded so that smooth motion becomes small numbers.

Row r of a recording holds the positions of all points at one moment. They are rounded to 1 um (a hundredth of the
thinnest tape), differenced in time against the row before, differenced along the points (neighbours in a mesh move
alike), and folded to unsigned (0, -1, 1, -2 ... -> 0, 1, 2, 3 ...). Every `BLOCK` rows the difference in time starts
anew, so that any row is reached by decoding at most one block. All arithmetic is modulo 2^32 and thus exact.

A row of codes has shape (3, P): coordinates apart from each other compress better than interleaved.
"""

from __future__ import annotations

import numpy as np

UNIT = 1e-6  # [m]
BLOCK = 64  # rows
LOST = np.int32(-(2**31))  # stands for a coordinate that is not a finite number
_LIMIT = 2.0**31 - 1  # [um], +- 2147 m


def quantise(points: np.ndarray) -> np.ndarray:
    """Positions [m] (P, 3) to micrometres int32 (3, P); NaN and infinity to LOST, beyond 2147 m clipped."""
    um = np.asarray(points, dtype=np.float64) * (1.0 / UNIT)
    np.rint(um, um)
    flat = um.reshape(-1)
    if np.dot(flat, flat) <= _LIMIT**2:  # quickly seen for most scenes; False for NaN
        return um.astype(np.int32).T
    um = um.T
    if np.abs(um).max(initial=0.0) <= _LIMIT:  # False for NaN
        return um.astype(np.int32)
    bad = ~np.isfinite(um)
    if bad.any():
        um = np.where(bad, 0.0, um)
    out = np.clip(um, -_LIMIT, _LIMIT).astype(np.int32)
    if bad.any():
        out[bad] = LOST
    return out


def to_metres(um: np.ndarray) -> np.ndarray:
    """Micrometres int32 (..., 3, P) to positions [m] float64 (..., P, 3); LOST to NaN."""
    out = np.swapaxes(um, -1, -2) * UNIT
    lost = np.swapaxes(um, -1, -2) == LOST
    if lost.any():
        out[lost] = np.nan
    return out


def encode_row(um: np.ndarray, previous: np.ndarray | None) -> np.ndarray:
    """Codes uint32 (3, P) of micrometres int32 (3, P); `previous` is the row before, None at the start of a block."""
    return fold(difference(um, previous))


def difference(um: np.ndarray, previous: np.ndarray | None) -> np.ndarray:
    """The first half of `encode_row`: what changed since the row before, uint32 (3, P) modulo 2^32. It is all that the
    frame loop takes the time for."""
    return um.view(np.uint32) if previous is None else um.view(np.uint32) - previous.view(np.uint32)


def fold(delta: np.ndarray) -> np.ndarray:
    """The second half, of one or many rows (..., 3, P): differences along the points, folded to unsigned."""
    step = delta.copy()
    step[..., 1:] -= delta[..., :-1]
    signed = step.view(np.int32)
    return (step << np.uint32(1)) ^ (signed >> 31).view(np.uint32)


def decode_rows(codes: np.ndarray) -> np.ndarray:
    """Micrometres int32 (n, 3, P) of the codes uint32 (n, 3, P) of a block, from its first row on."""
    signed = (codes >> np.uint32(1)) ^ (np.uint32(0) - (codes & np.uint32(1)))
    along = np.cumsum(signed, axis=2, dtype=np.uint32)
    return np.cumsum(along, axis=0, dtype=np.uint32).view(np.int32)


def shuffle_bytes(array: np.ndarray) -> bytes:
    """All first bytes, then all second bytes, ...: numbers of similar size compress much better that way."""
    size = array.dtype.itemsize
    flat = np.ascontiguousarray(array).view(np.uint8).reshape(-1, size)
    return flat.T.tobytes()


def unshuffle_bytes(data: bytes, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Inverse of `shuffle_bytes`."""
    size = np.dtype(dtype).itemsize
    planes = np.frombuffer(data, dtype=np.uint8).reshape(size, -1)
    return np.ascontiguousarray(planes.T).view(dtype).reshape(shape)


def raw_bytes(num_rows: int, num_points: int) -> int:
    """Size of the same positions as plain float32, the yardstick for size ratios [bytes]."""
    return num_rows * num_points * 3 * 4
