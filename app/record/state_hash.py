"""One number that two states share only when every bit of them is the same."""

from __future__ import annotations

import functools
import hashlib

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
    digest = HASHES[kind]()
    for name in sorted(state):
        array = np.asarray(state[name])
        if array.dtype.kind not in "biufcSU":
            raise TypeError(f"state array {name!r} has type {array.dtype}; plain numbers or text are needed")
        digest.update(_header(name, array.dtype, array.shape))
        if array.size:
            digest.update(array if array.flags.c_contiguous else np.ascontiguousarray(array))
    return int.from_bytes(digest.digest(), "little") or 1


@functools.lru_cache(maxsize=1024)  # the same arrays every frame
def _header(name: str, dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    return f"{name}\0{dtype.str}\0{shape}\0".encode()
