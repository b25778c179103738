"""The error variances of normal responses.

References
----------
D. M. Blei, J. D. McAuliffe (2008). Supervised topic models. NIPS 20.
A. Gelman, J. B. Carlin, H. S. Stern, D. B. Dunson, A. Vehtari, D. B. Rubin (2013). Bayesian data analysis, section
14.2: the conjugate distribution of the variance of a regression.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.coefficients.group_sums import in_order
from ppl_topics.samplers.responses.features import features_of, scores
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
    reads=("z", "eta", "rate"),
    handles="gaussian",
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="doc",
    distributes="statistic",
    cost="4 * N + 65 * D + 3.3 * D * C",
    tasks="D",
    memory="10 * D * K_d + 40 * D * C",
    reference="Blei, McAuliffe 2008; Gelman et al. 2013, section 14.2",
)
def inverse_gamma(binding: Binding) -> KernelFunctions:
    """Draw the error variance of each response given z and eta: inverse gamma."""
    name, eta, tokens = binding.names["augmentation"], binding.names["eta"], binding.tokens
    response: Any = binding.response
    n_topics, groups = binding.sizes.supervised, list(pairwise(tokens.groups.tolist()))

    def statistic(state: ChainState) -> list[tuple[FloatArray, FloatArray]]:
        observed = state.observed
        assert observed is not None
        fitted = scores(features_of(tokens, state.z, n_topics, observed.design), state.arrays[eta])
        return [response.errors(observed.targets[first:last], fitted[first:last]) for first, last in groups]

    def combine(errors: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
        return in_order([number for number, _ in errors]), in_order([squares for _, squares in errors])

    def draw(state: ChainState, key: Key, errors: tuple[FloatArray, FloatArray]) -> None:
        shapes, rates = response.at(state.arrays).arguments_given(*errors)
        draw_inverse_gammas(shapes, rates, key, state.arrays[name])

    return KernelFunctions.of_statistic(statistic, combine, draw, by_group=True)
