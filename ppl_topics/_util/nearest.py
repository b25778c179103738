"""The nearest valid word, for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["choices", "nearest"]


def nearest(word: str, valid: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` or, when nothing is near, the valid words.

    Examples
    --------
    >>> nearest("alhpa", ["alpha", "beta"])
    "; did you mean 'alpha'?"
    >>> nearest("q", ["alpha", "beta"])
    '; valid: alpha, beta'
    """
    words = sorted(set(valid))
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if not close:
        close = [w for w in words if w.lower() == word.lower()]
    return f"; did you mean {close[0]!r}?" if close else f"; valid: {choices(words)}"


def choices(words: Iterable[str]) -> str:
    """Join words for a message, at most twelve of them."""
    listed = sorted(set(words))
    more = f" and {len(listed) - 12} more" if len(listed) > 12 else ""
    return (", ".join(listed[:12]) or "none") + more
