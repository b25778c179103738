"""Collapsed Gibbs sampling: one token after another, topics and proportions integrated out.

References
----------
T. L. Griffiths, M. Steyvers (2004). Finding scientific topics. PNAS 101, equation 5.
"""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import BoolArray, FloatArray, Int32Array, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.responses.response_term import ResponseTerm, acceptance, accepts, term_of
from ppl_topics.samplers.variates.categorical import find_cumulated
from ppl_topics.samplers.variates.streams import new_stream, start, uniform

__all__ = ["collapsed_gibbs", "sweep_collapsed", "sweep_documents"]


@compiled
def sweep_collapsed(
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    n_wk: Int32Array,
    n_k: IntArray,
    selected: BoolArray,
    alpha: FloatArray,
    beta: FloatArray,
    beta_sum: float,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Draw the topic of every token from its full conditional, in document order.

    p(z_i = k) is proportional to (n_dk^-i + alpha_k) (n_wk^-i + beta_w) / (n_k^-i + sum of beta).

    Parameters
    ----------
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
    z : ndarray of uint8 or uint16 of shape (N,)
        Topics of the tokens, updated in place.
    n_wk : ndarray of int32 of shape (V, K)
    n_k : ndarray of int64 of shape (K,)
        Counts of z, updated in place.
    selected : ndarray of bool of shape (V,)
        Only the tokens of these words are drawn; all are counted.
    alpha : ndarray of float64 of shape (K,)
    beta : ndarray of float64 of shape (V,)
    beta_sum : float
    term : ResponseTerm
        With a response each draw is a proposal, accepted or not.
    key : Key
        Of the random streams, one for each document.
    """
    docs = np.arange(doc_ptr.size - 1)
    rows = np.arange(n_wk.shape[0]).astype(np.uint32)
    sweep_documents(docs, doc_ptr, words, rows, z, n_wk, n_k, selected, alpha, beta, beta_sum, term, key)


@compiled
def sweep_documents(
    docs: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    rows: UInt32Array,
    z: UnsignedArray,
    n_wk: Int32Array,
    n_k: IntArray,
    selected: BoolArray,
    alpha: FloatArray,
    beta: FloatArray,
    beta_sum: float,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Sweep over some documents (see `sweep_collapsed`), with counts that may hold the rows of their words alone.

    Parameters
    ----------
    docs : ndarray of int64 of shape (n,)
        Documents, in the order in which they are swept.
    rows : ndarray of uint32 of shape (V,)
        Row of `n_wk` that holds the counts of each word that occurs in the documents.
    n_wk : ndarray of int32 of shape (R, K)
    """
    n_topics = n_k.size
    supervised = term.eta.shape[1] > 0
    stream = new_stream()
    in_doc = np.empty(n_topics, dtype=np.int64)
    doc_factor = np.empty(n_topics)
    topic_factor = 1.0 / (n_k + beta_sum)
    mass = np.empty(n_topics)
    for doc in docs:
        start(stream, key, doc)
        in_doc[:] = 0
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            in_doc[z[token]] += 1
        for topic in range(n_topics):
            doc_factor[topic] = in_doc[topic] + alpha[topic]
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            word = words[token]
            if not selected[word]:
                continue
            row = rows[word]
            old = z[token]
            in_doc[old] -= 1
            n_wk[row, old] -= 1
            n_k[old] -= 1
            doc_factor[old] = in_doc[old] + alpha[old]
            topic_factor[old] = 1.0 / (n_k[old] + beta_sum)
            beta_w = beta[word]
            for topic in range(n_topics):
                mass[topic] = doc_factor[topic] * topic_factor[topic] * (n_wk[row, topic] + beta_w)
            total = 0.0
            for topic in range(n_topics):
                total += mass[topic]
                mass[topic] = total
            new = find_cumulated(mass, n_topics, uniform(stream) * total)
            if supervised and new != old and not accepts(stream, doc, old, new, term):
                new = old
            z[token] = new
            in_doc[new] += 1
            n_wk[row, new] += 1
            n_k[new] += 1
            doc_factor[new] = in_doc[new] + alpha[new]
            topic_factor[new] = 1.0 / (n_k[new] + beta_sum)


@kernel(
    "collapsed_gibbs",
    updates="z",
    integrates_out=("theta", "phi"),
    reads=("alpha", "beta", "eta", "augmentation"),
    handles=("dirichlet", "assignments", "words", "quadratic_response"),
    exact=True,
    automatic=True,
    cost="N * (38 + 1.08 * K) + N * (16 * min(1, C) + 0.9 * C)",
    memory="50 * D * C + 10 * N * min(1, C)",
    reference="Griffiths, Steyvers 2004, eq. 5",
)
def collapsed_gibbs(binding: Binding, *, words: WordSelection = ALL_WORDS) -> KernelFunctions:
    """Collapsed Gibbs: O(K) a token, sequential, theta and phi integrated out."""
    tokens = binding.tokens
    selected = words.mask(tokens.word_counts)
    make_term = term_of(binding)

    def step(state: ChainState, memory: None, key: Key) -> dict[str, float] | None:
        beta, term = state.beta, make_term(state)
        sweep_collapsed(
            tokens.doc_ptr,
            tokens.words,
            state.z,
            state.n_wk,
            state.n_k,
            selected,
            state.alpha,
            beta,
            float(beta.sum()),
            term,
            key,
        )
        return acceptance(term, int(tokens.word_counts[selected].sum()))

    return KernelFunctions(step)
