"""The local scales of a horseshoe, by slice sampling.

References
----------
J. G. Scott (2010). Parameter expansion in local-shrinkage models. arXiv 1010.5265, section 3.
M. Magnusson, L. Jonsson, M. Villani (2020). DOLDA: a regularized supervised topic model for high-dimensional
multi-class regression. Computational Statistics 35, appendix A.
"""

from __future__ import annotations

import math

import numba

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.prior import LARGEST_SCALE, SMALLEST_SCALE
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform_open
from ppl_topics.samplers.variates.truncated_gamma import truncated_exponential

__all__ = ["LARGEST", "SMALLEST", "below_slice", "draw_locals", "slice_lambda"]


SMALLEST, LARGEST = LARGEST_SCALE**-2.0, SMALLEST_SCALE**-2.0
"""Bounds of 1 / lambda^2."""


@compiled
def below_slice(stream: Stream, g: float) -> float:
    """Draw u ~ U(0, 1 / (1 + g)) and return (1 - u) / u, the bound that it sets to g."""
    share = uniform_open(stream)
    return (g + (1.0 - share)) / share


@parallel
def draw_locals(eta: FloatArray, tau: FloatArray, key: Key, scales: FloatArray) -> None:
    """Update the local scales, in parallel over responses.

    g = 1 / lambda^2 has the density exp(-g (eta / tau)^2 / 2) / (1 + g): given u below 1 / (1 + g) it is exponential,
    cut at (1 - u) / u. Where eta is 0 it is uniform up to there.

    Parameters
    ----------
    eta : ndarray of float64, shape (C, F)
        Slopes, and then perhaps an intercept, which has no scale.
    tau : ndarray of float64, shape (C,)
    key : Key
        Of the random streams, one for each response.
    scales : ndarray of float64, shape (C, slopes)
        lambda; overwritten.
    """
    for c in numba.prange(scales.shape[0]):
        draw_row(eta, tau, c, key, scales)


@compiled
def draw_row(eta: FloatArray, tau: FloatArray, c: int, key: Key, scales: FloatArray) -> None:
    """Update the local scales of one response (see `draw_locals`)."""
    stream = new_stream()
    start(stream, key, c)
    for j in range(scales.shape[1]):
        bound = min(below_slice(stream, scales[c, j] ** -2.0), LARGEST)
        rate = 0.5 * (eta[c, j] / tau[c]) ** 2
        scales[c, j] = 1.0 / math.sqrt(SMALLEST + truncated_exponential(stream, rate, bound - SMALLEST))


@kernel(
    "slice_lambda",
    updates="lambda",
    reads=("eta", "tau"),
    handles="horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    cost="1500 + 70 * C * F",
    tasks="C",
    reference="Scott 2010, section 3; Magnusson, Jonsson, Villani 2020, appendix A",
)
def slice_lambda(binding: Binding) -> KernelFunctions:
    """Slice sampling of the local scales of a horseshoe, one variate for each, parallel over responses."""
    eta, tau, scales = (binding.names[role] for role in ("eta", "tau", "lambda"))

    def step(state: ChainState, memory: None, key: Key) -> None:
        draw_locals(state.arrays[eta], state.arrays[tau], key, state.arrays[scales])

    return KernelFunctions(step)
