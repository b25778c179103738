"""The local scales of a regularised horseshoe, by slice sampling.

References
----------
J. Piironen, A. Vehtari (2017). Sparsity information and regularization in the horseshoe and other shrinkage priors.
Electronic Journal of Statistics 11(2), section 2.3: the prior.
P. Damlen, J. Wakefield, S. Walker (1999). Gibbs sampling for Bayesian non-conjugate and hierarchical models by using
auxiliary variables. JRSS B 61(2), section 3: one auxiliary variable for each factor.
"""

from __future__ import annotations

import math

from ppl_topics._util.compiled import inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel
from ppl_topics.samplers.shrinkage.scales import LARGEST, SMALLEST, Horseshoe, compile_scales, horseshoe_kernel
from ppl_topics.samplers.shrinkage.slice_lambda import below_slice
from ppl_topics.samplers.variates.streams import Stream, uniform_open
from ppl_topics.samplers.variates.truncated_gamma import truncated_exponential

__all__ = ["draw_scales", "slice_regularised_lambda"]


@inlined
def draw_scale(stream: Stream, old: float, c: int, j: int, given: Horseshoe) -> float:
    """Draw g = 1 / lambda^2, whose density is exp(-g (eta / tau)^2 / 2) sqrt(1 + (tau / slab)^2 / g) / (1 + g).

    Given numbers that are uniform below each of the last two factors it is exponential, cut where either factor falls
    below its own.
    """
    g, ratio = old**-2.0, (given.tau[c] / given.slab[c]) ** 2
    bound = min(below_slice(stream, g), LARGEST)
    excess = uniform_open(stream) ** 2 * (1.0 + ratio / g) - 1.0
    if excess > 0.0:
        # Rounding must not put the bound below g.
        bound = min(bound, max(ratio / excess, g))
    rate = 0.5 * (given.eta[c, j] / given.tau[c]) ** 2
    return 1.0 / math.sqrt(SMALLEST + truncated_exponential(stream, rate, bound - SMALLEST))


draw_scales = compile_scales(draw_scale, "slice_regularised_lambda")


@kernel(
    "slice_regularised_lambda",
    updates="lambda",
    reads=("eta", "tau", "slab", "scale"),
    handles="regularised_horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    distributes="central",
    cost="1500 + 73 * C * F",
    tasks="C",
    reference="Piironen, Vehtari 2017, section 2.3; Damlen, Wakefield, Walker 1999, section 3",
)
def slice_regularised_lambda(binding: Binding) -> KernelFunctions:
    """Slice sampling of the local scales of a regularised horseshoe, one variate for each, parallel over responses."""
    return horseshoe_kernel(binding, "lambda", draw_scales)
