"""Lines of a text file, plain or compressed, with errors that name the line.

All readers use `numbered_lines`, so a missing file, a truncated archive and a stray byte are reported in the same
way for all formats.
"""

from __future__ import annotations

import codecs
import difflib
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import zstandard

from ppl_topics._util.argument_names import setting
from ppl_topics.corpus.readers.addresses import File
from ppl_topics.errors import CorpusError

__all__ = ["COMPRESSED_SUFFIXES", "file_error", "missing_file", "numbered_lines", "opened"]

COMPRESSED_SUFFIXES = {".gz": "gzip", ".zst": "Zstandard"}

_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
_CHUNK = 1 << 20
# A Zstandard file is decompressed in pieces this small because one of its blocks may be one byte repeated.
_PIECE = 1 << 10
_LONG = re.compile(r"\S{120,}")
_MAX_LINE = 1 << 26
# No text shrinks to a two-hundredth of its size, but files made to exhaust the memory do.
_MAX_RATIO = 200
_RATIO_FROM = 1 << 18


def file_error(path: object, line: int, message: str) -> CorpusError:
    """Return the error for one line of what is being read, or for all of it if the line is 0."""
    # A file of another kind may be a single word of megabytes.
    message = _LONG.sub(lambda found: f"{found[0][:60]}...", message)
    message = f"{path}:{line}: {message}" if line else f"{path}: {message}"
    # Fields and names may contain line ends, and characters that confuse a terminal.
    return CorpusError("".join(c if c.isprintable() else repr(c)[1:-1] for c in message))


def missing_file(path: File) -> CorpusError:
    """Return the error for a file that does not exist, with files of similar names."""
    return file_error(path, 0, f"there is no such file{_neighbours(path)}")


def numbered_lines(path: File, encoding: str = "utf-8", *, keep_ends: bool = False) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of a file with their numbers from 1, decompressed if its first bytes say so.

    Several members or frames of a compressed file make one text. A byte-order mark at the start of UTF-8 is
    dropped. With ``keep_ends`` lines keep their ``\n`` or ``\r\n``, which a quoted field of a CSV file may contain.
    """
    line = 1
    # The pieces of a line that spans chunks are joined once, at its end.
    rest: list[str] = []
    length = 0
    for text in _decoded(path, encoding):
        lines = text.split("\n")
        rest.append(lines[0])
        length += len(lines[0])
        if length > _MAX_LINE:
            raise file_error(path, line, f"the line has over {_MAX_LINE:,} characters; is this a file of lines?")
        if len(lines) == 1:
            continue
        lines[0] = "".join(rest)
        rest = [lines.pop()]
        length = len(rest[0])
        if keep_ends:
            yield from enumerate((content + "\n" for content in lines), line)
        else:
            yield from enumerate((content.removesuffix("\r") for content in lines), line)
        line += len(lines)
    last = "".join(rest)
    if last:
        yield line, last if keep_ends else last.removesuffix("\r")


def _decoded(path: File, encoding: str) -> Iterator[str]:
    """Decode the content chunk by chunk; count lines only to locate an error."""
    try:
        # Some of Python's encodings are not text encodings, such as base64; this refuses them.
        "a".encode(encoding)
        make_decoder = codecs.getincrementaldecoder("utf-8-sig" if _is_utf8(encoding) else encoding)
    except (LookupError, ValueError):
        raise CorpusError(f"encoding '{encoding}' is unknown to Python; try 'utf-8' or 'latin-1'") from None
    decoder = make_decoder()
    line = 1
    try:
        for chunk in _content(path):
            text = decoder.decode(chunk)
            line += text.count("\n")
            yield text
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        guess = "utf-16" if error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin-1"
        line += error.object[: error.start].decode(encoding, errors="replace").count("\n")
        found = " ".join(f"0x{byte:02x}" for byte in error.object[error.start : error.end][:4])
        raise file_error(
            path,
            line,
            f"found {found}, which is not {encoding} text; give the file's encoding, for example "
            f"{setting('encoding', guess)}, or convert the file to UTF-8",
        ) from None
    except UnicodeError as error:
        raise file_error(path, line, f"this is not {encoding} text ({error}); give the file's encoding") from None


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")


def _content(path: File) -> Iterator[bytes]:
    """Yield the decompressed content in chunks."""
    with opened(path) as raw:
        head = raw.read(4)
        raw.seek(0)
        kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")
        if kind:
            yield from _bounded(path, raw, _gunzipped(path, raw) if kind == ".gz" else _unzstd(path, raw))
        elif head and path.suffix.lower() in COMPRESSED_SUFFIXES:
            name = COMPRESSED_SUFFIXES[path.suffix.lower()]
            raise file_error(
                path,
                0,
                f"the name ends in {path.suffix} but the content is not {name}; "
                "the file is damaged, or plain text that should be renamed",
            )
        else:
            yield from iter(lambda: raw.read(_CHUNK), b"")


@contextmanager
def opened(path: File) -> Iterator[IO[bytes]]:
    """Open a file to read its bytes; errors name it."""
    try:
        with path.open("rb") as raw:
            yield raw
    except FileNotFoundError:
        raise missing_file(path) from None
    except IsADirectoryError:
        raise file_error(path, 0, "this is a folder, expected a file") from None
    except OSError as error:
        raise file_error(path, 0, f"the file cannot be read: {error.strerror or error}") from error
    except Exception as error:
        # Other file systems have errors of their own.
        if isinstance(path, Path) or isinstance(error, CorpusError):
            raise
        raise file_error(path, 0, f"the file cannot be read: {error or type(error).__name__}") from error


def _neighbours(path: File) -> str:
    """Suggest existing files with similar names."""
    if not isinstance(path, Path):
        return ""
    parent = path.parent
    if not parent.is_dir():
        return f", nor a folder '{parent}'"
    try:
        names = sorted(entry.name for entry in parent.iterdir())
    except OSError:
        return ""
    matches = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    return f"; near it: {', '.join(matches)}" if matches else f" in '{parent}'"


def _bounded(path: File, raw: IO[bytes], pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pass on decompressed pieces, unless there is more than any text would give."""
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > max(_RATIO_FROM, _MAX_RATIO * raw.tell()):
            raise file_error(
                path,
                0,
                f"it expands to more than {_MAX_RATIO} times its size, which no text does; if it is right, decompress "
                "it first",
            )
        yield piece


def _gunzipped(path: File, raw: IO[bytes]) -> Iterator[bytes]:
    try:
        with gzip.GzipFile(fileobj=raw) as unzipped:
            while text := unzipped.read(_CHUNK):
                yield text
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _damaged(path, "gzip", str(error)) from None


def _unzstd(path: File, raw: IO[bytes]) -> Iterator[bytes]:
    # ``stream_reader`` accepts a truncated file; this object knows where a frame ends.
    decompressor = zstandard.ZstdDecompressor().decompressobj(write_size=_CHUNK)
    while data := raw.read(_PIECE):
        while data:
            if decompressor.eof:
                decompressor = zstandard.ZstdDecompressor().decompressobj(write_size=_CHUNK)
            try:
                text = decompressor.decompress(data)
            except zstandard.ZstdError as error:
                raise _damaged(path, "Zstandard", str(error)) from None
            data = decompressor.unused_data
            if text:
                yield text
    if not decompressor.eof:
        raise _damaged(path, "Zstandard", "it ends before its frame does")


def _damaged(path: File, kind: str, reason: str) -> CorpusError:
    return file_error(path, 0, f"the {kind} file is truncated or damaged ({reason}); fetch or compress it again")
