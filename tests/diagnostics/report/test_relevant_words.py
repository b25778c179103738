"""The words that the page holds for its slider."""

import numpy as np

from ppl_topics.diagnostics.quality import relevance
from ppl_topics.diagnostics.report.relevant_words import STEPS, relevant_words


def test_the_page_holds_the_right_words_for_each_place_of_the_slider():
    rng = np.random.default_rng(5)
    for v, n, how in ((400, 30, "dirichlet"), (400, 5, "zeros"), (300, 10, "ties"), (3, 30, "dirichlet")):
        phi = rng.dirichlet(np.full(v, 0.05))
        counts = rng.integers(1, 200, size=v).astype(float)
        if how == "zeros":
            phi[rng.random(v) < 0.7] = 0.0
            counts[:20] = 0.0
        if how == "ties":
            phi, counts = np.round(phi, 2) + 0.01, np.ones(v)
        phi /= phi.sum()
        kept = relevant_words(phi, counts / counts.sum(), n)
        assert len(set(kept.tolist())) == len(kept)
        assert (np.diff(phi[kept]) <= 0).all()
        for step in range(STEPS + 1):
            scores = relevance(phi[None], counts, weight=step / STEPS)[0]
            best = np.sort(scores[scores > -np.inf])[::-1][:n]
            np.testing.assert_allclose(np.sort(scores[kept])[::-1][:n], best, rtol=1e-12)
    assert relevant_words(np.zeros(4), np.full(4, 0.25), 3).tolist() == []
