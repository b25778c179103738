"""The weights of Student errors, given which these are normal.

References
----------
K. L. Lange, R. J. A. Little, J. M. G. Taylor (1989). Robust statistical modeling using the t distribution. JASA
84(408).
"""

from __future__ import annotations

import math

from ppl_topics._util.compiled import inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel
from ppl_topics.samplers.augmentation.cells import Cell, Parameters, cells_kernel, compile_cells
from ppl_topics.samplers.variates.gamma import log_gamma
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["gamma_weights"]

SMALLEST, LARGEST = -690.0, 690.0
"""Bounds of the logarithm of a weight, that only degrees of freedom below 0.01 ever reach."""


@inlined
def draw_cell(stream: Stream, cell: Cell, parameters: Parameters) -> float:
    """Draw g ~ Gamma(shape, rate); 1 where the target is missing and the shape is 0."""
    shapes, rates = parameters
    if shapes[cell] == 0.0:
        return 1.0
    return math.exp(min(max(log_gamma(stream, shapes[cell]) - math.log(rates[cell]), SMALLEST), LARGEST))


draw_cells = compile_cells(draw_cell, "gamma_weights")


@kernel(
    "gamma_weights",
    updates="augmentation",
    reads=("z", "eta", "sigma"),
    handles="student_t",
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="doc",
    distributes="doc",
    cost="4 * N + 55 * D + 45 * D * C",
    tasks="D",
    memory="10 * D * K_d + 40 * D * C",
    reference="Lange, Little, Taylor 1989, section 2",
)
def gamma_weights(binding: Binding) -> KernelFunctions:
    """Draw the weights of Student errors given z and eta: gamma variates, parallel over documents."""
    return cells_kernel(binding, draw_cells)
