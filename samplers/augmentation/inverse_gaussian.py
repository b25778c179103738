"""The augmentation of the hinge, of the epsilon-insensitive loss and of quantiles.

References
----------
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD.
J. Zhu, N. Chen, H. Perkins, B. Zhang (2014). Gibbs max-margin topic models with data augmentation. JMLR 15.
"""

from __future__ import annotations

import math

from ppl_topics._util.compiled import inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel
from ppl_topics.samplers.augmentation.cells import Cell, Parameters, cells_kernel, compile_cells
from ppl_topics.samplers.variates import inverse_gaussian as variates
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["inverse_gaussian"]

draw = variates.inverse_gaussian


@inlined
def draw_cell(stream: Stream, cell: Cell, parameters: Parameters) -> float:
    """Draw xi ~ InvGauss(mean, 1), the Levy distribution where the mean is infinite; 1 where the target is missing."""
    mean = parameters[0][cell]
    return 1.0 if math.isnan(mean) else draw(stream, mean, 1.0)


draw_cells = compile_cells(draw_cell, "inverse_gaussian")


@kernel(
    "inverse_gaussian",
    updates="augmentation",
    reads=("z", "eta", "sigma"),
    handles=("hinge", "epsilon_insensitive", "quantile"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="doc",
    distributes="doc",
    cost="4 * N + 55 * D + 35 * D * C",
    tasks="D",
    memory="10 * D * K_d + 40 * D * C",
    reference="Zheng, Yu, Xing 2015, section 3.2; Michael, Schucany, Haas 1976",
)
def inverse_gaussian(binding: Binding) -> KernelFunctions:
    """Draw the augmentation of a max-margin response, or of quantiles, given z and eta: inverse Gaussian variates."""
    return cells_kernel(binding, draw_cells)
