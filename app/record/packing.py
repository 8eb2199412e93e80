"""Plain values and numpy arrays to bytes and back, without pickle: JSON for structure, raw bytes for arrays.

Layout: u32 length of the JSON text, the text (UTF-8), then the arrays one behind the other. In the JSON an array
stands as {"$array": [dtype, shape, offset]}. Unpacking can only ever yield dict, list, str, int, float, bool, None and
arrays of plain numbers or text; dtypes, shapes and offsets are checked before an array is made.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import struct
from enum import Enum
from typing import Any

import numpy as np

_DTYPE = re.compile(r"^[<>|=]?[biufcSU]\d+$")  # numbers, booleans and text: no objects, no records
MAX_DEPTH = 16
_MAX_DIMENSIONS = 8


LEAVES = frozenset({bool, int, float, str, type(None)})  # exactly these types, so no Enum
_JSON = json.JSONEncoder(separators=(",", ":"))


@functools.lru_cache(maxsize=256)
def field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


class PackingError(ValueError):
    """A value cannot be packed, or bytes are not what `pack` writes."""


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as dict (text keys), list, str, int, float, bool, None and numpy arrays.

    Dataclasses become dicts of their fields, enums their value, tuples lists, sets sorted lists, objects with a
    `numpy()` method (device arrays) their host copy. Anything else becomes the text "<type name>": a recording must
    not fail because a device reports something odd, and must not store addresses or paths by way of repr.
    """
    if type(value) in LEAVES:  # a recording packs hundreds of these a frame
        return value
    if isinstance(value, (bool, int, float, str)):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value if value.dtype.kind in "biufcSU" else f"<array of {value.dtype}>"
    if depth >= MAX_DEPTH:
        return "<nested too deeply>"
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, dict):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item, depth + 1) for item in value), key=str)
    if isinstance(value, (bytes, bytearray)):
        return np.frombuffer(bytes(value), dtype=np.uint8)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name), depth + 1) for name in field_names(type(value))}
    if callable(getattr(value, "numpy", None)):
        return plain(np.asarray(value.numpy()), depth + 1)
    return f"<{type(value).__name__}>"


def pack(value: Any) -> bytes:
    """Bytes of a value made by `plain`. Arrays keep dtype, shape and every bit; NaN and infinity are kept."""
    blobs: list[bytes] = []
    size = 0

    def encode(item: Any) -> Any:
        nonlocal size
        if isinstance(item, np.ndarray):
            data = item.tobytes()  # in C order, whatever the array is
            place = {"$array": [item.dtype.str, list(item.shape), size]}
            blobs.append(data)
            size += len(data)
            return place
        if isinstance(item, dict):
            out = {key: v if type(v) in LEAVES else encode(v) for key, v in item.items()}
            if any(key[:1] == "$" for key in item):
                out = {("$" + key if key[:1] == "$" else key): v for key, v in out.items()}
            return out
        if isinstance(item, list):
            return [v if type(v) in LEAVES else encode(v) for v in item]
        return item

    try:
        text = _JSON.encode(encode(value)).encode("utf-8", "surrogatepass")
    except (TypeError, AttributeError, RecursionError) as error:
        raise PackingError(f"cannot pack {type(value).__name__}: {error}") from None
    return b"".join([struct.pack("<I", len(text)), text, *blobs])


def unpack(data: bytes) -> Any:
    """Inverse of `pack`. Arrays are read-only views of `data`. Raises PackingError for anything malformed."""
    if len(data) < 4:
        raise PackingError("packed value is too short")
    (length,) = struct.unpack_from("<I", data)
    if length > len(data) - 4:
        raise PackingError(f"packed value claims {length} bytes of text, has {len(data) - 4}")
    blob = memoryview(data)[4 + length :]
    try:
        tree = json.loads(bytes(data[4 : 4 + length]).decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise PackingError(f"packed value is not JSON: {error}") from None
    return _decode(tree, blob, 0)


def _decode(item: Any, blob: memoryview, depth: int) -> Any:
    if depth > 2 * MAX_DEPTH:
        raise PackingError("packed value is nested too deeply")
    if isinstance(item, list):
        return [_decode(v, blob, depth + 1) for v in item]
    if isinstance(item, dict):
        if len(item) == 1 and "$array" in item:
            return _decode_array(item["$array"], blob)
        return {(k[1:] if k.startswith("$") else k): _decode(v, blob, depth + 1) for k, v in item.items()}
    return item


def _decode_array(place: Any, blob: memoryview) -> np.ndarray:
    if not (isinstance(place, list) and len(place) == 3 and isinstance(place[1], list)):
        raise PackingError("malformed array entry")
    name, shape, offset = place
    dtype = numeric_dtype(name)
    if len(shape) > _MAX_DIMENSIONS or not all(type(n) is int and 0 <= n < 2**40 for n in [*shape, offset]):
        raise PackingError(f"array shape {shape} at {offset} is not legal")
    count = math.prod(shape)
    if offset + count * dtype.itemsize > len(blob):
        raise PackingError(f"array of shape {shape} does not fit into {len(blob)} bytes")
    return np.frombuffer(blob, dtype=dtype, count=count, offset=offset).reshape(shape)


def numeric_dtype(name: Any) -> np.dtype:
    """The dtype called `name` when it is one of plain numbers, booleans or text; PackingError otherwise."""
    if not isinstance(name, str) or not _DTYPE.match(name):
        raise PackingError(f"array type {name!r} is not a plain number or text type")
    try:
        return np.dtype(name)
    except TypeError:
        raise PackingError(f"array type {name!r} is unknown") from None
