"""Where chains of LDA may start other than at random: clusters of the documents, and anchor words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import non_negative_factorization
from sklearn.feature_extraction.text import TfidfTransformer

import ppl_topics as pt

__all__ = ["by_anchors", "by_cluster"]

OWN = 0.9
"""How much of a start is the clusters' or the anchors', and not random, so that chains can leave it."""

ANCHOR_DOCS = 0.005
"""Share of the documents that a word must be in to be an anchor: what else is known of rare words is too noisy."""


def by_cluster(corpus: pt.Corpus, topics: int, chains: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """Return z for each chain, shape (chains, N): nine of ten tokens are in the topic of their document's cluster."""
    doc = np.repeat(np.arange(corpus.n_docs), np.diff(corpus.doc_ptr))
    features = TfidfTransformer(sublinear_tf=True).fit_transform(corpus.to_matrix())
    result = []
    for chain in range(chains):
        cluster = KMeans(topics, n_init=1, max_iter=10, random_state=100 * seed + chain).fit_predict(features)
        rng = np.random.default_rng([seed, chain])
        result.append(np.where(rng.random(doc.size) < OWN, cluster[doc], rng.integers(0, topics, doc.size)))
    return {"z": np.array(result)}


def by_anchors(corpus: pt.Corpus, topics: int, chains: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """Return phi for each chain, shape (chains, K, V), by anchor words.

    The probability of the words beside a word is a mixture of those beside the anchors, words that each stand for a
    topic (Arora et al. 2013, A practical algorithm for topic modeling with provable guarantees, algorithms 2 to 5).
    Each chain has its own anchors, since only a random half of the frequent words counts as company.
    """
    counts = corpus.to_matrix()
    frequent = np.flatnonzero(np.bincount(counts.indices, minlength=corpus.n_words) >= ANCHOR_DOCS * corpus.n_docs)
    length = np.diff(corpus.doc_ptr).astype(np.float64)
    counts = counts[length > 1]
    length = length[length > 1, None]
    # Each document counts as one pair of words, drawn from it without replacement.
    pairs = counts.multiply(1 / (length * (length - 1))).tocsr()
    share = np.asarray(counts.multiply(1 / length).sum(axis=0)).ravel()
    with_itself = np.asarray(pairs.sum(axis=0)).ravel()
    result = []
    for chain in range(chains):
        seen = np.random.default_rng([seed, chain]).permutation(frequent)[: max(topics, frequent.size // 2)]
        beside = (pairs.T @ counts[:, seen]).toarray()
        beside[seen, np.arange(seen.size)] -= with_itself[seen]
        beside /= np.maximum(share, np.finfo(np.float64).tiny)[:, None]
        anchors = beside[frequent[_corners(beside[frequent], topics)]]
        of_word, _, _ = non_negative_factorization(
            beside, H=anchors, n_components=topics, update_H=False, init="custom", max_iter=50, tol=0
        )
        of_word = OWN * of_word / np.maximum(of_word.sum(axis=1, keepdims=True), 1e-12) + (1 - OWN) / topics
        phi = of_word.T * share
        result.append(phi / phi.sum(axis=1, keepdims=True))
    return {"phi": np.array(result)}


def _corners(points: NDArray[np.float64], number: int) -> list[int]:
    """Return the points that are each farthest from the plane through those before."""
    found = [int((points**2).sum(axis=1).argmax())]
    rest = points - points[found[0]]
    while len(found) < number:
        found.append(int((rest**2).sum(axis=1).argmax()))
        towards = rest[found[-1]] / np.linalg.norm(rest[found[-1]])
        rest -= np.outer(rest @ towards, towards)
    return found
