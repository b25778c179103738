"""Which topics the chains agree on, R-hat of their words, and in how many chains each topic recurs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray
from ppl_topics.diagnostics.alignment.align import Alignment, align, chain_topics
from ppl_topics.diagnostics.alignment.recurrence import RECURS, recurs
from ppl_topics.diagnostics.alignment.renumber import aligned
from ppl_topics.diagnostics.alignment.topics import TOPIC_DIMS, by_response, topics_of_chain, word_names
from ppl_topics.diagnostics.efficiency import rhat
from ppl_topics.errors import TraceError
from ppl_topics.results.best_words import best_words
from ppl_topics.results.topic_names import with_names

__all__ = ["agreement_table", "top_word_draws", "top_words_of", "topic_agreement"]


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
        reference), ``agrees``, ``recurs_in`` (number of the other chains in which it recurs; see `topic_agreement`),
        ``similarity`` (the smallest over chains), ``similarities`` and ``numbers`` (lists by chain), ``nearest``
        (similarity to the nearest other topic of the reference), ``rhat_before`` and ``rhat`` (the largest R-hat of the
        top words, before and after alignment; NaN without draws of phi or with fewer than four per chain),
        ``rhat_median_before``, ``rhat_median`` (of the median word), ``share`` (of the tokens, over all chains) and
        ``words``. If each response has its own topics, ``response`` is the first column. ``attrs`` holds ``reference``.

    Raises
    ------
    TraceError
        If the topics cannot be aligned.

    Notes
    -----
    R-hat is the rank-normalised split R-hat. Before alignment it compares the topics with the same number in all
    chains.
    """
    _check_words(n_words)
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
        "recurs_in": recurs(found).sum(axis=0).ravel() - 1,
        "similarity": similarity.min(axis=0).ravel(),
        "similarities": similarity.reshape(len(similarity), -1).T.tolist(),
        "numbers": numbers.reshape(len(numbers), -1).T.tolist(),
        "nearest": found.nearest.ravel(),
        "rhat_before": before[0],
        "rhat": now[0],
        "rhat_median_before": before[1],
        "rhat_median": now[1],
        "share": _shares(after, topics.shape[:2]).ravel(),
        "words": [_joined(row, names) for row in best.reshape(-1, best.shape[2])],
    }
    return _by_share(columns, groups, {"reference": found.reference})


def topic_agreement(
    groups: Mapping[str, xr.Dataset], *, n_words: int = 10, alignment: Alignment | None = None
) -> pd.DataFrame:
    """Return in how many of the other chains each topic of the reference chain recurs, and how similar it is there.

    Where chains sample different modes, hardly a topic is the same in all of them, but most are often the same theme. A
    topic recurs in a chain if the similarity of its match is at least 0.85, and no less than that to any other topic of
    the reference. That the chains also sample one mode of it is what `agrees` says, by the stricter rule of
    :func:`ppl_topics.diagnostics.alignment.align`.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace, not aligned.
    n_words : int
        Number of the most probable words of each topic.
    alignment : Alignment, optional
        From `align`; by default it is computed with its defaults.

    Returns
    -------
    pandas.DataFrame
        A row for each topic of the reference, the largest share first, with the columns ``topic`` (its number in the
        reference), ``share`` (of the tokens, over all chains), ``recurs_in`` (number of the other chains), ``agrees``,
        ``similarity_min`` and ``similarity_mean`` (over the other chains; Bhattacharyya coefficient, from 0 to 1),
        ``words`` (the most probable in the reference) and ``shared`` (those of them that are among as many of the most
        probable words in each chain in which the topic recurs; empty if it recurs in none). If each response has its
        own topics, ``response`` is the first column. ``attrs`` holds ``reference``, ``others`` (the number of the other
        chains) and ``similarity`` (0.85).

    Raises
    ------
    TraceError
        If there is one chain, or the topics cannot be aligned.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
    >>> corpus = pt.Corpus.from_texts(texts)
    >>> fit = pt.sample("lda", corpus, topics=2, draws=20, warmup=30, chains=3, seed=1, progress=False)
    >>> fit.topic_agreement()["recurs_in"].tolist()
    [2, 2]
    """
    _check_words(n_words)
    found = align(groups) if alignment is None else alignment
    if len(found.chains) < 2:
        raise TraceError(f"there is one chain, and topics recur in others; run at least two ({argument('chains')})")
    reference = found.chains.index(found.reference)
    others = np.delete(np.arange(len(found.chains)), reference)
    by_set = found.by_response
    similarity, has, numbers = by_set(found.similarity), by_set(recurs(found)), by_set(found.permutation)
    topics = chain_topics(groups, found.switches)
    best = np.stack(
        [
            best_words(np.take_along_axis(of_chain, order[..., None], axis=1), n_words)
            for of_chain, order in zip(topics, numbers, strict=True)
        ]
    )
    names = word_names(groups)
    sets, n_topics = similarity.shape[1:]
    columns: dict[str, Any] = {"response": np.repeat(found.responses, n_topics)} if found.responses else {}
    columns |= {
        "topic": np.tile(np.arange(n_topics), sets),
        "share": _aligned_shares(groups, found, (sets, n_topics)).ravel(),
        "recurs_in": has[others].sum(axis=0).ravel(),
        "agrees": found.agrees.ravel(),
        "similarity_min": similarity[others].min(axis=0).ravel(),
        "similarity_mean": similarity[others].mean(axis=0).ravel(),
        "words": [_joined(best[reference, s, k], names) for s, k in np.ndindex(sets, n_topics)],
        "shared": [
            _joined(_in_all(best[reference, s, k], best[others, s, k][has[others, s, k]]), names)
            for s, k in np.ndindex(sets, n_topics)
        ],
    }
    return _by_share(columns, groups, {"reference": found.reference, "others": len(others), "similarity": RECURS})


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


def _check_words(n_words: Any) -> None:
    if not is_whole(n_words) or n_words < 1:
        raise TraceError(f"{argument('n_words')}: must be a whole number of at least 1, got {n_words!r}")


def _joined(words: IntArray, names: NDArray[Any]) -> str:
    """Return the words at some positions; -1 stands for none."""
    return " ".join(str(names[v]) for v in words if v >= 0)


def _in_all(words: IntArray, rows: IntArray) -> IntArray:
    """Return the words that are in each of several rows; none if there is no row."""
    return words[[len(rows) > 0 and bool((rows == v).any(axis=1).all()) for v in words.tolist()]]


def _by_share(
    columns: Mapping[str, Any], groups: Mapping[str, xr.Dataset], attributes: Mapping[Hashable | None, Any]
) -> pd.DataFrame:
    """Return a table of topics, the largest share first."""
    by = ["response", "share"] if "response" in columns else ["share"]
    table = with_names(pd.DataFrame(columns), groups)
    table = table.sort_values(by, ascending=[name != "share" for name in by], kind="stable", ignore_index=True)
    table.attrs = attributes
    return table


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


def _aligned_shares(groups: Mapping[str, xr.Dataset], alignment: Alignment, shape: tuple[int, ...]) -> FloatArray:
    """Return the shares of topics of a trace that is not aligned, without a copy of its other variables."""
    posterior = groups["posterior"]
    if "topic_share" in posterior and "topic" in posterior["topic_share"].dims:
        groups = aligned({"posterior": posterior[["topic_share"]]}, alignment)
    return _shares(groups, shape)
