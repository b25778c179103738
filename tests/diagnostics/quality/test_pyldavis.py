"""What pyLDAvis takes."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.diagnostics.quality import (
    to_pyldavis,
)


def test_pyldavis(fits, corpus):
    groups = fits["lda"].groups
    data = to_pyldavis(groups, 1)
    assert sorted(data) == sorted(
        ["topic_term_dists", "doc_topic_dists", "doc_lengths", "vocab", "term_frequency", "sort_topics", "start_index"]
    )
    np.testing.assert_allclose(data["topic_term_dists"].sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(data["doc_topic_dists"].sum(axis=1), 1.0, rtol=1e-12)
    assert data["topic_term_dists"].shape == (3, len(data["vocab"])) == (3, len(data["term_frequency"]))
    # The empty document is left out.
    assert data["doc_lengths"].tolist() == [4, 3, 4, 4] * 6
    assert data["doc_topic_dists"].shape == (24, 3)
    assert data["term_frequency"].sum() == data["doc_lengths"].sum() == corpus.n_tokens
    assert (data["term_frequency"] > 0).all()
    last = groups["constant_data"]["z_last"].values[1][:4]
    alpha = groups["constant_data"]["alpha"].values
    expected = (np.bincount(last, minlength=3) + alpha) / (4 + alpha.sum())
    np.testing.assert_allclose(data["doc_topic_dists"][0], expected)
    assert to_pyldavis(fits["apart"].groups, response="law")["topic_term_dists"].shape[0] == 3
    for model, call, words in (
        ("one", {}, "the trace has one"),
        ("lda", {"response": "law"}, "all responses share the topics"),
        ("apart", {"response": "lwa"}, "no response 'lwa'; did you mean 'law'"),
    ):
        with pytest.raises(pt.TraceError, match=words):
            to_pyldavis(fits[model].groups, **call)
