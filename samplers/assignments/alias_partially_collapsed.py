"""Sparse partially collapsed Gibbs sampling: a sum over the topics of the document, and alias tables for the prior.

The full conditional given the topics has two parts,

    p(z_i = k) is proportional to n_dk^-i phi_kw + alpha_k phi_kw.

The first is not zero for the topics of the document alone, which are kept in a list: O(K_d). The second is the same for
all tokens of a word in a sweep. Its sum over topics is computed once, and a token that falls to it has its topic from
an alias table of the word in constant time (Walker 1977). To build a table takes as long as some 64 draws from a row of
that many topics, eight at a time; so words with fewer tokens have none, and their draws from the second part take O(K)
in less time than the table would.

The list is drawn from as in the other kernels given phi, to the rounding of float64. Tables hold float32: a topic's
probability is right within 6e-8 of itself, and a draw within 3e-8 in total variation.

In a model with a response the draw is a proposal, as in `partially_collapsed`.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equation 5, algorithms 1 and 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import (
    BoolArray,
    Float32Array,
    FloatArray,
    Int32Array,
    IntArray,
    UInt16Array,
    UnsignedArray,
)
from ppl_topics._util.compiled import compiled, inlined, parallel, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.proposal import Token
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.given_phi import (
    AllGivenPhi,
    GivenPhi,
    compile_sweep,
    draw_in_float64,
    draw_in_log_space,
    prefetch_phi,
)
from ppl_topics.samplers.counts import WORD_CHUNKS, make_chunks, recount
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, term_of
from ppl_topics.samplers.variates.alias import build_alias, draw_alias
from ppl_topics.samplers.variates.remainder import draw_from_remainders, subtract_cores
from ppl_topics.samplers.variates.simd import LANES, unlikely
from ppl_topics.samplers.variates.simd_categorical import (
    draw_cell,
    find_entry,
    is_safe,
    new_sums,
    point_bound,
    running_sums_of_list,
    running_sums_of_products,
)
from ppl_topics.samplers.variates.streams import Stream, uniform

__all__ = ["alias_partially_collapsed", "sweep_alias_partially_collapsed"]


TABLE_TOKENS = 64
"""Words with at least as many tokens have an alias table."""

ABSENT = -1
"""Place in the list of a document's topics of a topic that it does not have."""


class PriorParts(NamedTuple):
    """What draws in proportion to alpha_k phi_kw need, by word.

    Attributes
    ----------
    mass : ndarray of float64 of shape (V,)
        The sum of alpha_k phi_kw over topics.
    table : ndarray of int64 of shape (V,)
        Row of the word's alias table; -1 where it has none.
    probability : ndarray of float32 of shape (tables, K)
    alias : ndarray of uint16 of shape (tables, K)
    alpha : ndarray of float32 of shape (K,)
    """

    mass: FloatArray
    table: IntArray
    probability: Float32Array
    alias: UInt16Array
    alpha: Float32Array


def new_parts(selected: BoolArray, word_counts: IntArray, n_topics: int) -> PriorParts:
    """Allocate what draws in proportion to alpha_k phi_kw need."""
    frequent = selected & (word_counts >= TABLE_TOKENS)
    table = np.where(frequent, np.cumsum(frequent) - 1, -1)
    shape = (int(frequent.sum()), n_topics)
    return PriorParts(
        np.zeros(len(selected)), table, np.empty(shape, np.float32), np.empty(shape, np.uint16), np.empty(0, np.float32)
    )


@parallel
def build_parts(
    word_ptr: IntArray, selected: BoolArray, alpha: FloatArray, phi: Float32Array, parts: PriorParts
) -> None:
    """Sum alpha_k phi_kw for each selected word that occurs, and build the alias tables, in parallel over words."""
    mass, table, probability, alias = parts.mass, parts.table, parts.probability, parts.alias
    chunk_ptr = make_chunks(word_ptr, WORD_CHUNKS)
    for chunk in numba.prange(WORD_CHUNKS):
        weights, scratch = np.empty(alpha.size), np.empty(alpha.size, np.uint32)
        for word in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            if not selected[word] or word_ptr[word + 1] == word_ptr[word]:
                continue
            mass[word] = sum_of_products(alpha, phi[word])
            if table[word] >= 0:
                for topic in range(alpha.size):
                    weights[topic] = alpha[topic] * phi[word, topic]
                build_alias(weights, probability[table[word]], alias[table[word]], scratch)


