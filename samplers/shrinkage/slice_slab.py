"""The slabs of a regularised horseshoe, by slice sampling on the log scale.

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
from ppl_topics.samplers.shrinkage.scales import Horseshoe, compile_scales, horseshoe_kernel
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["draw_scales", "slice_slab"]


@compiled
def draw_scale(stream: Stream, old: float, c: int, j: int, given: Horseshoe) -> float:
    """Slice log slab: slab^2 inverse gamma a priori, and slope k of precision 1 / (tau lambda_k)^2 + 1 / slab^2."""
    eta, lambdas, df = given.eta, given.lambdas, given.slab_df
    slope, offset = np.ones(lambdas.shape[1]), np.empty(lambdas.shape[1])
    rate = 0.5 * df * given.slab_scale**2
    for k in range(slope.size):
        offset[k] = (given.tau[c] * lambdas[c, k]) ** -2.0
        rate += 0.5 * eta[c, k] ** 2
    return slice_scale(stream, old, LogDensity(-df, 0.0, rate, slope, offset))


draw_scales = compile_scales(draw_scale, "slice_slab")


@kernel(
    "slice_slab",
    updates="slab",
    reads=("eta", "tau", "lambda", "scale"),
    handles="regularised_horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    distributes="central",
    cost="1500 + C * (300 + 35 * F)",
    tasks="C",
    reference="Piironen, Vehtari 2017, section 2.3; Neal 2003",
)
def slice_slab(binding: Binding) -> KernelFunctions:
    """Slice sampling of the log of the slab of each response's regularised horseshoe."""
    return horseshoe_kernel(binding, "slab", draw_scales)
