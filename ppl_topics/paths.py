"""Paths as users give them."""

from __future__ import annotations

import os
from pathlib import Path

from ppl_topics.errors import PplTopicsError

__all__ = ["as_path"]

MAX_NAME = 255


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
        raise error(f"the path {text!r} holds a NUL character; remove it")
    result = Path(text)
    for part in result.parts:
        if len(os.fsencode(part)) > MAX_NAME:
            raise error(f"the name {part[:40]}... is longer than the {MAX_NAME} bytes that a file system takes")
    return result
