"""Reading .npz files that come from anywhere: no pickle, and no more memory than the arrays that are really there."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np

MAX_BYTES = 4 << 30  # of all arrays together
MAX_ARRAYS = 10_000
MAX_RATIO = 1100  # unpacked over packed: deflate cannot do more, so what claims it lies


def read_npz(path: str | Path, max_bytes: int = MAX_BYTES) -> dict[str, np.ndarray]:
    """All arrays by name. Raises FileNotFoundError; ValueError (or zipfile.BadZipFile) saying what is wrong: arrays of
    objects, more than `max_bytes` in all, a shape that its data does not fill, a damaged file."""
    try:
        return _read(path, max_bytes)
    except (NotImplementedError, RuntimeError, EOFError, zlib.error, struct.error) as error:
        raise ValueError(f"damaged, or packed in an unknown way: {error}") from None


def _read(path: str | Path, max_bytes: int) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    left = max_bytes
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        if len(infos) > MAX_ARRAYS:
            raise ValueError(f"{len(infos)} arrays; {MAX_ARRAYS} at most")
        for info in infos:
            left -= info.file_size
            if left < 0:
                raise ValueError(f"its arrays take more than {max_bytes} bytes")
            if info.file_size > MAX_RATIO * max(info.compress_size, 1):
                raise ValueError(f"array {info.filename!r} claims {info.file_size} bytes in {info.compress_size}")
            name = info.filename.removesuffix(".npy")
            if name in arrays:
                raise ValueError(f"array {name!r} is there twice")
            with archive.open(info) as member:
                arrays[name] = _read_array(member, info)
    return arrays


def _read_array(member, info: zipfile.ZipInfo) -> np.ndarray:
    version = np.lib.format.read_magic(member)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read_header:
        raise ValueError(f"array {info.filename!r} is of npy version {version}")
    try:
        shape, fortran, dtype = read_header[version](member)
    except Exception as error:  # numpy parses the header as Python, so it raises whatever its tokenizer meets
        raise ValueError(f"array {info.filename!r} has an unreadable header: {error}") from None
    if dtype.hasobject or dtype.kind not in "biufcSU":
        raise ValueError(f"array {info.filename!r} has type {dtype}; plain numbers or text are read")
    if any(not isinstance(n, int) or n < 0 for n in shape):
        raise ValueError(f"array {info.filename!r} has the shape {shape}")
    size = math.prod(shape) * dtype.itemsize
    if size > info.file_size:
        raise ValueError(f"array {info.filename!r} of shape {shape} does not fit into its {info.file_size} bytes")
    data = member.read(size)
    if len(data) != size or member.read(1):
        raise ValueError(f"array {info.filename!r} has not the {size} bytes of its shape {shape}")
    flat = np.frombuffer(data, dtype=dtype).copy()
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
