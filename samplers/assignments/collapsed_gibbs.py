"""Collapsed Gibbs sampling: one token after another, topics and proportions integrated out.

References
----------
T. L. Griffiths, M. Steyvers (2004). Finding scientific topics. PNAS 101, equation 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import TokensByDocument
from ppl_topics.samplers.assignments.given_phi import row_of
from ppl_topics.samplers.counts import Counts
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, accepts, term_of
from ppl_topics.samplers.variates.categorical import find_cumulated
from ppl_topics.samplers.variates.simd_categorical import Integer
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform

__all__ = ["Priors", "collapsed_gibbs", "sweep_collapsed", "sweep_documents"]


class Priors(NamedTuple):
    """Concentrations of the two Dirichlet distributions that are integrated out.

    Attributes
    ----------
    rows : ndarray of float64 of shape (R, K)
    row : ndarray of int64 of shape (D,) or (0,)
        See `ppl_topics.core.alpha.Alpha`.
    beta : ndarray of float64 of shape (V,)
    beta_sum : float
    """

    rows: FloatArray
    row: IntArray
    beta: FloatArray
    beta_sum: float

    @classmethod
    def of(cls, state: ChainState) -> Priors:
        """Return those of a state."""
        alpha, beta = state.document_alpha, state.beta
        return cls(alpha.rows, alpha.row, beta, float(beta.sum()))


class Factors(NamedTuple):
    """The parts of equation 5 that change with each move of a token, for the current document.

    Attributes
    ----------
    alpha : ndarray of float64 of shape (K,)
    n_dk : ndarray of int64 of shape (K,)
    doc : ndarray of float64 of shape (K,)
        n_dk + alpha_k.
    topic : ndarray of float64 of shape (K,)
        1 / (n_k + sum of beta).
    sums : ndarray of float64 of shape (K,)
        Working memory of a draw.
    """

    alpha: FloatArray
    n_dk: IntArray
    doc: FloatArray
    topic: FloatArray
    sums: FloatArray


@inlined
def draw_topic(stream: Stream, n_wk: Int32Array, row: Integer, beta_w: float, factors: Factors) -> int:
    """Draw k in proportion to (n_dk + alpha_k) (n_wk + beta_w) / (n_k + sum of beta), counts without the token."""
    doc, topic, sums = factors.doc, factors.topic, factors.sums
    for k in range(sums.size):
        sums[k] = doc[k] * topic[k] * (n_wk[row, k] + beta_w)
    total = 0.0
    for k in range(sums.size):
        total += sums[k]
        sums[k] = total
    return find_cumulated(sums, sums.size, uniform(stream) * total)


@inlined
def count_token(k: Integer, change: int, row: Integer, counts: Counts, priors: Priors, factors: Factors) -> None:
    """Count a token of a word more, or less, in topic k."""
    counts.n_wk[row, k] += change
    counts.n_k[k] += change
    factors.n_dk[k] += change
    factors.doc[k] = factors.n_dk[k] + factors.alpha[k]
    factors.topic[k] = 1.0 / (counts.n_k[k] + priors.beta_sum)


@compiled
def sweep_collapsed(
    tokens: TokensByDocument, z: UnsignedArray, counts: Counts, priors: Priors, term: ResponseTerm, key: Key
) -> None:
    """Draw the topic of every selected token from its full conditional, in document order.

    With a response each draw is a proposal (see `ppl_topics.samplers.responses.response_term`).
    """
    docs = np.arange(tokens.doc_ptr.size - 1)
    rows = np.arange(counts.n_wk.shape[0]).astype(np.uint32)
    sweep_documents(docs, rows, tokens, z, counts, priors, term, key)


@compiled
def sweep_documents(
    docs: IntArray,
    rows: UInt32Array,
    tokens: TokensByDocument,
    z: UnsignedArray,
    counts: Counts,
    priors: Priors,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Sweep over some documents, as `sweep_collapsed` does; n_wk has word w in ``rows[w]``."""
    n_topics, supervised = counts.n_k.size, term.eta.shape[1] > 0
    doc_ptr, words, selected, beta = tokens.doc_ptr, tokens.words, tokens.selected, priors.beta
    n_dk = np.empty(n_topics, np.int64)
    of_doc, of_topic, sums = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    for k in range(n_topics):
        of_topic[k] = 1.0 / (counts.n_k[k] + priors.beta_sum)
    stream = new_stream()
    for doc in docs:
        start(stream, key, doc)
        factors = Factors(priors.rows[row_of(doc, priors.row)], n_dk, of_doc, of_topic, sums)
        n_dk[:] = 0
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            n_dk[z[token]] += 1
        for k in range(n_topics):
            of_doc[k] = n_dk[k] + factors.alpha[k]
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            word = words[token]
            if not selected[word]:
                continue
            row, old = rows[word], z[token]
            count_token(old, -1, row, counts, priors, factors)
            new = draw_topic(stream, counts.n_wk, row, beta[word], factors)
            if supervised and new != old and not accepts(stream, doc, old, new, term):
                new = old
            z[token] = new
            count_token(new, 1, row, counts, priors, factors)


@kernel(
    "collapsed_gibbs",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "document_alpha", "assignments", "words", "quadratic_response"),
    exact=True,
    automatic=True,
    cost="N * (38 + 1.08 * K) + N * (16 * min(1, C) + 0.9 * C)",
    memory="50 * D * C + 10 * N * min(1, C)",
    reference="Griffiths, Steyvers 2004, eq. 5",
)
def collapsed_gibbs(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Collapsed Gibbs: O(K) a token, sequential, theta and phi integrated out."""
    selected = words.mask(binding.tokens.word_counts)
    n_drawn = int(binding.tokens.word_counts[selected].sum())
    tokens, make_term = binding.tokens.by_document(selected), term_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> dict[str, float] | None:
        term = make_term(state)
        sweep_collapsed(tokens, state.z, Counts(state.n_wk, state.n_k), Priors.of(state), term, key)
        return acceptance(term, n_drawn)

    return KernelFunctions(step)
