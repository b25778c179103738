"""Metropolis-Hastings with the topics integrated out, in constant time a token, with stale word tables.

The target of a step is p(z_i = k), proportional to (n_dk^-i + alpha_k) (n_wk^-i + beta_w) / (n_k^-i + sum of beta).
A word table is built from counts that include the token being moved, and that have changed since. So the chain is only
close to the posterior, and the kernel is offered for comparison. Counts by word change with every token, so documents
are swept one after another.

References
----------
J. Yuan et al. (2015). LightLDA: big topic models on modest computer clusters. WWW'15.
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD'15, equations 19 and 20, corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pydantic

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, IntArray
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.proposal import ProposalSpec, Token
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.assignments.given_phi import compile_sweep, row_of
from ppl_topics.samplers.assignments.light_partially_collapsed import MetropolisScratch, metropolis_hooks
from ppl_topics.samplers.proposals.checkpointing import arrays_of_tables, restored_tables
from ppl_topics.samplers.proposals.composition import (
    DOC_AND_WORD,
    Compose,
    Composition,
    Proposals,
    Steps,
    TableForm,
    compile_moves,
    flat,
    forms_of,
)
from ppl_topics.samplers.proposals.table_inputs import inputs_of
from ppl_topics.samplers.responses.response_term import term_of
from ppl_topics.samplers.topics.expected import update_mean_phi

__all__ = ["AllGivenCounts", "GivenCounts", "compile_light_collapsed_sweep", "light_collapsed"]


class GivenCounts(NamedTuple):
    """What the distribution of a token's topic depends on besides the other tokens of its document.

    Attributes
    ----------
    alpha : ndarray of float64 of shape (K,)
        Of its document.
    beta : ndarray of float64 of shape (V,)
    beta_sum : float
    n_wk : ndarray of int32 of shape (V, K)
    n_k : ndarray of int64 of shape (K,)
        Counts without the token that is being moved.
    """

    alpha: FloatArray
    beta: FloatArray
    beta_sum: float
    n_wk: Int32Array
    n_k: IntArray


class AllGivenCounts(NamedTuple):
    """The same for all documents.

    Attributes
    ----------
    rows : ndarray of float64 of shape (R, K)
    row : ndarray of int64 of shape (D,) or (0,)
        See `ppl_topics.core.alpha.Alpha`.
    beta, beta_sum, n_wk, n_k
    """

    rows: FloatArray
    row: IntArray
    beta: FloatArray
    beta_sum: float
    n_wk: Int32Array
    n_k: IntArray

    @classmethod
    def of(cls, state: ChainState) -> AllGivenCounts:
        """Return what a state gives."""
        alpha, beta = state.document_alpha, state.beta
        return cls(alpha.rows, alpha.row, beta, float(beta.sum()), state.n_wk, state.n_k)


@inlined
def in_document(doc: int, given: AllGivenCounts) -> GivenCounts:
    """Return what is given in a document."""
    return GivenCounts(given.rows[row_of(doc, given.row)], given.beta, given.beta_sum, given.n_wk, given.n_k)


@compiled
def weigh_by_counts(topic: int, given: GivenCounts, token: Token) -> float:
    """Return (n_dk^-i + alpha_k) (n_wk^-i + beta_w) / (n_k^-i + sum of beta)."""
    word = token.word
    of_word = (given.n_wk[word, topic] + given.beta[word]) / (given.n_k[topic] + given.beta_sum)
    weight: float = (token.counts[topic] + given.alpha[topic]) * of_word
    return weight


@inlined
def count_everywhere(word: int, topic: int, change: int, given: GivenCounts, scratch: MetropolisScratch) -> None:
    """Add a token to a topic (change 1), or remove it (-1), in its document and in the corpus."""
    scratch.counts[topic] += change
    given.n_wk[word, topic] += change
    given.n_k[topic] += change


@lru_cache(maxsize=64)
def compile_light_collapsed_sweep(specs: tuple[ProposalSpec, ...], forms: tuple[TableForm, ...]) -> Callable[..., None]:
    """Compile the sweep of the kernel for given proposals: serial, and with counts by word kept up to date."""
    label, cached, draw = compile_moves(specs, forms, weigh_by_counts)
    hooks = metropolis_hooks() | {"count": count_everywhere, "in_document": in_document}
    return compile_sweep(f"light_collapsed_{label}", draw, cached=cached, in_parallel=False, **hooks)


@dataclass
class Stale:
    """Memory of the kernel.

    Attributes
    ----------
    phi : ndarray of float32 of shape (V, K)
        What the tables were built from.
    tables : tuple
    sweeps : int
        Number of sweeps so far.
    """

    phi: Float32Array
    tables: tuple[Any, ...] = ()
    sweeps: int = 0


@kernel(
    "light_collapsed",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "quadratic_response"),
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
    one_task = tokens.by_document(selected)._replace(chunk_ptr=np.array([0, sizes.docs]))
    composition = Composition.of(proposals, compose, steps)
    make_term, make_inputs = term_of(binding), inputs_of(binding, selected)

    def init(state: ChainState) -> Stale:
        return Stale(np.zeros((sizes.words, sizes.topics), np.float32))

    def step(state: ChainState, memory: Stale, key: Key) -> dict[str, float]:
        given = AllGivenCounts.of(state)
        if memory.sweeps % rebuild == 0:
            update_mean_phi(state.n_wk, state.n_k, given.beta, 1.0, memory.phi)
            memory.tables = composition.build(make_inputs(memory.phi, state), memory.tables)
        memory.sweeps += 1
        moves = composition.moves(1, key.sweep)
        sweep = compile_light_collapsed_sweep(composition.specs, forms_of(memory.tables))
        sweep(0, one_task, state.z, given, flat(moves, memory.tables), make_term(state), key)
        return composition.rates(moves)

    def keep(memory: Stale) -> dict[str, npt.NDArray[Any]]:
        # If the next sweep builds new tables, nothing will read the present ones.
        tables = {} if memory.sweeps % rebuild == 0 else {"phi": memory.phi, **arrays_of_tables(memory.tables)}
        return {"sweeps": np.asarray(memory.sweeps), **tables}

    def restore(memory: Stale, arrays: Mapping[str, npt.NDArray[Any]], state: ChainState) -> None:
        memory.sweeps = int(arrays["sweeps"])
        if memory.sweeps % rebuild:
            memory.phi[...] = arrays["phi"]
            tables = composition.build(make_inputs(memory.phi, state), ())
            memory.tables = restored_tables(tables, arrays, [memory.phi, *state.arrays.values()])

    return KernelFunctions(step, init, keep, restore)
