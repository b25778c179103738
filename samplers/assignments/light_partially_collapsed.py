"""Metropolis-Hastings given the topics, in constant time a token: proposals in a cycle or a mixture.

The steps leave invariant

    p(z_i = k), proportional to (n_dk^-i + alpha_k) phi_kw,

times the density of the document's responses if the model has any.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), section 3.3.
J. Yuan et al. (2015). LightLDA: big topic models on modest computer clusters. WWW'15.
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD'15.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ppl_topics._util.arrays import IntArray, UnsignedArray
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.proposal import ProposalSpec, Token
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.given_phi import AllGivenPhi, GivenPhi, compile_sweep
from ppl_topics.samplers.counts import recount
from ppl_topics.samplers.proposals.composition import (
    DOC_AND_WORD,
    N_MOVES,
    Compose,
    Composition,
    Moves,
    ProposalsGivenPhi,
    Steps,
    TableForm,
    compile_moves,
    flat,
    forms_of,
)
from ppl_topics.samplers.proposals.table_inputs import inputs_of
from ppl_topics.samplers.responses.kept_gains import KeptGains, begin_gains, new_gains
from ppl_topics.samplers.responses.response_term import ResponseTerm, term_of

__all__ = ["MetropolisScratch", "compile_light_sweep", "light_partially_collapsed", "metropolis_hooks"]


@compiled
def weigh_given_phi(topic: int, given: GivenPhi, token: Token) -> float:
    """Return (n_dk^-i + alpha_k) phi_kw."""
    weight: float = (token.counts[topic] + given.alpha[topic]) * given.phi[token.word, topic]
    return weight


class MetropolisScratch(NamedTuple):
    """Memory of one parallel task.

    Attributes
    ----------
    counts : ndarray of int64 of shape (K,)
        n_dk, without the token that is being moved; all zero between documents.
    tried, accepted : ndarray of int64
        Steps of each proposal: the task's rows of those in `ppl_topics.samplers.proposals.composition.Moves`.
    gains : KeptGains
        What the responses add to each topic.
    """

    counts: IntArray
    tried: IntArray
    accepted: IntArray
    gains: KeptGains


@compiled
def new_scratch(task: int, given: Any, tables: Any) -> MetropolisScratch:
    """Allocate the memory of a task."""
    moves = Moves(*tables[:N_MOVES])
    n_topics = given.rows.shape[1]
    counts = np.zeros(n_topics, np.int64)
    return MetropolisScratch(counts, moves.tried[task], moves.accepted[task], new_gains(n_topics))


@inlined
def begin_document(
    doc: int, topics: UnsignedArray, given: Any, tables: Any, term: ResponseTerm, scratch: MetropolisScratch
) -> None:
    """Count the topics of a document, and keep what its responses add to each topic if that pays."""
    count_topics(topics, scratch)
    begin_gains(doc, topics.size, Moves(*tables[:N_MOVES]).steps, term, scratch.gains)


@inlined
def count_topics(topics: UnsignedArray, scratch: Any) -> None:
    """Count the topics of a document, in a time that does not depend on K."""
    for position in range(topics.size):
        scratch.counts[topics[position]] += 1


@inlined
def end_document(topics: UnsignedArray, scratch: Any) -> None:
    """Set the counts to zero, in a time that does not depend on K."""
    for position in range(topics.size):
        scratch.counts[topics[position]] -= 1


@inlined
def count(word: int, topic: int, change: int, given: Any, scratch: Any) -> None:
    """Add a token to a topic (change 1), or remove it (-1)."""
    scratch.counts[topic] += change


def metropolis_hooks() -> dict[str, Any]:
    """Return the functions of a sweep of Metropolis-Hastings steps, for `compile_sweep`, by name."""
    return {
        "PROPOSES": False,
        "new_scratch": new_scratch,
        "begin_document": begin_document,
        "end_document": end_document,
        "count": count,
    }


@lru_cache(maxsize=64)
def compile_light_sweep(specs: tuple[ProposalSpec, ...], forms: tuple[TableForm, ...]) -> Callable[..., None]:
    """Compile the sweep of the kernel for given proposals."""
    label, cached, draw = compile_moves(specs, forms, weigh_given_phi)
    return compile_sweep(f"light_{label}", draw, cached=cached, **metropolis_hooks())


# Not automatic: a sweep is cheap, but in trials with 100 and 1000 topics five moved as far as one of Gibbs.
@kernel(
    "light_partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "quadratic_response"),
    exact=True,
    parallel_over="doc",
    distributes="doc",
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
    by_document = tokens.by_document(selected)
    composition = Composition.of(proposals, compose, steps)
    make_term, make_inputs = term_of(binding), inputs_of(binding, selected)

    def init(state: ChainState) -> list[Any]:
        return []

    def step(state: ChainState, memory: list[Any], key: Key) -> dict[str, float]:
        given, term = AllGivenPhi.of(state.document_alpha, state.arrays[phi]), make_term(state)
        memory[:] = composition.build(make_inputs(given.phi, state), memory)
        moves = composition.moves(len(tokens.chunk_ptr) - 1, key.sweep)
        sweep = compile_light_sweep(composition.specs, forms_of(memory))
        sweep(by_document, state.z, given, flat(moves, memory), term, key)
        recount(tokens, state)
        return composition.rates(moves)

    return KernelFunctions(step, init, scratch=True)
