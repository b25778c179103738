"""The global scales of a horseshoe, by an auxiliary inverse-gamma variable.

References
----------
E. Makalic, D. F. Schmidt (2016). A simple sampler for the horseshoe estimator. IEEE Signal Processing Letters 23(1).
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
from ppl_topics.samplers.variates.gamma import gamma
from ppl_topics.samplers.variates.streams import Stream, exponential

__all__ = ["draw_scales", "inverse_gamma_tau"]


@inlined
def draw_scale(stream: Stream, old: float, c: int, j: int, given: Horseshoe) -> float:
    """Draw xi ~ InvGamma(1, 1 / scale^2 + 1 / tau^2), then tau^2 ~ InvGamma((p + 1) / 2, 1 / xi + r).

    r = sum_j (eta_j / lambda_j)^2 / 2 over p slopes. For tau^2 is InvGamma(1/2, 1 / xi) a priori, with
    xi ~ InvGamma(1/2, 1 / scale^2).
    """
    inverse_xi = exponential(stream) / (given.scale**-2.0 + old**-2.0)
    rate = inverse_xi + 0.5 * sum_of_squares(given, c)
    g = gamma(stream, 0.5 * (given.lambdas.shape[1] + 1.0)) / rate
    return 1.0 / math.sqrt(min(max(g, SMALLEST), LARGEST))


draw_scales = compile_scales(draw_scale, "inverse_gamma_tau")


@kernel(
    "inverse_gamma_tau",
    updates="tau",
    reads=("eta", "lambda", "scale"),
    handles="horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    distributes="central",
    cost="1500 + C * (150 + 1.4 * F)",
    tasks="C",
    reference="Makalic, Schmidt 2016",
)
def inverse_gamma_tau(binding: Binding) -> KernelFunctions:
    """Draw an inverse-gamma variable beside the global scale of each response's horseshoe, and the scale given it."""
    return horseshoe_kernel(binding, "tau", draw_scales)
