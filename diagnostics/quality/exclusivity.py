"""How specific the words of a topic are to it: exclusivity, FREX, and the diversity of topics.

References
----------
J. M. Bischof, E. M. Airoldi (2012). Summarizing topical content with word frequency and exclusivity. ICML 2012.
A. B. Dieng, F. J. R. Ruiz, D. M. Blei (2020). Topic modeling in embedding spaces. TACL 8.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.diagnostics.quality.topic_set import as_topics, check_words, texts_of, topic_sets
from ppl_topics.errors import PplTopicsError
from ppl_topics.results.best_words import best_words

__all__ = ["exclusivity", "frex", "frex_words", "mean_over", "topic_diversity"]


def exclusivity(phi: npt.ArrayLike, top_words: npt.ArrayLike) -> FloatArray:
    """Return the mean over the top words of each topic of phi_kv / sum_j phi_jv.

    Parameters
    ----------
    phi : array_like, shape (K, V)
        Topics.
    top_words : array_like of int, shape (K, M)
        Words of each topic; -1 pads shorter topics.

    Returns
    -------
    ndarray of float64, shape (K,)
        1 if no other topic has the words, 1 / K if all topics have them equally, 0 for a topic without words.
    """
    topics, words = np.asarray(phi), np.atleast_2d(np.asarray(top_words, dtype=np.int64))
    used = np.unique(words[words >= 0])
    shares = np.zeros(topics.shape)
    # Only for the words in use, since the vocabulary may be large.
    totals = topics[:, used].sum(axis=0, dtype=np.float64)
    shares[:, used] = topics[:, used] / np.where(totals > 0.0, totals, 1.0)
    return mean_over(shares, words)


def mean_over(scores: FloatArray, words: IntArray) -> FloatArray:
    """Return the mean score of the words in each row (-1 is no word), and 0 for a row without words."""
    there = words >= 0
    chosen = np.take_along_axis(scores, np.maximum(words, 0), axis=1)
    return np.asarray(np.where(there, chosen, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1))


def frex(phi: npt.ArrayLike, *, weight: float = 0.5) -> FloatArray:
    """Return FREX of each word in each topic: the harmonic mean of its ranks by exclusivity and by frequency.

    Bischof and Airoldi (2012)::

        FREX_kv = 1 / (weight / F_k(e_kv) + (1 - weight) / G_k(phi_kv)),    e_kv = phi_kv / sum_j phi_jv,

    where F_k and G_k are the empirical distribution functions of e and phi over the words of topic k: the share of
    words with a value that is no larger.

    Parameters
    ----------
    phi : array_like, shape (K, V)
        Topics.
    weight : float
        Weight of exclusivity, from 0 to 1.

    Returns
    -------
    ndarray of float64, shape (K, V)
        In (0, 1].

    Raises
    ------
    PplTopicsError
        If phi holds no topics, or the weight is not between 0 and 1.
    """
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0.0 <= weight <= 1.0:
        raise PplTopicsError(f"weight: must be a number from 0 to 1, got {weight!r}")
    topics = as_topics(phi)
    totals = topics.sum(axis=0)
    result = np.empty_like(topics)
    for row, out in zip(topics, result, strict=True):
        own = np.divide(row, totals, out=np.zeros_like(row), where=totals > 0.0)
        out[:] = 1.0 / (weight / _share_below(own) + (1.0 - weight) / _share_below(row))
    return result


def _share_below(values: FloatArray) -> FloatArray:
    """Return the empirical distribution function of the values at each of them."""
    return np.asarray(np.searchsorted(np.sort(values), values, side="right") / len(values))


def frex_words(
    groups: Mapping[str, xr.Dataset], *, n_words: int = 10, weight: float = 0.5, chain: int = 0
) -> pd.DataFrame:
    """Return the words with the highest FREX of each topic of a chain; see `frex`.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    n_words : int
        Words per topic.
    weight : float
        Weight of exclusivity, from 0 to 1.
    chain : int
        Chains number their topics independently, so they are not combined.

    Returns
    -------
    pandas.DataFrame
        A row for each topic, the largest share of tokens first, with the columns ``topic``, ``share`` and ``words``. If
        each response has its own topics, ``response`` is the first column.

    Raises
    ------
    TraceError
        If the trace has no mean topics or no such chain.
    """
    check_words(n_words)
    tables = []
    for part in topic_sets(groups, chain):
        scores = frex(part.phi, weight=weight)
        # Words that a topic excludes are not specific to it.
        words = texts_of(best_words(np.where(part.phi > 0.0, scores, 0.0), n_words), part.vocabulary)
        tables.append(part.table({"share": part.share, "words": words}))
    return pd.concat(tables, ignore_index=True)


def topic_diversity(groups: Mapping[str, xr.Dataset], *, n_words: int = 25, chain: int = 0) -> float:
    """Return the share of distinct words among the top words of all topics (Dieng et al. 2020).

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    n_words : int
        Top words per topic.
    chain : int
        Chains number their topics independently, so they are not combined.

    Returns
    -------
    float
        1 if no two topics share a top word, 1 / K if all have the same, NaN if none has a word. If each response has
        its own topics, the topics of all responses count together.

    Raises
    ------
    TraceError
        If the trace has no mean topics or no such chain.
    """
    check_words(n_words)
    best = np.concatenate([best_words(part.phi, n_words).ravel() for part in topic_sets(groups, chain)])
    best = best[best >= 0]
    # Topics without words share none.
    return len(np.unique(best)) / len(best) if len(best) else np.nan
