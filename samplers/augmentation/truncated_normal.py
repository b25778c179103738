"""The augmentation of diagonal orthant probit responses.

References
----------
J. E. Johndrow, D. B. Dunson, K. Lum (2013). Diagonal orthant multinomial probit models. AISTATS.
M. Magnusson, L. Jonsson, M. Villani (2020). DOLDA: a regularized supervised topic model for high-dimensional
multi-class regression. Computational Statistics 35.
"""

from __future__ import annotations

from ppl_topics._util.compiled import inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel
from ppl_topics.samplers.augmentation.cells import Cell, Parameters, cells_kernel, compile_cells
from ppl_topics.samplers.variates import truncated_normal as variates
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["truncated_normal"]

draw = variates.truncated_normal


@inlined
def draw_cell(stream: Stream, cell: Cell, parameters: Parameters) -> float:
    """Draw a ~ N(mean, 1) given its sign; 1 where the target is missing and the sign is 0."""
    signs, means = parameters
    return 1.0 if signs[cell] == 0.0 else draw(stream, means[cell], signs[cell])


draw_cells = compile_cells(draw_cell, "truncated_normal")


@kernel(
    "truncated_normal",
    updates="augmentation",
    reads=("z", "eta"),
    handles=("probit_do",),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="doc",
    distributes="doc",
    cost="4 * N + 20 * D + 20 * D * C",
    tasks="D",
    memory="10 * D * K_d + 40 * D * C",
    reference="Magnusson, Jonsson, Villani 2020, section 3.2; Robert 1995",
)
def truncated_normal(binding: Binding) -> KernelFunctions:
    """Draw the augmentation of a probit likelihood given z and eta: truncated normal, parallel over documents."""
    return cells_kernel(binding, draw_cells)
