"""The local scales of a horseshoe, by an auxiliary inverse-gamma variable.

References
----------
E. Makalic, D. F. Schmidt (2016). A simple sampler for the horseshoe estimator. IEEE Signal Processing Letters 23(1).
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
from ppl_topics.samplers.shrinkage.slice_lambda import LARGEST, SMALLEST
from ppl_topics.samplers.variates.streams import exponential, new_stream, start

__all__ = ["draw_mixed_locals", "inverse_gamma_lambda"]


@parallel
def draw_mixed_locals(eta: FloatArray, tau: FloatArray, key: Key, scales: FloatArray) -> None:
    """Update the local scales, in parallel over responses.

    lambda^2 is InvGamma(1/2, 1/nu) with nu ~ InvGamma(1/2, 1): nu is drawn given lambda, and then lambda given nu, both
    inverse gamma of shape 1, that is, their inverses are exponential.

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
    """Update the local scales of one response (see `draw_mixed_locals`)."""
    stream = new_stream()
    start(stream, key, c)
    for j in range(scales.shape[1]):
        mixing = exponential(stream) / (1.0 + scales[c, j] ** -2.0)
        g = exponential(stream) / (mixing + 0.5 * (eta[c, j] / tau[c]) ** 2)
        scales[c, j] = 1.0 / math.sqrt(min(max(g, SMALLEST), LARGEST))


@kernel(
    "inverse_gamma_lambda",
    updates="lambda",
    reads=("eta", "tau"),
    handles="horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    cost="1500 + 35 * C * F",
    tasks="C",
    reference="Makalic, Schmidt 2016",
)
def inverse_gamma_lambda(binding: Binding) -> KernelFunctions:
    """Draw an inverse-gamma variable beside each local scale of a horseshoe, and the scale given it."""
    eta, tau, scales = (binding.names[role] for role in ("eta", "tau", "lambda"))

    def step(state: ChainState, memory: None, key: Key) -> None:
        draw_mixed_locals(state.arrays[eta], state.arrays[tau], key, state.arrays[scales])

    return KernelFunctions(step)
