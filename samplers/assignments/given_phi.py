"""One sweep over documents: what all samplers of z given phi share.

With theta integrated out, the topic of token i, a word w of document d, follows

    p(z_i = k) is proportional to (n_dk^-i + alpha_k) phi_kw,

times the density of the document's responses if the model has any. Given phi the documents are independent, so they are
swept in parallel, each with its own random stream.

The loop is a template. A sampler defines `draw`, which draws the topic of one token, and replaces any other function
below whose default does not suit it; `compile_sweep` compiles a copy of the template that calls those.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ppl_topics._util.arrays import (
    Float32Array,
    FloatArray,
    Int32Array,
    IntArray,
    IntegerArray,
    UInt32Array,
    UnsignedArray,
)
from ppl_topics._util.compiled import compiled, inlined, specialised
from ppl_topics._util.tasks import for_each
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key
from ppl_topics.core.proposal import Token
from ppl_topics.core.tokens import TokensByDocument
from ppl_topics.samplers.responses.response_term import ResponseTerm, accepts
from ppl_topics.samplers.variates.categorical import categorical_in_log_space
from ppl_topics.samplers.variates.remainder import draw_rest
from ppl_topics.samplers.variates.simd import AHEAD, prefetch_row
from ppl_topics.samplers.variates.simd_categorical import Real, is_safe, new_sums
from ppl_topics.samplers.variates.streams import Stream, new_stream, start

__all__ = [
    "AllGivenPhi",
    "GivenPhi",
    "Scratch",
    "compile_sweep",
    "count_document",
    "draw_in_float64",
    "new_scratch",
    "over_tasks",
    "prefetch_phi",
    "row_of",
]


class GivenPhi(NamedTuple):
    """What the distribution of a token's topic depends on besides the other tokens of its document.

    Attributes
    ----------
    alpha : ndarray of float64 of shape (K,)
        Of its document.
    phi : ndarray of float32 of shape (V, K)
        Probability of each word in each topic.
    """

    alpha: FloatArray
    phi: Float32Array


class AllGivenPhi(NamedTuple):
    """The same for all documents.

    Attributes
    ----------
    rows : ndarray of float64 of shape (R, K)
    row : ndarray of int64 of shape (D,) or (0,)
        See `ppl_topics.core.alpha.Alpha`.
    phi : ndarray of float32 of shape (V, K)
    """

    rows: FloatArray
    row: IntArray
    phi: Float32Array

    @classmethod
    def of(cls, alpha: Alpha, phi: Float32Array) -> AllGivenPhi:
        """Return what is given, in one flat tuple."""
        return cls(alpha.rows, alpha.row, phi)


class Scratch(NamedTuple):
    """Memory of one parallel task, for the document that it is sweeping.

    Attributes
    ----------
    counts : ndarray of int32 of shape (K,)
        n_dk, without the token that is being drawn.
    weight : ndarray of float32 of shape (K,)
        n_dk + alpha_k.
    weights : ndarray of float32 of shape (1, K)
        The same memory as a matrix.
    sums : ndarray of float32
        Running sums, from `new_sums`.
    """

    counts: Int32Array
    weight: Float32Array
    weights: Float32Array
    sums: Float32Array


PROPOSES = True
"""Whether `draw` leaves out the responses: its topic is then proposed, and accepted with their ratio of densities."""

draw: Any = None
"""Returns the new topic of a token; see `compile_sweep`."""


def sweep_task(
    task: int, tokens: TokensByDocument, z: UnsignedArray, given: Any, tables: Any, term: ResponseTerm, key: Key
) -> None:
    """Sweep over the documents of one task; a template."""
    stream, scratch = new_stream(), new_scratch(task, given, tables)
    for doc in range(tokens.chunk_ptr[task], tokens.chunk_ptr[task + 1]):
        start(stream, key, doc)
        sweep_document(stream, doc, tokens, z, given, tables, term, scratch)


def sweep_document(
    stream: Stream,
    doc: int,
    tokens: TokensByDocument,
    z: UnsignedArray,
    every: Any,
    tables: Any,
    term: ResponseTerm,
    scratch: Any,
) -> None:
    """Draw the topics of a document's tokens one after another; a template."""
    words, selected, counts = tokens.words, tokens.selected, scratch.counts
    given = in_document(doc, every)
    begin, end = tokens.doc_ptr[doc], tokens.doc_ptr[doc + 1]
    topics = z[begin:end]
    responds = term.eta.shape[1] > 0
    begin_document(doc, topics, given, tables, term, scratch)
    for number in range(begin, end):
        look_ahead(words, number, given)
        word: Any = np.int64(words[number])
        if not selected[word]:
            continue
        old: Any = np.int64(z[number])
        count(word, old, -1, given, scratch)
        token = Token(doc, word, number, number - begin, topics, counts)
        new = draw(stream, token, old, given, tables, term, scratch)
        if PROPOSES and responds and new != old and not accepts(stream, doc, old, new, term):
            new = old
        z[number] = new
        count(word, new, 1, given, scratch)
        follow(token, old, new, given, tables, term, scratch)
    end_document(topics, scratch)


@inlined
def row_of(doc: int, row: IntArray) -> int:
    """Return which row of the concentrations of the topics a document has."""
    return row[doc] if row.size > 0 else 0


