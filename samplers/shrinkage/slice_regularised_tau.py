"""The global scales of a regularised horseshoe, by slice sampling on the log scale.

References
----------
J. Piironen, A. Vehtari (2017). Sparsity information and regularization in the horseshoe and other shrinkage priors.
Electronic Journal of Statistics 11(2), section 2.3.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.shrinkage.log_slice import draw_scale
from ppl_topics.samplers.shrinkage.slice_tau import sum_of_squares
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["draw_regularised_globals", "slice_regularised_tau"]


@parallel
def draw_regularised_globals(
    eta: FloatArray,
    scales: FloatArray,
    slab: FloatArray,
    prior_scale: float,
    key: Key,
    tau: FloatArray,
) -> None:
    """Update the global scales, in parallel over responses.

    Parameters
    ----------
    eta : ndarray of float64, shape (C, F)
        Slopes, and then perhaps an intercept, which has no scale.
    scales : ndarray of float64, shape (C, slopes)
        lambda.
    slab : ndarray of float64, shape (C,)
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
        slope, offset = np.empty(scales.shape[1]), np.empty(scales.shape[1])
        for j in range(slope.size):
            slope[j], offset[j] = scales[c, j] ** -2.0, slab[c] ** -2.0
        rate = 0.5 * sum_of_squares(eta, scales, c)
        tau[c] = draw_scale(stream, tau[c], 1.0, prior_scale**-2.0, rate, slope, offset)


@kernel(
    "slice_regularised_tau",
    updates="tau",
    reads=("eta", "lambda", "slab"),
    handles="regularised_horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    cost="1500 + C * (300 + 40 * F)",
    tasks="C",
    reference="Piironen, Vehtari 2017, section 2.3; Neal 2003",
)
def slice_regularised_tau(binding: Binding) -> KernelFunctions:
    """Slice sampling of the log of the global scale of each response's regularised horseshoe."""
    eta, tau, slab, scales = (binding.names[role] for role in ("eta", "tau", "slab", "lambda"))
    prior: Any = binding.blocks[eta]

    def step(state: ChainState, memory: None, key: Key) -> None:
        arrays = state.arrays
        draw_regularised_globals(arrays[eta], arrays[scales], arrays[slab], prior.scale, key, arrays[tau])

    return KernelFunctions(step)
