"""The error variances of normal responses.

References
----------
D. M. Blei, J. D. McAuliffe (2008). Supervised topic models. NIPS 20.
A. Gelman, J. B. Carlin, H. S. Stern, D. B. Dunson, A. Vehtari, D. B. Rubin (2013). Bayesian data analysis, section
14.2: the conjugate distribution of the variance of a regression.
"""

from __future__ import annotations

import math

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.augmentation.arguments import arguments_of
from ppl_topics.samplers.variates.gamma import log_gamma
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["LARGEST", "draw_inverse_gammas", "inverse_gamma"]


LARGEST = 1e300
"""Draws are cut to between its inverse and it, which only shapes below about 0.1 reach."""


@compiled
def draw_inverse_gammas(shapes: FloatArray, rates: FloatArray, key: Key, out: FloatArray) -> None:
    """Draw each entry from InvGamma(shape, rate), whose density falls as exp(-rate / x), from its own stream."""
    stream, bound = new_stream(), math.log(LARGEST)
    for entry in range(shapes.size):
        start(stream, key, entry)
        # In logarithms: for small shapes the gamma variate underflows.
        log_value = math.log(rates[entry]) - log_gamma(stream, shapes[entry])
        out[entry] = math.exp(min(max(log_value, -bound), bound))


@kernel(
    "inverse_gamma",
    updates="augmentation",
    reads=("z", "eta"),
    handles="gaussian",
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="doc",
    cost="4 * N + 65 * D + 3.3 * D * C",
    tasks="D",
    memory="10 * D * K_d + 40 * D * C",
    reference="Blei, McAuliffe 2008; Gelman et al. 2013, section 14.2",
)
def inverse_gamma(binding: Binding) -> KernelFunctions:
    """Draw the error variance of each response given z and eta: inverse gamma."""
    name, arguments = binding.names["augmentation"], arguments_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> None:
        shapes, rates = arguments(state)
        draw_inverse_gammas(shapes, rates, key, state.arrays[name])

    return KernelFunctions(step)
