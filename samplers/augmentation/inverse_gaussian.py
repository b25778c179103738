"""The auxiliary variables of the hinge and of the epsilon-insensitive loss, in parallel over documents.

References
----------
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD.
J. Zhu, N. Chen, H. Perkins, B. Zhang (2014). Gibbs max-margin topic models with data augmentation. JMLR 15.
"""

from __future__ import annotations

import math

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
from ppl_topics.samplers.variates import inverse_gaussian as variates
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["draw_inverse_gaussians", "inverse_gaussian"]


SHAPE = 1.0
draw = variates.inverse_gaussian


@parallel
def draw_inverse_gaussians(chunk_ptr: IntArray, means: FloatArray, key: Key, out: FloatArray) -> None:
    """Draw each cell from InvGauss(mean, 1), in parallel over rows.

    Parameters
    ----------
    chunk_ptr : ndarray of int64 of shape (n + 1,)
        Rows of each parallel task.
    means : ndarray of float64 of shape (D, M)
        Positive; infinite for the Levy distribution, NaN for cells that get a 1.
    key : Key
        Of the random streams, one for each row.
    out : ndarray of float64 of shape (D, M)
        Overwritten with the draw.
    """
    for chunk in numba.prange(chunk_ptr.size - 1):
        draw_rows(chunk_ptr[chunk], chunk_ptr[chunk + 1], means, key, out)


@compiled
def draw_rows(first: int, last: int, means: FloatArray, key: Key, out: FloatArray) -> None:
    """Draw the rows `first` to `last` - 1 (see `draw_inverse_gaussians`)."""
    stream = new_stream()
    for row in range(first, last):
        start(stream, key, row)
        for column in range(means.shape[1]):
            mean = means[row, column]
            out[row, column] = 1.0 if math.isnan(mean) else draw(stream, mean, SHAPE)


@kernel(
    "inverse_gaussian",
    updates="augmentation",
    reads=("z", "eta"),
    handles=("hinge", "epsilon_insensitive"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="doc",
    cost="4 * N + 55 * D + 35 * D * C",
    tasks="D",
    memory="10 * D * K_d + 40 * D * C",
    reference="Zheng, Yu, Xing 2015, section 3.2; Michael, Schucany, Haas 1976",
)
def inverse_gaussian(binding: Binding) -> KernelFunctions:
    """Draw the augmentation of a max-margin response given z and eta: inverse Gaussian, parallel over documents."""
    name, chunk_ptr, arguments = binding.names["augmentation"], binding.tokens.chunk_ptr, arguments_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> None:
        value = state.arrays[name]
        rows = (len(value), math.prod(value.shape[1:]))
        means = np.ascontiguousarray(arguments(state), dtype=np.float64)
        draw_inverse_gaussians(chunk_ptr, means.reshape(rows), key, value.reshape(rows))

    return KernelFunctions(step)
