"""The scales of slopes that are Student or Laplace variates, given the slopes.

References
----------
T. Park, G. Casella (2008). The Bayesian lasso. JASA 103(482).
A. Gelman, J. B. Carlin, H. S. Stern, D. B. Dunson, A. Vehtari, D. B. Rubin (2013). Bayesian data analysis, section
12.1: the Student distribution as a mixture of normal ones.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.shrinkage.scales import LARGEST, SMALLEST, compile_scales, scales_kernel
from ppl_topics.samplers.variates.gamma import log_gamma
from ppl_topics.samplers.variates.inverse_gaussian import inverse_gaussian
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["Slopes", "draw_laplace", "draw_student", "gamma_lambda", "inverse_gaussian_lambda"]

LOWEST, HIGHEST = math.log(SMALLEST), math.log(LARGEST)


class Slopes(NamedTuple):
    """Coefficients, the slopes first, the scale that slopes have in common, and the degrees of freedom."""

    eta: FloatArray
    scale: float
    df: float


@inlined
def draw_student_scale(stream: Stream, old: float, c: int, j: int, given: Slopes) -> float:
    """Draw 1 / lambda^2 ~ Gamma((df + 1) / 2, rate (df + (eta / scale)^2) / 2)."""
    rate = 0.5 * (given.df + (given.eta[c, j] / given.scale) ** 2)
    log_g = log_gamma(stream, 0.5 * (given.df + 1.0)) - math.log(rate)
    return math.exp(-0.5 * min(max(log_g, LOWEST), HIGHEST))


@inlined
def draw_laplace_scale(stream: Stream, old: float, c: int, j: int, given: Slopes) -> float:
    """Draw 1 / lambda^2 ~ InvGauss(mean scale / |eta|, 1), the Levy distribution where eta is 0."""
    ratio = abs(given.eta[c, j]) / given.scale
    g = inverse_gaussian(stream, 1.0 / ratio if ratio > 1e-290 else math.inf, 1.0)
    return 1.0 / math.sqrt(min(max(g, SMALLEST), LARGEST))


draw_student = compile_scales(draw_student_scale, "gamma_lambda")
draw_laplace = compile_scales(draw_laplace_scale, "inverse_gaussian_lambda")


@kernel(
    "gamma_lambda",
    updates="lambda",
    reads=("eta", "scale"),
    handles="student_t_coefficients",
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="response",
    distributes="central",
    cost="1500 + 50 * C * F",
    tasks="C",
    reference="Gelman et al. 2013, section 12.1",
)
def gamma_lambda(binding: Binding) -> KernelFunctions:
    """Draw the scales of slopes that are Student variates: inverse roots of gamma variates."""
    return scales_kernel(binding.names["lambda"], slopes_of(binding), draw_student)


@kernel(
    "inverse_gaussian_lambda",
    updates="lambda",
    reads=("eta", "scale"),
    handles="laplace",
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="response",
    distributes="central",
    cost="1500 + 35 * C * F",
    tasks="C",
    reference="Park, Casella 2008, section 2",
)
def inverse_gaussian_lambda(binding: Binding) -> KernelFunctions:
    """Draw the scales of slopes that are Laplace variates: inverse roots of inverse Gaussian variates."""
    return scales_kernel(binding.names["lambda"], slopes_of(binding), draw_laplace)


def slopes_of(binding: Binding) -> Any:
    """Return the function that gives the slopes of a state, and what their distribution takes."""
    eta = binding.names["eta"]
    block: Any = binding.blocks[eta]

    def given(state: ChainState) -> Slopes:
        return Slopes(state.arrays[eta], float(block.at(state.arrays).scale), float(getattr(block, "df", 0.0)))

    return given
