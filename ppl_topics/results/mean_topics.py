"""The mean topics of a trace: as a dense array, or as a sparse one where the chains held sparse topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray, UInt16Array
from ppl_topics.errors import TraceError

__all__ = ["SparseMean", "has_mean_topics", "mean_arrays", "mean_of", "mean_topics", "store_means"]

VALUE, TOPIC, WORD, CHAIN, REST = (f"phi_mean_{what}" for what in ("value", "topic", "word", "chain", "rest"))
"""Variables of ``constant_data``: the first four have the dim ``cell``, of which a chain may have any number."""


MEANS = ("phi_mean", VALUE, TOPIC, WORD, CHAIN, REST)
"""All variables of ``constant_data`` that mean topics are held in."""


@dataclass
class SparseMean:
    """The mean of sparse topics: of the cells that had tokens in a draw, and of all others together.

    The mean of phi_kw is the value of its cell, 0 where that has none, plus ``rest[k] * beta[w] / beta.sum()``: what a
    topic gives to words without tokens in it is spread over all words as the prior has them. Given the counts, the
    words without tokens are alike but for beta where the probability of inclusion is the same for all words, so the
    spread differs from the mean over all indicators only by what is lost between words with tokens and without.

    Attributes
    ----------
    pointer : ndarray of int64, shape (V + 1,)
        Word w has the cells ``pointer[w]`` to ``pointer[w + 1] - 1``.
    topics : ndarray of uint16, shape (L,)
    values : ndarray of float64, shape (L,)
    rest : ndarray of float64, shape (K,)
    """

    pointer: IntArray
    topics: UInt16Array
    values: FloatArray
    rest: FloatArray


OF_CHECKPOINT = "mean"
SPARSE = ("pointer", "topics", "values", "rest")


def mean_arrays(mean: NDArray[Any] | SparseMean) -> dict[str, NDArray[Any]]:
    """Return the arrays by which a checkpoint holds the mean of the topics."""
    if isinstance(mean, SparseMean):
        return {f"{OF_CHECKPOINT}/{name}": getattr(mean, name) for name in SPARSE}
    return {OF_CHECKPOINT: mean}


def mean_of(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any] | SparseMean:
    """Return the mean of the topics that a checkpoint holds; see `mean_arrays`.

    Raises
    ------
    KeyError
    """
    if OF_CHECKPOINT in arrays:
        return arrays[OF_CHECKPOINT]
    return SparseMean(*(arrays[f"{OF_CHECKPOINT}/{name}"] for name in SPARSE))


def store_means(means: Sequence[Any]) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
    """Return what the trace keeps of the means of chains: dims and values by name.

    Parameters
    ----------
    means : sequence of ndarray of float32 of shape (V, K), or of SparseMean
        One for each chain; of `REST` and ``phi_mean`` the first dim is ``chain``.
    """
    if not isinstance(means[0], SparseMean):
        return {"phi_mean": (("chain", "topic", "word"), np.stack([mean.T for mean in means]))}
    words = [np.repeat(np.arange(len(mean.pointer) - 1), np.diff(mean.pointer)) for mean in means]
    return {
        VALUE: (("cell",), np.concatenate([mean.values for mean in means]).astype(np.float32)),
        TOPIC: (("cell",), np.concatenate([mean.topics for mean in means])),
        WORD: (("cell",), np.concatenate(words).astype(np.uint32)),
        CHAIN: (("cell",), np.repeat(np.arange(len(means)), [len(mean.values) for mean in means]).astype(np.uint32)),
        REST: (("chain", "topic"), np.stack([mean.rest for mean in means])),
    }


def has_mean_topics(groups: Mapping[str, xr.Dataset]) -> bool:
    """Tell whether a trace holds mean topics."""
    constants = groups.get("constant_data", xr.Dataset())
    return "phi_mean" in constants or VALUE in constants


def mean_topics(groups: Mapping[str, xr.Dataset], chain: int | None = None) -> xr.DataArray:
    """Return the mean topics of a trace.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    chain : int, optional
        By default all chains, which takes a cell for each chain, topic and word.

    Returns
    -------
    xarray.DataArray of float32
        With dims (chain, topic, word), or (topic, word) of one chain, and perhaps ``response`` before the last two.
        Of sparse topics see `SparseMean`.

    Raises
    ------
    TraceError
        If the trace holds none, or has no such chain.
    """
    constants = groups.get("constant_data", xr.Dataset())
    if not has_mean_topics(groups):
        raise TraceError("the trace holds no `phi_mean` in `constant_data`; it was not written by ppl-topics")
    chains = constants["chain"].values.tolist()
    if chain is not None and chain not in chains:
        raise TraceError(f"the trace has no chain {chain}; it has {', '.join(map(str, chains))}")
    if "phi_mean" in constants:
        found = constants["phi_mean"]
        return found if chain is None else found.sel(chain=chain)
    rest = constants[REST] if chain is None else constants[REST].sel(chain=chain)
    beta = constants["beta"]
    # An outer product: the topics' shares of words without tokens, spread as the prior has them.
    dense = (rest.astype(np.float32) * (beta / beta.sum()).astype(np.float32)).transpose(*rest.dims, "word")
    values = dense.values.reshape(-1, *dense.shape[-2:])
    parts = constants.sizes.get("response", 1)
    first = 0 if chain is None else chains.index(chain) * parts
    numbers = constants[CHAIN].values.astype(np.int64) - first
    own = (numbers >= 0) & (numbers < len(values))
    places = (numbers[own], constants[TOPIC].values[own].astype(np.int64), constants[WORD].values[own])
    values[places] += constants[VALUE].values[own]
    return dense.copy(data=values.reshape(dense.shape))
