"""Partially collapsed Gibbs sampling: proportions integrated out, topics kept, in parallel over documents.

The topic of a token is drawn from its full conditional given the topics, in O(K):

    p(z_i = k) is proportional to (n_dk^-i + alpha_k) phi_kw.

In a model with a response that draw, which does not depend on the token's present topic, is a proposal, accepted with
the ratio of the response's densities: O(K + C) a token, where the full conditional takes O(K C).

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equation 4.
"""

from __future__ import annotations

from typing import Any

from ppl_topics._util.compiled import inlined
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
    prefetch_phi,
)
from ppl_topics.samplers.counts import recount
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, term_of
from ppl_topics.samplers.variates.simd import unlikely
from ppl_topics.samplers.variates.simd_categorical import draw_cell, running_sums_of_products
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["draw", "partially_collapsed", "sweep_partially_collapsed"]


@inlined
def draw(stream: Stream, token: Token, old: int, given: GivenPhi, tables: Any, term: ResponseTerm, scratch: Any) -> Any:
    """Draw from p(z_i = k), proportional to (n_dk^-i + alpha_k) phi_kw."""
    total = running_sums_of_products(scratch.weight, given.phi, token.word, scratch.sums)
    new = draw_cell(stream, scratch.sums, given.alpha.size, total)
    if unlikely(new < 0):
        new = draw_in_float64(stream, old, token.word, token.counts, given, scratch.sums, total)
    return new


sweep_partially_collapsed = compile_sweep("partially_collapsed", draw, look_ahead=prefetch_phi)


@kernel(
    "partially_collapsed",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "quadratic_response"),
    exact=True,
    automatic=True,
    parallel_over="doc",
    distributes="doc",
    devices={"cuda": "1e6 + N * (0.47 + 0.00056 * K)"},
    cost="N * (45 + 0.16 * K) + 0.3 * V * K + N * (16 * min(1, C) + 0.9 * C)",
    memory="4 * N + 50 * D * C + 10 * N * min(1, C)",
    reference="Magnusson et al. 2018, eq. 4",
)
def partially_collapsed(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Partially collapsed Gibbs: O(K) a token given phi, parallel over documents."""
    tokens, phi = binding.tokens, binding.names["phi"]
    selected = words.mask(tokens.word_counts)
    by_document, n_drawn = tokens.by_document(selected), tokens.count(selected)
    make_term = term_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> dict[str, float] | None:
        term = make_term(state)
        given = AllGivenPhi.of(state.document_alpha, state.arrays[phi])
        sweep_partially_collapsed(by_document, state.z, given, (), term, key)
        recount(tokens, state)
        return acceptance(term, n_drawn)

    return KernelFunctions(step)
