"""Which topics the chains agree on, and R-hat of their words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import Float32Array, FloatArray
from ppl_topics.diagnostics.alignment.align import Alignment, align
from ppl_topics.diagnostics.alignment.renumber import aligned
from ppl_topics.diagnostics.alignment.topics import TOPIC_DIMS, by_response, topics_of_chain, word_names
from ppl_topics.diagnostics.efficiency import rhat
from ppl_topics.errors import TraceError
from ppl_topics.results.best_words import best_words
from ppl_topics.results.topic_names import with_names

__all__ = ["agreement_table", "top_word_draws", "top_words_of"]


def agreement_table(
    groups: Mapping[str, xr.Dataset], *, n_words: int = 10, alignment: Alignment | None = None
) -> pd.DataFrame:
    """Return how well the chains agree on each topic of the reference chain, with the R-hat of its top words.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace, not aligned.
    n_words : int
        Number of top words of each topic, among the words with recorded draws of phi.
    alignment : Alignment, optional
        From `align`; by default it is computed with its defaults.

    Returns
    -------
    pandas.DataFrame
        A row for each topic of the reference, the largest share first, with the columns ``topic`` (its number in the
        reference), ``agrees``, ``similarity`` (the smallest over chains), ``similarities`` and ``numbers`` (lists by
        chain), ``nearest`` (similarity to the nearest other topic of the reference), ``rhat_before`` and ``rhat`` (the
        largest R-hat of the top words, before and after alignment; NaN without draws of phi or with fewer than four per
        chain), ``rhat_median_before``, ``rhat_median`` (of the median word), ``share`` (of the tokens, over all chains)
        and ``words``. If each response has its own topics, ``response`` is the first column. ``attrs`` holds
        ``reference``.

    Raises
    ------
    TraceError
        If the topics cannot be aligned.

    Notes
    -----
    R-hat is the rank-normalised split R-hat. Before alignment it compares the topics with the same number in all
    chains.
    """
    if not is_whole(n_words) or n_words < 1:
        raise TraceError(f"n_words: must be a whole number of at least 1, got {n_words!r}")
    found = align(groups) if alignment is None else alignment
    after = aligned(groups, found)
    reference = found.chains.index(found.reference)
    topics = topics_of_chain(after, found.reference)
    names = word_names(after)
    best = best_words(topics, n_words)
    before, now = (
        _rhats(top_word_draws(each, after, reference, n_words), found.nearest.size) for each in (groups, after)
    )
    similarity, numbers = (found.by_response(each) for each in (found.similarity, found.permutation))
    columns: dict[str, Any] = {"response": np.repeat(found.responses, topics.shape[1])} if found.responses else {}
    columns |= {
        "topic": np.tile(np.arange(topics.shape[1]), len(topics)),
        "agrees": found.agrees.ravel(),
        "similarity": similarity.min(axis=0).ravel(),
        "similarities": similarity.reshape(len(similarity), -1).T.tolist(),
        "numbers": numbers.reshape(len(numbers), -1).T.tolist(),
        "nearest": found.nearest.ravel(),
        "rhat_before": before[0],
        "rhat": now[0],
        "rhat_median_before": before[1],
        "rhat_median": now[1],
        "share": _shares(after, topics.shape[:2]).ravel(),
        "words": [" ".join(str(names[v]) for v in row if v >= 0) for row in best.reshape(-1, best.shape[2])],
    }
    by = ["response", "share"] if found.responses else ["share"]
    table = with_names(pd.DataFrame(columns), groups)
    table = table.sort_values(by, ascending=[name != "share" for name in by], kind="stable", ignore_index=True)
    table.attrs = {"reference": found.reference}
    return table


def top_word_draws(
    groups: Mapping[str, xr.Dataset], aligned_groups: Mapping[str, xr.Dataset], reference: int, n_words: int
) -> Float32Array | None:
    """Return the draws of phi for each topic's top words, shape (C, T, R, K, words), or None if phi was not recorded.

    The top words are those with the largest mean in the reference chain of the aligned trace.
    """
    posterior = groups["posterior"]
    if "phi" not in posterior or not {"draw", *TOPIC_DIMS} <= set(posterior["phi"].dims):
        return None
    dims = ("chain", "draw", "response", "topic", "word")
    mean = by_response(aligned_groups["posterior"]["phi"], dims)[reference].mean(axis=0, dtype=np.float64)
    best = best_words(mean, n_words, zeros=True)
    phi = by_response(posterior["phi"], dims)
    sets, topics = np.arange(best.shape[0])[:, None, None], np.arange(best.shape[1])[None, :, None]
    return np.ascontiguousarray(phi[:, :, sets, topics, best])


def top_words_of(groups: Mapping[str, xr.Dataset], chain: int, response: int, n_words: int) -> list[list[str]]:
    """Return the most probable words of each topic of a chain and of the response at a position."""
    topics, names = topics_of_chain(groups, chain)[response], word_names(groups)
    return [[str(names[v]) for v in best if v >= 0] for best in best_words(topics, n_words)]


def _rhats(draws: Float32Array | None, n_topics: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest and the median R-hat of each topic's words; constant words are left out."""
    values = np.full((n_topics, 1), np.nan) if draws is None else np.asarray(rhat(draws)).reshape(n_topics, -1)
    table = pd.DataFrame(values)
    return table.max(axis=1).to_numpy(), table.median(axis=1).to_numpy()


def _shares(groups: Mapping[str, xr.Dataset], shape: tuple[int, ...]) -> FloatArray:
    """Return the posterior mean share of the tokens of each topic, over all chains; NaN if it was not recorded."""
    posterior = groups["posterior"]
    if "topic_share" not in posterior or "topic" not in posterior["topic_share"].dims:
        return np.full(shape, np.nan)
    share = by_response(posterior["topic_share"], ("chain", "draw", "response", "topic"))
    return np.asarray(share.mean(axis=(0, 1)), dtype=np.float64)
