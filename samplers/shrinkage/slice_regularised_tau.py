"""The global scales of a regularised horseshoe, by slice sampling on the log scale.

References
----------
J. Piironen, A. Vehtari (2017). Sparsity information and regularization in the horseshoe and other shrinkage priors.
Electronic Journal of Statistics 11(2), section 2.3.
"""

from __future__ import annotations

import numpy as np

from ppl_topics._util.compiled import compiled
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel
from ppl_topics.samplers.shrinkage.log_slice import LogDensity, slice_scale
from ppl_topics.samplers.shrinkage.scales import Horseshoe, compile_scales, horseshoe_kernel, sum_of_squares
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["draw_scales", "slice_regularised_tau"]


@compiled
def draw_scale(stream: Stream, old: float, c: int, j: int, given: Horseshoe) -> float:
    """Slice log tau: half-Cauchy a priori, and slope k of precision 1 / (tau lambda_k)^2 + 1 / slab^2."""
    lambdas = given.lambdas
    slope, offset = np.empty(lambdas.shape[1]), np.full(lambdas.shape[1], given.slab[c] ** -2.0)
    for k in range(slope.size):
        slope[k] = lambdas[c, k] ** -2.0
    return slice_scale(stream, old, LogDensity(1.0, given.scale**-2.0, 0.5 * sum_of_squares(given, c), slope, offset))


draw_scales = compile_scales(draw_scale, "slice_regularised_tau")


@kernel(
    "slice_regularised_tau",
    updates="tau",
    reads=("eta", "lambda", "slab", "scale"),
    handles="regularised_horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    distributes="central",
    cost="1500 + C * (300 + 40 * F)",
    tasks="C",
    reference="Piironen, Vehtari 2017, section 2.3; Neal 2003",
)
def slice_regularised_tau(binding: Binding) -> KernelFunctions:
    """Slice sampling of the log of the global scale of each response's regularised horseshoe."""
    return horseshoe_kernel(binding, "tau", draw_scales)
