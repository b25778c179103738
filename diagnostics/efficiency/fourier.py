"""All autocovariances at once by the fast Fourier transform, for chains that mix slowly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled

__all__ = ["fill_lag_sums", "lags_worth_a_transform"]


@compiled
def lags_worth_a_transform(n_draws: int) -> int:
    """Return the number of lags whose direct sums cost about as much as the transforms."""
    return int(16.0 * np.log2(2.0 * n_draws))


@compiled
def _scatter_frequencies(signal: NDArray[np.complex128], roots: NDArray[np.complex128]) -> None:
    """Transform in place; the frequencies come out in bit-reversed order."""
    size = signal.size
    span = size
    while span >= 2:
        half = span // 2
        stride = size // span
        for start in range(0, size, span):
            for j in range(half):
                upper = signal[start + j]
                lower = signal[start + j + half]
                signal[start + j] = upper + lower
                signal[start + j + half] = (upper - lower) * roots[j * stride]
        span = half


@compiled
def _gather_frequencies(spectrum: NDArray[np.complex128], roots: NDArray[np.complex128]) -> None:
    """Transform in place from bit-reversed order to natural order."""
    size = spectrum.size
    span = 2
    while span <= size:
        half = span // 2
        stride = size // span
        for start in range(0, size, span):
            for j in range(half):
                upper = spectrum[start + j]
                lower = spectrum[start + j + half] * roots[j * stride]
                spectrum[start + j] = upper + lower
                spectrum[start + j + half] = upper - lower
        span *= 2


@compiled
def fill_lag_sums(centred: FloatArray, sums: FloatArray) -> None:
    """Fill ``sums[t]`` with the products of draws ``t`` apart, summed over draws and an even number of centred chains.

    Two real chains are the real and imaginary part of one signal, whose autocovariance has the sum of theirs as its
    real part. The power spectrum is taken in bit-reversed order, so no permutation is needed.
    """
    n_chains, n_draws = centred.shape
    size = 1
    while size < 2 * n_draws:
        size *= 2
    roots = np.empty(size // 2, np.complex128)
    for j in range(size // 2):
        angle = -2.0 * np.pi * j / size
        roots[j] = complex(np.cos(angle), np.sin(angle))
    power = np.zeros(size, np.complex128)
    signal = np.empty(size, np.complex128)
    for chain in range(0, n_chains, 2):
        signal[:] = 0.0
        for j in range(n_draws):
            signal[j] = complex(centred[chain, j], centred[chain + 1, j])
        _scatter_frequencies(signal, roots)
        for j in range(size):
            power[j] += signal[j].real * signal[j].real + signal[j].imag * signal[j].imag
    _gather_frequencies(power, roots)
    for t in range(n_draws):
        sums[t] = power[t].real / size
