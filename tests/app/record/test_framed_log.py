import struct
import tracemalloc
import zlib

import pytest

from app.record import framed_log
from app.record.framed_log import (
    FILE_MAGIC,
    DiskFullError,
    FramedLogReader,
    FramedLogWriter,
    LogError,
    claim_log,
)

CODECS = ["raw", "zlib"] + (["zstd"] if framed_log.zstandard is not None else [])


def write(path, payloads, codec="zlib"):
    writer = FramedLogWriter(path, codec)
    ends = [writer.append(index % 7, payload) for index, payload in enumerate(payloads)]
    writer.close()
    return ends


def read(path, **options):
    reader = FramedLogReader(path, **options)
    return [(record.kind, record.payload) for record in reader], reader.tail


PAYLOADS = [b"", b"a", b"frame " * 400, bytes(range(256)) * 3]


@pytest.mark.parametrize("codec", CODECS)
def test_round_trip(tmp_path, codec):
    path = tmp_path / "a.log"
    write(path, PAYLOADS, codec)
    records, tail = read(path)
    assert records == [(index % 7, payload) for index, payload in enumerate(PAYLOADS)]
    assert tail.reason == "" and tail.lost_bytes == 0
    if codec != "raw":
        assert path.stat().st_size < sum(map(len, PAYLOADS))


def test_every_cut_gives_the_whole_records_before_it(tmp_path):
    path = tmp_path / "a.log"
    ends = write(path, PAYLOADS)
    data = path.read_bytes()
    cut = tmp_path / "cut.log"
    for size in range(16, len(data)):
        cut.write_bytes(data[:size])
        records, tail = read(cut)
        whole = sum(end <= size for end in ends)
        assert [payload for _, payload in records] == PAYLOADS[:whole]
        assert (tail.reason == "") == (size in [16, *ends])
        assert tail.good_bytes + tail.lost_bytes == size


def test_every_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "a.log"
    ends = write(path, [b"one", b"two " * 20, b"three"])
    data = bytearray(path.read_bytes())
    bad = tmp_path / "bad.log"
    for at in range(16, len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        bad.write_bytes(damaged)
        records, tail = read(bad)
        assert len(records) == sum(end <= at for end in ends)  # the records before it, and none that is wrong
        assert tail.reason


def record_bytes(payload, raw_length, codec, sequence=0):
    head = struct.pack("<4sBBHIII", b"REC:", 1, codec, 0, sequence, raw_length, len(payload))
    return head + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload


@pytest.mark.parametrize(
    "record, reason",
    [
        (record_bytes(zlib.compress(bytes(10**8)), 100, 1), "does not expand to 100 bytes"),  # a bomb
        (record_bytes(b"x", 2**32 - 1, 0), "claims 4294967295 bytes, limit"),
        (record_bytes(b"not zlib", 100, 1), "does not expand"),
        (record_bytes(b"x", 1, 9), "does not expand"),  # unknown codec
        (record_bytes(b"x", 1, 0, sequence=5), "has number 5, expected 0"),
    ],
)
def test_hostile_records_end_the_reading(tmp_path, record, reason):
    path = tmp_path / "a.log"
    write(path, [])
    with open(path, "ab") as file:
        file.write(record)
    records, tail = read(path)
    assert records == [] and reason in tail.reason


@pytest.mark.skipif(framed_log.zstandard is None, reason="zstandard is not installed")
def test_zstd_bomb_is_refused_before_memory_is_taken(tmp_path):
    path = tmp_path / "a.log"
    write(path, [])
    bomb = framed_log.zstandard.ZstdCompressor().compress(bytes(10**8))
    with open(path, "ab") as file:
        file.write(record_bytes(bomb, 100, framed_log.CODEC_ZSTD))
    tracemalloc.start()
    records, tail = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6
    assert records == [] and "does not expand to 100 bytes" in tail.reason


def test_foreign_and_newer_files(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * 40)
    with pytest.raises(LogError, match="not a recording log"):
        FramedLogReader(path)
    path.write_bytes(b"TACK")
    with pytest.raises(LogError, match="4 bytes are too short"):
        FramedLogReader(path)
    head = struct.pack("<8sHH", FILE_MAGIC, 9, 0)
    path.write_bytes(head + struct.pack("<I", zlib.crc32(head)))
    with pytest.raises(LogError, match="log version 9 is newer than 2"):
        FramedLogReader(path)


def test_without_zstandard(tmp_path, monkeypatch):
    path = tmp_path / "a.log"
    if framed_log.zstandard is not None:
        write(path, [b"frame " * 100], "zstd")
    monkeypatch.setattr(framed_log, "zstandard", None)
    assert framed_log.default_codec() == "zlib"
    with pytest.raises(LogError, match="needs the package zstandard"):
        FramedLogWriter(tmp_path / "b.log", "zstd")
    if path.exists():
        with pytest.raises(LogError, match="install the package zstandard"):
            read(path)


def test_unknown_codec_names_the_legal_ones(tmp_path):
    with pytest.raises(LogError, match="'lzma' is not one of raw, zlib, zstd"):
        FramedLogWriter(tmp_path / "a.log", "lzma")


def test_a_refused_write_leaves_whole_records_and_can_go_on(tmp_path, monkeypatch):
    path = tmp_path / "a.log"
    writer = FramedLogWriter(path, "raw")
    writer.append(1, b"first")
    real = framed_log.os.write
    budget = [10]

    def write_a_little(fd, data):
        if budget[0] == 0:
            raise OSError(28, "No space left on device")
        written = real(fd, data[: budget[0]])
        budget[0] -= written
        return written

    monkeypatch.setattr(framed_log.os, "write", write_a_little)
    with pytest.raises(DiskFullError, match="no space left for the next record"):
        writer.append(1, b"second")
    assert read(path) == ([(1, b"first")], framed_log.Tail(writer.size, 0, ""))
    budget[0] = 10**6
    writer.append(1, b"third")
    writer.close()
    assert read(path)[0] == [(1, b"first"), (1, b"third")]


def test_reading_up_to_a_byte_and_the_lock(tmp_path):
    path = tmp_path / "a.log"
    writer = FramedLogWriter(path)
    end = writer.append(1, b"first")
    writer.append(2, b"second")
    assert read(path, until=end) == ([(1, b"first")], framed_log.Tail(end, 0, ""))
    with claim_log(path) as claimed:
        assert not claimed
    writer.close()
    writer.close()
    with claim_log(path) as claimed, claim_log(path) as again:
        assert claimed and not again
    with claim_log(tmp_path / "gone.log") as claimed:
        assert not claimed
    with pytest.raises(LogError, match="is closed"):
        writer.append(1, b"late")
    with pytest.raises(FileExistsError):
        FramedLogWriter(path)
