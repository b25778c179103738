"""The mean topics of one chain of a trace, with what belongs to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray
from ppl_topics.errors import TraceError
from ppl_topics.results.mean_topics import mean_topics
from ppl_topics.results.response_topics import chosen_response

__all__ = ["TopicSet", "check_words", "one_topic_set", "texts_of", "topic_sets"]


@dataclass(frozen=True)
class TopicSet:
    """The topics of a chain, or where each response has topics of its own of one response.

    Attributes
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of the trace.
    chain : int
    response : str or None
        Whose topics they are, where each response has its own.
    phi : ndarray of float32, shape (K, V)
        Mean topics.
    vocabulary : ndarray of str as object, shape (V,)
    """

    groups: Mapping[str, xr.Dataset]
    chain: int
    response: str | None
    phi: Float32Array
    vocabulary: NDArray[np.object_]

    def of(self, array: xr.DataArray) -> xr.DataArray:
        """Select what belongs to these topics out of an array that has the dim ``chain``."""
        selected = array.sel(chain=self.chain)
        if self.response is not None and "response" in selected.dims:
            return selected.sel(response=self.response)
        return selected

    @property
    def share(self) -> FloatArray:
        """Share of the tokens that each topic has, shape (K,): its posterior mean, else that of the last z.

        Raises
        ------
        TraceError
            If the trace holds neither.
        """
        posterior = self.groups.get("posterior", xr.Dataset())
        if "topic_share" in posterior:
            return np.asarray(self.of(posterior["topic_share"]).mean("draw").values, dtype=np.float64)
        z = self.z_last
        if z is None:
            raise TraceError(
                "the trace holds neither `topic_share` nor `z_last`: no topic's share of the tokens is known"
            )
        return np.bincount(z, minlength=len(self.phi)) / max(len(z), 1)

    @property
    def z_last(self) -> NDArray[Any] | None:
        """Topic of each token at the end of the chain, shape (N,); None where the trace does not hold it."""
        constants = self.groups["constant_data"]
        return np.asarray(self.of(constants["z_last"]).values) if "z_last" in constants else None

    def recorded(self, *dims: str) -> xr.DataArray | None:
        """Return the draws of the variable that has these dims beside ``chain`` and ``draw``, where it is recorded."""
        wanted = {"chain", "draw", *dims, *(["response"] if self.response is not None else [])}
        posterior = self.groups.get("posterior", xr.Dataset())
        found = [array for array in posterior.data_vars.values() if set(array.dims) == wanted]
        return self.of(found[0]).transpose("draw", *dims) if found else None

    def table(self, columns: Mapping[str, Any]) -> pd.DataFrame:
        """Return a table with a row for each topic, called by its number, the largest ``share`` first."""
        table = pd.DataFrame({"topic": np.arange(len(self.phi)), **columns})
        if self.response is not None:
            table.insert(0, "response", self.response)
        return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)


def topic_sets(groups: Mapping[str, xr.Dataset], chain: int = 0) -> list[TopicSet]:
    """Return the topics of a chain: one set, or one for each response that has topics of its own.

    Raises
    ------
    TraceError
        If the trace has no mean topics or no such chain.
    """
    if not is_whole(chain):
        raise TraceError(f"chain: must be a whole number, got {chain!r}")
    phi = mean_topics(groups, chain)
    vocabulary = np.array([str(word) for word in phi["word"].values], dtype=object)
    if "response" not in phi.dims:
        return [TopicSet(groups, int(chain), None, phi.transpose("topic", "word").values, vocabulary)]
    return [
        TopicSet(groups, int(chain), str(name), phi.sel(response=name).transpose("topic", "word").values, vocabulary)
        for name in phi["response"].values
    ]


def one_topic_set(groups: Mapping[str, xr.Dataset], chain: int = 0, response: str | None = None) -> TopicSet:
    """Return the topics of a chain; where each response has its own, those of the one that is named.

    Raises
    ------
    TraceError
        If the trace has no mean topics or no such chain, or the response must be named, or is none.
    """
    chosen = chosen_response(groups, response)
    return next(each for each in topic_sets(groups, chain) if each.response == chosen)


def check_words(n_words: int) -> None:
    """Refuse a wrong number of words.

    Raises
    ------
    TraceError
    """
    if not is_whole(n_words) or n_words < 1:
        raise TraceError(f"n_words: must be a whole number, 1 at least, got {n_words!r}")


def texts_of(words: IntArray, vocabulary: NDArray[np.object_]) -> list[str]:
    """Return lists of words, by their numbers, as text with spaces between them; -1 is none."""
    return [" ".join(vocabulary[row[row >= 0]]) for row in words]
