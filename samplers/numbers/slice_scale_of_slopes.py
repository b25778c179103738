"""The scale that Laplace or Student coefficients have in common, given these, their own scales integrated out.

References
----------
R. M. Neal (2003). Slice sampling. Annals of Statistics 31(3).
"""

from __future__ import annotations

from typing import Any

from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.number import SCALE_RANGE
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.numbers.slice_positive import slice_positive

__all__ = ["slice_scale_of_slopes"]


@kernel(
    "slice_scale_of_slopes",
    updates="scale",
    integrates_out="lambda",
    reads="eta",
    handles=("positive", "laplace", "student_t_coefficients"),
    exact=True,
    automatic=True,
    distributes="central",
    cost="100000 + 100 * C * F",
    reference="Neal 2003",
)
def slice_scale_of_slopes(binding: Binding) -> KernelFunctions:
    """Slice sampling of the log of the scale of Laplace or Student coefficients, with any prior."""
    eta, slopes = binding.names["eta"], binding.sizes.slopes
    update = slice_positive(binding, "scale", smallest=SCALE_RANGE[0], largest=SCALE_RANGE[1])
    prior: Any = binding.blocks[eta]

    def step(state: ChainState, memory: None, key: Key) -> None:
        of_slopes = state.arrays[eta][:, :slopes]
        update(state, key, lambda scale: prior.log_likelihood_of_scale(scale, of_slopes))

    return KernelFunctions(step)