@inlined
def in_document(doc: int, given: AllGivenPhi) -> GivenPhi:
    """Return what is given in a document."""
    return GivenPhi(given.rows[row_of(doc, given.row)], given.phi)


@compiled
def new_scratch(task: int, given: Any, tables: Any) -> Scratch:
    """Allocate the memory of a task."""
    n_topics = given.rows.shape[1]
    weight = np.empty(n_topics, np.float32)
    return Scratch(np.empty(n_topics, np.int32), weight, weight.reshape(1, n_topics), new_sums(n_topics))


@inlined
def begin_document(doc: int, topics: UnsignedArray, given: Any, tables: Any, term: ResponseTerm, scratch: Any) -> None:
    """Prepare the scratch arrays for a document, of the given topics by token."""
    count_document(topics, given.alpha, scratch.counts, scratch.weight)


@inlined
def end_document(topics: UnsignedArray, scratch: Any) -> None:
    """Clean up after a document."""


@inlined
def look_ahead(words: UInt32Array, number: int, given: Any) -> None:
    """Fetch into the cache what the tokens after this one will read."""


@inlined
def count(word: int, topic: int, change: int, given: Any, scratch: Any) -> None:
    """Add a token to a topic (change 1), or remove it (-1)."""
    scratch.counts[topic] += change
    scratch.weight[topic] = scratch.counts[topic] + given.alpha[topic]


@inlined
def follow(token: Token, old: int, new: int, given: Any, tables: Any, term: ResponseTerm, scratch: Any) -> None:
    """Update whatever else depends on the topic that has been drawn."""


def compile_sweep(
    label: str, draw: Callable[..., Any], *, cached: bool = True, in_parallel: bool = True, **names: Any
) -> Callable[..., None]:
    """Compile the sweep of a sampler.

    Parameters
    ----------
    label : str
        Tells it apart from those of other samplers, in numba's cache too.
    draw : compiled function
        ``draw(stream, token, old, given, tables, term, scratch)`` returns the new topic of a token.
    cached : bool
        Whether to keep it on disk.
    in_parallel : bool
        If false, return a compiled function that takes the number of a task first and runs that one alone.
    **names
        Compiled functions, or a value of `PROPOSES`, that replace those of the same names in this module. After a
        change of theirs, remove numba's caches (``make clean``): numba looks for changes in this file alone.

    Returns
    -------
    sweep : function
        ``sweep(tokens, z, given, tables, term, key)`` draws the topic of each selected token. It updates z, and the
        slopes and rejected moves of the response term, but not the counts by word. `given` and `tables` are flat
        tuples of arrays and numbers: what the distribution depends on, such as `AllGivenPhi`, of which `in_document`
        makes that of a document; and what the sampler has computed from it.
    """
    document = specialised(
        sweep_document, label, cached=cached, in_line=True, counting=False, **{"draw": draw, **names}
    )
    task = specialised(sweep_task, label, cached=cached, **{"sweep_document": document, **names})
    return over_tasks(task) if in_parallel else task


def over_tasks(task: Callable[..., None]) -> Callable[..., None]:
    """Return a function that calls one with the number of each task of the tokens, in parallel."""

    def sweep(tokens: TokensByDocument, *others: Any) -> None:
        for_each(task, len(tokens.chunk_ptr) - 1, tokens, *others)

    return sweep


@compiled
def count_document(topics: UnsignedArray, alpha: FloatArray, counts: Int32Array, weight: Float32Array) -> None:
    """Count the topics of a document, and set the weights n_dk + alpha_k."""
    for topic in range(alpha.size):
        counts[topic] = 0
    for topic_of_token in topics:
        counts[topic_of_token] += 1
    for topic in range(alpha.size):
        weight[topic] = counts[topic] + alpha[topic]


@inlined
def prefetch_phi(words: UInt32Array, number: int, given: GivenPhi) -> None:
    """Fetch into the cache the row of phi that a token soon to be drawn will read."""
    prefetch_row(given.phi, np.int64(words[min(number + AHEAD, words.size - 1)]))


@compiled
def draw_in_float64(
    stream: Stream,
    old: int,
    word: int,
    counts: IntegerArray,
    given: GivenPhi,
    sums: Float32Array,
    total: Real,
) -> int:
    """Draw a topic after `draw_cell`, of these running sums, has not settled it."""
    alpha, phi = given.alpha, given.phi
    if not is_safe(total):
        return draw_in_log_space(stream, old, word, counts, alpha, phi)
    weights = np.empty(alpha.size)
    for topic in range(alpha.size):
        weights[topic] = (counts[topic] + alpha[topic]) * phi[word, topic]
    return draw_rest(stream, weights, sums, total)


@compiled
def draw_in_log_space(
    stream: Stream, old: int, word: int, counts: IntegerArray, alpha: FloatArray, phi: Float32Array
) -> int:
    """Draw a topic although all weights (counts_k + alpha_k) phi_kw underflow; if all are zero, keep the old one."""
    log_weights = np.full(alpha.size, -np.inf)
    for topic in range(alpha.size):
        if phi[word, topic] > 0.0:
            log_weights[topic] = math.log(counts[topic] + alpha[topic]) + math.log(phi[word, topic])
    new = categorical_in_log_space(stream, log_weights)
    return new if new >= 0 else old