@tight
def sum_of_products(alpha: FloatArray, row: Float32Array) -> float:
    """Return the sum of alpha_k phi_kw, in four sums that run side by side."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    whole = alpha.size - alpha.size % 4
    for topic in range(0, whole, 4):
        first += alpha[topic] * row[topic]
        second += alpha[topic + 1] * row[topic + 1]
        third += alpha[topic + 2] * row[topic + 2]
        fourth += alpha[topic + 3] * row[topic + 3]
    for topic in range(whole, alpha.size):
        first += alpha[topic] * row[topic]
    return (first + second) + (third + fourth)


class ListScratch(NamedTuple):
    """Memory of one parallel task, for the document that it is sweeping.

    Attributes
    ----------
    counts : ndarray of int32 of shape (K,)
        n_dk, without the token that is being drawn; all zero between documents.
    place : ndarray of int32 of shape (K,)
        Where each topic stands in the list of the document's topics; -1 where it does not, as between documents.
    size : ndarray of int64 of shape (1,)
        Length of the list.
    topics : ndarray of uint16 of shape (K + 8,)
        The list, in no order. The last eight entries are padding.
    listed : ndarray of int32 of shape (K + 8,)
        The counts of the listed topics.
    sums : ndarray of float32
        Running sums, from `new_sums`.
    none : ndarray of int32 of shape (K,)
        Zeros.
    """

    counts: Int32Array
    place: Int32Array
    size: IntArray
    topics: UInt16Array
    listed: Int32Array
    sums: Float32Array
    none: Int32Array


@compiled
def new_scratch(task: int, given: AllGivenPhi, parts: PriorParts) -> ListScratch:
    """Allocate the memory of a task."""
    n_topics = given.rows.shape[1]
    counts, place = np.zeros(n_topics, np.int32), np.full(n_topics, np.int32(ABSENT), np.int32)
    topics, listed = np.zeros(n_topics + LANES, np.uint16), np.zeros(n_topics + LANES, np.int32)
    sums, none = new_sums(n_topics), np.zeros(n_topics, np.int32)
    return ListScratch(counts, place, np.zeros(1, np.int64), topics, listed, sums, none)


@inlined
def begin_document(
    doc: int, topics: UnsignedArray, given: GivenPhi, parts: PriorParts, term: ResponseTerm, scratch: ListScratch
) -> None:
    """List the topics of a document, in a time that does not depend on K."""
    for position in range(topics.size):
        add_token(topics[position], scratch)


@inlined
def end_document(topics: UnsignedArray, scratch: ListScratch) -> None:
    """Empty the list, in a time that does not depend on K."""
    for entry in range(scratch.size[0]):
        topic = scratch.topics[entry]
        scratch.counts[topic], scratch.place[topic] = 0, ABSENT
    scratch.size[0] = 0


@inlined
def count(word: int, topic: int, change: int, given: GivenPhi, scratch: ListScratch) -> None:
    """Add a token to a topic (change 1), or remove it (-1)."""
    if change > 0:
        add_token(topic, scratch)
    else:
        remove_token(topic, scratch)


@inlined
def add_token(topic: Any, scratch: ListScratch) -> None:
    """Add a token to a topic, which is listed if it is new."""
    entry = scratch.place[topic]
    if entry < 0:
        entry = np.int32(scratch.size[0])
        scratch.size[0] += 1
        scratch.place[topic], scratch.topics[entry] = entry, topic
    scratch.counts[topic] += 1
    scratch.listed[entry] = scratch.counts[topic]


@inlined
def remove_token(topic: Any, scratch: ListScratch) -> None:
    """Remove a token from a topic; the last of the list takes the place of one that is left without tokens."""
    entry = scratch.place[topic]
    scratch.counts[topic] -= 1
    scratch.listed[entry] = scratch.counts[topic]
    if scratch.counts[topic] == 0:
        scratch.size[0] -= 1
        last = scratch.topics[scratch.size[0]]
        scratch.topics[entry], scratch.listed[entry] = last, scratch.listed[scratch.size[0]]
        scratch.place[last] = entry
        scratch.place[topic] = ABSENT


@inlined
def draw(
    stream: Stream,
    token: Token,
    old: int,
    given: GivenPhi,
    parts: PriorParts,
    term: ResponseTerm,
    scratch: ListScratch,
) -> Any:
    """Draw from p(z_i = k), proportional to n_dk^-i phi_kw + alpha_k phi_kw."""
    word, size, sums = token.word, scratch.size[0], scratch.sums
    of_list = 0.0
    if size > 0:
        listed = running_sums_of_list(given.phi, word, scratch.topics, scratch.listed, 0, size, sums)
        of_list = point_bound(listed, size)
    bound = of_list + parts.mass[word]
    if unlikely(not is_safe(bound)):
        return draw_in_log_space(stream, old, word, token.counts, given.alpha, given.phi)
    new: Any = np.int64(-1)
    while new < 0:
        point = uniform(stream) * bound
        if point < of_list:
            entry = find_entry(sums, size, point)
            if unlikely(entry < 0):
                entry = draw_listed_remainder(stream, word, given, scratch, of_list)
            if entry >= 0:
                new = np.int64(scratch.topics[entry])
        else:
            new = draw_by_prior(stream, word, old, given, parts, scratch)
    return new


@compiled
def draw_listed_remainder(stream: Stream, word: int, given: GivenPhi, scratch: ListScratch, bound: float) -> int:
    """Draw from what the cores of the document's topics leave out below `bound`; -1 if the draw is to be repeated."""
    remainders = np.empty(scratch.size[0])
    for entry in range(remainders.size):
        remainders[entry] = scratch.listed[entry] * np.float64(given.phi[word, scratch.topics[entry]])
    left = subtract_cores(remainders, scratch.sums, bound, True)
    return draw_from_remainders(stream, remainders, left)


