"""How the arrays of a run folder are chunked and compressed, and how a chunk that no run wrote is recognised.

A store may come from anywhere, and a chunk of a few bytes can expand to gigabytes. The metadata are compared with the
files that exist, and each file with the metadata, before anything is allocated.
"""

from __future__ import annotations

import itertools
import math
import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import zarr
import zstandard
from zarr.codecs import BytesCodec, Crc32cCodec, VLenUTF8Codec, ZstdCodec

from ppl_topics._util.files import unreadable
from ppl_topics.errors import TraceError
from ppl_topics.results.run_folder.checkpoint import CHECKPOINTS, anew, remedy

__all__ = ["TEXT", "check_array", "check_chunk", "chunks_of", "codecs", "damaged", "is_drawn", "is_ours", "what_to_do"]

TEXT = "TO"
"""Kinds of dtypes of text."""

MAX_DIMS = 8

BEYOND = 2**62
"""A number of values or bytes that no array has."""

MAX_CHUNK_BYTES = 2**33
"""Of a chunk in memory; a draw of phi with 10,000 topics and 100,000 words takes half of it."""

MAX_RATIO = 40_000
"""Most bytes in memory for each on disk: Zstandard writes 128 KiB of equal bytes as four, a ratio of 32,768."""

TEXT_BYTES = 64
"""Memory that a text takes besides its characters."""

CHECKSUM = 4
"""Bytes of the checksum at the end of a chunk, and of that at the end of a frame."""

COUNT = 4
"""Bytes at the beginning of an expanded chunk of text, which hold the number of texts."""

MAGIC = b"\x28\xb5\x2f\xfd"
"""Start of a Zstandard frame with content."""


def codecs(level: int) -> tuple[ZstdCodec, Crc32cCodec]:
    """Return what compresses the arrays of a run, with a checksum that shows a changed bit."""
    return ZstdCodec(level=level), Crc32cCodec()


def is_drawn(array: zarr.Array[Any]) -> bool:
    """Return whether chains write an array; names and constants are there from the start."""
    return tuple(getattr(array.metadata, "dimension_names", None) or ())[:2] == ("chain", "draw")


def what_to_do(group: Path, *, drawn: bool) -> str:
    """Say what to do about an array of a group that is lost or damaged."""
    return remedy(group.parents[1] / CHECKPOINTS) if drawn else anew()


