"""How much a small file may ask for: empty documents, words that never occur, tokens.

A number in a file sizes an array, so each is held against what the file really has: the entries, a word in a document
each. What these limits refuse would take gigabytes from a file of a line.
"""

from __future__ import annotations

__all__ = ["most_tokens", "most_unused"]

UNUSED = 1_000_000
UNUSED_PER_ENTRY = 20

TOKENS = 20_000_000
TOKENS_PER_ENTRY = 1_000


def most_unused(n_entries: int) -> int:
    """Return how many documents or words a file of so many entries may number, beyond those that it mentions."""
    return UNUSED + UNUSED_PER_ENTRY * n_entries


def most_tokens(n_entries: int) -> int:
    """Return how many tokens the counts of so many entries may come to."""
    return max(TOKENS, TOKENS_PER_ENTRY * n_entries)
