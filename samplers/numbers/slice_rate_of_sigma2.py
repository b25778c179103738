"""The rate b of the inverse gamma prior of error variances, given these.

The density of C variances is the product of b^a exp(-b / sigma2_c), up to what does not depend on b.

References
----------
A. Gelman (2006). Prior distributions for variance parameters in hierarchical models. Bayesian Analysis 1(3).
R. M. Neal (2003). Slice sampling. Annals of Statistics 31(3).
"""

from __future__ import annotations

import math
from typing import Any

from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.numbers.slice_positive import slice_positive

__all__ = ["slice_rate_of_sigma2"]


@kernel(
    "slice_rate_of_sigma2",
    updates="rate",
    reads=("z", "eta", "augmentation"),
    handles=("positive", "gaussian"),
    exact=True,
    automatic=True,
    distributes="central",
    cost="50000 + 10 * C",
    reference="Gelman 2006; Neal 2003",
)
def slice_rate_of_sigma2(binding: Binding) -> KernelFunctions:
    """Slice sampling of the log of the rate that the error variances of all targets share, with any prior."""
    sigma2, update = binding.names["augmentation"], slice_positive(binding, "rate")
    response: Any = binding.response

    def step(state: ChainState, memory: None, key: Key) -> None:
        variances = state.arrays[sigma2]
        power, total = response.shape * variances.size, float((1.0 / variances).sum())
        update(state, key, lambda rate: power * math.log(rate) - total * rate)

    return KernelFunctions(step)