@compiled
def draw_by_prior(stream: Stream, word: int, old: int, given: GivenPhi, parts: PriorParts, scratch: ListScratch) -> Any:
    """Draw a topic in proportion to alpha_k phi_kw, which takes the place of the running sums."""
    row = parts.table[word]
    if row >= 0:
        return np.int64(draw_alias(stream, parts.probability[row], parts.alias[row]))
    total = running_sums_of_products(parts.alpha, given.phi, word, scratch.sums)
    new = draw_cell(stream, scratch.sums, parts.alpha.size, total)
    if unlikely(new < 0):
        new = draw_in_float64(stream, old, word, scratch.none, given, scratch.sums, total)
    return new


sweep_alias_partially_collapsed = compile_sweep(
    "alias_partially_collapsed",
    draw,
    new_scratch=new_scratch,
    begin_document=begin_document,
    end_document=end_document,
    look_ahead=prefetch_phi,
    count=count,
)


@kernel(
    "alias_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "assignments", "words", "quadratic_response"),
    exact=True,
    parallel_over="doc",
    distributes="doc",
    cost="N * (52 + 1.15 * K_d) + V * (40 + 0.46 * K) + N * (16 * min(1, C) + 0.9 * C)",
    memory="4 * N + 6 * K * min(V, N / 64) + 50 * D * C + 10 * N * min(1, C)",
    reference="Magnusson et al. 2018, algorithms 1 and 2",
)
def alias_partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Sparse partially collapsed Gibbs: O(topics of the document) a token given phi, parallel over documents."""
    tokens, phi = binding.tokens, binding.names["phi"]
    selected = words.mask(tokens.word_counts)
    by_document, n_drawn = tokens.by_document(selected), tokens.count(selected)
    make_term = term_of(binding)

    def init(state: ChainState) -> PriorParts:
        return new_parts(selected, tokens.word_counts, binding.sizes.topics)

    def step(state: ChainState, memory: PriorParts, key: Key) -> dict[str, float] | None:
        given, term, alpha = AllGivenPhi.of(state.document_alpha, state.arrays[phi]), make_term(state), state.alpha
        parts = memory._replace(alpha=alpha.astype(np.float32))
        build_parts(tokens.word_ptr, selected, alpha, given.phi, parts)
        sweep_alias_partially_collapsed(by_document, state.z, given, parts, term, key)
        recount(tokens, state)
        return acceptance(term, n_drawn)

    return KernelFunctions(step, init, scratch=True)
