"""Chains of supervised models start from topics that go with the labels."""

from __future__ import annotations

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.core.keys import Key
from ppl_topics.engine.bind import bind
from ppl_topics.engine.label_initialisation import label_groups
from ppl_topics.samplers.assignments.initial import OWN_SHARE, draw_by_group
from ppl_topics.schedule import make_plan
from ppl_topics.spec import load_spec

NAN = float("nan")


@pytest.mark.parametrize(
    ("targets", "expected", "n_groups"),
    [
        ([[1.0], [-1.0], [NAN]], [1, 0, -1], 2),
        ([[1.0, -1.0, -1.0], [-1.0, -1.0, 1.0], [NAN, NAN, NAN]], [0, 2, -1], 3),
        # Of several labels, one that changes with the document; none where none holds.
        ([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [-1.0, NAN]], [0, 1, 0, -1], 2),
        ([[1.0, 0.0], [0.0, 1.0]], [0, 1], 2),
    ],
)
def test_documents_are_grouped_by_label(targets, expected, n_groups):
    group, found = label_groups(np.array(targets))
    assert group.tolist() == expected
    assert found == n_groups


@pytest.mark.parametrize(("topics", "n_groups"), [(7, 3), (3, 3), (2, 3), (1, 3), (50, 20)])
def test_groups_start_in_topics_of_their_own(topics, n_groups):
    lengths = np.full(n_groups + 1, 4000)
    doc_ptr = np.concatenate([[0], np.cumsum(lengths)])
    group = np.append(np.arange(n_groups), -1)
    z = np.zeros(doc_ptr[-1], np.uint8)
    chunk_ptr = np.array([0, 2, n_groups + 1])
    draw_by_group(chunk_ptr, doc_ptr, z, topics, topics, group, n_groups, Key(1, 0, 0, 1))
    rows = z.reshape(n_groups + 1, -1)
    for number in range(n_groups):
        own = (np.arange(topics) % n_groups == number) if number < topics else np.arange(topics) == number % topics
        share = OWN_SHARE + (1 - OWN_SHARE) * own.mean()
        # Five standard deviations: false alarms below 1e-6 each.
        assert abs(own[rows[number]].mean() - share) < 5 * np.sqrt(0.25 / 4000)
        assert set(np.unique(rows[number][own[rows[number]]])) == set(np.flatnonzero(own))
    assert np.bincount(rows[-1], minlength=topics).min() > 4000 / topics - 5 * np.sqrt(4000 / topics)


def test_the_first_state_depends_on_labels_and_seed_alone():
    texts = ["aa bb cc dd ee ff gg hh"] * 40
    corpus = pt.Corpus.from_texts(texts, labels=["x", "y", "z", None] * 10)
    bound = bind(make_plan(load_spec("medlda", {"topics": 6})), corpus)
    one, again, other = (bound.initial_state(seed, 0) for seed in (1, 1, 2))
    assert np.array_equal(one.z, again.z)
    assert not np.array_equal(one.z, other.z)
    one.check()
    of_x = one.z.reshape(40, -1)[::4]
    assert np.isin(of_x, [0, 3]).mean() > 0.8
    uniform = bind(make_plan(load_spec("medlda", {"topics": 6, "start": "uniform"})), corpus).initial_state(1, 0)
    assert np.isin(uniform.z.reshape(40, -1)[::4], [0, 3]).mean() < 0.6
    plain = bind(make_plan(load_spec("lda", {"topics": 6})), corpus).initial_state(1, 0)
    assert np.isin(plain.z.reshape(40, -1)[::4], [0, 3]).mean() < 0.6


@pytest.mark.parametrize(("model", "chains"), [("medlda", [0, 1, 2, 3]), ("medlda_one_vs_all", [0, 3, 6, 9])])
def test_every_other_chain_starts_uniformly(model, chains):
    """Of models apart for three responses, chains 0 to 2 are the first chain of each."""
    corpus = pt.Corpus.from_texts(["aa bb cc dd ee ff gg hh"] * 40, labels=["x", "y", "z", "z"] * 10)
    bound = bind(make_plan(load_spec(model, {"topics": 6, "start": "both"})), corpus)
    own = [0, 3] if model == "medlda" else [1, 3, 5]
    shares = [np.isin(bound.initial_state(1, chain).z.reshape(40, -1)[::4], own).mean() for chain in chains]
    assert [share > 0.8 for share in shares] == [True, False, True, False]


@pytest.mark.parametrize(
    ("model", "given", "expected"),
    [
        ("medlda", {}, "labels"),
        ("medlda", {"start": "both"}, "both"),
        ("dolda", {}, "uniform"),
        ("slda_gaussian", {}, "uniform"),
        ("lda", {}, "uniform"),
    ],
)
def test_a_trace_says_how_its_chains_started(model, given, expected):
    labels = [0.5, 1.5] * 5 if model == "slda_gaussian" else ["x", "y"] * 5
    corpus = pt.Corpus.from_texts(["aa bb", "cc dd"] * 5, labels=labels)
    fit = pt.sample(model, corpus, topics=2, draws=1, warmup=0, chains=1, seed=1, progress=False, **given)
    assert fit.posterior.attrs["start"] == expected
