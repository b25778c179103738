"""Intervals of quality over draws."""

import numpy as np
from quality_data import DEFAULT, TEXTS

import ppl_topics as pt
from ppl_topics.diagnostics.quality import (
    effective_words,
    entropy_of_assignments,
    exclusivity,
    frex,
    npmi_coherence,
    topic_quality,
)
from ppl_topics.diagnostics.quality.exclusivity import mean_over
from ppl_topics.diagnostics.quality.intervals import evenly
from ppl_topics.results.best_words import best_words


def test_intervals_over_draws(fits):
    groups = fits["lda"].groups
    table = topic_quality(groups, n_words=4, probability=0.5, measures=[*DEFAULT[2:-1], "frex"])
    assert (table.attrs["probability"], table.attrs["draws"]) == (0.5, 8)
    constants = groups["constant_data"]
    reference = pt.Corpus.from_texts(TEXTS)
    words = [str(word) for word in constants["word"].values]
    assert words == reference.vocabulary.tolist()
    draws = groups["posterior"]["phi"].sel(chain=0).transpose("draw", "topic", "word").values
    z = groups["posterior"]["z"].sel(chain=0).values
    best = [best_words(phi, 4) for phi in draws]
    values = {
        "npmi": [npmi_coherence(each, reference) for each in best],
        "exclusivity": [exclusivity(phi, each) for phi, each in zip(draws, best, strict=True)],
        "effective_words": [effective_words(phi) for phi in draws],
        "entropy": [entropy_of_assignments(reference.doc_ptr, each, 3) for each in z],
        "frex": [mean_over(frex(phi), each) for phi, each in zip(draws, best, strict=True)],
    }
    for name, by_draw in values.items():
        for end, quantile in (("low", 0.25), ("high", 0.75)):
            expected = np.quantile(by_draw, quantile, axis=0)[table["topic"]]
            np.testing.assert_allclose(table[f"{name}_{end}"], expected, rtol=1e-6, atol=1e-12)
    # One draw has no interval; draws that are not there give no columns.
    assert topic_quality(fits["one"].groups, probability=0.9)["npmi_low"].isna().all()
    assert list(topic_quality(fits["none"].groups, probability=0.9).columns) == DEFAULT
    assert "entropy_low" not in topic_quality(fits["spike"].groups, probability=0.9)


def test_evenly():
    assert evenly(3, 5) == [0, 1, 2]
    assert evenly(10, 3) == [2, 5, 9]
    assert evenly(4, 1) == [3]
