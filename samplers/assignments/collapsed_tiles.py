"""Collapsed Gibbs sampling of the tokens of one tile, given the mass of each topic in the tile's block of words.

With m_k the mass of topic k in the block, n_kb its tokens there, and beta_b the sum of beta over the block's words,

    p(z_i = k) is proportional to (n_dk^-i + alpha_k) m_k (n_wk^-i + beta_w) / (n_kb^-i + beta_b).

Where one block holds all words the mass is 1, and this is the conditional of Griffiths and Steyvers (2004, eq. 5).
Two ways to draw from it: over all topics, eight at a time; and SparseLDA's, over the topics of the word.

References
----------
L. Yao, D. Mimno, A. McCallum (2009). Efficient methods for topic model inference on streaming document
collections. KDD'09, section 3.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ppl_topics.samplers.assignments.word_lists import DENSE, WordLists, add_topic, remove_topic
from ppl_topics.samplers.compiled import compiled, inlined
from ppl_topics.samplers.variates.categorical import categorical
from ppl_topics.samplers.variates.lanes import prefetch_row
from ppl_topics.samplers.variates.streams import Stream, uniform
from ppl_topics.samplers.variates.striped import (
    cumulate_counts,
    cumulate_listed,
    cumulate_products,
    find_listed,
    find_striped,
    new_sums,
)

__all__ = ["Law", "Places", "Scratch", "new_scratch", "sweep_dense", "sweep_sparse"]

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Topics = npt.NDArray[np.unsignedinteger[Any]]

AHEAD = 4
SMALLEST = np.float32(1e-30)
SHORT = 4


class Places(NamedTuple):
    """Which tokens, in which documents.

    Attributes
    ----------
    order : ndarray of uint32
        Tokens, documents in order.
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
    """

    order: npt.NDArray[np.uint32]
    doc_ptr: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint32]


class Law(NamedTuple):
    """What is held fixed while the tokens of a tile are drawn.

    Attributes
    ----------
    mass : ndarray of float64 of shape (K,)
        Of each topic in the block.
    beta_sum : float
        Over the words of the block.
    alpha : ndarray of float64 of shape (K,)
    beta : ndarray of float64 of shape (V,)
    alpha32, beta32 : ndarray of float32
        The same, rounded.
    """

    mass: Doubles
    beta_sum: float
    alpha: Doubles
    beta: Doubles
    alpha32: Floats
    beta32: Floats


class Scratch(NamedTuple):
    """Memory of one task, reused from sweep to sweep.

    Attributes
    ----------
    ratio : ndarray of float32 of shape (K,)
        m_k / (n_kb + beta_b).
    weight : ndarray of float32 of shape (1, K)
        (n_dk + alpha_k) times the ratio.
    ones : ndarray of float32 of shape (1, K)
    sums : ndarray of float32
        Running sums by lane.
    in_doc : ndarray of int32 of shape (K,)
        n_dk of the document at hand.
    """

    ratio: Floats
    weight: Floats
    ones: Floats
    sums: Floats
    in_doc: npt.NDArray[np.int32]


@compiled
def new_scratch(n_topics: int) -> Scratch:
    """Allocate the memory of one task."""
    return Scratch(
        np.zeros(n_topics, np.float32),
        np.zeros((1, n_topics), np.float32),
        np.ones((1, n_topics), np.float32),
        new_sums(n_topics),
        np.zeros(n_topics, np.int32),
    )


@inlined
def refresh(topic: int, n_k: npt.NDArray[np.int64], law: Law, scratch: Scratch) -> None:
    """Bring ratio and weight of a topic up to date with its counts."""
    ratio = np.float32(law.mass[topic]) / np.float32(n_k[topic] + law.beta_sum)
    scratch.ratio[topic] = ratio
    scratch.weight[0, topic] = (np.float32(scratch.in_doc[topic]) + law.alpha32[topic]) * ratio


@compiled
def draw_in_logs(
    stream: Stream, word: int, n_wk: npt.NDArray[np.int32], n_k: npt.NDArray[np.int64], law: Law, scratch: Scratch
) -> int:
    """Draw a topic in logarithms: where the concentrations are so small that float32 holds no mass at all."""
    n_topics = n_k.size
    weights = np.empty(n_topics)
    for topic in range(n_topics):
        weights[topic] = (
            math.log(scratch.in_doc[topic] + law.alpha[topic])
            + math.log(law.mass[topic])
            - math.log(n_k[topic] + law.beta_sum)
            + math.log(n_wk[word, topic] + law.beta[word])
        )
    largest = weights.max()
    for topic in range(n_topics):
        weights[topic] = math.exp(weights[topic] - largest)
    return categorical(stream, weights)


@compiled
def sweep_dense(
    doc: int,
    first: int,
    last: int,
    places: Places,
    z: Topics,
    n_wk: npt.NDArray[np.int32],
    n_k: npt.NDArray[np.int64],
    n_dk: npt.NDArray[np.int32],
    law: Law,
    scratch: Scratch,
    stream: Stream,
) -> None:
    """Draw the topics of the tokens ``order[first:last]``, over all topics, eight at a time.

    Parameters
    ----------
    doc : int
        A document at or before that of the first token.
    first, last : int
    places : Places
    z : ndarray of uint8 or uint16 of shape (N,)
    n_wk : ndarray of int32 of shape (V, K)
    n_k : ndarray of int64 of shape (K,)
        Counts of z, over the words of the block; updated in place.
    n_dk : ndarray of int32 of shape (D, K) or (0, K)
        Counts of z by document, updated in place; without rows, each document is counted at each visit.
    law : Law
    scratch : Scratch
    stream : ndarray of uint64 of shape (15,)
    """
    order, doc_ptr, words = places
    in_doc, sums = scratch.in_doc, scratch.sums
    weight = scratch.weight[0]
    n_topics = n_k.size
    kept = n_dk.shape[0] > 0
    for topic in range(n_topics):
        scratch.ratio[topic] = np.float32(law.mass[topic]) / np.float32(n_k[topic] + law.beta_sum)
    end = np.int64(-1)
    for place in range(first, last):
        token = np.int64(order[place])
        if token >= end:
            if kept and end >= 0:
                for topic in range(n_topics):
                    n_dk[doc, topic] = in_doc[topic]
            while token >= doc_ptr[doc + 1]:
                doc += 1
            end = doc_ptr[doc + 1]
            if kept:
                for topic in range(n_topics):
                    in_doc[topic] = n_dk[doc, topic]
            else:
                in_doc[:] = 0
                for other in range(doc_ptr[doc], end):
                    in_doc[z[other]] += 1
            for topic in range(n_topics):
                weight[topic] = (np.float32(in_doc[topic]) + law.alpha32[topic]) * scratch.ratio[topic]
        prefetch_row(n_wk, np.int64(words[order[min(place + AHEAD, last - 1)]]))
        word = np.int64(words[token])
        old = np.int64(z[token])
        in_doc[old] -= 1
        n_wk[word, old] -= 1
        n_k[old] -= 1
        refresh(old, n_k, law, scratch)
        total = cumulate_counts(weight, n_wk, word, law.beta32[word], sums)
        if total > SMALLEST:
            new = find_striped(sums, n_topics, np.float32(uniform(stream) * total))
        else:
            new = draw_in_logs(stream, word, n_wk, n_k, law, scratch)
        z[token] = new
        in_doc[new] += 1
        n_wk[word, new] += 1
        n_k[new] += 1
        refresh(new, n_k, law, scratch)
    if kept and end >= 0:
        for topic in range(n_topics):
            n_dk[doc, topic] = in_doc[topic]


@inlined
def reset_weights(law: Law, scratch: Scratch) -> float:
    """Set the weights to those of the document at hand, and return their sum, in float64."""
    weight, in_doc = scratch.weight, scratch.in_doc
    total = 0.0
    for topic in range(in_doc.size):
        weight[0, topic] = (np.float32(in_doc[topic]) + law.alpha32[topic]) * scratch.ratio[topic]
    for topic in range(in_doc.size):
        total += weight[0, topic]
    return total


@compiled
def sweep_sparse(
    doc: int,
    first: int,
    last: int,
    places: Places,
    z: Topics,
    n_wk: npt.NDArray[np.int32],
    n_k: npt.NDArray[np.int64],
    lists: WordLists,
    law: Law,
    scratch: Scratch,
    stream: Stream,
) -> None:
    """Draw the topics of the tokens ``order[first:last]`` as `sweep_dense` does, over the topics of the word.

    The full conditional is split in two (Yao et al. 2009, eqs. 7 to 10, their first two parts taken together):
    n_wk times the weights, over the topics that the word has, and beta_w times the weights, over all topics, whose sum
    is kept up to date. Words without a list are drawn as `sweep_dense` draws them.
    """
    order, doc_ptr, words = places
    in_doc, sums = scratch.in_doc, scratch.sums
    weight = scratch.weight[0]
    n_topics = n_k.size
    in_doc[:] = 0
    for topic in range(n_topics):
        scratch.ratio[topic] = np.float32(law.mass[topic]) / np.float32(n_k[topic] + law.beta_sum)
    smooth = reset_weights(law, scratch)
    begin, end = np.int64(-1), np.int64(-1)
    for place in range(first, last):
        token = np.int64(order[place])
        if token >= end:
            short = (end - begin) * SHORT < n_topics
            # A short document leaves by the topics that it has, to spare a pass over all.
            if begin >= 0:
                if short:
                    for other in range(begin, end):
                        topic = np.int64(z[other])
                        if in_doc[topic] > 0:
                            in_doc[topic] = 0
                            smooth += move_weight(topic, law, scratch)
                else:
                    in_doc[:] = 0
            while token >= doc_ptr[doc + 1]:
                doc += 1
            was_short = short
            begin, end = doc_ptr[doc], doc_ptr[doc + 1]
            short = (end - begin) * SHORT < n_topics
            if short and not was_short:
                smooth = reset_weights(law, scratch)
            if short:
                for other in range(begin, end):
                    topic = np.int64(z[other])
                    in_doc[topic] += 1
                    smooth += move_weight(topic, law, scratch)
            else:
                for other in range(begin, end):
                    in_doc[z[other]] += 1
                smooth = reset_weights(law, scratch)
        word = np.int64(words[token])
        old = np.int64(z[token])
        in_doc[old] -= 1
        n_wk[word, old] -= 1
        n_k[old] -= 1
        before = weight[old]
        refresh(old, n_k, law, scratch)
        smooth += np.float64(weight[old]) - before
        size = remove_topic(word, old, lists)
        if size == DENSE:
            total = cumulate_counts(weight, n_wk, word, law.beta32[word], sums)
            if total > SMALLEST:
                new = find_striped(sums, n_topics, np.float32(uniform(stream) * total))
            else:
                new = draw_in_logs(stream, word, n_wk, n_k, law, scratch)
        else:
            listed = np.float64(
                cumulate_listed(scratch.weight, 0, lists.topics, lists.counts, lists.ptr[word], size, sums)
            )
            total = listed + law.beta[word] * smooth
            target = uniform(stream) * total
            if not total > SMALLEST:
                new = draw_in_logs(stream, word, n_wk, n_k, law, scratch)
                add_topic(word, new, lists)
            elif target < listed:
                slot = lists.ptr[word] + find_listed(sums, size, np.float32(target))
                new = np.int64(lists.topics[slot])
                lists.counts[slot] += 1
            else:
                everywhere = cumulate_products(weight, scratch.ones, 0, sums)
                share = (target - listed) / (total - listed)
                new = find_striped(sums, n_topics, np.float32(share * everywhere))
                add_topic(word, new, lists)
        z[token] = new
        in_doc[new] += 1
        n_wk[word, new] += 1
        n_k[new] += 1
        before = weight[new]
        refresh(new, n_k, law, scratch)
        smooth += np.float64(weight[new]) - before


@inlined
def move_weight(topic: int, law: Law, scratch: Scratch) -> float:
    """Bring the weight of a topic up to date with the document's count, and return by how much it changed."""
    before = np.float64(scratch.weight[0, topic])
    after = (np.float32(scratch.in_doc[topic]) + law.alpha32[topic]) * scratch.ratio[topic]
    scratch.weight[0, topic] = after
    return np.float64(after) - before
