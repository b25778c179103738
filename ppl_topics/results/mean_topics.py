"""The mean topics of a trace, as an array or, for sparse topics, as lists of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray, UInt16Array
from ppl_topics.errors import TraceError
from ppl_topics.results.response_topics import check_chain

__all__ = ["SparseMean", "has_mean_topics", "mean_arrays", "mean_of", "mean_topics", "store_means"]

VALUE, TOPIC, WORD, CHAIN, REST = (f"phi_mean_{what}" for what in ("value", "topic", "word", "chain", "rest"))
"""Variables of ``constant_data``; the first four have the dimension ``cell``, whose length differs by chain."""

MEANS = ("phi_mean", VALUE, TOPIC, WORD, CHAIN, REST)
"""All variables of ``constant_data`` that hold mean topics."""


@dataclass
class SparseMean:
    """The mean of sparse topics: the cells that had tokens in a draw, and the mean of all other cells together.

    The mean of phi_kw is the value of its cell (0 without one) plus ``rest[k] * beta[w] / beta.sum()``: the probability
    that a topic gives to words without tokens in it is spread over all words as in the prior. Given the counts, words
    without tokens differ only by beta if the probability of inclusion is the same for all words; so the spread differs
    from the mean over all indicators only by the share of ``rest`` that falls on words with tokens.
    """

    pointer: IntArray  # (V + 1,): word w has the cells pointer[w] to pointer[w + 1] - 1
    topics: UInt16Array  # (L,)
    values: FloatArray  # (L,)
    rest: FloatArray  # (K,)


OF_CHECKPOINT = "mean"


def mean_arrays(mean: NDArray[Any] | SparseMean) -> dict[str, NDArray[Any]]:
    """Return the arrays that hold the mean topics in a checkpoint."""
    if isinstance(mean, SparseMean):
        return {f"{OF_CHECKPOINT}/{name}": array for name, array in vars(mean).items()}
    return {OF_CHECKPOINT: mean}


def mean_of(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any] | SparseMean:
    """Return the mean topics of a checkpoint; see `mean_arrays`."""
    if OF_CHECKPOINT in arrays:
        return arrays[OF_CHECKPOINT]
    return SparseMean(*(arrays[f"{OF_CHECKPOINT}/{field.name}"] for field in fields(SparseMean)))


def store_means(means: Sequence[Any]) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
    """Return dimensions and values, by name, that hold the mean topics of the chains, (V, K) each, in a trace."""
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
    """Return True if a trace holds mean topics."""
    constants = groups.get("constant_data", xr.Dataset())
    return "phi_mean" in constants or VALUE in constants


def mean_topics(groups: Mapping[str, xr.Dataset], chain: int | None = None) -> xr.DataArray:
    """Return the mean topics of a trace, float32 with dimensions (chain, topic, word), or (topic, word) of one chain.

    ``response`` may come before the last two. For topics stored as cells, see `SparseMean`.
    """
    constants = groups.get("constant_data", xr.Dataset())
    if not has_mean_topics(groups):
        raise TraceError("the trace holds no `phi_mean` in `constant_data`; it was not written by ppl-topics")
    chains = constants["chain"].values.tolist()
    chain = None if chain is None else check_chain(chain, chains)
    if "phi_mean" in constants:
        found = constants["phi_mean"]
        return found if chain is None else found.sel(chain=chain)
    rest = constants[REST] if chain is None else constants[REST].sel(chain=chain)
    beta = constants["beta"]
    # An outer product: the topics' shares for words without tokens, spread as in the prior.
    dense = (rest.astype(np.float32) * (beta / beta.sum()).astype(np.float32)).transpose(*rest.dims, "word")
    values = dense.values.reshape(-1, *dense.shape[-2:])
    parts = constants[REST].sizes.get("response", 1)
    first = 0 if chain is None else chains.index(chain) * parts
    numbers = constants[CHAIN].values.astype(np.int64) - first
    own = (numbers >= 0) & (numbers < len(values))
    places = (numbers[own], constants[TOPIC].values[own].astype(np.int64), constants[WORD].values[own])
    values[places] += constants[VALUE].values[own]
    return dense.copy(data=values.reshape(dense.shape))
