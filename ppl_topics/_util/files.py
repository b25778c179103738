"""Files that are replaced in one step, and survive a loss of power."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ppl_topics.errors import TraceError

__all__ = ["PART", "refuse_links", "remove_parts", "replaced", "sync", "unreadable", "write_text"]

PART = ".part"
"""Suffix of files that are being written."""

KEPT_NAME = 40
"""Characters of a file's name to keep in the name of its unfinished copy; all might be too many."""

MAX_DEPTH = 20
"""Depth of folders in a run folder; a chunk of an array of eight dimensions is twelve deep."""

LEFT = (PART, ".partial", ".old")
"""Suffixes that a process killed while writing leaves: files, chunks of zarr, the folder of a corpus."""


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield the name of a file to write, which replaces `path` once it is complete and on disk.

    The folder of `path` exists. An existing file stays if writing fails, with an OSError.
    """
    work = path.with_name(f".{path.name[:KEPT_NAME]}.{uuid.uuid4().hex}{PART}")
    try:
        yield work
        sync([work])
        os.replace(work, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            work.unlink()
    sync([path.parent])


def write_text(path: Path, text: str) -> None:
    """Write a file of UTF-8 text completely or not at all."""
    with replaced(path) as work:
        work.write_bytes(text.encode())


def sync(paths: Iterable[Path]) -> None:
    """Wait until files and folders are on disk, as far as the system can tell."""
    for path in paths:
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError:
            # Windows does not open folders; there is nothing to wait for.
            continue
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_parts(folder: Path) -> None:
    """Remove files and folders below a folder that a killed process left incomplete, as far as possible."""
    for path in [found for suffix in LEFT for found in folder.rglob(f"*{suffix}") if not found.is_symlink()]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()


def unreadable(path: Path, error: object, otherwise: str) -> TraceError:
    """Return the error for a path that cannot be read: the reason of the system if it has one, else ``otherwise``.

    If the system denies reading an existing file, nothing is damaged, and nothing should be removed.
    """
    if isinstance(error, OSError) and error.strerror and not isinstance(error, FileNotFoundError):
        return TraceError(f"{path}: cannot be read ({error.strerror})")
    return TraceError(otherwise)


def refuse_links(folder: Path) -> None:
    """Raise a `TraceError` if a folder contains links, pipes or devices, which lead elsewhere or never end.

    Names with unprintable characters, which would appear in messages, and very deep folders are refused too.
    """
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if not entry.name.isprintable():
                        raise TraceError(f"{folder}: contains {entry.name!r}, which no run writes")
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                        if len(waiting[-1].parts) - len(folder.parts) > MAX_DEPTH:
                            raise TraceError(f"{folder}: contains folders more than {MAX_DEPTH} levels deep")
                    elif not entry.is_file(follow_symlinks=False):
                        message = f"{entry.path}: a link, a pipe or a device; put back the file that a run wrote"
                        raise TraceError(message)
        except OSError as error:
            raise TraceError(f"{folder}: cannot be read ({error.strerror or error})") from None
