"""How good topics are: how often their top words share documents, and over how many documents they spread.

References
----------
D. Mimno, H. M. Wallach, E. Talley, M. Leenders, A. McCallum (2011). Optimizing semantic coherence in topic models.
EMNLP 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ppl_topics.corpus import Corpus

__all__ = ["document_entropy", "umass_coherence"]

Vector = npt.NDArray[np.float64]


def umass_coherence(top_words: npt.ArrayLike, corpus: Corpus) -> Vector:
    """Return the coherence of each topic, sum over m and l < m of log((D(v_m, v_l) + 1) / D(v_l)).

    D counts the documents that hold a word, or both of two words (Mimno et al. 2011, equation 1). It is 0 where each
    two words share all but one of their documents, and falls from there.

    Parameters
    ----------
    top_words : array_like of int, shape (K, M)
        Words of each topic by their number in the vocabulary, the most probable first. A word that no document holds
        has no probability to be conditioned on: its terms as v_l are left out.
    corpus : Corpus

    Returns
    -------
    ndarray of float64, shape (K,)

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_tokens([["a", "b"], ["a"], ["a", "b"]])
    >>> umass_coherence([[0, 1]], corpus).round(6).tolist()
    [0.0]
    """
    words = np.atleast_2d(np.asarray(top_words, dtype=np.int64))
    used, places = np.unique(words, return_inverse=True)
    places = places.reshape(words.shape)
    together = _shared_documents(used, corpus)
    alone = np.diagonal(together)
    result = np.zeros(len(words))
    for topic, chosen in enumerate(places):
        given = alone[chosen]
        ratios = (together[np.ix_(chosen, chosen)] + 1.0) / np.maximum(given, 1)
        result[topic] = np.tril(np.where(given > 0, np.log(ratios), 0.0), -1).sum()
    return result


def _shared_documents(words: npt.NDArray[np.int64], corpus: Corpus) -> npt.NDArray[np.int64]:
    """Count the documents that hold each two of some words; on the diagonal, those that hold one."""
    docs = np.repeat(np.arange(corpus.n_docs), np.diff(corpus.doc_ptr))
    selected = np.isin(corpus.words, words)
    columns = np.searchsorted(words, corpus.words[selected])
    shape = (corpus.n_docs, len(words))
    holds: Any = sparse.coo_array((np.ones(len(columns)), (docs[selected], columns)), shape=shape).tocsr()
    holds.data[:] = 1.0
    shared: npt.NDArray[np.int64] = (holds.T @ holds).toarray().astype(np.int64)
    return shared


def document_entropy(n_dk: npt.ArrayLike) -> Vector:
    """Return the entropy, in nats, of each topic's tokens over documents: -sum_d p(d | k) log p(d | k).

    Parameters
    ----------
    n_dk : array_like, shape (D, K)
        Tokens of each document in each topic, or their shares.

    Returns
    -------
    ndarray of float64, shape (K,)
        0 for a topic without tokens, at most log D.
    """
    counts = np.asarray(n_dk, dtype=np.float64)
    totals = counts.sum(axis=0)
    share = counts / np.where(totals > 0.0, totals, 1.0)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0.0)
    entropy: Vector = -(share * logs).sum(axis=0)
    return np.maximum(entropy, 0.0)
