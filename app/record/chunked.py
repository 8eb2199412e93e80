"""HDF5 datasets written and read a chunk at a time, with the filters that every HDF5 build has (shuffle, gzip).

Chunks are compressed and expanded here, with zlib, rather than inside the HDF5 library: zlib lets go of Python's
interpreter lock, so sealing in the background does not stop the frame loop, and expanding is bounded, so a hostile
file cannot take memory beyond the size that its shape declares. The files are ordinary HDF5 either way.
"""

from __future__ import annotations

import math
import re
import zlib
from typing import Any

import h5py
import numpy as np

from app.record.framed_log import inflate
from app.record.points import shuffle_bytes, unshuffle_bytes

GZIP_LEVEL = 4
MAX_CHUNK_BYTES = 512 * 1024 * 1024
MAX_READ_BYTES = 4 * 1024**3  # of one read; longer recordings are read in slices
_TARGET_CHUNK_BYTES = 2 * 1024 * 1024
_MAX_ATTR_BYTES = 64 * 1024
_GZIP, _SHUFFLE = 1, 2  # HDF5 filter numbers
_RAW_DTYPE = re.compile(r"^[<>|=]?[biufcSU]\d+$")


class LayoutError(ValueError):
    """A dataset is not laid out as this module writes it; the text names the dataset and what is wrong."""


class ChunkedWriter:
    """Appends rows of one shape and type to a dataset (rows, *row_shape). Memory: one chunk."""

    def __init__(self, group: h5py.Group, name: str, dtype, row_shape: tuple[int, ...] = (), rows: int | None = None):
        self._group, self._name, self._shape = group, name, tuple(row_shape)
        dtype = np.dtype(dtype)
        row_bytes = dtype.itemsize * math.prod(self._shape)
        self._count = 0
        self._filled = 0
        self.dataset = None
        if row_bytes == 0:  # HDF5 has no chunks of size zero
            self._dtype = dtype
            return
        if rows is None:
            rows = 2 ** int(np.clip(math.log2(max(1, _TARGET_CHUNK_BYTES / row_bytes)), 0, 10))
        stored = h5py.string_dtype("utf-8", dtype.itemsize) if dtype.kind == "S" else dtype
        self._buffer = np.zeros((rows, *self._shape), dtype=dtype)
        self.dataset = group.create_dataset(
            name, shape=(0, *self._shape), maxshape=(None, *self._shape), chunks=(rows, *self._shape), dtype=stored,
            shuffle=True, compression="gzip", compression_opts=GZIP_LEVEL,
        )  # fmt: skip

    def append(self, row) -> None:
        if self.dataset is not None:
            self._buffer[self._filled] = row
            self._filled += 1
            if self._filled == len(self._buffer):
                self._flush()
        self._count += 1

    def extend(self, values: np.ndarray) -> None:
        """Append many rows."""
        done = 0
        while self.dataset is not None and done < len(values):
            take = min(len(values) - done, len(self._buffer) - self._filled)
            self._buffer[self._filled : self._filled + take] = values[done : done + take]
            self._filled += take
            done += take
            if self._filled == len(self._buffer):
                self._flush()
        self._count += len(values)

    def close(self) -> h5py.Dataset:
        """Write what is left and return the dataset."""
        if self.dataset is None:
            self.dataset = self._group.create_dataset(self._name, shape=(self._count, *self._shape), dtype=self._dtype)
        elif self._filled:
            self._buffer[self._filled :] = np.zeros((), dtype=self._buffer.dtype)
            self._flush()
        return self.dataset

    def _flush(self) -> None:
        start = self._count_written()
        self.dataset.resize(start + self._filled, axis=0)
        data = zlib.compress(shuffle_bytes(self._buffer), GZIP_LEVEL)
        self.dataset.id.write_direct_chunk((start,) + (0,) * len(self._shape), data)
        self._filled = 0

    def _count_written(self) -> int:
        return self.dataset.shape[0]


def write_array(group: h5py.Group, name: str, array: np.ndarray) -> h5py.Dataset:
    """One array, exactly. Types that HDF5 files of other tools lack (bool, complex, text) are stored as their bytes,
    with the attributes `dtype` and `shape`."""
    array = np.asarray(array)
    if array.dtype.kind not in "iuf":
        raw = np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=np.uint8)
        dataset = write_array(group, name, raw)
        set_text(dataset, "dtype", array.dtype.str)
        if array.shape:
            dataset.attrs["shape"] = np.array(array.shape, dtype=np.int64)
        return dataset
    if array.ndim == 0 or array.nbytes < 1024:
        return group.create_dataset(name, data=array)
    writer = ChunkedWriter(group, name, array.dtype, array.shape[1:])
    writer.extend(array)
    return writer.close()


def read_array(dataset: h5py.Dataset) -> np.ndarray:
    """Inverse of `write_array`."""
    _check(dataset)
    if dataset.shape == ():
        array = np.asarray(dataset[()])
    else:
        array = read_rows(dataset, 0, dataset.shape[0])
    name = read_attr(dataset, "dtype")
    if name is None:
        return array
    shape = tuple(int(n) for n in np.atleast_1d(read_attr(dataset, "shape", ())))
    if not isinstance(name, str) or not _RAW_DTYPE.match(name) or min(shape, default=0) < 0:
        raise LayoutError(f"{dataset.name}: array type {name!r} is not a plain number or text type")
    dtype = np.dtype(name)
    if array.dtype != np.uint8 or math.prod(shape) * dtype.itemsize != array.size:
        raise LayoutError(f"{dataset.name}: {array.size} bytes do not make an array {shape} of {name}")
    return np.frombuffer(array.tobytes(), dtype=dtype).reshape(shape).copy()


