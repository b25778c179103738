"""The likelihood of coefficients of concentrations, its statistic in parts, and kernels of z given concentrations by
document."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import gammaln

import ppl_topics as pt
from ppl_topics.core.alpha import LogLinear
from ppl_topics.core.observed import Design
from ppl_topics.core.registry import unregister_kernel
from ppl_topics.samplers.concentration.elliptical_slice import (
    MANY,
    DocumentCounts,
    Lengths,
    Terms,
    draw_coefficients,
    exponentials,
    in_parallel,
    merged,
    of_documents,
    of_topic,
    one_by_one,
)
from ppl_topics.samplers.variates.streams import open_stream

LENGTHS, TOPICS = np.array([0, 3, 9, 1, 0, 30, 7, 2]), 4
X = np.array([[0.3, 1.0], [2.0, 1.0], [0.3, 1.0], [-1.0, 1.0], [2.0, 1.0], [0.1, 1.0], [0.0, 1.0], [-1.0, 1.0]])
DOC_PTR = np.concatenate([[0], np.cumsum(LENGTHS)])
Z = np.random.default_rng(3).integers(0, TOPICS, DOC_PTR[-1]).astype(np.uint8)
PLACES = ((0, 1), (1, 5), (5, 8))


def counts_of(first, last):
    how = LogLinear.on("gamma", Design.of(X[first:last]))
    begin, end = DOC_PTR[first], DOC_PTR[last]
    doc_ptr = DOC_PTR[first : last + 1] - begin
    return DocumentCounts.of(Lengths.of(how, doc_ptr), doc_ptr, Z[begin:end], TOPICS)


@pytest.mark.parametrize(("rows", "longest"), [(1, 9), (3, 5), (3, 400), (2000, 30)])
def test_equal_counts_of_documents_with_equal_features_are_one_term(rows, longest):
    """Of few features, whose documents are counted, and of many, whose documents are sorted."""
    rng = np.random.default_rng(rows)
    lengths, row = rng.integers(0, longest, 2000), rng.permutation(np.arange(2000) % rows)
    doc_ptr = np.concatenate([[0], np.cumsum(lengths)])
    z = rng.integers(0, TOPICS, doc_ptr[-1]).astype(np.uint16)
    how = LogLinear("gamma", np.arange(rows, dtype=float)[:, None], row)
    found = DocumentCounts.of(Lengths.of(how, doc_ptr), doc_ptr, z, TOPICS)
    n_dk = np.zeros((2000, TOPICS), np.int64)
    np.add.at(n_dk, (np.repeat(np.arange(2000), lengths), z), 1)
    for topic in range(TOPICS):
        some = n_dk[:, topic] > 0
        pairs, times = np.unique(np.column_stack([row, n_dk[:, topic]])[some], axis=0, return_counts=True)
        here = slice(found.ptr[topic], found.ptr[topic + 1])
        np.testing.assert_array_equal(np.column_stack([found.row[here], found.tokens[here]]), pairs)
        np.testing.assert_array_equal(found.times[here], times)
    pairs, times = np.unique(np.column_stack([row, lengths])[lengths > 0], axis=0, return_counts=True)
    np.testing.assert_array_equal(np.column_stack([found.total_row, found.length]), pairs)
    np.testing.assert_array_equal(found.total_times, times)


def test_the_likelihood_is_that_of_the_dirichlet_multinomial():
    """Between two values of one topic's coefficients: what does not depend on them is left out."""
    rng = np.random.default_rng(1)
    counts, gamma = counts_of(0, len(LENGTHS)), rng.normal(size=(TOPICS, 2))
    n_dk = np.stack([np.bincount(Z[a:b], minlength=TOPICS) for a, b in pairwise(DOC_PTR)])

    def expected(gamma):
        alpha = np.exp(X @ gamma.T)
        rows = gammaln(alpha.sum(axis=1)) - gammaln(alpha.sum(axis=1) + LENGTHS)
        return (gammaln(alpha + n_dk) - gammaln(alpha)).sum() + rows.sum()

    def found(gamma, topic):
        alpha = np.exp(counts.features @ gamma.T)
        return of_topic(alpha[:, topic].copy(), topic, counts) - of_documents(alpha.sum(axis=1), counts)

    for topic in range(TOPICS):
        other = gamma.copy()
        other[topic] += rng.normal(size=2)
        assert found(other, topic) - found(gamma, topic) == pytest.approx(expected(other) - expected(gamma))


