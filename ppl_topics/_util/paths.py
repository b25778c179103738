"""Paths from users, and names of files."""

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
"""Longer generated names are cut to this number of characters."""


def as_path(path: object, what: str, error: type[PplTopicsError]) -> Path:
    """Return a path; raise ``error`` if it is neither string nor path-like, has a NUL character, or a too long name.

    ``what`` says in the message what the path should lead to.
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise error(f"expected the path of {what}, a string or pathlib.Path, got {str(path)[:60]!r}")
    if "\0" in text:
        raise error(f"the path {text!r} contains a NUL character; remove it")
    result = Path(text)
    for part in result.parts:
        if len(os.fsencode(part)) > MAX_NAME:
            raise error(f"the name {part[:40]}... is longer than the {MAX_NAME} bytes that file systems allow")
    return result


def check_replaceable(path: Path, error: type[PplTopicsError]) -> None:
    """Raise ``error`` if there is a device, a pipe or the like at `path`, which writing a file would replace."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise error(f"{path}: exists and is neither a file nor a folder; it would be lost, so choose another name")


def file_names(grid: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a different file name for each combination of a grid, even on file systems that ignore case.

    A name that is long, or repeats another one, ends in its number in the grid.

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
    """Return a value in characters that every file system allows, with the sign of a number."""
    minus = "-" if isinstance(value, int | float) and value < 0 else ""
    return minus + re.sub(r"[^A-Za-z0-9.+]+", "-", str(value)).strip("-")
