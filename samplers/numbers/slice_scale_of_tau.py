"""The scale of the half-Cauchy prior that the global scales of a horseshoe have, given these.

The likelihood of C global scales is the product of s / (s^2 + tau_c^2).

References
----------
R. M. Neal (2003). Slice sampling. Annals of Statistics 31(3).
"""

from __future__ import annotations

import math

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.number import SCALE_RANGE
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.numbers.slice_positive import slice_positive

__all__ = ["log_likelihood", "slice_scale_of_tau"]


@compiled
def log_likelihood(scale: float, tau: FloatArray) -> float:
    """Return the log density of half-Cauchy variates of a scale, up to a constant."""
    total = 0.0
    for c in range(tau.size):
        total -= math.log(scale) + math.log1p((tau[c] / scale) ** 2)
    return total


@kernel(
    "slice_scale_of_tau",
    updates="scale",
    reads=("eta", "scales"),
    handles=("positive", "horseshoe", "regularised_horseshoe"),
    exact=True,
    automatic=True,
    distributes="central",
    cost="50000 + 300 * C",
    reference="Neal 2003",
)
def slice_scale_of_tau(binding: Binding) -> KernelFunctions:
    """Slice sampling of the log of the scale that the global scales of a horseshoe share, with any prior."""
    tau, update = (
        binding.names["tau"],
        slice_positive(binding, "scale", smallest=SCALE_RANGE[0], largest=SCALE_RANGE[1]),
    )

    def step(state: ChainState, memory: None, key: Key) -> None:
        scales = state.arrays[tau]
        update(state, key, lambda scale: log_likelihood(scale, scales))

    return KernelFunctions(step)
