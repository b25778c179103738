"""Metropolis-Hastings given the topics, in constant time a token: proposals in a cycle or a mixture.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), section 3.3.
J. Yuan et al. (2015). LightLDA: big topic models on modest computer clusters. WWW'15.
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD'15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import BoolArray, Float32Array, FloatArray, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.proposal import Document
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.counts import count_words
from ppl_topics.samplers.proposals.composition import (
    DOC_AND_WORD,
    Compose,
    Composition,
    ProposalsGivenPhi,
    Steps,
    compile_sweep,
    move_document,
)
from ppl_topics.samplers.proposals.topics import topics_of
from ppl_topics.samplers.responses.response_term import ResponseTerm, term_of
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["DistributionGivenPhi", "light_partially_collapsed", "sweep_documents", "sweep_light", "weigh_given_phi"]


class DistributionGivenPhi(NamedTuple):
    """What the distribution of a token's topic depends on besides the document.

    Attributes
    ----------
    alpha : ndarray of float64 of shape (K,)
    phi : ndarray of float32 of shape (V, K)
    """

    alpha: FloatArray
    phi: Float32Array


@compiled
def weigh_given_phi(topic: int, distribution: DistributionGivenPhi, document: Document, word: int) -> float:
    """Return (n_dk^-i + alpha_k) phi_kw."""
    weight: float = (document.others[topic] + distribution.alpha[topic]) * distribution.phi[word, topic]
    return weight


@compiled
def count_nothing(distribution: DistributionGivenPhi, word: int, topic: int, change: int) -> None:
    """Leave counts by word for later: given phi nothing depends on them."""


def sweep_light(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    selected: BoolArray,
    distribution: DistributionGivenPhi,
    table_0: Any,
    table_1: Any,
    table_2: Any,
    table_3: Any,
    pattern: IntArray,
    in_turn: bool,
    steps: int,
    tried: IntArray,
    accepted: IntArray,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Move the topic of every token by Metropolis-Hastings steps; a template, see `compile_sweep`.

    They leave invariant p(z_i = k), proportional to (n_dk^-i + alpha_k) phi_kw, times the density of the responses.

    Parameters
    ----------
    chunk_ptr : ndarray of int64 of shape (C + 1,)
        Documents of each parallel task, from `ppl_topics.samplers.assignments.counts.make_chunks`.
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
    z : ndarray of uint8 or uint16 of shape (N,)
        Topics of the tokens, updated in place. Counts by word are not kept: count them afterwards.
    selected : ndarray of bool of shape (V,)
        Only the tokens of these words are moved; all are counted.
    distribution : DistributionGivenPhi
    table_0, table_1, table_2, table_3 : tuple
        The table of each proposal, one by one because a parallel loop takes no tuple of tuples.
    pattern, in_turn, steps
        See `ppl_topics.samplers.proposals.composition.Composition`.
    tried, accepted : ndarray of int64 of shape (C, number of proposals)
        Added to.
    term : ResponseTerm
        Its slope is kept up to date.
    key : Key
        Of the random streams, one for each document.
    """
    for chunk in numba.prange(chunk_ptr.size - 1):
        sweep_documents(
            chunk_ptr[chunk],
            chunk_ptr[chunk + 1],
            doc_ptr,
            words,
            z,
            selected,
            distribution,
            (table_0, table_1, table_2, table_3),
            pattern,
            in_turn,
            steps,
            tried[chunk],
            accepted[chunk],
            term,
            key,
        )


def sweep_documents(
    first: int,
    last: int,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    selected: BoolArray,
    distribution: DistributionGivenPhi,
    tables: tuple[Any, ...],
    pattern: IntArray,
    in_turn: bool,
    steps: int,
    tried: IntArray,
    accepted: IntArray,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Sweep over documents `first` to `last` - 1 (see `sweep_light`); a template."""
    stream = new_stream()
    others = np.zeros(distribution.alpha.size, dtype=np.int64)
    # Rows of `tried` lie side by side in memory: threads that added to them at every token would wait for each other.
    own_tried, own_accepted = np.zeros_like(tried), np.zeros_like(accepted)
    for doc in range(first, last):
        begin, end = doc_ptr[doc], doc_ptr[doc + 1]
        start(stream, key, doc)
        move_document(
            stream,
            tables,
            Document(doc, z[begin:end], others),
            words[begin:end],
            selected,
            distribution,
            pattern,
            in_turn,
            begin + key.sweep,
            steps,
            own_tried,
            own_accepted,
            term,
        )
    tried += own_tried
    accepted += own_accepted


# Not automatic: a sweep is cheap, but in trials with 100 and 1000 topics five moved as far as one of Gibbs.
@kernel(
    "light_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "assignments", "words", "quadratic_response"),
    exact=True,
    parallel_over="doc",
    cost="74 * N + 10.5 * V * K + steps * N * (19 * min(1, C) + 1.05 * C)",
    memory="6 * V * K + 4 * N + 50 * D * C + 10 * N * min(1, C)",
    reference="Magnusson et al. 2018, section 3.3, corrected",
)
def light_partially_collapsed(
    binding: Binding,
    *,
    compose: Compose = "cycle",
    proposals: ProposalsGivenPhi = DOC_AND_WORD,
    steps: Steps = 2,
    words: WordSelection = ALL_WORDS,
) -> KernelFunctions:
    """Metropolis-Hastings with doc- and word-proposals: O(1) a token given phi, parallel over documents."""
    tokens, phi = binding.tokens, binding.names["phi"]
    selected = words.mask(tokens.word_counts)
    composition = Composition.of(proposals, compose, steps)
    make_term, make_topics = term_of(binding), topics_of(binding, selected)
    sweep = compile_sweep(composition.specs, sweep_documents, sweep_light, weigh_given_phi, count_nothing)
    shape = (tokens.chunk_ptr.size - 1, len(composition.specs))

    def init(state: ChainState) -> list[Any]:
        return []

    def step(state: ChainState, memory: list[Any], key: Key) -> dict[str, float]:
        distribution = DistributionGivenPhi(state.alpha, state.arrays[phi])
        memory[:] = composition.build(make_topics(distribution.phi, state), tuple(memory))
        term = make_term(state)
        tried, accepted = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        sweep(
            tokens.chunk_ptr,
            tokens.doc_ptr,
            tokens.words,
            state.z,
            selected,
            distribution,
            *memory,
            composition.pattern,
            composition.in_turn,
            composition.steps,
            tried,
            accepted,
            term,
            key,
        )
        count_words(state.z, tokens.word_ptr, tokens.by_word, state.n_wk, state.n_k)
        return composition.rates(tried.sum(axis=0), accepted.sum(axis=0))

    return KernelFunctions(step, init, scratch=True)
