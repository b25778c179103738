"""Checkpoints: arrays in a file with a checksum, written in one step, the newest two kept.

A file holds, in order: eight bytes that identify it, the length of the header (8 bytes, little-endian), the header in
JSON (``version``, ``about``, and ``arrays``: name, type, shape and place of each), the arrays, each at a multiple of 64
bytes, and a checksum of all that. Nothing is pickled. A reader trusts no number in it before the checksum is verified,
and never allocates more than the size of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.argument_names import setting
from ppl_topics._util.arrays import UInt8Array
from ppl_topics._util.files import replaced
from ppl_topics.errors import TraceError

__all__ = [
    "CHECKPOINTS",
    "KEPT",
    "SUFFIX",
    "Checkpoint",
    "anew",
    "chain_folder",
    "checkpoint_path",
    "checkpoints",
    "digest_of",
    "read_checkpoint",
    "remedy",
    "write_checkpoint",
]

MAGIC = b"PPLTCKP2"
VERSION = 2
SUFFIX = ".ckpt"
CHECKPOINTS = "checkpoints"
"""Folder of a run that holds a folder for each chain."""

KEPT = 2
"""Checkpoints of a chain to keep: the newest, and the one before it in case the newest is damaged."""

ALIGNMENT = 64
DIGEST = 32
MAX_HEADER = 2**24
BLOCK = 2**22
"""Bytes that share a checksum."""

TYPES = "biuf"
"""Kinds of numbers that arrays may hold: booleans, integers, floating point."""


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds."""

    path: Path
    about: dict[str, Any]  # plain data of JSON
    arrays: dict[str, NDArray[Any]]  # read-only views of one buffer, or of the file if it is mapped into memory


def chain_folder(folder: Path, chain: int) -> Path:
    """Return the folder of a chain's checkpoints."""
    return folder / CHECKPOINTS / f"chain-{chain}"


def anew() -> str:
    """Say what to do if a part is lost that no chain writes."""
    return f"Start the run again with {setting('overwrite', True)}: the same seed gives the same draws"


def remedy(folder: Path) -> str:
    """Say what to do about lost draws that the checkpoints in a folder, those of one chain or of all, count on."""
    run = folder.parent if folder.name == CHECKPOINTS else folder.parent.parent
    return f"Remove {folder}, then `ppl-topics resume {run}` makes the same draws again"


