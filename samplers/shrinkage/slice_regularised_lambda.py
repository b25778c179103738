"""The local scales of a regularised horseshoe, by slice sampling.

References
----------
J. Piironen, A. Vehtari (2017). Sparsity information and regularization in the horseshoe and other shrinkage priors.
Electronic Journal of Statistics 11(2), section 2.3: the prior.
P. Damlen, J. Wakefield, S. Walker (1999). Gibbs sampling for Bayesian non-conjugate and hierarchical models by using
auxiliary variables. JRSS B 61(2), section 3: one auxiliary variable for each factor.
"""

from __future__ import annotations

import math

import numba

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.shrinkage.slice_lambda import LARGEST, SMALLEST, below_slice
from ppl_topics.samplers.variates.streams import new_stream, start, uniform_open
from ppl_topics.samplers.variates.truncated_gamma import truncated_exponential

__all__ = ["draw_regularised_locals", "slice_regularised_lambda"]


@parallel
def draw_regularised_locals(
    eta: FloatArray,
    tau: FloatArray,
    slab: FloatArray,
    key: Key,
    scales: FloatArray,
) -> None:
    """Update the local scales, in parallel over responses.

    g = 1 / lambda^2 has the density exp(-g (eta / tau)^2 / 2) sqrt(1 + (tau / slab)^2 / g) / (1 + g): given numbers
    that are uniform below each of the last two factors it is exponential, cut where either factor falls below its own.

    Parameters
    ----------
    eta : ndarray of float64, shape (C, F)
        Slopes, and then perhaps an intercept, which has no scale.
    tau, slab : ndarray of float64, shape (C,)
    key : Key
        Of the random streams, one for each response.
    scales : ndarray of float64, shape (C, slopes)
        lambda; overwritten.
    """
    for c in numba.prange(scales.shape[0]):
        draw_row(eta, tau, slab, c, key, scales)


@compiled
def draw_row(
    eta: FloatArray,
    tau: FloatArray,
    slab: FloatArray,
    c: int,
    key: Key,
    scales: FloatArray,
) -> None:
    """Update the local scales of one response (see `draw_regularised_locals`)."""
    stream = new_stream()
    start(stream, key, c)
    ratio = (tau[c] / slab[c]) ** 2
    for j in range(scales.shape[1]):
        g = scales[c, j] ** -2.0
        bound = min(below_slice(stream, g), LARGEST)
        excess = uniform_open(stream) ** 2 * (1.0 + ratio / g) - 1.0
        if excess > 0.0:
            # Not below where it is, for all of rounding.
            bound = min(bound, max(ratio / excess, g))
        rate = 0.5 * (eta[c, j] / tau[c]) ** 2
        scales[c, j] = 1.0 / math.sqrt(SMALLEST + truncated_exponential(stream, rate, bound - SMALLEST))


@kernel(
    "slice_regularised_lambda",
    updates="lambda",
    reads=("eta", "tau", "slab"),
    handles="regularised_horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    cost="1500 + 73 * C * F",
    tasks="C",
    reference="Piironen, Vehtari 2017, section 2.3; Damlen, Wakefield, Walker 1999, section 3",
)
def slice_regularised_lambda(binding: Binding) -> KernelFunctions:
    """Slice sampling of the local scales of a regularised horseshoe, one variate for each, parallel over responses."""
    eta, tau, slab, scales = (binding.names[role] for role in ("eta", "tau", "slab", "lambda"))

    def step(state: ChainState, memory: None, key: Key) -> None:
        arrays = state.arrays
        draw_regularised_locals(arrays[eta], arrays[tau], arrays[slab], key, arrays[scales])

    return KernelFunctions(step)
