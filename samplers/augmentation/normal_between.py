"""The augmentation of ordinal probit responses.

References
----------
J. H. Albert, S. Chib (1993). Bayesian analysis of binary and polychotomous response data. JASA 88(422), section 4.
C. P. Robert (1995). Simulation of truncated normal variables. Statistics and Computing 5(2), 121-125.
"""

from __future__ import annotations

import math

from ppl_topics._util.compiled import inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel
from ppl_topics.samplers.augmentation.cells import Cell, Parameters, cells_kernel, compile_cells
from ppl_topics.samplers.variates import truncated_normal as variates
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["normal_between"]

draw = variates.normal_between


@inlined
def draw_cell(stream: Stream, cell: Cell, parameters: Parameters) -> float:
    """Draw a ~ N(mean, 1) between the cut points of its level; 1 where the level is missing."""
    means, lower, upper = parameters
    return 1.0 if math.isnan(lower[cell]) else draw(stream, means[cell], lower[cell], upper[cell])


draw_cells = compile_cells(draw_cell, "normal_between")


@kernel(
    "normal_between",
    updates="augmentation",
    reads=("z", "eta", "cutpoints"),
    handles=("ordinal_probit",),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="doc",
    distributes="doc",
    cost="4 * N + 20 * D + 40 * D * C",
    tasks="D",
    memory="10 * D * K_d + 60 * D * C",
    reference="Albert, Chib 1993, section 4; Robert 1995",
)
def normal_between(binding: Binding) -> KernelFunctions:
    """Draw the augmentation of an ordinal probit given z, eta and cut points: normal between two of these."""
    return cells_kernel(binding, draw_cells)
