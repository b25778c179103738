"""Sparse partially collapsed Gibbs sampling: a token is drawn from the topics that its word is likely in.

The sum over topics of (n_dk^-i + alpha_k) phi_kw is split in two. The topics where phi_kw is not far below the word's
largest are few, and listed (see `likely_topics`). For the others only a bound is computed: the largest
n_dk + alpha_k times the sum of their phi_kw. A point is drawn between 0 and the sum of the list's mass and that bound:
nearly always it falls into the list, and the others need not be looked at. Otherwise their mass is computed, and the
point falls among them or beyond. Beyond, the topic is drawn again, from all. So the distribution is the full
conditional, exactly, by rejection.

Magnusson et al. sum over the topics of the document instead, and draw the rest from alias tables of alpha_k phi_kw.
A word's list lies together in memory, where their sum gathers phi_kw from all over the row, and it needs no table.

In a model with a response the draw is a proposal, as in `partially_collapsed`.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equations 4 and 5.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ppl_topics._util.arrays import Float32Array, Int32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.proposal import Token
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import TokensByDocument
from ppl_topics.samplers.assignments.given_phi import (
    AllGivenPhi,
    GivenPhi,
    compile_sweep,
    count_document,
    over_tasks,
)
from ppl_topics.samplers.assignments.likely_topics import LikelyTopics, list_likely_topics
from ppl_topics.samplers.assignments.partially_collapsed import draw as draw_from_all
from ppl_topics.samplers.counts import recount
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, term_of
from ppl_topics.samplers.variates.remainder import draw_from_remainders, subtract_cores
from ppl_topics.samplers.variates.simd import unlikely
from ppl_topics.samplers.variates.simd_categorical import (
    find_cell,
    find_entry,
    is_safe,
    new_sums,
    point_bound,
    running_sums_of_list,
    running_sums_of_products,
)
from ppl_topics.samplers.variates.streams import Stream, uniform

__all__ = ["sparse_partially_collapsed", "sweep_often", "sweep_sparse_partially_collapsed"]


class SparseScratch(NamedTuple):
    """Memory of one parallel task; the first four arrays as in `ppl_topics.samplers.assignments.given_phi.Scratch`.

    Attributes
    ----------
    counts, weight, weights, sums : ndarray
    others : ndarray of float32 of shape (1, K)
        phi_kw of the topics that are not listed; 0 for the others.
    heaviest : ndarray of float32 of shape (1,)
        At least the largest weight.
    """

    counts: Int32Array
    weight: Float32Array
    weights: Float32Array
    sums: Float32Array
    others: Float32Array
    heaviest: Float32Array


@compiled
def new_scratch(task: int, given: AllGivenPhi, likely: LikelyTopics) -> SparseScratch:
    """Allocate the memory of a task."""
    n_topics = given.rows.shape[1]
    counts, weight, sums = np.empty(n_topics, np.int32), np.empty(n_topics, np.float32), new_sums(n_topics)
    others, heaviest = np.empty((1, n_topics), np.float32), np.empty(1, np.float32)
    return SparseScratch(counts, weight, weight.reshape(1, n_topics), sums, others, heaviest)


@inlined
def begin_document(
    doc: int,
    topics: UnsignedArray,
    given: GivenPhi,
    likely: LikelyTopics,
    term: ResponseTerm,
    scratch: SparseScratch,
) -> None:
    """Count the topics of a document, and find the largest weight."""
    weight = scratch.weight
    count_document(topics, given.alpha, scratch.counts, weight)
    heaviest = np.float32(0.0)
    for topic in range(weight.size):
        heaviest = max(heaviest, weight[topic])
    scratch.heaviest[0] = heaviest


@inlined
def follow(
    token: Token,
    old: int,
    new: int,
    given: GivenPhi,
    likely: LikelyTopics,
    term: ResponseTerm,
    scratch: SparseScratch,
) -> None:
    """Keep `heaviest` a bound; it stays one where a topic loses a token."""
    scratch.heaviest[0] = max(scratch.heaviest[0], scratch.weight[new])


@inlined
def draw(
    stream: Stream,
    token: Token,
    old: int,
    given: GivenPhi,
    likely: LikelyTopics,
    term: ResponseTerm,
    scratch: SparseScratch,
) -> Any:
    """Draw from p(z_i = k), proportional to (n_dk^-i + alpha_k) phi_kw."""
    word, sums = token.word, scratch.sums
    begin = likely.pointer[word]
    size = likely.pointer[word + 1] - begin
    new: Any = np.int64(-1)
    if size > 0:
        listed = running_sums_of_list(scratch.weights, 0, likely.topics, likely.values, begin, size, sums)
        of_list = point_bound(listed, size)
        bound = of_list + scratch.heaviest[0] * np.float64(likely.rest[word])
        if is_safe(bound):
            point = uniform(stream) * bound
            if point < of_list:
                entry = find_entry(sums, size, point)
                if unlikely(entry < 0):
                    entry = draw_listed_remainder(stream, token, given, likely, scratch, of_list)
                if entry >= 0:
                    new = np.int64(likely.topics[begin + entry])
            else:
                new = find_other(stream, point - of_list, token, given, likely, scratch)
    return new if new >= 0 else draw_from_all(stream, token, old, given, likely, term, scratch)


@compiled
def draw_listed_remainder(
    stream: Stream, token: Token, given: GivenPhi, likely: LikelyTopics, scratch: SparseScratch, bound: float
) -> int:
    """Draw from what the cores of a word's list leave out below `bound`; -1 if the draw is to be repeated."""
    begin, end = likely.pointer[token.word], likely.pointer[token.word + 1]
    remainders = np.empty(end - begin)
    for entry in range(begin, end):
        topic = likely.topics[entry]
        remainders[entry - begin] = (token.counts[topic] + given.alpha[topic]) * likely.values[entry]
    left = subtract_cores(remainders, scratch.sums, bound, True)
    return draw_from_remainders(stream, remainders, left)


