"""Append-only framed log: what a recording is while it runs.

A process may die between any two instructions, a disk may fill in the middle of a write. HDF5 and Parquet do not
survive that; a log whose records carry their own length and checksum does: everything up to the last whole record is
read back, and a torn tail is recognised as such.

File layout (little-endian)::

    file header    8s magic "TACKLOG\\n" | u16 version | u16 reserved | u32 crc32 of the 12 bytes before
    record header  4s magic "REC:" | u8 kind | u8 codec | u16 reserved | u32 sequence | u32 raw length |
                   u32 stored length | u32 crc32 of the header before it and of the payload
    payload        `stored length` bytes: raw (codec 0), zlib (1) or zstd (2)

Payloads are bytes; `app.record.packing` says what is inside. Nothing is ever unpickled. Lengths are checked against
limits before memory is taken, and a payload can never expand beyond its declared length.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

try:  # better and faster than zlib, yet optional: a log says itself which codec each record used
    import zstandard
except ImportError:  # pragma: no cover - exercised by a test that hides the module
    zstandard = None

FILE_MAGIC = b"TACKLOG\n"
LOG_VERSION = 2  # 2: steps as LAYOUT and STEP records, which readers of version 1 would leave out
RECORD_MAGIC = b"REC:"
CODEC_RAW, CODEC_ZLIB, CODEC_ZSTD = 0, 1, 2
CODECS = {"raw": CODEC_RAW, "zlib": CODEC_ZLIB, "zstd": CODEC_ZSTD}
LEVELS = {"zstd": -5, "zlib": 1}  # the quickest that still shrink: the log is written in the frame loop
MAX_RECORD_BYTES = 256 * 1024 * 1024  # one frame of a very large scene is a few MB; more than this is a damaged length

_FILE_HEADER = struct.Struct("<8sHHI")
_RECORD_HEADER = struct.Struct("<4sBBHIIII")
_RECORD_HEAD, _CRC = struct.Struct("<4sBBHIII"), struct.Struct("<I")  # its two parts
_FULL_DISK = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


class LogError(Exception):
    """The log cannot be read or written; the text says which file, where and why."""


class DiskFullError(LogError):
    """No space for one more record. Records written before it are whole."""


def is_disk_full(error: BaseException) -> bool:
    """True when an error of the system or of HDF5 says that the disk, quota or file size limit is used up."""
    if isinstance(error, DiskFullError) or getattr(error, "errno", None) in _FULL_DISK:
        return True
    return any(f"errno = {code}," in str(error) for code in _FULL_DISK)


@dataclass(frozen=True)
class Record:
    kind: int  # meaning given by the writer, 0..255
    payload: bytes
    offset: int  # [bytes] of the record header in the file
    end: int  # [bytes] just behind the payload


@dataclass(frozen=True)
class Tail:
    """How the log ended."""

    good_bytes: int  # header and whole records
    lost_bytes: int  # what follows them and cannot be read
    reason: str  # "" when the log ends with a whole record


def default_codec() -> str:
    """The best codec that is installed: "zstd", else "zlib"."""
    return "zstd" if zstandard is not None else "zlib"


class FramedLogWriter:
    """Writes records; every `append` that returned is in the operating system's hands and survives a kill.

    Parameters: `path` must not exist; `codec` is "zstd", "zlib" or "raw" (None: `default_codec()`).
    Raises FileExistsError, LogError (unknown or missing codec), DiskFullError.
    """

    def __init__(self, path: str | os.PathLike, codec: str | None = None):
        codec = codec or default_codec()
        if codec not in CODECS:
            raise LogError(f"codec {codec!r} is not one of {', '.join(CODECS)}")
        if codec == "zstd" and zstandard is None:
            raise LogError("codec 'zstd' needs the package zstandard; 'zlib' works without it")
        self.path = Path(path)
        self._codec = CODECS[codec]
        self._compressor = zstandard.ZstdCompressor(level=LEVELS["zstd"]) if codec == "zstd" else None
        self._sequence = 0
        self._lock = threading.Lock()  # append from the loop, sync from a helper thread
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
        self._end, self._at = 0, -1  # behind the last whole record; where the file stands, -1: unknown
        if not _lock_file(self._fd) or not _is_still(self.path, self._fd):
            os.close(self._fd)  # recovery, in another process, was quicker and removes the empty file
            raise FileExistsError(errno.EEXIST, "taken by another process", str(self.path))
        try:
            head = struct.pack("<8sHH", FILE_MAGIC, LOG_VERSION, 0)
            self._write(head + struct.pack("<I", zlib.crc32(head)))
        except BaseException:
            os.close(self._fd)
            self.path.unlink(missing_ok=True)
            raise

    @property
    def size(self) -> int:
        """Bytes of whole records, file header included."""
        return self._end

    @property
    def closed(self) -> bool:
        return self._fd < 0

    def append(self, kind: int, payload: bytes) -> int:
        """Write one record and return the size of the log behind it [bytes].

        Raises DiskFullError or LogError; the log then ends with the record before, and may be appended to again.
        """
        if len(payload) > MAX_RECORD_BYTES:
            raise LogError(f"a record of {len(payload)} bytes is larger than the limit of {MAX_RECORD_BYTES}")
        codec, stored = self._compress(payload)
        with self._lock:
            if self._fd < 0:
                raise LogError(f"{self.path.name}: the log is closed")
            head = _RECORD_HEAD.pack(RECORD_MAGIC, kind, codec, 0, self._sequence, len(payload), len(stored))
            self._write(b"".join((head, _CRC.pack(zlib.crc32(stored, zlib.crc32(head))), stored)))
            self._sequence += 1
            return self._end

    def sync(self) -> None:
        """Ask the disk to keep what was written (power loss). May take tens of milliseconds: not for the frame loop."""
        with self._lock:
            if self._fd < 0:
                return
            fd = os.dup(self._fd)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Close the file and let go of its lock. May be called twice."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def _compress(self, payload: bytes) -> tuple[int, bytes]:
        if self._codec == CODEC_ZSTD:
            stored = self._compressor.compress(payload)
        elif self._codec == CODEC_ZLIB:
            stored = zlib.compress(payload, LEVELS["zlib"])
        else:
            return CODEC_RAW, payload
        return (self._codec, stored) if len(stored) < len(payload) else (CODEC_RAW, payload)

    def _write(self, data: bytes) -> None:
        # Always at the end of the last whole record: what an interrupted or refused write left behind is overwritten.
        at = self._end
        try:
            if self._at != at:
                os.lseek(self._fd, at, os.SEEK_SET)
            self._at = -1
            written = os.write(self._fd, data)
            while written < len(data):
                written += os.write(self._fd, memoryview(data)[written:])
            self._at = at + written
        except OSError as error:
            try:
                os.ftruncate(self._fd, self._end)
            except OSError:
                pass  # the reader recognises the torn record
            if error.errno in _FULL_DISK:
                raise DiskFullError(f"{self.path.name}: no space left for the next record ({error.strerror})") from None
            raise LogError(f"{self.path.name}: cannot write ({error.strerror})") from None
        self._end += len(data)


class FramedLogReader:
    """Reads whole records in order. After (or during) iteration `tail` says how the log ended.

    Raises LogError when the file is not a log, is of a newer version, or needs a codec that is not installed. A torn
    or damaged record ends the iteration and is described in `tail`; it is not an error.
    """

    def __init__(self, path: str | os.PathLike, until: int | None = None, max_record_bytes: int = MAX_RECORD_BYTES):
        """`until` [bytes]: read as if the file ended there; for a log that is still being appended to."""
        self.path = Path(path)
        self._max = max_record_bytes
        self.size = self.path.stat().st_size
        self.size = self.size if until is None else min(self.size, until)
        self.tail = Tail(0, self.size, "not read yet")
        with open(self.path, "rb") as file:
            head = file.read(_FILE_HEADER.size)
        if len(head) < _FILE_HEADER.size:
            raise LogError(f"{self.path.name}: {len(head)} bytes are too short for a log")
        magic, version, _, crc = _FILE_HEADER.unpack(head)
        if magic != FILE_MAGIC or crc != zlib.crc32(head[:-4]):
            raise LogError(f"{self.path.name}: not a recording log (damaged or foreign file header)")
        if version > LOG_VERSION:
            raise LogError(f"{self.path.name}: log version {version} is newer than {LOG_VERSION}, which this reads")

    def __iter__(self) -> Iterator[Record]:
        at, sequence = _FILE_HEADER.size, 0
        with open(self.path, "rb") as file:
            file.seek(at)
            while True:
                record, reason = self._read_one(file, at, sequence)
                if record is None:
                    self.tail = Tail(at, max(0, self.size - at), reason)
                    return
                at, sequence = record.end, sequence + 1
                self.tail = Tail(at, max(0, self.size - at), "more records follow")
                yield record

    def _read_one(self, file, at: int, sequence: int) -> tuple[Record | None, str]:
        head = file.read(min(_RECORD_HEADER.size, self.size - at))
        if not head:
            return None, ""
        if len(head) < _RECORD_HEADER.size:
            return None, f"torn record header at byte {at}"
        magic, kind, codec, _, number, raw_length, stored_length, crc = _RECORD_HEADER.unpack(head)
        if magic != RECORD_MAGIC:
            return None, f"no record at byte {at}"
        if raw_length > self._max or stored_length > self._max:
            return None, f"record at byte {at} claims {max(raw_length, stored_length)} bytes, limit {self._max}"
        if stored_length > self.size - at - _RECORD_HEADER.size:
            return None, f"torn record at byte {at}"
        stored = file.read(stored_length)
        if len(stored) < stored_length or crc != zlib.crc32(stored, zlib.crc32(head[:-4])):
            return None, f"record at byte {at} is damaged (checksum)"
        if number != sequence:
            return None, f"record at byte {at} has number {number}, expected {sequence}"
        payload = _expand(codec, stored, raw_length)
        if payload is None:
            return None, f"record at byte {at} does not expand to {raw_length} bytes"
        return Record(kind, payload, at, at + _RECORD_HEADER.size + stored_length), ""


def _expand(codec: int, stored: bytes, raw_length: int) -> bytes | None:
    """Payload of exactly `raw_length` bytes, None when the data does not give that. Never allocates more."""
    if codec == CODEC_RAW:
        return stored if len(stored) == raw_length else None
    if codec == CODEC_ZLIB:
        return inflate(stored, raw_length)
    if codec == CODEC_ZSTD:
        if zstandard is None:
            raise LogError("this log is compressed with zstd: install the package zstandard to read it")
        try:
            if zstandard.frame_content_size(stored) != raw_length:  # trusted by the library for its allocation
                return None
            data = zstandard.ZstdDecompressor().decompress(stored, max_output_size=raw_length)
        except zstandard.ZstdError:
            return None
        return data if len(data) == raw_length else None
    return None


def inflate(stored: bytes, raw_length: int) -> bytes | None:
    """zlib stream of exactly `raw_length` bytes, else None; never expands further than one byte beyond."""
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(stored, raw_length + 1)
    except zlib.error:
        return None
    return data if len(data) == raw_length else None


def _lock_file(fd: int) -> bool:
    """Take the lock of a log, False when it is held. It dies with the process that holds it."""
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(fd, 2**40, os.SEEK_SET)  # a byte far behind the data, so that readers are not blocked
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            os.lseek(fd, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # some network folders have no locks: there, two windows on one folder are not told apart
        return error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)
    return True


def _is_still(path: Path, fd: int) -> bool:
    """False when the name was removed, or given to another file, before the lock was taken."""
    try:
        return os.name == "nt" or os.path.samestat(os.stat(path), os.fstat(fd))
    except OSError:
        return False


@contextlib.contextmanager
def claim_log(path: str | os.PathLike) -> Iterator[bool]:
    """Hold the lock of a log while inside, so that no other process writes, seals or removes it.

    Gives False, and holds nothing, while a FramedLogWriter (in this process or another) has the log open.
    """
    try:
        fd = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:  # another process has just sealed it
        yield False
        return
    try:
        claimed = _lock_file(fd)
        if claimed and os.name == "nt":  # an open file cannot be removed there
            os.close(fd)
            fd = -1
        yield claimed
    finally:
        if fd >= 0:
            os.close(fd)