def read_rows(dataset: h5py.Dataset, start: int, stop: int) -> np.ndarray:
    """Rows start..stop of a dataset made by ChunkedWriter or `write_array`.

    Raises LayoutError for a range outside the dataset, sizes beyond the limits above, filters other than shuffle and
    gzip, chunks that do not expand to their size, and data that lies outside this file.
    """
    _check(dataset)
    if dataset.ndim == 0:
        raise LayoutError(f"{dataset.name}: a single value where rows are expected")
    if not 0 <= start <= stop <= dataset.shape[0]:
        raise LayoutError(f"{dataset.name}: rows {start}..{stop} of {dataset.shape[0]}")
    row_shape = dataset.shape[1:]
    row_bytes = dataset.dtype.itemsize * math.prod(row_shape)
    if (stop - start) * row_bytes > MAX_READ_BYTES:
        raise LayoutError(f"{dataset.name}: {(stop - start) * row_bytes} bytes in one read, limit {MAX_READ_BYTES}")
    if dataset.chunks is None:
        if dataset.id.get_storage_size() < dataset.nbytes:
            raise LayoutError(f"{dataset.name}: declares {dataset.nbytes} bytes, the file does not hold them")
        return dataset[start:stop]
    rows = dataset.chunks[0]
    if dataset.chunks[1:] != row_shape or rows * row_bytes > MAX_CHUNK_BYTES:
        raise LayoutError(
            f"{dataset.name}: chunks {dataset.chunks} are not whole rows, or beyond {MAX_CHUNK_BYTES} bytes"
        )
    shuffled = _filters(dataset)
    out = np.empty((stop - start, *row_shape), dtype=_plain_dtype(dataset.dtype))
    for first in range(start - start % rows, stop, rows):
        chunk = _read_chunk(dataset, first, rows, row_shape, rows * row_bytes, shuffled)
        low, high = max(start, first), min(stop, first + rows)
        out[low - start : high - start] = chunk[low - first : high - first]
    return out


def set_text(item: h5py.Group | h5py.Dataset, name: str, text: str) -> None:
    """A text attribute of fixed length. HDF5's variable-length texts lie in a heap without checksums, where a damaged
    file sends the library into an endless loop."""
    item.attrs[name] = np.bytes_(text.encode("utf-8", "replace"))


def read_attr(item: h5py.Group | h5py.Dataset, name: str, default: Any = None) -> Any:
    """An attribute: text, number or small array. Raises LayoutError for any other type, before it is read."""
    if name not in item.attrs:
        return default
    attr = item.attrs.get_id(name)
    kind = attr.get_type()
    plain = isinstance(kind, (h5py.h5t.TypeIntegerID, h5py.h5t.TypeFloatID))
    plain = plain or (isinstance(kind, h5py.h5t.TypeStringID) and not kind.is_variable_str())
    if not plain or attr.get_storage_size() > _MAX_ATTR_BYTES:
        raise LayoutError(f"{item.name}: attribute {name} is not a number or a text of fixed length")
    value = item.attrs[name]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _read_chunk(dataset, first, rows, row_shape, num_bytes, shuffled) -> np.ndarray:
    at = (first,) + (0,) * len(row_shape)
    try:
        info = dataset.id.get_chunk_info_by_coord(at)
        if info.size > num_bytes + num_bytes // 100 + 1024:
            raise LayoutError(f"{dataset.name}: the chunk at row {first} is larger than its contents can be")
        _, stored = dataset.id.read_direct_chunk(at)  # its own filter mask reads 0 whatever was stored
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, LayoutError):
            raise
        raise LayoutError(f"{dataset.name}: the chunk at row {first} is missing or unreadable") from None
    data = inflate(bytes(stored), num_bytes) if info.filter_mask == 0 else None
    if data is None:
        raise LayoutError(f"{dataset.name}: the chunk at row {first} is damaged")
    dtype, shape = _plain_dtype(dataset.dtype), (rows, *row_shape)
    return unshuffle_bytes(data, dtype, shape) if shuffled else np.frombuffer(data, dtype=dtype).reshape(shape)


def _filters(dataset: h5py.Dataset) -> bool:
    """True when chunks are shuffled and then deflated, False when only deflated."""
    plist = dataset.id.get_create_plist()
    codes = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
    if codes not in ([_SHUFFLE, _GZIP], [_GZIP]):
        raise LayoutError(f"{dataset.name}: filters {codes} are not shuffle (2) and gzip (1)")
    return codes[0] == _SHUFFLE


def _check(dataset: h5py.Dataset) -> None:
    if dataset.external or dataset.is_virtual:
        raise LayoutError(f"{dataset.name}: its data lies in another file, which is not opened")
    if dataset.shape is None or dataset.dtype.kind not in "iufS":
        raise LayoutError(f"{dataset.name}: type {dataset.dtype} is not one of integer, float, fixed-length text")


def _plain_dtype(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"S{dtype.itemsize}") if dtype.kind == "S" else dtype
