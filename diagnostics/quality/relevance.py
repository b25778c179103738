"""Relevance of words to topics, a compromise between probability in the topic and lift.

References
----------
C. Sievert, K. E. Shirley (2014). LDAvis: A method for visualizing and interpreting topics. ACL workshop on interactive
language learning, visualization, and interfaces.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from ppl_topics._util.arrays import FloatArray
from ppl_topics.diagnostics.quality.topic_set import TopicSet, as_topics, check_words, topic_sets
from ppl_topics.errors import PplTopicsError, TraceError

__all__ = ["relevance", "relevance_terms", "word_share"]


def relevance(phi: npt.ArrayLike, share: npt.ArrayLike, *, weight: float = 0.6) -> FloatArray:
    """Return the relevance of each word to each topic, weight log phi_kv + (1 - weight) log(phi_kv / p_v).

    Sievert and Shirley (2014), equation 1, where the weight is called lambda; their readers preferred 0.6.

    Parameters
    ----------
    phi : array_like, shape (K, V)
        Topics.
    share : array_like, shape (V,)
        p, the share of each word in the tokens of all documents, or its count.
    weight : float
        From 0, which ranks words by lift, to 1, which ranks them by probability.

    Returns
    -------
    ndarray of float64, shape (K, V)
        Minus infinity for a word that the topic or all documents lack.

    Raises
    ------
    PplTopicsError
        If phi holds no topics, the shares do not match it, or the weight is not between 0 and 1.
    """
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0.0 <= weight <= 1.0:
        raise PplTopicsError(f"weight: must be a number from 0 to 1, got {weight!r}")
    topics, counts = as_topics(phi), np.asarray(share, dtype=np.float64)
    if counts.shape != topics.shape[1:] or not np.isfinite(counts).all() or (counts < 0).any() or not counts.any():
        raise PplTopicsError(
            f"share: must hold {topics.shape[1]:,} shares or counts of words, not all of them 0; got shape "
            f"{counts.shape}"
        )
    known = (topics > 0.0) & (counts > 0.0)
    log_phi = np.log(topics, out=np.full_like(topics, -np.inf), where=known)
    log_p = np.log(counts / counts.sum(), out=np.zeros_like(counts), where=counts > 0.0)
    # weight log phi + (1 - weight) (log phi - log p), written so that infinity is never multiplied by 0.
    return np.asarray(log_phi - (1.0 - weight) * log_p)


def word_share(topics: TopicSet) -> FloatArray:
    """Return the share of each word in the tokens of a trace, shape (V,)."""
    constants = topics.groups["constant_data"]
    if "word_count" not in constants:
        raise TraceError("the trace holds no `word_count` in `constant_data`, which relevance needs")
    counts = constants["word_count"].values.astype(np.float64)
    return np.asarray(counts / counts.sum())


def relevance_terms(
    groups: Mapping[str, xr.Dataset], *, n_words: int = 30, weight: float = 0.6, chain: int = 0
) -> pd.DataFrame:
    """Return the most relevant words of each topic of a chain (Sievert and Shirley 2014); see `relevance`.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    n_words : int
        Words per topic; fewer if a topic has no more.
    weight : float
        From 0, which ranks words by lift, to 1, which ranks them by probability.
    chain : int
        Chains number their topics independently, so they are not combined.

    Returns
    -------
    pandas.DataFrame
        A row for each topic and word, by topic number and then by relevance, with the columns ``topic``, ``word``,
        ``relevance``, ``probability`` (phi_kv) and ``lift`` (phi_kv / p_v). If each response has its own topics,
        ``response`` is the first column.

    Raises
    ------
    TraceError
        If the trace has no mean topics, no counts of words, or no such chain.
    """
    check_words(n_words)
    tables = []
    for part in topic_sets(groups, chain):
        share = word_share(part)
        scores = relevance(part.phi, share, weight=weight)
        phi = as_topics(part.phi)
        for topic, row in enumerate(scores):
            kept = np.flatnonzero(row > -np.inf)
            best = kept[np.argsort(-row[kept], kind="stable")][:n_words]
            table = pd.DataFrame(
                {
                    "topic": topic,
                    "word": part.vocabulary[best],
                    "relevance": row[best],
                    "probability": phi[topic, best],
                    "lift": phi[topic, best] / share[best],
                }
            )
            if part.response is not None:
                table.insert(0, "response", part.response)
            tables.append(table)
    return pd.concat(tables, ignore_index=True)