def checkpoint_path(folder: Path, sweep: int) -> Path:
    """Return the file of the checkpoint after a number of sweeps."""
    return folder / f"{sweep:012d}{SUFFIX}"


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints of a chain, the newest first."""
    if not folder.is_dir():
        return []
    found = [p for p in folder.iterdir() if p.suffix == SUFFIX and p.stem.isdecimal() and len(p.stem) == 12]
    return sorted(found, reverse=True)


def write_checkpoint(folder: Path, sweep: int, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Path:
    """Write a checkpoint, and remove all older ones but one, and later ones, which were damaged and so not used."""
    path = checkpoint_path(folder, sweep)
    held = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    with replaced(path) as work, work.open("wb") as file:
        checksum = _Checksum()
        for piece in _pieces(about, held):
            checksum.update(piece)
            file.write(piece)
        file.write(checksum.digest())
    found = checkpoints(folder)
    place = found.index(path)
    for other in [*found[:place], *found[place + KEPT :]]:
        other.unlink()
    return path


def read_checkpoint(path: Path, *, mapped: bool = False) -> Checkpoint:
    """Read a checkpoint."""
    try:
        size = os.path.getsize(path)
        if not path.is_file() or size < len(MAGIC) + 8 + DIGEST:
            raise _damaged(path, f"it has {size:,} bytes")
        buffer: UInt8Array = np.memmap(path, np.uint8, "r") if mapped else np.fromfile(path, np.uint8)
    except OSError as error:
        raise TraceError(f"{path}: the checkpoint cannot be read ({error.strerror or error})") from None
    if len(buffer) < len(MAGIC) + 8 + DIGEST or buffer[: len(MAGIC)].tobytes() != MAGIC:
        raise _damaged(path, "it does not start like one")
    content = buffer[:-DIGEST]
    if digest_of(content.data) != buffer[-DIGEST:].tobytes():
        raise _damaged(path, "its checksum differs")
    try:
        about, arrays = _parse(content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, SyntaxError) as error:
        raise _damaged(path, str(error)) from None
    return Checkpoint(path, about, arrays)


class _Checksum:
    """BLAKE2b of the CRC-32C of each block, since a digest of all bytes would take as long as writing them.

    A CRC finds any damage of up to 32 bits in a row, and of other damage all but one in 2**32.
    """

    def __init__(self) -> None:
        self.blocks = hashlib.blake2b(digest_size=DIGEST)
        self.crc, self.room = 0, BLOCK

    def update(self, piece: bytes | memoryview) -> None:
        left = memoryview(piece)
        while left:
            part, left = left[: self.room], left[self.room :]
            # The library takes only bytes.
            self.crc, self.room = google_crc32c.extend(self.crc, bytes(part)), self.room - len(part)
            if self.room == 0:
                self._close()

    def digest(self) -> bytes:
        self._close()
        return self.blocks.digest()

    def _close(self) -> None:
        self.blocks.update(self.crc.to_bytes(4, "little"))
        self.crc, self.room = 0, BLOCK


def digest_of(content: bytes | memoryview) -> bytes:
    """Return the checksum at the end of a checkpoint with this content."""
    checksum = _Checksum()
    checksum.update(content)
    return checksum.digest()


def _damaged(path: Path, why: str) -> TraceError:
    return TraceError(f"{path}: the checkpoint is damaged or cut short ({why})")


def _pieces(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[bytes | memoryview]:
    described, place = [], 0
    for name, array in arrays.items():
        if array.dtype.kind not in TYPES:
            raise TypeError(f"{name} holds {array.dtype}; a checkpoint holds numbers")
        described.append({"name": name, "type": array.dtype.str, "shape": array.shape, "place": place})
        place += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    header = json.dumps({"version": VERSION, "about": about, "arrays": described}, separators=(",", ":")).encode()
    start = len(MAGIC) + 8
    header += b" " * (-(start + len(header)) % ALIGNMENT)
    yield MAGIC + len(header).to_bytes(8, "little") + header
    for array in arrays.values():
        data = array.reshape(-1).view(np.uint8)
        for start in range(0, len(data), BLOCK):
            yield data[start : start + BLOCK].data
        yield bytes(-len(data) % ALIGNMENT)


def _parse(content: UInt8Array) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read header and arrays; a digest does not prove that a run wrote the file, so all is checked."""
    start = len(MAGIC) + 8
    length = int.from_bytes(content[len(MAGIC) : start].tobytes(), "little")
    if length > min(MAX_HEADER, len(content) - start):
        raise ValueError(f"a header of {length:,} bytes")
    header = json.loads(content[start : start + length].tobytes())
    if header["version"] != VERSION:
        raise ValueError(f"version {header['version']!r} of the format; expected {VERSION}")
    body = content[start + length :]
    arrays: dict[str, NDArray[Any]] = {}
    for entry in header["arrays"]:
        dtype, shape, place = np.dtype(str(entry["type"])), tuple(entry["shape"]), entry["place"]
        whole = all(type(n) is int and n >= 0 for n in (*shape, place))
        if dtype.kind not in TYPES or not whole or len(shape) > 8:
            raise ValueError(f"array {entry['name']!r} of type {dtype} and shape {shape}")
        size = math.prod(shape) * dtype.itemsize
        if place % ALIGNMENT or place + size > len(body):
            raise ValueError(f"array {entry['name']!r} lies outside the file")
        arrays[str(entry["name"])] = body[place : place + size].view(np.ndarray).view(dtype).reshape(shape)
        arrays[str(entry["name"])].flags.writeable = False
    if not isinstance(header["about"], dict):
        raise ValueError("no information about the run")
    return header["about"], arrays
