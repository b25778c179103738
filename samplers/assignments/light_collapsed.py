"""Metropolis-Hastings with the topics integrated out, in constant time a token: word tables from counts some time ago.

The counts of a word table include every token that it is used for, and those move on, so the chain is only close to the
posterior: the kernel is offered for comparison.

References
----------
J. Yuan et al. (2015). LightLDA: big topic models on modest computer clusters. WWW'15.
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD'15, equations 19 and 20, corrected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pydantic

from ppl_topics._util.arrays import (
    BoolArray,
    Float32Array,
    FloatArray,
    Int32Array,
    IntArray,
    UInt32Array,
    UnsignedArray,
)
from ppl_topics._util.compiled import compiled
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.proposal import Document
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.proposals.checkpointing import kept_tables, restored_tables
from ppl_topics.samplers.proposals.composition import (
    DOC_AND_WORD,
    Compose,
    Composition,
    Proposals,
    Steps,
    compile_sweep,
    move_document,
)
from ppl_topics.samplers.proposals.topics import topics_of
from ppl_topics.samplers.responses.response_term import ResponseTerm, term_of
from ppl_topics.samplers.topics.expected import update_mean_phi
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["DistributionOfCounts", "light_collapsed", "sweep_light_collapsed", "weigh_by_counts"]


class DistributionOfCounts(NamedTuple):
    """What the distribution of a token's topic depends on besides the document.

    Attributes
    ----------
    alpha : ndarray of float64 of shape (K,)
    beta : ndarray of float64 of shape (V,)
    beta_sum : float
    n_wk : ndarray of int32 of shape (V, K)
    n_k : ndarray of int64 of shape (K,)
        Counts without the token.
    """

    alpha: FloatArray
    beta: FloatArray
    beta_sum: float
    n_wk: Int32Array
    n_k: IntArray


@compiled
def weigh_by_counts(topic: int, distribution: DistributionOfCounts, document: Document, word: int) -> float:
    """Return (n_dk^-i + alpha_k) (n_wk^-i + beta_w) / (n_k^-i + sum of beta)."""
    of_word = (distribution.n_wk[word, topic] + distribution.beta[word]) / (
        distribution.n_k[topic] + distribution.beta_sum
    )
    weight: float = (document.others[topic] + distribution.alpha[topic]) * of_word
    return weight


@compiled
def count_token(distribution: DistributionOfCounts, word: int, topic: int, change: int) -> None:
    """Count a token of the word in the topic more, or less."""
    distribution.n_wk[word, topic] += change
    distribution.n_k[topic] += change


def sweep_light_collapsed(
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    selected: BoolArray,
    distribution: DistributionOfCounts,
    tables: tuple[Any, ...],
    pattern: IntArray,
    in_turn: bool,
    steps: int,
    tried: IntArray,
    accepted: IntArray,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Move the topic of every token by Metropolis-Hastings steps, in document order; a template, see `compile_sweep`.

    Parameters
    ----------
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
    z : ndarray of uint8 or uint16 of shape (N,)
        Topics of the tokens, updated in place.
    selected : ndarray of bool of shape (V,)
        Only the tokens of these words are moved; all are counted.
    distribution : DistributionOfCounts
        Its counts are updated in place.
    tables : tuple
        The table of each proposal.
    pattern, in_turn, steps
        See `ppl_topics.samplers.proposals.composition.Composition`.
    tried, accepted : ndarray of int64 of shape (number of proposals,)
        Added to.
    term : ResponseTerm
        Its slope is kept up to date.
    key : Key
        Of the random streams, one for each document.
    """
    stream = new_stream()
    others = np.zeros(distribution.alpha.size, dtype=np.int64)
    for doc in range(doc_ptr.size - 1):
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
            tried,
            accepted,
            term,
        )


@dataclass
class Stale:
    """Memory of the kernel: what the tables were built from, and how many sweeps they have served.

    Attributes
    ----------
    phi : ndarray of float32 of shape (V, K)
    tables : tuple
    sweeps : int
    """

    phi: Float32Array
    tables: tuple[Any, ...] = ()
    sweeps: int = 0


@kernel(
    "light_collapsed",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "assignments", "words", "quadratic_response"),
    exact=False,
    cost="91 * N + 10.7 * V * K + steps * N * (19 * min(1, C) + 1.05 * C)",
    memory="10 * V * K + 50 * D * C + 10 * N * min(1, C)",
    reference="Yuan et al. 2015, corrected",
)
def light_collapsed(
    binding: Binding,
    *,
    compose: Compose = "cycle",
    proposals: Proposals = DOC_AND_WORD,
    steps: Steps = 2,
    rebuild: Annotated[int, pydantic.Field(ge=1)] = 1,
    words: WordSelection = ALL_WORDS,
) -> KernelFunctions:
    """Metropolis-Hastings with doc- and stale word-proposals: O(1) a token, sequential, theta and phi out."""
    tokens, sizes = binding.tokens, binding.sizes
    selected = words.mask(tokens.word_counts)
    composition = Composition.of(proposals, compose, steps)
    make_term, make_topics = term_of(binding), topics_of(binding, selected)
    sweep = compile_sweep(composition.specs, sweep_light_collapsed, None, weigh_by_counts, count_token)

    def init(state: ChainState) -> Stale:
        return Stale(np.zeros((sizes.words, sizes.topics), np.float32))

    def step(state: ChainState, memory: Stale, key: Key) -> dict[str, float]:
        beta = state.beta
        distribution = DistributionOfCounts(state.alpha, beta, float(beta.sum()), state.n_wk, state.n_k)
        if memory.sweeps % rebuild == 0:
            update_mean_phi(state.n_wk, state.n_k, beta, 1.0, memory.phi)
            memory.tables = composition.build(make_topics(memory.phi, state), memory.tables)
        memory.sweeps += 1
        term = make_term(state)
        tried, accepted = np.zeros((2, len(composition.specs)), np.int64)
        sweep(
            tokens.doc_ptr,
            tokens.words,
            state.z,
            selected,
            distribution,
            memory.tables,
            composition.pattern,
            composition.in_turn,
            composition.steps,
            tried,
            accepted,
            term,
            key,
        )
        return composition.rates(tried, accepted)

    def keep(memory: Stale) -> dict[str, npt.NDArray[Any]]:
        # Where the next sweep builds tables, nobody reads those of now.
        tables = {} if memory.sweeps % rebuild == 0 else {"phi": memory.phi, **kept_tables(memory.tables)}
        return {"sweeps": np.asarray(memory.sweeps), **tables}

    def restore(memory: Stale, arrays: Mapping[str, npt.NDArray[Any]], state: ChainState) -> None:
        memory.sweeps = int(arrays["sweeps"])
        if memory.sweeps % rebuild:
            memory.phi[...] = arrays["phi"]
            tables = composition.build(make_topics(memory.phi, state), ())
            memory.tables = restored_tables(tables, arrays, [memory.phi, *state.arrays.values()])

    return KernelFunctions(step, init, keep, restore)