def test_documents_in_several_places_give_the_same_bits():
    whole, parts = counts_of(0, len(LENGTHS)), [counts_of(*span) for span in PLACES]
    gamma = np.random.default_rng(2).normal(size=(TOPICS, 2))
    deviates = np.random.default_rng(4).normal(size=gamma.shape)
    drawn = [draw_coefficients(gamma, deviates, each, open_stream(5)) for each in (whole, merged(parts))]
    np.testing.assert_array_equal(*drawn)
    assert (drawn[0] != gamma).all()
    for found, expected in zip(merged(parts), whole, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_many_features_share_their_exponentials():
    features, alpha = np.random.default_rng(1).normal(size=(2 * MANY, 2)), np.empty(2 * MANY)
    assert exponentials(features, np.array([0.5, 1.0]), alpha)
    some = np.empty(50)
    assert exponentials(features[:50], np.array([0.5, 1.0]), some)
    np.testing.assert_array_equal(alpha[:50], some)
    np.testing.assert_allclose(alpha, np.exp(features @ [0.5, 1.0]))
    features[-1] = 1e3
    assert not exponentials(features, np.array([0.5, 1.0]), alpha)


def test_threads_change_no_bit():
    counts = counts_of(0, len(LENGTHS))
    alpha = np.exp(np.random.default_rng(2).normal(size=len(counts.features)))
    given = alpha, Terms(counts.total_row, counts.length, counts.total_times)
    np.testing.assert_array_equal(in_parallel(*given), one_by_one(*given))


def test_concentrations_stay_in_range():
    """From far out, under a prior of 1,000 standard deviations, none is proposed beyond what kernels can do with."""
    gamma, counts = np.full((TOPICS, 2), 8.0), counts_of(0, len(LENGTHS))
    for seed in range(50):
        deviates = np.random.default_rng(seed).normal(0.0, 1000.0, size=gamma.shape)
        gamma = draw_coefficients(gamma, deviates, counts, open_stream(seed))
        assert (np.abs(X @ gamma.T) < 231.0).all()
        assert (X @ gamma.T).max() < 27.7


def handles_document_alpha():
    return sorted(
        name
        for name, kernel in pt.kernels().items()
        if "document_alpha" in kernel.handles and kernel.exact and kernel.updates == ("z",)
    )


SPARSE = {"extends": "dmr", "name": "dmr_sparse", "blocks": {"phi": {"block": "spike_slab", "inclusion": 0.6,
          "storage": "sparse", "over": "word", "per": "topic", "concentration": "$beta"}}}  # fmt: skip


DOCUMENTS = {"extends": "dmr", "name": "dmr_of_documents", "blocks": {"z": {"per": "doc"}}}


def model_of(kernel):
    return SPARSE if kernel.startswith("listed") else DOCUMENTS if kernel.startswith("document") else "dmr"


def of_the_next_document(build):
    """The kernel with each document's concentrations for those of the document before."""

    def planted(binding):
        functions = build(binding)

        def step(state, memory, key):
            held = state.concentrations
            alpha = held["alpha"]
            wrong = LogLinear(alpha.coefficients, alpha.features, np.roll(alpha.row, -1))
            state.concentrations = {**held, "alpha": wrong}
            functions.step(state, memory, key)
            state.concentrations = held

        return functions._replace(step=step)

    return planted


@pytest.mark.slow
@pytest.mark.parametrize("kernel", handles_document_alpha())
def test_kernels_with_the_concentrations_of_another_document_are_refused(kernel):
    spec = pt.kernels()[kernel]
    declared = {key: getattr(spec, key) for key in ("updates", "integrates_out", "reads", "handles")}
    pt.kernel("planted", exact=True, **declared)(of_the_next_document(spec.build))
    try:
        (result,) = pt.verify(model_of(kernel), kernel="planted", replicates=600, long_run=2000).certificates
    finally:
        unregister_kernel("planted")
    assert not result.certified


@pytest.mark.slow
def test_sparse_topics_are_certified():
    """All others are in `test_certified.py`."""
    assert pt.verify(SPARSE, kernel="listed_partially_collapsed").passed
