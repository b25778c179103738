"""Topics named by their words, for figures and tables that show coordinates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from ppl_topics._util.arguments import is_whole
from ppl_topics.errors import TraceError
from ppl_topics.results.best_words import best_words
from ppl_topics.results.mean_topics import mean_topics
from ppl_topics.results.response_topics import check_chain, own_topics
from ppl_topics.results.topic_names import named, topic_names
from ppl_topics.spec.marginals import kind_of_dim

__all__ = ["labelled"]

TOPIC = "topic "
"""In front of the number of a topic, where it names a coefficient."""


def labelled(groups: Mapping[str, xr.Dataset], *, words: int = 3, chain: int | None = 0) -> dict[str, xr.Dataset]:
    """Return the groups of one chain, or of aligned ones, in which topics are named by their most probable words.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    words : int
        Words of each topic.
    chain : int, optional
        The chain to keep, since each numbers its topics in its own way; None keeps all, of a trace that was aligned,
        and names topics by the mean of the chains.

    Raises
    ------
    TraceError
        If there is no such chain, `words` is not a whole number of at least 1, or each response has its own topics.
    """
    if not is_whole(words) or words < 1:
        raise TraceError(f"words: must be a whole number of at least 1, got {words!r}")
    if own_topics(groups):
        raise TraceError("each response has its own topics, so that topic 3 has no one name")
    if chain is None:
        mean = mean_topics(groups).mean("chain")
    else:
        mean = mean_topics(groups, check_chain(chain, groups["posterior"]["chain"].values.tolist()))
    names = _names(mean.transpose("topic", "word"), words, topic_names(groups))
    return {name: _renamed(group, names, chain) for name, group in groups.items()}


def _names(mean: xr.DataArray, words: int, known: list[str]) -> list[str]:
    """Return ``3: red green blue`` of each topic, with ``colours: red green blue`` of one that has a name."""
    vocabulary = mean["word"].values
    best = best_words(mean.values, words)
    texts = (" ".join(map(str, vocabulary[row[row >= 0]])) for row in best)
    return [f"{k}: {named(known, k, text)}".strip() for k, text in enumerate(texts)]


def _renamed(group: xr.Dataset, names: list[str], chain: int | None) -> xr.Dataset:
    """Return a group with named topics, and coefficients of topics."""
    if chain is not None and "chain" in group.dims:
        group = group.sel(chain=[chain])
    changed = {}
    if "topic" in group.dims:
        changed["topic"] = np.array(names, dtype=object)
    numbers = {f"{TOPIC}{k}": name for k, name in enumerate(names)}
    for dim in map(str, group.dims):
        if kind_of_dim(dim) in ("coefficient", "slope"):
            changed[dim] = np.array([numbers.get(str(each), each) for each in group[dim].values], dtype=object)
    return group.assign_coords(changed)
