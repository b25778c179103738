"""In how many chains each topic recurs, also where the chains sample different modes."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import BoolArray
from ppl_topics.diagnostics.alignment.align import SAME, Alignment

__all__ = ["RECURS", "recurrence", "recurs"]

RECURS = 0.85
"""Least similarity of a topic that recurs: the same theme, if not the same mode of it."""


def recurs(alignment: Alignment) -> BoolArray:
    """Return where a chain has a topic like that of the reference, with the shape of ``alignment.similarity``.

    The similarity is at least `RECURS`, and no less than that to any other topic of the reference.
    """
    limit = np.minimum(SAME, np.maximum(RECURS, alignment.nearest))
    found: BoolArray = alignment.agrees_in | (alignment.similarity >= limit)
    return found


def recurrence(alignment: Alignment) -> str:
    """Return how many topics recur in all chains, in some and in one only, in words."""
    counts, chains = recurs(alignment).sum(axis=0), len(alignment.chains)
    in_all, in_one = int((counts == chains).sum()), int((counts == 1).sum())
    in_some = counts.size - in_all - in_one
    everywhere = "both chains" if chains == 2 else f"all {chains} chains"
    text = f"{in_all:,} of {counts.size:,} topics recur in {everywhere} (similarity at least {RECURS})"
    text += f", {in_some:,} in some" if in_some else ""
    return text + (f", {in_one:,} in one only" if in_one else "")
