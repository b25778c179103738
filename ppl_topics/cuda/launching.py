"""How many blocks and threads a function on a device is launched with."""

from __future__ import annotations

from typing import Any

from numba import cuda

from ppl_topics.cuda.limits import BLOCK_MEMORY
from ppl_topics.cuda.warp import LANES, SIMULATED

__all__ = ["grid_of_cells", "grid_of_documents", "grid_of_warps"]

WARPS = 1 if SIMULATED else 8
RESIDENT_WARPS = 64
"""Warps that a multiprocessor holds, at most."""


def grid_of_documents(topics: int, docs: int) -> tuple[Any, ...]:
    """Return blocks, threads, stream and shared bytes of a launch whose warps take documents, with 4 bytes a topic."""
    each = 4 * topics
    warps = max(1, min(WARPS, BLOCK_MEMORY // each))
    processors = 1 if SIMULATED else cuda.get_current_device().MULTIPROCESSOR_COUNT
    blocks = max(1, min(processors * (RESIDENT_WARPS // warps), -(-docs // warps)))
    return blocks, warps * LANES, 0, warps * each


def grid_of_cells(topics: int, pieces: int) -> tuple[Any, ...]:
    """Return the launch with a thread for each topic and piece of the words."""
    threads = min(128, -(-topics // LANES) * LANES)
    # The first dim of a grid is the only one that may be long.
    return (pieces, -(-topics // threads)), threads


def grid_of_warps(words: int) -> tuple[int, int]:
    """Return the launch with a warp for each word."""
    return -(-words // WARPS), WARPS * LANES
