"""The statistics of the draws themselves and of their squared distances from the mean."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import BoolArray, FloatArray
from ppl_topics._util.compiled import compiled
from ppl_topics.diagnostics.efficiency.autocovariance import centre, halving_sum, has_nan
from ppl_topics.diagnostics.efficiency.initial_sequence import SplitChains, effective_size, split_chains

__all__ = ["MOMENTS", "fill_moments"]

MOMENTS = ("ess_mean", "ess_sd", "mcse_mean", "mcse_sd")
MEAN, SD, MCSE_MEAN, MCSE_SD = range(4)
CONSTANT = 1e-15


@compiled
def _halves(draws: FloatArray, split: FloatArray) -> None:
    """Copy the first and the last half of each chain into two rows; the middle draw of an odd chain is left out."""
    n_chains, n_draws = draws.shape
    half = n_draws // 2
    for chain in range(n_chains):
        for j in range(half):
            split[2 * chain, j] = draws[chain, j]
            split[2 * chain + 1, j] = draws[chain, n_draws - half + j]


@compiled
def _is_constant(values: FloatArray) -> bool:
    """Return True if the range of the values is below what ArviZ takes for constant."""
    lowest = values[0, 0]
    highest = lowest
    for row in values:
        for value in row:
            lowest = min(lowest, value)
            highest = max(highest, value)
            if highest - lowest >= CONSTANT:
                return False
    return bool(highest - lowest < CONSTANT)


@compiled
def _moment_size(chains: SplitChains) -> float:
    """Return the effective sample size of the mean of split chains, which are centred in place."""
    if _is_constant(chains.centred):
        return float(chains.centred.size)
    centre(chains.centred, chains.centred, chains.means, chains.terms[0])
    return effective_size(False, chains)


@compiled
def fill_moments(block: FloatArray, n_chains: int, wanted: BoolArray, out: FloatArray) -> None:
    """Fill the wanted rows of ``out``, `MOMENTS` by scalars, from a block of shape (n_scalars, n_chains * n_draws).

    There are at least four draws per chain. Draws that are not finite give NaN.
    """
    n_scalars, n = block.shape
    n_draws = n // n_chains
    sums = np.empty(n)
    deviations = np.empty((n_chains, n_draws))
    chains = split_chains(n_chains, n_draws)
    for scalar in range(n_scalars):
        for column in range(4):
            out[column, scalar] = np.nan
        if has_nan(block[scalar]):
            continue
        draws = block[scalar].reshape((n_chains, n_draws))
        if wanted[MEAN] or wanted[MCSE_MEAN]:
            _halves(draws, chains.centred)
            out[MEAN, scalar] = _moment_size(chains)
        if not (wanted[SD] or wanted[MCSE_MEAN] or wanted[MCSE_SD]):
            continue
        for j in range(n):
            sums[j] = block[scalar, j]
        mean = halving_sum(sums, n) / n
        for chain in range(n_chains):
            for j in range(n_draws):
                deviations[chain, j] = (draws[chain, j] - mean) ** 2
                sums[chain * n_draws + j] = deviations[chain, j]
        second = halving_sum(sums, n) / n
        out[MCSE_MEAN, scalar] = np.sqrt(second * n / (n - 1.0) / out[MEAN, scalar])
        if wanted[SD] or wanted[MCSE_SD]:
            _halves(deviations, chains.centred)
            out[SD, scalar] = _moment_size(chains)
            for chain in range(n_chains):
                for j in range(n_draws):
                    sums[chain * n_draws + j] = deviations[chain, j] * deviations[chain, j]
            fourth = halving_sum(sums, n) / n
            out[MCSE_SD, scalar] = np.sqrt((fourth - second * second) / out[SD, scalar] / second / 4.0)
