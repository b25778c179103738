"""The local scales of a horseshoe, by slice sampling.

References
----------
J. G. Scott (2010). Parameter expansion in local-shrinkage models. arXiv 1010.5265, section 3.
M. Magnusson, L. Jonsson, M. Villani (2020). DOLDA: a regularized supervised topic model for high-dimensional
multi-class regression. Computational Statistics 35, appendix A.
"""

from __future__ import annotations

import math

from ppl_topics._util.compiled import inlined, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel
from ppl_topics.samplers.shrinkage.scales import LARGEST, SMALLEST, Horseshoe, compile_scales, horseshoe_kernel
from ppl_topics.samplers.variates.streams import Stream, uniform_open
from ppl_topics.samplers.variates.truncated_gamma import truncated_exponential

__all__ = ["below_slice", "draw_scales", "slice_lambda"]


@tight
def below_slice(stream: Stream, g: float) -> float:
    """Draw u ~ U(0, 1 / (1 + g)) and return (1 - u) / u, the bound that it sets to g."""
    share = uniform_open(stream)
    return (g + (1.0 - share)) / share


@inlined
def draw_scale(stream: Stream, old: float, c: int, j: int, given: Horseshoe) -> float:
    """Draw g = 1 / lambda^2, whose density is exp(-g (eta / tau)^2 / 2) / (1 + g).

    Given u below 1 / (1 + g) it is exponential, cut at (1 - u) / u. Where eta is 0 it is uniform up to there.
    """
    bound = min(below_slice(stream, old**-2.0), LARGEST)
    rate = 0.5 * (given.eta[c, j] / given.tau[c]) ** 2
    return 1.0 / math.sqrt(SMALLEST + truncated_exponential(stream, rate, bound - SMALLEST))


draw_scales = compile_scales(draw_scale, "slice_lambda")


@kernel(
    "slice_lambda",
    updates="lambda",
    reads=("eta", "tau", "scale"),
    handles="horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    distributes="central",
    cost="1500 + 70 * C * F",
    tasks="C",
    reference="Scott 2010, section 3; Magnusson, Jonsson, Villani 2020, appendix A",
)
def slice_lambda(binding: Binding) -> KernelFunctions:
    """Slice sampling of the local scales of a horseshoe, one variate for each, parallel over responses."""
    return horseshoe_kernel(binding, "lambda", draw_scales)
