"""The variance that normal coefficients share, given the coefficients.

Of n slopes whose squares add up to S, the likelihood is v^(-n/2) exp(-S / (2 v)). With the prior InvGamma(a, b) it is
InvGamma(a + n / 2, b + S / 2).

References
----------
A. Gelman, J. B. Carlin, H. S. Stern, D. B. Dunson, A. Vehtari, D. B. Rubin (2013). Bayesian data analysis, section
2.6: the conjugate distribution of a variance. R. M. Neal (2003). Slice sampling. Annals of Statistics 31(3).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.augmentation.inverse_gamma import draw_inverse_gammas
from ppl_topics.samplers.numbers.slice_positive import slice_positive

__all__ = ["inverse_gamma_variance", "slice_variance", "sum_of_squares"]


@compiled
def sum_of_squares(eta: FloatArray, slopes: int) -> float:
    """Add up the squares of the first coefficients of each response."""
    total = 0.0
    for c in range(eta.shape[0]):
        for j in range(slopes):
            total += eta[c, j] * eta[c, j]
    return total


@kernel(
    "inverse_gamma_variance",
    updates="variance",
    reads="eta",
    handles=("inverse_gamma", "normal"),
    exact=True,
    full_conditional=True,
    automatic=True,
    distributes="central",
    cost="10000 + C * F",
    reference="Gelman et al. 2013, section 2.6",
)
def inverse_gamma_variance(binding: Binding) -> KernelFunctions:
    """Draw the variance of normal coefficients from its inverse gamma distribution given these."""
    name, eta, sizes = binding.names["variance"], binding.names["eta"], binding.sizes
    prior: Any = binding.blocks[name]
    shape = np.array([prior.shape + 0.5 * sizes.responses * sizes.slopes])

    def step(state: ChainState, memory: None, key: Key) -> None:
        rate = np.array([prior.rate + 0.5 * sum_of_squares(state.arrays[eta], sizes.slopes)])
        draw_inverse_gammas(shape, rate, key, state.arrays[name].reshape(1))

    return KernelFunctions(step)


@kernel(
    "slice_variance",
    updates="variance",
    reads="eta",
    handles=("positive", "normal"),
    exact=True,
    automatic=True,
    distributes="central",
    cost="50000 + C * F",
    reference="Neal 2003",
)
def slice_variance(binding: Binding) -> KernelFunctions:
    """Slice sampling of the log of the variance of normal coefficients, with any prior."""
    eta, sizes, update = binding.names["eta"], binding.sizes, slice_positive(binding, "variance")
    half = 0.5 * sizes.responses * sizes.slopes

    def step(state: ChainState, memory: None, key: Key) -> None:
        rate = 0.5 * sum_of_squares(state.arrays[eta], sizes.slopes)
        update(state, key, lambda variance: -half * math.log(variance) - rate / variance)

    return KernelFunctions(step)
