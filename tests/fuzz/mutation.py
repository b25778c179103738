"""How inputs are damaged: bytes, lines, numbers, and trees of plain data. All of it follows from a random.Random."""

from __future__ import annotations

import copy
import gzip
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import zstandard

NUMBER = re.compile(rb"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")

NUMBERS = [
    b"0", b"-0", b"-1", b"1", b"2", b"7", b"255", b"256", b"65535", b"65536", b"49999999", b"50000001", b"99999999",
    b"100000000", b"999999999", b"2147483647", b"2147483648", b"4294967295", b"4294967296", b"9223372036854775807",
    b"9223372036854775808", b"18446744073709551616", b"1e308", b"1e309", b"-1e309", b"1e-320", b"nan", b"inf", b"-inf",
    b"NaN", b"Infinity", b"0x10", b"1_0", b"1.5", b"2.0", b".", b"1e", b"+3", b"00000001", b"1" * 30, b"9" * 400,
    b"9" * 5000, "٣".encode(), "½".encode(),
]  # fmt: skip

PIECES = [
    b"\x00", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n", b"\n\n\n", b"\t", b" ", b"\x0b",
    b"\x0c", b"\x1a", b"\x1b[31m", b"\x85", b"\xc2\x85", b"\xc2\xa0", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\xc0\x80",
    b"\xf4\x90\x80\x80", "e\u0301".encode(), "\u202e".encode(), "\U0001f600".encode(), b":", b"::", b",", b",,", b'"',
    b'""', b"'", b"{", b"}", b"[", b"]", b"{}", b"[]", b"#", b"%", b"%%", b"$", b"&a ", b"*a", b"!", b"|", b">", b"-",
    b"?", b"\\", b"\\u0000", b"\\ud800", b"null", b"true", b"None", b"a" * 300, b"../../", b"/dev/zero", b"~",
    b"[" * 50, b"{\"a\":" * 50, b"(" * 50, b"\\" * 51,
]  # fmt: skip

WEIRD: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 2**31, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.5, -0.5, 1e308, -1e308, 1e-320,
    float("nan"), float("inf"), "", "a", "\0", "x" * 5000, "../../../etc/passwd", "/dev/zero", "topic", "$topics",
    [], {}, [[]], [None], {"": None}, {"a": {"b": 1}}, "é", "\u2028",
]  # fmt: skip

Mutator = Callable[[random.Random, bytes], bytes]


def _flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    size = rng.choice((1, 1, 2, 4, 8))
    value = rng.choice((0, 1, 0x7F, 0x80, 0xFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1, rng.getrandbits(64)))
    order = rng.choice(("little", "big"))
    return data[:at] + (value % 256**size).to_bytes(size, order) + data[at + size :]


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def _remove(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 1, 2, 5, 20)) :]


def _repeat(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    piece = data[at : at + rng.choice((1, 2, 5, 20, 100))]
    return data[:at] + piece * rng.choice((2, 2, 3, 10, 200)) + data[at:]


def _insert(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    piece = rng.choice(PIECES)
    if rng.random() < 0.03:
        # As deep as Python's stack goes, a little more or less.
        depth = rng.choice((100, rng.randrange(950, 1010), 100_000))
        piece = rng.choice((b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth))
    return data[:at] + piece + data[at:]


def _swap_number(rng: random.Random, data: bytes) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return _insert(rng, data)
    match = rng.choice(found)
    return data[: match.start()] + rng.choice(NUMBERS) + data[match.end() :]


def _lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    action = rng.randrange(5)
    if action == 0:
        lines.insert(other, lines[at])
    elif action == 1:
        del lines[at]
    elif action == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif action == 3:
        lines[at:at] = [lines[at]] * rng.choice((2, 10, 500))
    else:
        lines[at] = lines[at] + rng.choice((b"", b" ", b"\t", b",")) + lines[other]
    return b"\n".join(lines)


BYTES: Sequence[Mutator] = (_flip, _overwrite, _cut, _remove, _repeat, _insert)
TEXT: Sequence[Mutator] = (*BYTES, _swap_number, _swap_number, _swap_number, _lines, _lines, _lines)


def mutated_bytes(rng: random.Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Damage bytes a few times; sometimes splice in a piece of another input."""
    return _mutated(rng, data, others, BYTES)


def mutated_text(rng: random.Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Damage lines, numbers and bytes a few times; sometimes splice in a piece of another input."""
    return _mutated(rng, data, others, TEXT)


def _mutated(rng: random.Random, data: bytes, others: Sequence[bytes], how: Sequence[Mutator]) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        if not data:
            break
        other = rng.choice(others) if others and rng.random() < 0.1 else b""
        if other:
            start = rng.randrange(len(other))
            data = data[: rng.randrange(len(data))] + other[start : start + rng.randrange(1, len(other) + 1)]
        else:
            data = rng.choice(how)(rng, data)
        # What grows without end tells no more than what grew once.
        data = data[:200_000]
    return data


def compressed(rng: random.Random, data: bytes) -> bytes:
    """Compress an input, perhaps in several frames, and sometimes damage what comes of it."""
    squeeze = gzip.compress if rng.random() < 0.5 else zstandard.compress
    parts = [data]
    if rng.random() < 0.2:
        at = rng.randrange(len(data) + 1)
        parts = [data[:at], data[at:]]
    if rng.random() < 0.02:
        # Much from little.
        parts.append(rng.choice((b"a", b"\n", b"0", b" ")) * rng.choice((10**6, 10**8)))
    packed = b"".join(squeeze(part) for part in parts)
    return mutated_bytes(rng, packed) if rng.random() < 0.5 else packed


def weird_value(rng: random.Random) -> Any:
    """Return a value that hardly anybody expects."""
    return copy.deepcopy(rng.choice(WEIRD))


def mutated_tree(rng: random.Random, data: Any) -> Any:
    """Damage plain data, such as JSON and YAML hold: values, keys, parts moved, removed or nested."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places = list(_places(data))
        if not places:
            return weird_value(rng)
        holder, key = rng.choice(places)
        other_holder, other_key = rng.choice(places)
        action = rng.randrange(8)
        if action <= 2:
            holder[key] = weird_value(rng)
        elif action == 3:
            del holder[key]
        elif action == 4:
            holder[key] = copy.deepcopy(other_holder[other_key])
        elif action == 5 and isinstance(holder, dict):
            name = rng.choice(("", "a", "\0", "block", "kernel", "topics", str(other_key), "x" * 300))
            holder[name] = holder.pop(key)
        elif action == 6:
            for _ in range(rng.choice((1, 2, 60))):
                holder[key] = [holder[key]] if rng.random() < 0.5 else {"a": holder[key]}
        elif isinstance(holder[key], int | float) and abs(holder[key]) < 1e300:
            holder[key] = rng.choice((-holder[key], holder[key] + 1, holder[key] - 1, holder[key] / 2, 0))
        elif isinstance(holder[key], list) and holder[key]:
            holder[key] = holder[key] * rng.choice((2, 50))
        else:
            holder[key] = weird_value(rng)
    return data


def _places(data: Any) -> Any:
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield data, key
        yield from _places(data[key])
