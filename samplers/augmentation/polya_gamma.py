"""The augmentation of logistic, stick-breaking logistic and negative binomial responses.

References
----------
N. G. Polson, J. G. Scott, J. Windle (2013). Bayesian inference for logistic models using Polya-Gamma latent
variables. JASA 108(504).
J. Zhu, X. Zheng, B. Zhang (2013). Improved Bayesian logistic supervised topic models with data augmentation. ACL.
"""

from __future__ import annotations

from ppl_topics._util.compiled import inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel
from ppl_topics.samplers.augmentation.cells import Cell, Parameters, cells_kernel, compile_cells
from ppl_topics.samplers.variates import polya_gamma as variates
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["polya_gamma"]

draw = variates.polya_gamma


@inlined
def draw_cell(stream: Stream, cell: Cell, parameters: Parameters) -> float:
    """Draw omega ~ PG(shape, tilt); 1 where the target is missing and the shape is 0."""
    shapes, tilts = parameters
    return 1.0 if shapes[cell] == 0.0 else draw(stream, shapes[cell], tilts[cell])


draw_cells = compile_cells(draw_cell, "polya_gamma")


@kernel(
    "polya_gamma",
    updates="augmentation",
    reads=("z", "eta", "dispersion"),
    handles=("logistic", "stick_breaking_logistic", "negative_binomial"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="doc",
    distributes="doc",
    cost="4 * N + 60 * D + 140 * D * C",
    tasks="D",
    memory="10 * D * K_d + 40 * D * C",
    reference="Polson, Scott, Windle 2013; Zhu, Zheng, Zhang 2013, eq. 8",
)
def polya_gamma(binding: Binding) -> KernelFunctions:
    """Draw the augmentation of a logistic likelihood given z and eta: Polya-Gamma, parallel over documents."""
    return cells_kernel(binding, draw_cells)
