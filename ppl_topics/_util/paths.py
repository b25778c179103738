"""Paths as users give them, and names of files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ppl_topics.errors import PplTopicsError

__all__ = ["as_path", "check_replaceable", "file_names"]

MAX_NAME = 255

LONG_NAME = 100
"""Characters of a made name beyond which it is cut."""


def as_path(path: object, what: str, error: type[PplTopicsError]) -> Path:
    """Return a path, or say what was given in its place.

    Parameters
    ----------
    path : str or path-like
    what : str
        What it should lead to, for the message.
    error : type
        The error to raise.

    Raises
    ------
    PplTopicsError
        If it is neither a string nor path-like, or holds a NUL character or a name too long to exist.
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise error(f"expected the path of {what}, a string or pathlib.Path, got {str(path)[:60]!r}")
    if "\0" in text:
        raise error(f"the path {text!r} contains a NUL character; remove it")
    result = Path(text)
    for part in result.parts:
        if len(os.fsencode(part)) > MAX_NAME:
            raise error(f"the name {part[:40]}... is longer than the {MAX_NAME} bytes that a file system takes")
    return result


def check_replaceable(path: Path, error: type[PplTopicsError]) -> None:
    """Refuse a place for a file where a device, a pipe, or anything else stands that is neither file nor folder.

    A file that appears whole is moved to its place, which takes away what stood there.

    Parameters
    ----------
    path : pathlib.Path
    error : type
        The error to raise.

    Raises
    ------
    PplTopicsError
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise error(f"{path}: exists and is neither a file nor a folder; it would be lost, so choose another name")


def file_names(grid: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a file's name for each combination, all of them different, also where case does not count.

    What is long, or the same as another but for characters that a name cannot have, ends in its number in the grid.

    Examples
    --------
    >>> file_names([{"topics": 10, "alpha": {"sum": 6.4}}, {"topics": 20, "alpha": 1.0}])
    ['topics=10,alpha=sum-6.4', 'topics=20,alpha=1.0']
    >>> file_names([{"start": "a b"}, {"start": "A/b"}])
    ['start=a-b,run=1', 'start=A-b,run=2']
    """
    names = [",".join(f"{name}={_in_file_name(value)}" for name, value in chosen.items()) for chosen in grid]
    times = Counter(name.casefold() for name in names)
    return [
        name if len(name) <= LONG_NAME and times[name.casefold()] == 1 else f"{name[:LONG_NAME]},run={number}"
        for number, name in enumerate(names, 1)
    ]


def _in_file_name(value: Any) -> str:
    """Return a value in characters that every file system takes; of a number the sign stays."""
    minus = "-" if isinstance(value, int | float) and value < 0 else ""
    return minus + re.sub(r"[^A-Za-z0-9.+]+", "-", str(value)).strip("-")
