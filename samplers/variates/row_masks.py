"""Which cells of a row are positive or set, as masks of up to 64 bits."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import Int32Array, UInt8Array
from ppl_topics._util.compiled import inlined
from ppl_topics.samplers.variates.simd import LANES
from ppl_topics.samplers.variates.simd_masks import eight_positive, eight_set

__all__ = ["included_cells", "positive_cells"]

ZERO, ONE = np.uint64(0), np.uint64(1)


@inlined
def positive_cells(counts: Int32Array, row: int, first: int, last: int) -> np.uint64:
    """Return a mask of up to 64 bits: which counts of a row from `first` to `last` - 1 are positive."""
    mask = ZERO
    cell = first
    while cell + LANES <= last:
        mask |= eight_positive(counts, row, cell) << np.uint64(cell - first)
        cell += LANES
    while cell < last:
        if counts[row, cell] > 0:
            mask |= ONE << np.uint64(cell - first)
        cell += 1
    return mask


@inlined
def included_cells(included: UInt8Array, row: int, first: int, last: int) -> np.uint64:
    """Return a mask of up to 64 bits: which cells of a row from `first` to `last` - 1 are included."""
    mask = ZERO
    cell = first
    while cell + LANES <= last:
        mask |= eight_set(included, row, cell) << np.uint64(cell - first)
        cell += LANES
    while cell < last:
        if included[row, cell] > 0:
            mask |= ONE << np.uint64(cell - first)
        cell += 1
    return mask
