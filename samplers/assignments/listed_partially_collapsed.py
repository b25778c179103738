"""Partially collapsed Gibbs sampling given sparse topics.

A token is drawn from the topics that include its word: all others give the word probability zero. So with the
topics k that include word w,

    p(z_i = k) is proportional to (n_dk^-i + alpha_k) phi_kw,

in a time that grows with their number. In a model with a response the draw is a proposal, as in
`partially_collapsed`.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equation 4 and appendix B.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray, UInt16Array
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.proposal import Token
from ppl_topics.core.registry import kernel
from ppl_topics.core.sparse_topics import SparseTopics
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.given_phi import Scratch, compile_sweep, row_of
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, term_of
from ppl_topics.samplers.topics.sparse_counts import count_topics
from ppl_topics.samplers.variates.categorical import categorical_in_log_space
from ppl_topics.samplers.variates.remainder import draw_rest
from ppl_topics.samplers.variates.simd import unlikely
from ppl_topics.samplers.variates.simd_categorical import Real, draw_entry, is_safe, running_sums_of_list
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["AllGivenSparse", "listed_partially_collapsed", "sweep_listed_partially_collapsed"]


class GivenSparse(NamedTuple):
    """What the distribution of a token's topic depends on besides the other tokens of its document.

    Attributes
    ----------
    alpha : ndarray of float64 of shape (K,)
        Of its document.
    pointer, topics, values : ndarray
        Topics of each word and their phi_kw: see `ppl_topics.core.sparse_topics.SparseTopics`.
    """

    alpha: FloatArray
    pointer: IntArray
    topics: UInt16Array
    values: Float32Array


class AllGivenSparse(NamedTuple):
    """The same for all documents; `rows` and `row` as in `ppl_topics.core.alpha.Alpha`."""

    rows: FloatArray
    row: IntArray
    pointer: IntArray
    topics: UInt16Array
    values: Float32Array

    @classmethod
    def of(cls, alpha: Alpha, sparse: SparseTopics) -> AllGivenSparse:
        """Return what is given, in one flat tuple."""
        return cls(alpha.rows, alpha.row, sparse.pointer, sparse.topics, sparse.values)


@inlined
def in_document(doc: int, given: AllGivenSparse) -> GivenSparse:
    """Return what is given in a document."""
    return GivenSparse(given.rows[row_of(doc, given.row)], given.pointer, given.topics, given.values)


@inlined
def draw(
    stream: Stream, token: Token, old: int, given: GivenSparse, tables: Any, term: ResponseTerm, scratch: Scratch
) -> Any:
    """Draw from p(z_i = k), proportional to (n_dk^-i + alpha_k) phi_kw, over the topics that include the word."""
    begin = given.pointer[token.word]
    size = given.pointer[token.word + 1] - begin
    total = running_sums_of_list(scratch.weights, 0, given.topics, given.values, begin, size, scratch.sums)
    entry = draw_entry(stream, scratch.sums, size, total)
    if unlikely(entry < 0):
        return draw_in_float64(stream, token, old, given, scratch.sums, total)
    return np.int64(given.topics[begin + entry])


@compiled
def draw_in_float64(stream: Stream, token: Token, old: int, given: GivenSparse, sums: Float32Array, total: Real) -> int:
    """Draw a topic after `draw_entry` has not settled it."""
    if not is_safe(total):
        return draw_in_log_space(stream, token, old, given)
    begin, end = given.pointer[token.word], given.pointer[token.word + 1]
    weights = np.empty(end - begin)
    for entry in range(begin, end):
        topic = given.topics[entry]
        weights[entry - begin] = (token.counts[topic] + given.alpha[topic]) * given.values[entry]
    drawn: int = given.topics[begin + draw_rest(stream, weights, sums, total, in_list=True)]
    return drawn


@compiled
def draw_in_log_space(stream: Stream, token: Token, old: int, given: GivenSparse) -> int:
    """Draw a topic although all weights underflow; if all are zero, or there are none, keep the old one."""
    begin, end = given.pointer[token.word], given.pointer[token.word + 1]
    log_weights = np.full(end - begin, -np.inf)
    for entry in range(begin, end):
        topic = given.topics[entry]
        if given.values[entry] > 0.0:
            log_weights[entry - begin] = math.log(token.counts[topic] + given.alpha[topic]) + math.log(
                given.values[entry]
            )
    chosen = categorical_in_log_space(stream, log_weights)
    drawn: int = given.topics[begin + chosen] if chosen >= 0 else old
    return drawn


sweep_listed_partially_collapsed = compile_sweep("listed_partially_collapsed", draw, in_document=in_document)


@kernel(
    "listed_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "listed_words", "quadratic_response"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    cost="N * (45 + 1.5 * L / V) + N * (16 * min(1, C) + 0.9 * C)",
    memory="4 * N + 50 * D * C + 10 * N * min(1, C)",
    reference="Magnusson et al. 2018, eq. 4",
)
def listed_partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Partially collapsed Gibbs given sparse topics: O(topics of the word) a token, parallel over documents."""
    tokens = binding.tokens
    selected = words.mask(tokens.word_counts)
    by_document, n_drawn = tokens.by_document(selected), tokens.count(selected)
    make_term = term_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> dict[str, float] | None:
        sparse, term = state.sparse_topics, make_term(state)
        assert sparse is not None, "a state without sparse topics"
        given = AllGivenSparse.of(state.document_alpha, sparse)
        sweep_listed_partially_collapsed(by_document, state.z, given, (), term, key)
        count_topics(state.z, tokens.word_ptr, tokens.by_word, sparse, state.n_k)
        return acceptance(term, n_drawn)

    return KernelFunctions(step)
