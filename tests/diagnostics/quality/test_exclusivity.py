"""Exclusivity and FREX."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.diagnostics.quality import (
    frex,
)


def test_frex_by_hand():
    phi = np.array([[0.6, 0.3, 0.1], [0.2, 0.1, 0.7]])
    own = phi / phi.sum(axis=0)
    # Ranks from below, over 3: of exclusivity, and of frequency. Topic 0: words 0 and 1 have the exclusivity 3/4 both.
    ranks_own = np.array([[3, 3, 1], [2, 2, 3]]) / 3
    ranks_phi = np.array([[3, 2, 1], [2, 1, 3]]) / 3
    own[0, 1] = own[0, 0]
    np.testing.assert_allclose(frex(phi, weight=0.25), 1 / (0.25 / ranks_own + 0.75 / ranks_phi))
    np.testing.assert_allclose(frex(phi, weight=0.0), ranks_phi)
    with pytest.raises(pt.PplTopicsError, match="weight"):
        frex(phi, weight=2)
