"""The nearest valid word, for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["choices", "did_you_mean", "nearest"]


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` or, when nothing is near, the empty string.

    Examples
    --------
    >>> did_you_mean("alhpa", ["alpha", "beta"])
    "; did you mean 'alpha'?"
    """
    words = sorted(set(valid))
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    close = close or [w for w in words if w.lower() == word.lower()]
    return f"; did you mean {close[0]!r}?" if close else ""


def nearest(word: str, valid: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` or, when nothing is near, the valid words.

    Examples
    --------
    >>> nearest("q", ["alpha", "beta"])
    '; valid: alpha, beta'
    """
    words = set(valid)
    return did_you_mean(word, words) or f"; valid: {choices(words)}"


def choices(words: Iterable[str]) -> str:
    """Join words for a message, at most twelve of them."""
    listed = sorted(set(words))
    more = f" and {len(listed) - 12} more" if len(listed) > 12 else ""
    return (", ".join(listed[:12]) or "none") + more
