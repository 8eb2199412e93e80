"""One number that two states share only when every bit of them is the same."""

from __future__ import annotations

import functools
import hashlib
import math

import numpy as np
import xxhash

HASH = "xxh3_64"  # of what is recorded now
HASHES = {HASH: xxhash.xxh3_64, "blake2b": functools.partial(hashlib.blake2b, digest_size=8)}  # format 1, 2


def state_hash(state: dict[str, np.ndarray], kind: str = HASH) -> int:
    """64-bit hash over names, types, shapes and bytes of all arrays, in order of name; never 0.

    -0.0 and 0.0 differ, and so do NaNs of different bits: "equal" means that a restart goes on identically.
    Raises TypeError for arrays of objects, ValueError for a kind that is not in HASHES.
    """
    if kind not in HASHES:
        raise ValueError(f"hash {kind!r}; legal: {', '.join(HASHES)}")
    arrays = [array if type(array) is np.ndarray else np.asarray(array) for array in state.values()]
    digest = HASHES[kind]()
    for header, place in _order(tuple(state), tuple([(array.dtype, array.shape) for array in arrays])):
        digest.update(header)
        if place is not None:
            array = arrays[place]
            digest.update(array if array.flags.c_contiguous else np.ascontiguousarray(array))
    return int.from_bytes(digest.digest(), "little") or 1


@functools.lru_cache(maxsize=64)  # the same arrays every frame
def _order(names: tuple[str, ...], kinds: tuple[tuple[np.dtype, tuple], ...]) -> list[tuple[bytes, int | None]]:
    """What is hashed one after the other: bytes, then the array at a place. Empty arrays are headers only, which are
    joined."""
    steps: list[tuple[bytes, int | None]] = []
    head = b""
    for place in sorted(range(len(names)), key=names.__getitem__):
        name, (dtype, shape) = names[place], kinds[place]
        if dtype.kind not in "biufcSU":
            raise TypeError(f"state array {name!r} has type {dtype}; plain numbers or text are needed")
        head += f"{name}\0{dtype.str}\0{shape}\0".encode()
        if math.prod(shape):
            steps.append((head, place))
            head = b""
    return [*steps, (head, None)] if head else steps
