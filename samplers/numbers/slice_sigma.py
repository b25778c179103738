"""The scale of the errors of real targets, given their linear predictors.

Of n asymmetric Laplace errors, their augmentation integrated out, the likelihood is sigma^-n exp(-S / sigma), S their
weighted sum; of Student errors given their weights, sigma^-n exp(-S / (2 sigma^2)), S the weighted sum of squares.

References
----------
H. Kozumi, G. Kobayashi (2011). Gibbs sampling methods for Bayesian quantile regression. Journal of Statistical
Computation and Simulation 81(11).
K. L. Lange, R. J. A. Little, J. M. G. Taylor (1989). Robust statistical modeling using the t distribution. JASA
84(408).
R. M. Neal (2003). Slice sampling. Annals of Statistics 31(3).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.coefficients.group_sums import in_order
from ppl_topics.samplers.numbers.slice_positive import slice_positive
from ppl_topics.samplers.responses.features import linear_predictors

__all__ = ["slice_sigma_of_quantile", "slice_sigma_of_student_t"]


@kernel(
    "slice_sigma_of_quantile",
    updates="sigma",
    integrates_out="augmentation",
    reads=("z", "eta"),
    handles=("positive", "quantile"),
    exact=True,
    automatic=True,
    distributes="statistic",
    cost="50000 + 4 * N + 65 * D + 5 * D * C",
    memory="10 * D * K_d + 40 * D * C",
    reference="Kozumi, Kobayashi 2011; Neal 2003",
)
def slice_sigma_of_quantile(binding: Binding) -> KernelFunctions:
    """Slice sampling of the log of the scale of asymmetric Laplace errors, with any prior."""
    return sigma_kernel(binding)


@kernel(
    "slice_sigma_of_student_t",
    updates="sigma",
    reads=("z", "eta", "augmentation"),
    handles=("positive", "student_t"),
    exact=True,
    automatic=True,
    distributes="statistic",
    cost="50000 + 4 * N + 65 * D + 5 * D * C",
    memory="10 * D * K_d + 40 * D * C",
    reference="Lange, Little, Taylor 1989; Neal 2003",
)
def slice_sigma_of_student_t(binding: Binding) -> KernelFunctions:
    """Slice sampling of the log of the scale of Student errors given their weights, with any prior."""
    return sigma_kernel(binding)


def sigma_kernel(binding: Binding) -> KernelFunctions:
    """Return the functions of a kernel of sigma, whose likelihood the response knows."""
    predictors, update = linear_predictors(binding), slice_positive(binding, "sigma")
    augmentation, groups = binding.names["augmentation"], list(pairwise(binding.tokens.groups.tolist()))
    response: Any = binding.response

    def statistic(state: ChainState) -> list[FloatArray]:
        observed, drawn, fitted = state.observed, state.arrays[augmentation], predictors(state)
        assert observed is not None
        return [
            np.array(response.errors(observed.targets[first:last], fitted[first:last], drawn[first:last]))
            for first, last in groups
        ]

    def draw(state: ChainState, key: Key, errors: FloatArray) -> None:
        number, total = errors.tolist()
        update(state, key, lambda sigma: response.log_likelihood_given(sigma, number, total))

    return KernelFunctions.of_statistic(statistic, in_order, draw, by_group=True)
