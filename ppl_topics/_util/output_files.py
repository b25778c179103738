"""Files that are written completely or not at all, compressed if their name says so."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import zstandard

from ppl_topics._util.files import replaced
from ppl_topics._util.paths import check_replaceable
from ppl_topics.errors import PplTopicsError

__all__ = ["written", "written_text"]


@contextmanager
def written(path: Path, error: type[PplTopicsError] = PplTopicsError) -> Iterator[BinaryIO]:
    """Yield a file to write to, and move it into place once it is complete; ``.gz`` and ``.zst`` are compressed."""
    check_replaceable(path, error)
    try:
        with replaced(path) as work, work.open("wb") as raw, _compressed(path, raw) as file:
            yield file
    except OSError as reason:
        raise error(f"{path}: cannot be written ({reason.strerror or reason})") from None
    except UnicodeEncodeError as reason:
        held = reason.object[reason.start : reason.end]
        raise error(f"{path}: cannot be written: a word or id holds {held!r}, which UTF-8 cannot encode") from None


@contextmanager
def written_text(path: Path, error: type[PplTopicsError] = PplTopicsError) -> Iterator[IO[str]]:
    """Like `written`, for UTF-8 text with Unix line ends."""
    with written(path, error) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
        yield text
        text.flush()
        text.detach()


@contextmanager
def _compressed(path: Path, raw: BinaryIO) -> Iterator[Any]:
    if path.suffix.lower() == ".gz":
        # Without time and file name, so that the same content gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as zipped:
            yield zipped
    elif path.suffix.lower() == ".zst":
        with zstandard.ZstdCompressor(level=6, write_checksum=True).stream_writer(raw, closefd=False) as zipped:
            yield zipped
    else:
        yield raw
