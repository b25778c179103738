"""Statistics of whole arrays of draws: tiles of scalars, each gathered and computed by one of several threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled
from ppl_topics.diagnostics.efficiency.moments import MOMENTS, fill_moments
from ppl_topics.diagnostics.efficiency.ranked import RANKED, fill_ranked
from ppl_topics.diagnostics.efficiency.ranks import normal_score_table
from ppl_topics.diagnostics.efficiency.spectral import SPECTRAL, fill_spectral

__all__ = ["STATISTICS", "array_statistics"]

STATISTICS = (*RANKED, *MOMENTS, *SPECTRAL)
TILE_VALUES = 1 << 18
WIDEST_TILE = 256
FEWEST_DRAWS = 4


@compiled
def _gather(rows: NDArray[Any], start: int, block: FloatArray) -> None:
    """Transpose columns ``start, start + 1, ...`` of ``rows`` into the rows of ``block``, eight rows at a time."""
    n_scalars, size = block.shape
    for top in range(0, size, 8):
        bottom = min(top + 8, size)
        for scalar in range(n_scalars):
            for i in range(top, bottom):
                block[scalar, i] = rows[i, start + scalar]


def _load(rows: NDArray[Any], start: int, stop: int) -> FloatArray:
    """Return columns ``start, ..., stop - 1`` as contiguous float64 rows."""
    block = np.empty((stop - start, len(rows)))
    if rows.dtype in (np.float32, np.float64) and rows.flags.c_contiguous:
        _gather(rows, start, block)
    else:
        block[:] = rows[:, start:stop].T
    return block


def array_statistics(draws: NDArray[Any], names: Sequence[str]) -> list[FloatArray]:
    """Return the named statistics (see `STATISTICS`) of every scalar of draws of shape (n_chains, n_draws, ...).

    The work is shared between numba's threads, and the results do not depend on their number. A C-contiguous array is
    read in place; everything is computed in float64. Scalars with NaN draws or fewer than four draws per chain give
    NaN.
    """
    unknown = [name for name in names if name not in STATISTICS]
    if unknown:
        raise ValueError(f"unknown statistic {unknown[0]!r}; known: {', '.join(STATISTICS)}")
    if draws.ndim < 2:
        raise ValueError(f"draws must have shape (chain, draw, ...), got {draws.shape}")
    if draws.dtype.kind not in "biuf":
        raise TypeError(f"draws must be real numbers, got dtype {draws.dtype}")
    n_chains, n_draws, *event = draws.shape
    n_scalars = int(np.prod(event, dtype=np.int64))
    results = np.full((len(STATISTICS), n_scalars), np.nan)
    if n_chains > 0 and n_draws >= FEWEST_DRAWS and n_scalars > 0:
        _fill(draws.reshape(n_chains * n_draws, n_scalars), n_chains, names, results)
    return [results[STATISTICS.index(name)].reshape(event) for name in names]


def _fill(rows: NDArray[Any], n_chains: int, names: Sequence[str], results: FloatArray) -> None:
    """Fill the named rows of ``results``, tile by tile."""
    size, n_scalars = rows.shape
    ranked = np.array([name in names for name in RANKED])
    moments = np.array([name in names for name in MOMENTS])
    table = normal_score_table(2 * n_chains * (size // n_chains // 2))
    threads = numba.get_num_threads()
    width = max(1, min(WIDEST_TILE, TILE_VALUES // size, -(-n_scalars // threads)))

    def fill_tile(start: int) -> None:
        stop = min(start + width, n_scalars)
        block = _load(rows, start, stop)
        # The same memory layout for every tile, so that functions are compiled once.
        out = results[:, start:stop].copy()
        if ranked.any():
            fill_ranked(block, n_chains, ranked, table, out[: len(RANKED)])
        if moments.any():
            fill_moments(block, n_chains, moments, out[len(RANKED) : -len(SPECTRAL)])
        if SPECTRAL[0] in names:
            fill_spectral(block, n_chains, out[-len(SPECTRAL) :])
        results[:, start:stop] = out

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(fill_tile, range(0, n_scalars, width)):
            pass
