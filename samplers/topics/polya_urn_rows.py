"""Topics given assignments, approximately: rows of normalised Poisson variates in place of gamma variates.

A Dirichlet draw is a row of gamma variates of shapes n_kw + beta_w, normalised. Poisson variates of these means have
the same variances, and are whole numbers, nearly all zero where a word has no tokens: phi is sparse. With many tokens
in a topic the two distributions are close, but the draw does not leave the posterior invariant: a word with one token
in a topic has no probability there in a third of draws.

References
----------
A. Terenin, M. Magnusson, L. Jonsson, D. Draper (2017). Polya urn latent Dirichlet allocation: a doubly sparse massively
parallel sampler. IEEE Transactions on Pattern Analysis and Machine Intelligence 41(7), section 2.
"""

from __future__ import annotations

import math

import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array
from ppl_topics._util.compiled import compiled
from ppl_topics._util.tasks import for_each
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.dirichlet_rows import CHUNKS, normalise_rows
from ppl_topics.samplers.topics.sparse_gammas import GammaShapes
from ppl_topics.samplers.variates.poisson import poisson, positive_poisson
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform_open

__all__ = ["draw_urns", "polya_urn_rows"]


OFTEN = 1.0
"""From this beta on, cells without tokens are drawn one by one."""


def draw_urns(shapes: GammaShapes, key: Key, phi: Float32Array) -> None:
    """Draw phi_k as normalised Poisson variates of means n_wk + beta_w, in parallel over words.

    A topic all of whose variates are zero is drawn from its Dirichlet distribution. The unit of the streams is the word
    w, or V + k for such a topic.
    """
    partial = np.zeros((CHUNKS, phi.shape[1]))
    for_each(draw_urns_of, CHUNKS, shapes, key, phi, partial)
    normalise_rows(shapes, partial.sum(axis=0) == 0.0, key, partial, phi)


@compiled
def draw_urns_of(chunk: int, shapes: GammaShapes, key: Key, phi: Float32Array, partial: FloatArray) -> None:
    """Draw the variates of some words: a task."""
    stream = new_stream()
    for word in range(phi.shape[0] * chunk // CHUNKS, phi.shape[0] * (chunk + 1) // CHUNKS):
        start(stream, key, word)
        draw_word(stream, shapes.n_wk[word], shapes.beta[word], phi[word], partial[chunk])


@compiled
def draw_word(stream: Stream, counts: Int32Array, beta: float, row: Float32Array, total: FloatArray) -> None:
    """Draw the variates of a word in all topics, and add them to the totals of the topics."""
    for topic in range(counts.size):
        row[topic] = poisson(stream, counts[topic] + beta) if counts[topic] > 0 or beta >= OFTEN else 0.0
        total[topic] += row[topic]
    if beta >= OFTEN:
        return
    # From one cell that is not zero to the next, as if none had tokens.
    topic = next_cell(stream, beta, -1.0, counts.size)
    while topic < counts.size:
        if counts[topic] == 0:
            row[topic] = positive_poisson(stream, beta)
            total[topic] += row[topic]
        topic = next_cell(stream, beta, topic, counts.size)


@compiled
def next_cell(stream: Stream, beta: float, cell: float, end: int) -> int:
    """Return the next of a row of cells, each not zero with probability 1 - exp(-beta); `end` if there is none."""
    return int(min(cell + 1.0 + math.floor(-math.log(uniform_open(stream)) / beta), end))


@kernel(
    "polya_urn_rows",
    updates="phi",
    reads=("z", "beta"),
    handles=("dirichlet", "words"),
    exact=False,
    full_conditional=True,
    parallel_over="word",
    distributes="central",
    cost="V * (60 + 1.2 * K) + 12 * N",
    reference="Terenin et al. 2017",
)
def polya_urn_rows(binding: Binding) -> KernelFunctions:
    """Draw the topics given z, approximately: rows of normalised Poisson variates, parallel over words."""
    phi, every_word = binding.names["phi"], np.empty((0, 0), np.uint8)

    def step(state: ChainState, memory: None, key: Key) -> None:
        draw_urns(GammaShapes(state.n_wk, state.beta, every_word), key, state.arrays[phi])

    return KernelFunctions(step, checked=(phi,))