def check_array(array: zarr.Array[Any], group: Path, draws: int | None = None, share: float = 1.0) -> tuple[int, int]:
    """Refuse an array that lacks chunks, or would take memory that its files do not account for.

    Return its size in memory and on disk, in bytes.
    """
    path = group / array.path
    if array.dtype.kind not in f"biuf{TEXT}":
        raise TraceError(f"{path}: holds {array.dtype}; a run writes numbers and text")
    if array.ndim > MAX_DIMS:
        raise TraceError(f"{path}: claims {array.ndim:,} dims; it was not written by ppl-topics")
    if not is_ours(array):
        raise TraceError(
            f"{path}: is not chunked and compressed the way a run does it; it was not written by ppl-topics"
        )
    if any(max(sizes, default=0) >= BEYOND or math.prod(sizes) >= BEYOND for sizes in (array.shape, array.chunks)):
        raise TraceError(f"{path}: claims to be larger than any array can be; it was not written by ppl-topics")
    shape = array.shape if draws is None or not is_drawn(array) else (array.shape[0], draws, *array.shape[2:])
    if shape != array.shape and array.shape[1] < shape[1]:
        raise TraceError(
            f"{path}: holds {array.shape[1]:,} draws, but the checkpoints say {draws:,}; part of it is missing"
        )
    size = _expanded(array)
    if size > MAX_CHUNK_BYTES:
        raise TraceError(f"{path}: claims chunks of {size:,} bytes; a run writes none so large")
    if math.prod(shape) == 0:
        return 0, 0
    # The metadata may claim any number of chunks, so loop over the files that exist.
    counts = [-(-total // chunk) for total, chunk in zip(shape, array.chunks, strict=True)]
    files = [file for file in (path / "c").rglob("*") if _is_chunk(file.relative_to(path / "c").parts, counts)]
    files = [file for file in (files if counts else [path / "c"]) if file.is_file() and not file.is_symlink()]
    found, stored = len(files), sum(file.stat().st_size for file in files)
    expected = round(share * math.prod(counts))
    if found < expected:
        raise TraceError(
            f"{path}: {expected - found:,} of its {expected:,} chunks are missing. "
            f"{what_to_do(group, drawn=is_drawn(array))}"
        )
    if array.dtype.kind in TEXT:
        try:
            return sum(check_chunk(array, file) for file in files), stored
        except (OSError, ValueError) as error:
            raise unreadable(path, error, damaged(path, error, anew())) from None
    if size * found > MAX_RATIO * max(stored, 1):
        raise TraceError(f"{path}: claims that its {stored:,} bytes hold {size * found:,}; no run writes that")
    return size * found, stored


def damaged(path: Path, error: object, what: str) -> str:
    """Return the message for an array with a damaged chunk."""
    return f"{path}: a chunk cannot be read ({error}); it is damaged. {what}"


def chunks_of(array: zarr.Array[Any], group: Path, key: Iterable[int | slice]) -> Iterator[Path]:
    """Yield the existing files of the chunks that hold a part of an array."""
    numbers = []
    for at, total, chunk in zip(key, array.shape, array.chunks, strict=True):
        along = range(total)[at] if isinstance(at, slice) else [range(total)[at]]
        first, last = sorted((along[0], along[-1])) if along else (0, -1)
        numbers.append(range(first // chunk, last // chunk + 1))
    for place in itertools.product(*numbers):
        file = (group / array.path / "c").joinpath(*map(str, place))
        if file.is_file():
            yield file


def check_chunk(array: zarr.Array[Any], file: Path) -> int:
    """Refuse a file that does not expand to a chunk of an array, and return the bytes that it will take."""
    is_text = array.dtype.kind in TEXT
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        size, length = _frame(content)
        stored = len(content)
        if length + CHECKSUM != stored:
            raise ValueError(f"it has {stored:,} bytes, but {length + CHECKSUM:,} belong to it")
        most = MAX_CHUNK_BYTES if is_text else min(_expanded(array), MAX_CHUNK_BYTES, MAX_RATIO * stored)
        if size > most or not (is_text or size == _expanded(array)):
            raise ValueError(f"its {stored:,} bytes expand to {size:,}")
        if not is_text:
            return size
        count = math.prod(array.chunks)
        _check_count(opened, count)
        return size + TEXT_BYTES * count


def is_ours(array: zarr.Array[Any]) -> bool:
    """Return whether an array holds numbers or text, chunked, named and compressed as a run does it."""
    names = getattr(array.metadata, "chunk_key_encoding", None)
    named = (getattr(names, "name", ""), getattr(names, "separator", "")) == ("default", "/")
    serializer = VLenUTF8Codec if array.dtype.kind in TEXT else BytesCodec
    compressors = [type(codec) for codec in codecs(0)]
    alike = isinstance(array.serializer, serializer) and [type(codec) for codec in array.compressors] == compressors
    return alike and named and not array.filters


def _expanded(array: zarr.Array[Any]) -> int:
    """Return the bytes that a chunk takes in memory; for text, those of the references to it."""
    return math.prod(array.chunks) * max(1, array.dtype.itemsize)


def _is_chunk(names: tuple[str, ...], counts: list[int]) -> bool:
    """Return whether the path of a file is that of a chunk; zarr spells 0 as 0, so 00 is not one."""
    return len(names) == len(counts) and all(
        name.isdecimal() and str(int(name)) == name and int(name) < count
        for name, count in zip(names, counts, strict=True)
    )


def _frame(content: mmap.mmap) -> tuple[int, int]:
    """Return the expanded size of a Zstandard frame and its own length, from its header and those of its blocks.

    RFC 8878, section 3.1.1, describes them; the content of the blocks is not read.
    """
    if content[:4] != MAGIC:
        raise ValueError("it is not compressed the way a run does it")
    try:
        # The longest header has 18 bytes.
        about, at = zstandard.get_frame_parameters(content[:18]), zstandard.frame_header_size(content[:18])
    except zstandard.ZstdError as error:
        raise ValueError(f"it is not compressed the way a run does it ({error})") from None
    if about.content_size == zstandard.CONTENTSIZE_UNKNOWN:
        raise ValueError("it does not state its expanded size")
    last = False
    while not last:
        block = content[at : at + 3]
        if len(block) < 3:
            raise ValueError("it is cut off")
        header = int.from_bytes(block, "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        # A block of one repeated byte stores only that byte.
        at += 3 + (1 if kind == 1 else size)
    return about.content_size, at + (CHECKSUM if about.has_checksum else 0)


def _check_count(content: BinaryIO, expected: int) -> None:
    """Refuse a chunk of text that claims another number of texts, since memory is allocated for them."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(content, closefd=False) as reader:
            count = int.from_bytes(reader.read(COUNT), "little")
    except zstandard.ZstdError as error:
        raise ValueError(f"it cannot be expanded ({error})") from None
    if count != expected:
        raise ValueError(f"it holds {count:,} texts of {expected:,}")
