"""Damaged and hostile variants of a file, drawn by a seeded generator."""

from __future__ import annotations

import random
import re
import struct

NUMBERS = (
    b"0", b"-1", b"1", b"2", b"3", b"255", b"65536", b"2147483647", b"-2147483648", b"4294967295",
    b"9223372036854775807", b"99999999999999999999",
    b"1e308", b"-1e308", b"1e-308", b"1e999", b"nan", b"inf", b"-0", b"0.5", b"1000000",
    b"0x7fffffff", b"1e9", b"1_000", b"", b"9" * 400,
)  # fmt: skip
BINARY = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF,
          0xFFFFFFFFFFFFFFFF)  # fmt: skip
WORDS = (
    b"&a [*a, *a]", b"*a", b"<<: *a", b"!!python/object/apply:os.system [id]", b"!!binary aGk=",
    b"include: ../../../etc/passwd", b"include: /dev/zero", b"include: .", b"[" * 200, b"{a: " * 200, b"- " * 300,
    b"\x00", b"\xff\xfe", b"\t", b"\r\n", b"%", b"|",
    b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>", b"&b;", b"<a>" * 500, b"null", b"true", b"~", b"'", b'"',
    b"../", b"/dev/stdin", b"package://x/../../y", b"$Nodes", b"CELLS", b"endloop", b"property list", b"v 0 0 0",
    b"f 1 1 1",
)  # fmt: skip
_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_MOST = 1 << 20  # [bytes] a variant is not made longer than this by repeating


def mutate(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """One to six changes of `data`; `other` is a second file of the same kind, to splice from."""
    text = is_text(data)
    for _ in range(1 if rng.random() < 0.5 else rng.randint(2, 6)):
        data = rng.choice(_TEXT if text and rng.random() < 0.7 else _ANY)(data, other, rng)
    return data


def is_text(data: bytes) -> bool:
    head = data[:2000]
    return bool(head) and b"\x00" not in head and sum(32 <= c < 127 or c in b"\r\n\t" for c in head) > 0.95 * len(head)


def _span(data: bytes, rng: random.Random, most: int = 200) -> tuple[int, int]:
    at = rng.randrange(len(data) + 1)
    return at, min(len(data), at + rng.randint(1, most))


def _flip(data, other, rng):
    if not data:
        return data
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _set_bytes(data, other, rng):
    at, stop = _span(data, rng, 16)
    fill = rng.choice((b"\x00", b"\xff", bytes([rng.randrange(256)])))
    return data[:at] + fill * (stop - at) + data[stop:]


def _set_integer(data, other, rng):
    size = rng.choice((1, 2, 4, 4, 4, 8, 8))
    at = rng.randrange(max(1, len(data) - size + 1))
    if rng.random() < 0.5:
        at = min(at, rng.randrange(512))  # headers stand at the begin
    value = rng.choice(BINARY) & ((1 << (8 * size)) - 1)
    return data[:at] + value.to_bytes(size, rng.choice(("little", "big"))) + data[at + size :]


def _set_float(data, other, rng):
    value = rng.choice((0.0, -1.0, 1e30, float("nan"), float("inf"), 1e-30, 1e308 if rng.random() < 0.5 else 1.0))
    kind = rng.choice(("<f", "<d", ">f", ">d"))
    raw = struct.pack(kind, value if kind[1] == "d" or value < 1e38 else 1e38)
    at = rng.randrange(max(1, len(data) - len(raw) + 1))
    return data[:at] + raw + data[at + len(raw) :]


def _cut(data, other, rng):
    return data[: rng.randrange(len(data) + 1)] if rng.random() < 0.6 else data[rng.randrange(len(data) + 1) :]


def _delete(data, other, rng):
    at, stop = _span(data, rng)
    return data[:at] + data[stop:]


def _repeat(data, other, rng):
    at, stop = _span(data, rng, 2000)
    times = rng.choice((1, 2, 2, 10, 300))
    return (data[:at] + data[at:stop] * times + data[at:])[: max(_MOST, len(data))]


def _move(data, other, rng):
    at, stop = _span(data, rng, 2000)
    to = rng.randrange(len(data) + 1)
    piece, rest = data[at:stop], data[:at] + data[stop:]
    return rest[:to] + piece + rest[to:]


def _splice(data, other, rng):
    at, stop = _span(other, rng, 4000)
    to = rng.randrange(len(data) + 1)
    return data[:to] + other[at:stop] + data[to if rng.random() < 0.5 else min(len(data), to + stop - at) :]


def _number(data, other, rng):
    found = list(_NUMBER.finditer(data[:200_000]))
    if not found:
        return data
    one = rng.choice(found)
    return data[: one.start()] + rng.choice(NUMBERS) + data[one.end() :]


def _word(data, other, rng):
    at = rng.randrange(len(data) + 1)
    if rng.random() < 0.5:
        at = data.find(b"\n", at) + 1
    return data[:at] + rng.choice(WORDS) + (b"\n" if rng.random() < 0.5 else b"") + data[at:]


def _lines(data, other, rng):
    lines = data.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(3)
    if how == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif how == 1:
        lines.insert(a, lines[b])
    else:
        del lines[a]
    return b"\n".join(lines)


def _indent(data, other, rng):
    lines = data.split(b"\n")
    a = rng.randrange(len(lines))
    lines[a] = b" " * rng.randrange(1, 9) + lines[a] if rng.random() < 0.6 else lines[a].lstrip()
    return b"\n".join(lines)


_ANY = (_flip, _set_bytes, _set_integer, _set_integer, _set_float, _cut, _delete, _repeat, _move, _splice)
_TEXT = (_number, _number, _number, _word, _lines, _indent, _delete, _splice)
