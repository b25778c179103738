"""Files that are replaced in one step, and stay after the machine loses power."""

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
"""Characters of a file's name that stand in that of the one that is being written: all of them might be too long."""

MAX_DEPTH = 20
"""Of folders in that of a run: a chunk of an array of eight dims stands twelve deep."""

LEFT = (PART, ".partial", ".old")
"""What a process leaves that is killed while it writes: files, chunks of zarr, the folder of a corpus."""


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Give the name of a file to write, which takes the place of another once it is complete and on disk.

    Parameters
    ----------
    path : pathlib.Path
        Its folder exists. What stands there stays if the writing fails.

    Raises
    ------
    OSError
        If it cannot be written.
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
    """Write a file of UTF-8 text whole or not at all."""
    with replaced(path) as work:
        work.write_bytes(text.encode())


def sync(paths: Iterable[Path]) -> None:
    """Wait until files and folders are on disk, as far as the system says so."""
    for path in paths:
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError:
            # Windows opens no folders; there is nothing to wait for.
            continue
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_parts(folder: Path) -> None:
    """Remove what a killed process left half written, in a folder and those below it, as far as that can be done."""
    for path in [found for suffix in LEFT for found in folder.rglob(f"*{suffix}") if not found.is_symlink()]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()


def unreadable(path: Path, error: object, otherwise: str) -> TraceError:
    """Return the error for what cannot be read: the system's reason where it has one, as that one may not read it.

    Nothing is damaged then, and nothing should be removed. What is not there any more is another matter.

    Parameters
    ----------
    path : pathlib.Path
    error : object
        What was raised, or found.
    otherwise : str
        What is said of all else.
    """
    if isinstance(error, OSError) and error.strerror and not isinstance(error, FileNotFoundError):
        return TraceError(f"{path}: cannot be read ({error.strerror})")
    return TraceError(otherwise)


def refuse_links(folder: Path) -> None:
    """Refuse a folder of others that holds links, pipes or devices: they lead elsewhere, or never end.

    Names that are no words, which would stand in messages, are refused too, and folders in folders without end.

    Raises
    ------
    TraceError
    """
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if not entry.name.isprintable():
                        raise TraceError(f"{folder}: holds {entry.name!r}, which no run writes")
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                        if len(waiting[-1].parts) - len(folder.parts) > MAX_DEPTH:
                            raise TraceError(f"{folder}: holds folders in folders, over {MAX_DEPTH} deep")
                    elif not entry.is_file(follow_symlinks=False):
                        message = f"{entry.path}: a link, a pipe or a device; put back the file that a run wrote"
                        raise TraceError(message)
        except OSError as error:
            raise TraceError(f"{folder}: cannot be read ({error.strerror or error})") from None
