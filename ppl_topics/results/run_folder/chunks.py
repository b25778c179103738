"""How the arrays of a run folder are cut and compressed, and what is no chunk that a run wrote.

A store may come from anywhere, and a chunk of a few bytes can expand to gigabytes. What the metadata say is held
against the files that are there, and what a file says against the metadata, before anything is allocated.
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
from ppl_topics.results.run_folder.checkpoint import ANEW, CHECKPOINTS, remedy

__all__ = ["TEXT", "check_array", "check_chunk", "chunks_of", "codecs", "damaged", "is_drawn", "is_ours", "what_to_do"]

TEXT = "TO"
KINDS = f"biuf{TEXT}"
"""Of arrays."""

MAX_DIMS = 8

BEYOND = 2**62
"""Values or bytes that nothing has."""

MAX_CHUNK_BYTES = 2**33
"""In memory, of a chunk; a draw of phi of 10,000 topics and 100,000 words takes half of it."""

MAX_RATIO = 40_000
"""Bytes in memory for each on disk: Zstandard writes 128 KiB that are all equal as four bytes, a ratio of 32,768."""

TEXT_BYTES = 64
"""That a text takes in memory beside its characters."""

CHECKSUM = 4
"""Bytes of one, at the end of a chunk; and of one at the end of a frame."""

COUNT = 4
"""Bytes at the beginning of what a chunk of text expands to, which say how many texts there are."""

MAGIC = b"\x28\xb5\x2f\xfd"
"""Of a Zstandard frame that is not skipped."""


def codecs(level: int) -> tuple[ZstdCodec, Crc32cCodec]:
    """Return what compresses the arrays of a run: with a checksum, so that a bit that changed is seen."""
    return ZstdCodec(level=level), Crc32cCodec()


def is_drawn(array: zarr.Array[Any]) -> bool:
    """Tell whether chains write an array; names and constants stand there from the beginning."""
    return tuple(getattr(array.metadata, "dimension_names", None) or ())[:2] == ("chain", "draw")


def what_to_do(group: Path, *, drawn: bool) -> str:
    """Say what to do about an array of a group that is lost or damaged."""
    return remedy(group.parents[1] / CHECKPOINTS) if drawn else ANEW


def check_array(array: zarr.Array[Any], group: Path, draws: int | None = None, share: float = 1.0) -> tuple[int, int]:
    """Refuse an array that lacks chunks, or would take memory which its files do not account for."""
    path = group / array.path
    if array.dtype.kind not in KINDS:
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
    counts = [-(-total // chunk) for total, chunk in zip(shape, array.chunks, strict=True)]
    if math.prod(shape) == 0:
        return 0, 0
    # Not a loop over what the metadata claim, but over the files, which are there.
    files = list(_files(path / "c", array.ndim, counts))
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
            raise unreadable(path, error, damaged(path, error, ANEW)) from None
    if size * found > MAX_RATIO * max(stored, 1):
        raise TraceError(f"{path}: claims that its {stored:,} bytes hold {size * found:,}; no run writes that")
    return size * found, stored


def damaged(path: Path, error: object, what: str) -> str:
    """Return what is said of an array with a damaged chunk."""
    return f"{path}: a chunk cannot be read ({error}); it is damaged. {what}"


def chunks_of(array: zarr.Array[Any], group: Path, key: Iterable[int | slice]) -> Iterator[Path]:
    """Yield the files of the chunks that a part of an array lies in, as far as they are there."""
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
    """Refuse a file of a chunk that does not expand to a chunk of an array, and return the bytes that it will take."""
    is_text = array.dtype.kind in TEXT
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        size, length = _frame(content)
        stored = len(content)
        if length + CHECKSUM != stored:
            raise ValueError(f"it has {stored:,} bytes, but {length + CHECKSUM:,} belong to it")
        most = MAX_CHUNK_BYTES if is_text else min(_expanded(array), MAX_CHUNK_BYTES, MAX_RATIO * stored)
        if size > most or not (is_text or size == _expanded(array)):
            raise ValueError(f"its {stored:,} bytes expand to {size:,}")
        count = math.prod(array.chunks)
        if is_text:
            _check_count(opened, count)
    return size + TEXT_BYTES * count if is_text else size


def is_ours(array: zarr.Array[Any]) -> bool:
    """Tell whether an array holds numbers or text, cut, named and compressed as a run does it."""
    names = getattr(array.metadata, "chunk_key_encoding", None)
    named = (getattr(names, "name", ""), getattr(names, "separator", "")) == ("default", "/")
    serializer = VLenUTF8Codec if array.dtype.kind in TEXT else BytesCodec
    compressors = [type(codec) for codec in codecs(0)]
    alike = isinstance(array.serializer, serializer) and [type(codec) for codec in array.compressors] == compressors
    return alike and named and not array.filters


def _expanded(array: zarr.Array[Any]) -> int:
    """Return the bytes that a chunk takes in memory; of text, the references to it."""
    return math.prod(array.chunks) * max(1, array.dtype.itemsize)


def _frame(content: mmap.mmap) -> tuple[int, int]:
    """Return what a Zstandard frame expands to, and its own length, from its header and those of its blocks.

    That there is one frame, and what it expands to, is in RFC 8878, section 3.1.1; the content of blocks is not read.
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
        # A block of one byte, repeated, holds that byte alone.
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


def _files(folder: Path, depth: int, counts: list[int]) -> Iterator[Path]:
    """Yield the files of the chunks that will be read."""
    if depth == 0:
        if folder.is_file() and not folder.is_symlink():
            yield folder
        return
    # As zarr spells them: 00 is no chunk.
    spelled = (path for path in folder.iterdir() if path.name.isdecimal()) if folder.is_dir() else ()
    names = (path for path in spelled if str(int(path.name)) == path.name)
    wanted = (path for path in names if int(path.name) < counts[len(counts) - depth])
    yield from itertools.chain.from_iterable(_files(path, depth - 1, counts) for path in wanted)
