"""The local scales of a horseshoe, by an auxiliary inverse-gamma variable.

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
from ppl_topics.samplers.shrinkage.scales import LARGEST, SMALLEST, Horseshoe, compile_scales, horseshoe_kernel
from ppl_topics.samplers.variates.streams import Stream, exponential

__all__ = ["draw_scales", "inverse_gamma_lambda"]


@inlined
def draw_scale(stream: Stream, old: float, c: int, j: int, given: Horseshoe) -> float:
    """Draw nu ~ InvGamma(1, 1 + 1 / lambda^2), then lambda^2 ~ InvGamma(1, 1 / nu + (eta / tau)^2 / 2).

    For lambda^2 is InvGamma(1/2, 1 / nu) a priori, with nu ~ InvGamma(1/2, 1); inverses of shape 1 are exponential.
    """
    inverse_nu = exponential(stream) / (1.0 + old**-2.0)
    g = exponential(stream) / (inverse_nu + 0.5 * (given.eta[c, j] / given.tau[c]) ** 2)
    return 1.0 / math.sqrt(min(max(g, SMALLEST), LARGEST))


draw_scales = compile_scales(draw_scale, "inverse_gamma_lambda")


@kernel(
    "inverse_gamma_lambda",
    updates="lambda",
    reads=("eta", "tau", "scale"),
    handles="horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    distributes="central",
    cost="1500 + 35 * C * F",
    tasks="C",
    reference="Makalic, Schmidt 2016",
)
def inverse_gamma_lambda(binding: Binding) -> KernelFunctions:
    """Draw an inverse-gamma variable beside each local scale of a horseshoe, and the scale given it."""
    return horseshoe_kernel(binding, "lambda", draw_scales)
