"""The global scales of a horseshoe, by an auxiliary inverse-gamma variable.

References
----------
E. Makalic, D. F. Schmidt (2016). A simple sampler for the horseshoe estimator. IEEE Signal Processing Letters 23(1).
"""

from __future__ import annotations

import math
from typing import Any

import numba

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.shrinkage.slice_tau import LARGEST, SMALLEST, sum_of_squares
from ppl_topics.samplers.variates.gamma import gamma
from ppl_topics.samplers.variates.streams import exponential, new_stream, start

__all__ = ["draw_mixed_globals", "inverse_gamma_tau"]


@parallel
def draw_mixed_globals(
    eta: FloatArray,
    scales: FloatArray,
    prior_scale: float,
    key: Key,
    tau: FloatArray,
) -> None:
    """Update the global scales, in parallel over responses.

    tau^2 is InvGamma(1/2, 1/xi) with xi ~ InvGamma(1/2, 1 / prior_scale^2): xi is drawn given tau, and then tau^2 given
    xi, InvGamma((p + 1) / 2, 1/xi + sum_j (eta_j / lambda_j)^2 / 2) with p slopes.

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
        mixing = exponential(stream) / (prior_scale**-2.0 + tau[c] ** -2.0)
        rate = mixing + 0.5 * sum_of_squares(eta, scales, c)
        g = gamma(stream, 0.5 * (scales.shape[1] + 1.0)) / rate
        tau[c] = 1.0 / math.sqrt(min(max(g, SMALLEST), LARGEST))


@kernel(
    "inverse_gamma_tau",
    updates="tau",
    reads=("eta", "lambda"),
    handles="horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    cost="1500 + C * (150 + 1.4 * F)",
    tasks="C",
    reference="Makalic, Schmidt 2016",
)
def inverse_gamma_tau(binding: Binding) -> KernelFunctions:
    """Draw an inverse-gamma variable beside the global scale of each response's horseshoe, and the scale given it."""
    eta, tau, scales = (binding.names[role] for role in ("eta", "tau", "lambda"))
    prior: Any = binding.blocks[eta]

    def step(state: ChainState, memory: None, key: Key) -> None:
        draw_mixed_globals(state.arrays[eta], state.arrays[scales], prior.scale, key, state.arrays[tau])

    return KernelFunctions(step)
