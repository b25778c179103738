"""The slabs of a regularised horseshoe, by slice sampling on the log scale.

References
----------
J. Piironen, A. Vehtari (2017). Sparsity information and regularization in the horseshoe and other shrinkage priors.
Electronic Journal of Statistics 11(2), section 2.3.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.shrinkage.log_slice import draw_scale
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["draw_slabs", "slice_slab"]


@parallel
def draw_slabs(
    eta: FloatArray,
    tau: FloatArray,
    scales: FloatArray,
    slab_scale: float,
    slab_df: float,
    key: Key,
    slab: FloatArray,
) -> None:
    """Update the slabs, in parallel over responses; slab^2 ~ InvGamma(slab_df / 2, slab_df slab_scale^2 / 2) a priori.

    Parameters
    ----------
    eta : ndarray of float64, shape (C, F)
        Slopes, and then perhaps an intercept, which has no slab.
    tau : ndarray of float64, shape (C,)
    scales : ndarray of float64, shape (C, slopes)
        lambda.
    slab_scale, slab_df : float
    key : Key
        Of the random streams, one for each response.
    slab : ndarray of float64, shape (C,)
        Overwritten.
    """
    for c in numba.prange(slab.size):
        stream = new_stream()
        start(stream, key, c)
        slope, offset = np.ones(scales.shape[1]), np.empty(scales.shape[1])
        rate = 0.5 * slab_df * slab_scale**2
        for j in range(slope.size):
            offset[j] = (tau[c] * scales[c, j]) ** -2.0
            rate += 0.5 * eta[c, j] ** 2
        slab[c] = draw_scale(stream, slab[c], -slab_df, 0.0, rate, slope, offset)


@kernel(
    "slice_slab",
    updates="slab",
    reads=("eta", "tau", "lambda"),
    handles="regularised_horseshoe",
    exact=True,
    automatic=True,
    parallel_over="response",
    cost="1500 + C * (300 + 35 * F)",
    tasks="C",
    reference="Piironen, Vehtari 2017, section 2.3; Neal 2003",
)
def slice_slab(binding: Binding) -> KernelFunctions:
    """Slice sampling of the log of the slab of each response's regularised horseshoe."""
    eta, tau, slab, scales = (binding.names[role] for role in ("eta", "tau", "slab", "lambda"))
    prior: Any = binding.blocks[eta]

    def step(state: ChainState, memory: None, key: Key) -> None:
        arrays = state.arrays
        draw_slabs(arrays[eta], arrays[tau], arrays[scales], prior.slab_scale, prior.slab_df, key, arrays[slab])

    return KernelFunctions(step)