@compiled
def find_other(
    stream: Stream, point: float, token: Token, given: GivenPhi, likely: LikelyTopics, scratch: SparseScratch
) -> int:
    """Find the topic, not in the word's list, that a point between 0 and their bound falls into; -1 if beyond all."""
    word: Any = token.word
    phi, weight, others, level = given.phi, scratch.weight, scratch.others, likely.level[word]
    for topic in range(weight.size):
        others[0, topic] = phi[word, topic] if phi[word, topic] < level else np.float32(0.0)
    bound = point_bound(running_sums_of_products(weight, others, 0, scratch.sums), weight.size)
    if point >= bound:
        return -1
    new: int = find_cell(scratch.sums, weight.size, point)
    if unlikely(new < 0):
        remainders = np.empty(weight.size)
        for topic in range(weight.size):
            remainders[topic] = (token.counts[topic] + given.alpha[topic]) * others[0, topic]
        left = subtract_cores(remainders, scratch.sums, bound, False)
        new = draw_from_remainders(stream, remainders, left)
    return new


sweep_task = compile_sweep(
    "sparse_partially_collapsed",
    draw,
    in_parallel=False,
    new_scratch=new_scratch,
    begin_document=begin_document,
    follow=follow,
)


@compiled
def sweep_task_often(
    task: int,
    tokens: TokensByDocument,
    z: UnsignedArray,
    given: AllGivenPhi,
    likely: LikelyTopics,
    term: ResponseTerm,
    key: Key,
    kept: UnsignedArray,
) -> None:
    """Sweep as many times as `kept`, shape (sweeps, N), has rows, with the keys of this sweep and those after it."""
    begin, end = tokens.doc_ptr[tokens.chunk_ptr[task]], tokens.doc_ptr[tokens.chunk_ptr[task + 1]]
    for number in range(kept.shape[0]):
        of_sweep = Key(key.seed, key.chain, key.sweep + number, key.kernel, key.first)
        sweep_task(task, tokens, z, given, likely, term, of_sweep)
        kept[number, begin:end] = z[begin:end]


sweep_sparse_partially_collapsed, sweep_often = over_tasks(sweep_task), over_tasks(sweep_task_often)


@kernel(
    "sparse_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "quadratic_response"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    distributes="doc",
    devices={"cuda": "1.5e6 + N * (0.53 + 0.0004 * K) + 0.01 * V * K"},
    cost="N * (53 + 0.09 * K) + V * (40 + 1.8 * K) + N * (16 * min(1, C) + 0.9 * C)",
    memory="4 * N + 0.6 * V * K + 50 * D * C + 10 * N * min(1, C)",
    reference="Magnusson et al. 2018, section 3.2, eq. 5",
)
def sparse_partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Sparse partially collapsed Gibbs: O(likely topics of the word) a token given phi, parallel over docs."""
    tokens, phi = binding.tokens, binding.names["phi"]
    selected = words.mask(tokens.word_counts)
    by_document, n_drawn = tokens.by_document(selected), tokens.count(selected)
    make_term = term_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> dict[str, float] | None:
        given, term = AllGivenPhi.of(state.document_alpha, state.arrays[phi]), make_term(state)
        likely = list_likely_topics(tokens.word_ptr, selected, given.phi)
        sweep_sparse_partially_collapsed(by_document, state.z, given, likely, term, key)
        recount(tokens, state)
        return acceptance(term, n_drawn)

    return KernelFunctions(step)
