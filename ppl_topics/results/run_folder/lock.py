"""One writer for a folder: a second process is refused with a message that names the first."""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from ppl_topics._util.files import write_text
from ppl_topics.errors import RunError

__all__ = ["LOCK", "OWNER", "locked"]

LOCK, OWNER = "lock", "owner.json"
MAX_BYTES = 2**16
"""Most bytes to read of the file that names the owner."""


@contextmanager
def locked(folder: Path, seconds: float = 0.0) -> Iterator[None]:
    """Hold the lock of a folder; the system releases it when the process ends, however it ends."""
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise RunError(
            f"{folder}: another process is writing to it{_owner(folder)}; wait for it to end, or choose another folder"
        ) from None
    # NotImplementedError is what filelock raises for a file system without locks.
    except (OSError, NotImplementedError) as error:
        raise RunError(f"{folder}: cannot be locked ({getattr(error, 'strerror', None) or error})") from None
    try:
        _say_whose(folder / OWNER)
        yield
    finally:
        lock.release()


def _say_whose(path: Path) -> None:
    """Write down who has the lock, for the message to others; on a full disk they are refused without it."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with contextlib.suppress(OSError):
        # From now on the previous owner is wrong.
        path.unlink(missing_ok=True)
        write_text(path, json.dumps({"process": os.getpid(), "host": platform.node(), "since": started}))


def _owner(folder: Path) -> str:
    try:
        with (folder / OWNER).open("rb") as file:
            owner = json.loads(file.read(MAX_BYTES))
        since = str(owner["since"])[:30]
        return f" (process {int(owner['process'])} on {str(owner['host'])[:60]!r} since {since})"
    except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return ""
