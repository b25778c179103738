"""The global scales of a horseshoe, by slice sampling.

References
----------
J. G. Scott (2010). Parameter expansion in local-shrinkage models. arXiv 1010.5265, section 3.
M. Magnusson, L. Jonsson, M. Villani (2020). DOLDA: a regularized supervised topic model for high-dimensional
multi-class regression. Computational Statistics 35, appendix A.
"""

from __future__ import annotations

import math
from typing import Any

import numba

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.prior import LARGEST_SCALE, SMALLEST_SCALE
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.shrinkage.slice_lambda import below_slice
from ppl_topics.samplers.variates.streams import new_stream, start
from ppl_topics.samplers.variates.truncated_gamma import truncated_gamma

__all__ = ["draw_globals", "slice_tau", "sum_of_squares"]


SMALLEST, LARGEST = LARGEST_SCALE**-2.0, SMALLEST_SCALE**-2.0
"""Bounds of 1 / tau^2."""


@compiled
def sum_of_squares(eta: FloatArray, scales: FloatArray, c: int) -> float:
    """Return sum_j (eta_cj / lambda_cj)^2 over the slopes of response c."""
    total = 0.0
    for j in range(scales.shape[1]):
        total += (eta[c, j] / scales[c, j]) ** 2
    return total


@parallel
def draw_globals(
    eta: FloatArray,
    scales: FloatArray,
    prior_scale: float,
    key: Key,
    tau: FloatArray,
) -> None:
    """Update the global scales, in parallel over responses.

    h = prior_scale^2 / tau^2 has the density h^((p - 1) / 2) exp(-h r) / (1 + h), with p slopes and
    r = sum_j (eta_j / lambda_j)^2 / (2 prior_scale^2): given u below 1 / (1 + h) it is gamma, cut at (1 - u) / u.

    Parameters
    ----------
    eta : ndarray of float64, shape (C, F)
        Slopes, and then perhaps an intercept, which has no scale.
    scales : ndarray of float64, shape (C, slopes)
        lambda.
    prior_scale : float
        Of the half-Cauchy distribution of tau.
    key : Key
        Of the random streams, one for each response.
    tau : ndarray of float64, shape (C,)
        Overwritten.
    """
    for c in numba.prange(tau.size):
        stream = new_stream()
        start(stream, key, c)
        square, shape = prior_scale**2, 0.5 * (scales.shape[1] + 1.0)
        bound = min(below_slice(stream, square / tau[c] ** 2), square * LARGEST)
        rate = 0.5 * sum_of_squares(eta, scales, c) / square
        # Beyond the smallest only where all the distribution is there.
        h = max(bound * truncated_gamma(stream, shape, rate * bound), square * SMALLEST)
        tau[c] = prior_scale / math.sqrt(h)


@kernel(
    "slice_tau",
    updates="tau",
    reads=("eta", "lambda"),
    handles="horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    cost="1500 + C * (170 + 1.4 * F)",
    tasks="C",
    reference="Scott 2010, section 3; Magnusson, Jonsson, Villani 2020, appendix A",
)
def slice_tau(binding: Binding) -> KernelFunctions:
    """Slice sampling of the global scale of each response's horseshoe, given the local ones."""
    eta, tau, scales = (binding.names[role] for role in ("eta", "tau", "lambda"))
    prior: Any = binding.blocks[eta]

    def step(state: ChainState, memory: None, key: Key) -> None:
        draw_globals(state.arrays[eta], state.arrays[scales], prior.scale, key, state.arrays[tau])

    return KernelFunctions(step)
