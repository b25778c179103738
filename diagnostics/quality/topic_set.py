"""The mean topics of one chain of a trace, with the arrays that belong to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.results.mean_topics import mean_topics
from ppl_topics.results.topic_names import with_names

__all__ = ["TopicSet", "as_topics", "check_words", "texts_of", "topic_sets"]


@dataclass(frozen=True)
class TopicSet:
    """The topics of a chain or, if each response has its own topics, of one response."""

    groups: Mapping[str, xr.Dataset]
    chain: int
    response: str | None  # None if all responses share the topics
    phi: Float32Array  # mean topics, (K, V)
    vocabulary: NDArray[np.object_]  # words, (V,)

    def of(self, array: xr.DataArray) -> xr.DataArray:
        """Select these topics' part of an array with the dimension ``chain``."""
        selected = array.sel(chain=self.chain)
        if self.response is not None and "response" in selected.dims:
            return selected.sel(response=self.response)
        return selected

    @property
    def share(self) -> FloatArray:
        """Share of the tokens of each topic, shape (K,): its posterior mean or, if not recorded, that of the last z."""
        posterior = self.groups.get("posterior", xr.Dataset())
        if "topic_share" in posterior:
            return np.asarray(self.of(posterior["topic_share"]).mean("draw").values, dtype=np.float64)
        z = self.z_last
        if z is None:
            raise TraceError(
                "the trace holds neither `topic_share` nor `z_last`, so the topics' shares of the tokens are unknown"
            )
        return np.bincount(z, minlength=len(self.phi)) / max(len(z), 1)

    @property
    def z_last(self) -> NDArray[Any] | None:
        """Topic of each token at the end of the chain, shape (N,), or None if the trace does not hold it."""
        constants = self.groups["constant_data"]
        return np.asarray(self.of(constants["z_last"]).values) if "z_last" in constants else None

    def recorded(self, *dims: str) -> xr.DataArray | None:
        """Return the draws of the variable with these dimensions besides ``chain`` and ``draw``, if it was recorded."""
        wanted = {"chain", "draw", *dims, *(["response"] if self.response is not None else [])}
        posterior = self.groups.get("posterior", xr.Dataset())
        found = [array for array in posterior.data_vars.values() if set(array.dims) == wanted]
        return self.of(found[0]).transpose("draw", *dims) if found else None

    def table(self, columns: Mapping[str, Any]) -> pd.DataFrame:
        """Return a table with a row for each topic, the largest ``share`` first."""
        table = pd.DataFrame({"topic": np.arange(len(self.phi)), **columns})
        if self.response is not None:
            table.insert(0, "response", self.response)
        table = with_names(table, self.groups)
        return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)


def topic_sets(groups: Mapping[str, xr.Dataset], chain: int = 0) -> list[TopicSet]:
    """Return the topics of a chain: one set, or one for each response if each has its own topics."""
    phi = mean_topics(groups, chain)
    vocabulary = np.array([str(word) for word in phi["word"].values], dtype=object)
    if "response" not in phi.dims:
        return [TopicSet(groups, int(chain), None, phi.transpose("topic", "word").values, vocabulary)]
    return [
        TopicSet(groups, int(chain), str(name), phi.sel(response=name).transpose("topic", "word").values, vocabulary)
        for name in phi["response"].values
    ]


def check_words(n_words: int) -> None:
    """Refuse an invalid number of words."""
    if not is_whole(n_words) or n_words < 1:
        raise TraceError(f"{argument('n_words')}: must be a whole number of at least 1, got {n_words!r}")


def texts_of(words: IntArray, vocabulary: NDArray[np.object_]) -> list[str]:
    """Return lists of word positions (-1 is no word) as text, with words separated by spaces."""
    return [" ".join(vocabulary[row[row >= 0]]) for row in words]


def as_topics(phi: npt.ArrayLike) -> FloatArray:
    """Return topics (K, V) as float64 with rows that sum to 1, and refuse anything else."""
    array = np.array(phi, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise PplTopicsError(f"phi: must have the shape (topics, words) with at least one of each, got {array.shape}")
    if not np.isfinite(array).all() or (array < 0.0).any():
        raise PplTopicsError("phi: holds a probability that is negative or not finite")
    totals = array.sum(axis=1)
    if (totals == 0.0).any():
        raise PplTopicsError(f"phi: topic {int(np.argmin(totals))} has no word with positive probability")
    array /= totals[:, None]
    return array
