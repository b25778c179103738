"""The auxiliary variables of diagonal orthant probit responses, in parallel over documents.

References
----------
J. E. Johndrow, D. B. Dunson, K. Lum (2013). Diagonal orthant multinomial probit models. AISTATS.
M. Magnusson, L. Jonsson, M. Villani (2020). DOLDA: a regularized supervised topic model for high-dimensional
multi-class regression. Computational Statistics 35.
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
from ppl_topics.samplers.variates import truncated_normal as variates
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["draw_truncated_normals", "truncated_normal"]


draw = variates.truncated_normal


@parallel
def draw_truncated_normals(
    chunk_ptr: IntArray,
    signs: FloatArray,
    means: FloatArray,
    key: Key,
    out: FloatArray,
) -> None:
    """Draw each cell from Normal(mean, 1) given its sign, in parallel over rows.

    Parameters
    ----------
    chunk_ptr : ndarray of int64 of shape (n + 1,)
        Rows of each parallel task.
    signs : ndarray of float64 of shape (D, C)
        Positive or negative; 0 for cells that get a 1.
    means : ndarray of float64 of shape (D, C)
    key : Key
        Of the random streams, one for each row.
    out : ndarray of float64 of shape (D, C)
        Overwritten with the draw.
    """
    for chunk in numba.prange(chunk_ptr.size - 1):
        draw_rows(chunk_ptr[chunk], chunk_ptr[chunk + 1], signs, means, key, out)


@compiled
def draw_rows(
    first: int,
    last: int,
    signs: FloatArray,
    means: FloatArray,
    key: Key,
    out: FloatArray,
) -> None:
    """Draw the rows `first` to `last` - 1 (see `draw_truncated_normals`)."""
    stream = new_stream()
    for row in range(first, last):
        start(stream, key, row)
        for column in range(signs.shape[1]):
            sign = signs[row, column]
            out[row, column] = 1.0 if sign == 0.0 else draw(stream, means[row, column], sign)


@kernel(
    "truncated_normal",
    updates="augmentation",
    reads=("z", "eta"),
    handles=("probit_do",),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="doc",
    cost="4 * N + 20 * D + 20 * D * C",
    tasks="D",
    memory="10 * D * K_d + 40 * D * C",
    reference="Magnusson, Jonsson, Villani 2020, section 3.2; Robert 1995",
)
def truncated_normal(binding: Binding) -> KernelFunctions:
    """Draw the augmentation of a probit likelihood given z and eta: truncated normal, parallel over documents."""
    name, chunk_ptr, arguments = binding.names["augmentation"], binding.tokens.chunk_ptr, arguments_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> None:
        signs, means = (np.ascontiguousarray(array, dtype=np.float64) for array in arguments(state))
        draw_truncated_normals(chunk_ptr, signs, means, key, state.arrays[name])

    return KernelFunctions(step)
