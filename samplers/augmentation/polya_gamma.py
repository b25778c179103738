"""The auxiliary variables of logistic and of negative binomial responses, in parallel over documents.

References
----------
N. G. Polson, J. G. Scott, J. Windle (2013). Bayesian inference for logistic models using Polya-Gamma latent
variables. JASA 108(504).
J. Zhu, X. Zheng, B. Zhang (2013). Improved Bayesian logistic supervised topic models with data augmentation. ACL.
"""

from __future__ import annotations

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.augmentation.arguments import arguments_of
from ppl_topics.samplers.variates import polya_gamma as variates
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["draw_polya_gammas", "polya_gamma"]


draw = variates.polya_gamma


@parallel
def draw_polya_gammas(
    chunk_ptr: IntArray,
    shapes: FloatArray,
    tilts: FloatArray,
    key: Key,
    out: FloatArray,
) -> None:
    """Draw each cell from PG(shape, tilt), in parallel over rows.

    Parameters
    ----------
    chunk_ptr : ndarray of int64 of shape (n + 1,)
        Rows of each parallel task.
    shapes : ndarray of float64 of shape (D, C)
        Positive; 0 for cells that get a 1.
    tilts : ndarray of float64 of shape (D, C)
    key : Key
        Of the random streams, one for each row.
    out : ndarray of float64 of shape (D, C)
        Overwritten with the draw.
    """
    for chunk in numba.prange(chunk_ptr.size - 1):
        draw_rows(chunk_ptr[chunk], chunk_ptr[chunk + 1], shapes, tilts, key, out)


@compiled
def draw_rows(
    first: int,
    last: int,
    shapes: FloatArray,
    tilts: FloatArray,
    key: Key,
    out: FloatArray,
) -> None:
    """Draw the rows `first` to `last` - 1 (see `draw_polya_gammas`)."""
    stream = new_stream()
    for row in range(first, last):
        start(stream, key, row)
        for column in range(shapes.shape[1]):
            shape = shapes[row, column]
            out[row, column] = 1.0 if shape == 0.0 else draw(stream, shape, tilts[row, column])


@kernel(
    "polya_gamma",
    updates="augmentation",
    reads=("z", "eta"),
    handles=("logistic", "negative_binomial"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="doc",
    cost="4 * N + 60 * D + 140 * D * C",
    tasks="D",
    memory="10 * D * K_d + 40 * D * C",
    reference="Polson, Scott, Windle 2013; Zhu, Zheng, Zhang 2013, eq. 8",
)
def polya_gamma(binding: Binding) -> KernelFunctions:
    """Draw the augmentation of a logistic likelihood given z and eta: Polya-Gamma, parallel over documents."""
    name, chunk_ptr, arguments = binding.names["augmentation"], binding.tokens.chunk_ptr, arguments_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> None:
        shapes, tilts = (np.ascontiguousarray(array, dtype=np.float64) for array in arguments(state))
        draw_polya_gammas(chunk_ptr, shapes, tilts, key, state.arrays[name])

    return KernelFunctions(step)
