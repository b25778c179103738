"""Starting values of the topic assignments."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from ppl_topics.samplers.compiled import parallel
from ppl_topics.samplers.variates.streams import integer, new_stream, start

__all__ = ["draw_uniform"]


@parallel
def draw_uniform(
    chunk_ptr: npt.NDArray[np.int64],
    doc_ptr: npt.NDArray[np.int64],
    z: npt.NDArray[np.unsignedinteger[Any]],
    n_topics: int,
    seed: int,
    chain: int,
    step: int,
    kernel: int,
) -> None:
    """Draw each token's topic uniformly, in parallel over documents, each with its own stream.

    Parameters
    ----------
    chunk_ptr : ndarray of int64 of shape (C + 1,)
    doc_ptr : ndarray of int64 of shape (D + 1,)
    z : ndarray of uint8 or uint16 of shape (N,)
        Overwritten.
    n_topics : int
    seed, chain, step, kernel : int
        Keys of the random streams.
    """
    for chunk in numba.prange(chunk_ptr.size - 1):
        stream = new_stream()
        for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            start(stream, seed, chain, step, kernel, doc)
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                z[token] = integer(stream, n_topics)
