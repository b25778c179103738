"""The global scales of a horseshoe, by slice sampling.

References
----------
J. G. Scott (2010). Parameter expansion in local-shrinkage models. arXiv 1010.5265, section 3.
M. Magnusson, L. Jonsson, M. Villani (2020). DOLDA: a regularized supervised topic model for high-dimensional
multi-class regression. Computational Statistics 35, appendix A.
"""

from __future__ import annotations

import math

from ppl_topics._util.compiled import inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel
from ppl_topics.samplers.shrinkage.scales import (
    LARGEST,
    SMALLEST,
    Horseshoe,
    compile_scales,
    horseshoe_kernel,
    sum_of_squares,
)
from ppl_topics.samplers.shrinkage.slice_lambda import below_slice
from ppl_topics.samplers.variates.streams import Stream
from ppl_topics.samplers.variates.truncated_gamma import truncated_gamma

__all__ = ["draw_scales", "slice_tau"]


@inlined
def draw_scale(stream: Stream, old: float, c: int, j: int, given: Horseshoe) -> float:
    """Draw h = scale^2 / tau^2, whose density is h^((p - 1) / 2) exp(-h r) / (1 + h).

    r = sum_j (eta_j / lambda_j)^2 / (2 scale^2) over p slopes. Given u below 1 / (1 + h) it is gamma, cut at
    (1 - u) / u.
    """
    square, shape = given.scale**2, 0.5 * (given.lambdas.shape[1] + 1.0)
    bound = min(below_slice(stream, square / old**2), square * LARGEST)
    rate = 0.5 * sum_of_squares(given, c) / square
    # Below the smallest value only where all of the distribution is there.
    h = max(bound * truncated_gamma(stream, shape, rate * bound), square * SMALLEST)
    return given.scale / math.sqrt(h)


draw_scales = compile_scales(draw_scale, "slice_tau")


@kernel(
    "slice_tau",
    updates="tau",
    reads=("eta", "lambda", "scale"),
    handles="horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    distributes="central",
    cost="1500 + C * (170 + 1.4 * F)",
    tasks="C",
    reference="Scott 2010, section 3; Magnusson, Jonsson, Villani 2020, appendix A",
)
def slice_tau(binding: Binding) -> KernelFunctions:
    """Slice sampling of the global scale of each response's horseshoe, given the local ones."""
    return horseshoe_kernel(binding, "tau", draw_scales)
