"""How many empty documents, words that never occur, and tokens a small file may ask for.

Numbers in a file determine the sizes of arrays, so they are compared with the number of entries (pairs of document and
word) that the file really has. Without these limits, a file of one line could take gigabytes.
"""

from __future__ import annotations

__all__ = ["max_tokens", "max_unused"]

UNUSED = 1_000_000
UNUSED_PER_ENTRY = 20

TOKENS = 20_000_000
TOKENS_PER_ENTRY = 1_000


def max_unused(n_entries: int) -> int:
    """Return how many documents or words may be announced beyond those in the entries of a file."""
    return UNUSED + UNUSED_PER_ENTRY * n_entries


def max_tokens(n_entries: int) -> int:
    """Return the largest total count for a file with this number of entries."""
    return max(TOKENS, TOKENS_PER_ENTRY * n_entries)
