"""Intervals of topic quality over draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray
from ppl_topics.diagnostics.quality.coherence import COHERENCES, Convention, coherences
from ppl_topics.diagnostics.quality.entropy import effective_words, entropy_of_assignments
from ppl_topics.diagnostics.quality.exclusivity import exclusivity, frex, mean_over
from ppl_topics.diagnostics.quality.reference import Reference
from ppl_topics.diagnostics.quality.topic_set import TopicSet
from ppl_topics.results.best_words import best_words
from ppl_topics.results.coefficient_draws import interval
from ppl_topics.results.documents import checked_topics

__all__ = ["OF_PHI", "evenly", "over_draws"]

MOST_DRAWS = 100

OF_PHI: Mapping[str, Callable[[Float32Array, IntArray], FloatArray]] = {
    "exclusivity": exclusivity,
    "effective_words": lambda phi, best: effective_words(phi),
    "frex": lambda phi, best: mean_over(frex(phi), best),
}
"""Measures that need only topics (K, V) and their top words (K, M)."""


def evenly(draws: int, most: int = MOST_DRAWS) -> list[int]:
    """Return the positions of at most ``most`` draws, evenly spaced and including the last one."""
    most = min(draws, most)
    return [(i + 1) * draws // most - 1 for i in range(most)]


def over_draws(
    part: TopicSet,
    measures: Sequence[str],
    reference: Reference | None,
    probability: float,
    *,
    n_words: int,
    windows: Mapping[str, int | None],
    convention: Convention,
) -> tuple[dict[str, FloatArray], int]:
    """Return ``<measure>_low`` and ``<measure>_high`` over the recorded draws, and the number of draws used.

    Measures that cannot be computed for each draw have no interval. The options are those of `topic_quality`.
    """
    values: dict[str, FloatArray] = {}
    used = 0
    phi = part.recorded("topic", "word")
    if phi is not None and phi.sizes["draw"]:
        numbers = {str(word): i for i, word in enumerate(part.vocabulary)}
        places = np.array([numbers[str(word)] for word in phi["word"].values], dtype=np.int64)
        chosen = evenly(phi.sizes["draw"])
        used = len(chosen)
        # A draw of only the recorded words may have no probability in a topic, and says nothing about other words.
        known = OF_PHI if len(places) == len(part.vocabulary) else ("exclusivity",)
        found: dict[str, list[FloatArray]] = {measure: [] for measure in measures if measure in known}
        best = []
        for draw in chosen:
            topics = phi.isel(draw=draw).values
            best.append(best_words(topics, n_words))
            for measure, of_draws in found.items():
                of_draws.append(OF_PHI[measure](topics, best[-1]))
        values |= {measure: np.stack(of_draws) for measure, of_draws in found.items()}
        asked = [measure for measure in measures if measure in COHERENCES]
        if reference is not None and asked:
            # By topic: the draws of one topic have most words in common, so few distinct words are counted at a time.
            # The last position means no word.
            words = np.append(places, -1)[np.stack(best, axis=1)]
            flat = words.reshape(-1, words.shape[2])
            for measure, of_lists in coherences(flat, reference, asked, windows, convention).items():
                values[measure] = of_lists.reshape(words.shape[:2]).T
    z = part.recorded("token") if "entropy" in measures else None
    if z is not None and z.sizes["draw"]:
        lengths = part.groups["constant_data"]["doc_length"].values.astype(np.int64)
        doc_ptr = np.concatenate([[0], np.cumsum(lengths)])
        chosen = evenly(z.sizes["draw"])
        used = max(used, len(chosen))
        drawn = (checked_topics(z.isel(draw=draw).values, len(part.phi)) for draw in chosen)
        values["entropy"] = np.stack([entropy_of_assignments(doc_ptr, each, len(part.phi)) for each in drawn])
    result = {}
    for measure, draws in values.items():
        result[f"{measure}_low"], result[f"{measure}_high"] = interval(draws, probability)
    return result, used
