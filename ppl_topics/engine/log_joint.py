"""The marginal likelihood log p(w, z | alpha, beta) of a state, and how sparse its counts and its topics are.

All sums run over a fixed number of chunks that are added in order: the bits do not depend on the threads.

References
----------
T. L. Griffiths, M. Steyvers (2004). Finding scientific topics. PNAS 101, equations 2 and 3.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, IntArray, UInt8Array, UnsignedArray
from ppl_topics._util.compiled import compiled, inlined, parallel
from ppl_topics._util.tasks import for_each
from ppl_topics.core.alpha import Alpha
from ppl_topics.samplers.concentration.log_pochhammer import FEW, log_pochhammer
from ppl_topics.samplers.counts import add_in_order, make_chunks
from ppl_topics.samplers.variates.row_masks import positive_cells
from ppl_topics.samplers.variates.simd_masks import CELLS, lowest_bit

__all__ = [
    "density_n_kw",
    "density_phi",
    "log_marginal",
    "log_phi_part",
    "log_theta_part",
    "log_words_given_phi",
    "phi_terms",
    "theta_terms",
]


CHUNKS = 64
SMALL, LARGE = 1e-5, 1e280

MOST_BY_TOPIC = 128
"""With no more topics than this, the tokens of a document are counted first, and its topics looked at after."""

ZERO, ONE = np.uint64(0), np.uint64(1)


def log_marginal(
    doc_ptr: IntArray, z: UnsignedArray, n_wk: Int32Array, n_k: IntArray, alpha: FloatArray, beta: FloatArray
) -> float:
    """Log p(w, z | alpha, beta) of the sequences of words and topics, theta and phi integrated out.

    Every normalising term is kept; there are no multinomial coefficients.
    """
    return log_theta_part(doc_ptr, z, alpha) + log_phi_part(n_wk, n_k, beta)


def log_theta_part(doc_ptr: IntArray, z: UnsignedArray, alpha: FloatArray) -> float:
    """Log p(z | alpha), theta integrated out (Griffiths and Steyvers 2004, equation 3)."""
    shared = Alpha(alpha.reshape((1, alpha.size)), np.empty(0, np.int64), alpha)
    return float(add_in_order(theta_terms(make_chunks(doc_ptr, CHUNKS), doc_ptr, z, shared)[0]))


def theta_terms(chunk_ptr: IntArray, doc_ptr: IntArray, z: UnsignedArray, alpha: Alpha) -> tuple[FloatArray, int]:
    """Return the terms of `log_theta_part`, one for each chunk of documents, and how many counts n_dk are not zero.

    A rising factorial is the product, over the tokens of a topic, of alpha and how many came before. The logarithm is
    taken only of products that are about to leave the range of floats: alpha is from 1e-300 to 1e19.
    """
    terms, met = np.zeros(len(chunk_ptr) - 1), np.zeros(len(chunk_ptr) - 1, dtype=np.int64)
    for_each(add_theta_terms, len(terms), chunk_ptr, doc_ptr, z, alpha, sums_of(alpha.rows), terms, met)
    return terms, int(met.sum())


@compiled
def sums_of(rows: FloatArray) -> FloatArray:
    """Add up each row in order."""
    sums = np.empty(rows.shape[0])
    for row in range(sums.size):
        sums[row] = add_in_order(rows[row])
    return sums


@compiled
def add_theta_terms(
    chunk: int,
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    z: UnsignedArray,
    alpha: Alpha,
    sums: FloatArray,
    terms: FloatArray,
    met: IntArray,
) -> None:
    """Find the term of some documents, and how many counts they have: a task."""
    in_doc = np.zeros((2, alpha.rows.shape[1]), dtype=np.int32)
    value, product = 0.0, 1.0
    for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
        own = alpha.row[doc] if alpha.row.size > 0 else 0
        tokens = z[doc_ptr[doc] : doc_ptr[doc + 1]]
        if alpha.rows.shape[1] <= MOST_BY_TOPIC:
            value, product, present = rise_by_topic(tokens, alpha.rows, own, in_doc, value, product)
        else:
            value, product, present = rise_by_token(tokens, alpha.rows, own, in_doc, value, product)
        met[chunk] += present
        value -= log_pochhammer(sums[own], tokens.size)
    terms[chunk] = value + math.log(product)


@inlined
def rise_by_topic(
    tokens: UnsignedArray, alpha: FloatArray, own: int, in_doc: Int32Array, value: float, product: float
) -> tuple[float, float, int]:
    """Multiply the rising factorials of a document, and return how many topics it has; with few topics.

    Every other token is counted apart: to count tokens of one topic, each must wait for the one before it.
    """
    n_topics, present = alpha.shape[1], 0
    for token in range(0, tokens.size - 1, 2):
        in_doc[0, tokens[token]] += 1
        in_doc[1, tokens[token + 1]] += 1
    if tokens.size % 2 == 1:
        in_doc[0, tokens[tokens.size - 1]] += 1
    for topic in range(n_topics):
        in_doc[0, topic] += in_doc[1, topic]
    for first in range(0, n_topics, CELLS):
        positive = positive_cells(in_doc, 0, first, min(first + CELLS, n_topics))
        while positive != ZERO:
            topic = first + lowest_bit(positive)
            positive &= positive - ONE
            present += 1
            value, product = rise(alpha[own, topic], in_doc[0, topic], value, product)
    in_doc[:] = 0
    return value, product, present


@inlined
def rise_by_token(
    tokens: UnsignedArray, alpha: FloatArray, own: int, in_doc: Int32Array, value: float, product: float
) -> tuple[float, float, int]:
    """As `rise_by_topic`, with many topics, of which a document has few."""
    present = 0
    for topic in tokens:
        before = in_doc[0, topic]
        in_doc[0, topic] = before + 1
        present += before == 0
        value, product = multiply(alpha[own, topic] + before, value, product)
    for topic in tokens:
        in_doc[0, topic] = 0
    return value, product, present


@inlined
def rise(start: float, count: int, value: float, product: float) -> tuple[float, float]:
    """Multiply the rising factorial of `count` factors, or add its logarithm if they are many."""
    if count >= FEW:
        return value + log_pochhammer(start, count), product
    for before in range(count):
        value, product = multiply(start + before, value, product)
    return value, product


@inlined
def multiply(factor: float, value: float, product: float) -> tuple[float, float]:
    """Multiply by a factor, and turn the product into its logarithm before it leaves the range of floats."""
    product *= factor
    if product < SMALL or product > LARGE:
        return value + math.log(product), 1.0
    return value, product


def log_phi_part(n_wk: Int32Array, n_k: IntArray, beta: FloatArray) -> float:
    """Log p(w | z, beta), phi integrated out (Griffiths and Steyvers 2004, equation 2)."""
    return phi_terms(n_wk, n_k, beta, np.full(n_k.size, add_in_order(beta)))[0]


def phi_terms(n_wk: Int32Array, n_k: IntArray, beta: FloatArray, mass: FloatArray) -> tuple[float, int]:
    """Return log p(w | z, beta, I), phi integrated out, and how many counts n_kw are not zero, in one pass over these.

    The mass is the sum of beta over the words that each topic includes. Rising factorials of few factors are
    multiplied, as in `theta_terms`.
    """
    terms, met = np.zeros(CHUNKS), np.zeros(CHUNKS, dtype=np.int64)
    for_each(add_phi_terms, CHUNKS, n_wk, beta, terms, met)
    return add_in_order(terms) - normaliser_of(n_k, mass), int(met.sum())


@compiled
def add_phi_terms(chunk: int, n_wk: Int32Array, beta: FloatArray, terms: FloatArray, met: IntArray) -> None:
    """Find the term of some words, and how many counts they have: a task."""
    n_words, n_topics = n_wk.shape
    value, product, present = 0.0, 1.0, 0
    for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
        for first in range(0, n_topics, CELLS):
            positive = positive_cells(n_wk, word, first, min(first + CELLS, n_topics))
            while positive != ZERO:
                count = n_wk[word, first + lowest_bit(positive)]
                positive &= positive - ONE
                present += 1
                value, product = rise(beta[word], count, value, product)
    terms[chunk] = value + math.log(product)
    met[chunk] = present


@compiled
def normaliser_of(n_k: IntArray, mass: FloatArray) -> float:
    """Return what `phi_terms` takes off for the tokens of topics, whose words have so much of beta together."""
    normaliser = 0.0
    for topic in range(n_k.size):
        normaliser += log_pochhammer(mass[topic], n_k[topic])
    return normaliser


@parallel
def log_sparse_phi_part(
    pointer: IntArray, counts: Int32Array, n_k: IntArray, beta: FloatArray, mass: FloatArray
) -> float:
    """Return log p(w | z, beta, I), as `phi_terms` does, of `ppl_topics.core.sparse_topics.SparseTopics`."""
    n_words = beta.size
    partial = np.zeros(CHUNKS)
    for chunk in numba.prange(CHUNKS):
        value = 0.0
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for place in range(pointer[word], pointer[word + 1]):
                if counts[place] > 0:
                    value += log_pochhammer(beta[word], counts[place])
        partial[chunk] = value
    return add_in_order(partial) - normaliser_of(n_k, mass)


@parallel
def log_words_given_phi(n_wk: Int32Array, phi: Float32Array) -> float:
    """Log p(w | z, phi), phi being word-major like the counts."""
    n_words, n_topics = n_wk.shape
    partial = np.zeros(CHUNKS)
    for chunk in numba.prange(CHUNKS):
        value = 0.0
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for topic in range(n_topics):
                if n_wk[word, topic] > 0:
                    value += n_wk[word, topic] * np.log(np.float64(phi[word, topic]))
        partial[chunk] = value
    return add_in_order(partial)


@parallel
def density_n_kw(n_wk: Int32Array) -> float:
    """Share of the K x V counts of words in topics that are not zero; 0 without words."""
    n_words = n_wk.shape[0]
    present = np.zeros(CHUNKS, dtype=np.int64)
    for chunk in numba.prange(CHUNKS):
        cells = 0
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for topic in range(n_wk.shape[1]):
                cells += n_wk[word, topic] > 0
        present[chunk] = cells
    return present.sum() / n_wk.size if n_wk.size > 0 else 0.0


@parallel
def density_phi(included: UInt8Array) -> float:
    """Share of the K x V indicators that are 1: words that topics include; 0 without words."""
    n_words = included.shape[0]
    present = np.zeros(CHUNKS, dtype=np.int64)
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for topic in range(included.shape[1]):
                present[chunk] += included[word, topic]
    return present.sum() / included.size if included.size > 0 else 0.0
