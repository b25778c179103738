"""What tests of running a model share."""

import numpy as np
import pytest

import ppl_topics as pt


@pytest.fixture(scope="module")
def corpus():
    """Four short documents, one of them empty."""
    rng = np.random.default_rng(5)
    return pt.Corpus.from_tokens([[f"w{i}" for i in rng.integers(0, 9, n)] for n in (20, 0, 1, 15)])
