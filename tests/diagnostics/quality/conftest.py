"""A corpus and fits of several models."""

import pytest
from quality_data import FAST, LABELS, TEXTS

import ppl_topics as pt


@pytest.fixture(scope="session")
def corpus():
    return pt.Corpus.from_texts(TEXTS, labels=LABELS)


@pytest.fixture(scope="session")
def fits(corpus):
    def sample(model, **more):
        return pt.sample(model, corpus, **{"topics": 3, **FAST, **more})

    return {
        "lda": sample("lda", chains=2, record={"phi": "all", "z": "all"}),
        "spike": sample("lda_spike_slab"),
        "medlda": sample("medlda"),
        "dolda": sample("dolda"),
        "apart": sample("medlda_one_vs_all", margin=1.0),
        "one": sample("lda", topics=1, draws=1),
        "none": sample("lda", record={"phi": "none", "theta": "none"}),
    }
