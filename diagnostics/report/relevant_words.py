"""The words that the report must hold for its slider of relevance to show the right ones at each position.

References
----------
C. Sievert, K. E. Shirley (2014). LDAvis: A method for visualizing and interpreting topics. ACL workshop on interactive
language learning, visualization, and interfaces.
"""

from __future__ import annotations

import itertools

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray

__all__ = ["STEPS", "relevant_words"]

STEPS = 100
"""Steps of the slider: lambda is one of 0, 0.01, ..., 1."""

SPANS = 5
"""Ranges of lambda in which words that are never relevant are excluded."""


def relevant_words(phi: FloatArray, p: FloatArray, n_words: int) -> IntArray:
    """Return the positions of words that are among a topic's most relevant for some lambda of the slider.

    The relevance of a word with probabilities ``phi`` in the topic and ``p`` in the corpus (Sievert, Shirley 2014,
    equation 1) is lambda log phi_w + (1 - lambda) log(phi_w / p_w). It is linear in lambda, so within a range of lambda
    it lies between its values at the ends: a word whose larger end is below the n-th largest of the smaller ends is not
    among the n most relevant anywhere in the range. The few words that remain are ranked at each position of the
    slider. They are returned by decreasing probability in the topic, without words of probability 0.
    """
    possible = np.flatnonzero((phi > 0.0) & (p > 0.0))
    n = min(n_words, len(possible))
    if not n:
        return possible.astype(np.int64)
    log_phi, log_p = np.log(phi[possible]), np.log(p[possible])
    candidate = np.zeros(len(possible), dtype=bool)
    ends = np.linspace(0.0, 1.0, SPANS + 1)
    scores = [log_phi - (1.0 - end) * log_p for end in ends]
    for first, second in itertools.pairwise(scores):
        threshold = np.partition(np.minimum(first, second), len(possible) - n)[len(possible) - n]
        candidate |= np.maximum(first, second) >= threshold
    places = np.flatnonzero(candidate)
    log_phi, log_p = log_phi[places], log_p[places]
    shown = np.zeros(len(places), dtype=bool)
    for step in range(STEPS + 1):
        # The page also breaks ties by the order of the words.
        shown[np.argsort(-(log_phi - (1.0 - step / STEPS) * log_p), kind="stable")[:n]] = True
    chosen = places[shown]
    words: IntArray = possible[chosen[np.argsort(-log_phi[shown], kind="stable")]].astype(np.int64)
    return words
