"""The word-proposal: a topic in proportion to the probability of the word in it, from an alias table for each word.

Given the topics it is fixed, and exact. Where they are integrated out the table is that of counts some tokens ago, the
token being moved among them, so that the chain is only close to the posterior.

References
----------
J. Yuan et al. (2015). LightLDA: big topic models on modest computer clusters. WWW'15.
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), section 3.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ppl_topics.declarations import Document, Topics
from ppl_topics.registry import proposal
from ppl_topics.samplers.assignments.sparse_partially_collapsed import build_word_tables
from ppl_topics.samplers.compiled import compiled
from ppl_topics.samplers.variates.alias import draw_alias
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["WordTable", "draw_word", "weigh_word", "word"]


class WordTable(NamedTuple):
    """An alias table for each word.

    Attributes
    ----------
    phi : ndarray of float32 of shape (V, K)
        What the tables were built from.
    probability : ndarray of float32 of shape (V, K)
    alias : ndarray of uint16 of shape (V, K)
    mass : ndarray of float64 of shape (V,)
        The sums of phi over the topics.
    """

    phi: npt.NDArray[np.float32]
    probability: npt.NDArray[np.float32]
    alias: npt.NDArray[np.uint16]
    mass: npt.NDArray[np.float64]


@compiled
def draw_word(stream: Stream, table: WordTable, document: Document, place: int, word: int) -> int:
    """Draw a topic in proportion to phi_kw, in constant time."""
    return draw_alias(stream, table.probability[word], table.alias[word])


@compiled
def weigh_word(topic: int, table: WordTable, document: Document, place: int, word: int) -> float:
    """Return phi_kw."""
    return float(table.phi[word, topic])


@proposal(
    "word",
    draw=draw_word,
    weight=weigh_word,
    exact_given="phi",
    reference="Magnusson et al. 2018, section 3.3; Yuan et al. 2015",
)
def word(topics: Topics, before: WordTable | None) -> WordTable:
    """A topic drawn in proportion to the probability of the word in it."""
    n_words, n_topics = topics.phi.shape
    if before is None:
        probability = np.zeros((n_words, n_topics), np.float32)
        alias = np.zeros((n_words, n_topics), np.uint16)
        mass = np.zeros(n_words)
    else:
        _, probability, alias, mass = before
    build_word_tables(topics.word_ptr, topics.selected, np.ones(n_topics), topics.phi, probability, alias, mass)
    return WordTable(topics.phi, probability, alias, mass)
