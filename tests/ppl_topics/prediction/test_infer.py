"""Topics of new documents: their distribution against enumeration, threads, unknown words, empty documents.

The statistical test has a false-alarm rate of 1e-6 over seeds, and refuses planted bugs.
"""

import itertools

import numba
import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

import ppl_topics as pt
from ppl_topics.core.alpha import Alpha
from ppl_topics.engine.bind import index_tokens
from ppl_topics.errors import CorpusError
from ppl_topics.prediction.documents import align_corpus, align_labels
from ppl_topics.prediction.infer import NewTopics, theta_of

FALSE_ALARM = 1e-6
COPIES = 20_000
WORDS = [0, 0, 1, 2]
ALPHA = np.array([0.6, 0.9, 1.2])
PHI = np.array([[0.5, 0.2, 0.3], [0.3, 0.3, 0.2], [0.2, 0.5, 0.5]], dtype=np.float32)


def enumerated(alpha, words=WORDS, phi=PHI):
    """p(z | w, phi) of one document, over all assignments of its tokens."""
    logs = []
    for z in itertools.product(range(len(alpha)), repeat=len(words)):
        counts = np.bincount(z, minlength=len(alpha))
        logs.append(gammaln(counts + alpha).sum() + np.log(phi[words, list(z)]).sum())
    weights = np.exp(np.array(logs) - max(logs))
    return weights / weights.sum()


def chain_of_copies(alpha, seed=1):
    """A chain over many copies of the document, and an empty one."""
    doc_ptr = np.minimum(np.arange(COPIES + 2), COPIES) * len(WORDS)
    tokens = index_tokens(doc_ptr, np.tile(np.array(WORDS, dtype=np.uint32), COPIES), 3)
    return NewTopics(tokens, Alpha.shared(alpha), seed, 0)


def drawn(alpha, sweeps):
    """How often each assignment was drawn."""
    topics = chain_of_copies(alpha)
    topics.given(PHI)
    topics.sweep(sweeps)
    codes = topics.z.reshape(COPIES, -1).astype(np.int64) @ (3 ** np.arange(len(WORDS))[::-1])
    return np.bincount(codes, minlength=3 ** len(WORDS))


def p_value(counts, distribution):
    return stats.chisquare(counts, distribution * counts.sum()).pvalue


def test_the_distribution_of_the_topics_is_the_enumerated_one():
    distribution = enumerated(ALPHA)
    assert distribution.min() * COPIES > 3
    assert p_value(drawn(ALPHA, 20), distribution) > FALSE_ALARM


@pytest.mark.parametrize(("alpha", "sweeps"), [(1.3 * ALPHA, 20), (ALPHA[::-1], 20), (ALPHA, 0)])
def test_planted_bugs_are_refused(alpha, sweeps):
    # Another concentration, topics taken for one another, and starting values taken for draws.
    assert p_value(drawn(alpha, sweeps), enumerated(ALPHA)) < FALSE_ALARM


def test_the_mean_share_of_a_document_is_that_of_the_distribution():
    expected = np.zeros(3)
    for z, weight in zip(itertools.product(range(3), repeat=4), enumerated(ALPHA), strict=True):
        expected += weight * np.bincount(z, minlength=3) / 4
    shares = chain_of_copies(ALPHA).mean_shares(PHI, 20, 2)
    assert shares[-1].tolist() == [0, 0, 0]
    # A share lies between 0 and 1, so its standard deviation is 1/2 at most.
    tolerance = stats.norm.isf(FALSE_ALARM / 6) * 0.5 / np.sqrt(COPIES)
    np.testing.assert_allclose(shares[:-1].mean(axis=0), expected, atol=tolerance)


def test_theta_is_its_posterior_mean_and_of_an_empty_document_its_prior_mean():
    shares = np.array([[0, 0, 0], [0.25, 0.5, 0.25]])
    theta = theta_of(shares, np.array([0, 4]), Alpha.shared(ALPHA))
    np.testing.assert_allclose(theta[0], ALPHA / ALPHA.sum())
    np.testing.assert_allclose(theta[1], (np.array([1, 2, 1]) + ALPHA) / (4 + ALPHA.sum()))


@pytest.mark.parametrize("n_topics", [3, 20, 300])
def test_bits_do_not_depend_on_threads(n_topics):
    rng = np.random.default_rng(3)
    phi = rng.dirichlet(np.full(40, 0.1), size=n_topics).T.astype(np.float32).copy()
    doc_ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 30, 80))])
    tokens = index_tokens(doc_ptr, rng.integers(0, 40, doc_ptr[-1]).astype(np.uint32), 40)
    results, alpha = [], Alpha.shared(np.full(n_topics, 0.1))
    for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(threads)
        results.append(NewTopics(tokens, alpha, 5, 1).mean_shares(phi, 2, 3))
    assert np.array_equal(results[0], results[1])
    other = NewTopics(tokens, alpha, 6, 1).mean_shares(phi, 2, 3)
    assert not np.array_equal(results[0], other)


def test_unknown_words_are_dropped_and_counted():
    vocabulary = np.array(["red", "green"], dtype=object)
    corpus = align_corpus(pt.Corpus.from_texts(["green blue", "blue pink", "red red"]), vocabulary)
    assert corpus.doc_lengths.tolist() == [1, 0, 2]
    assert (corpus.dropped.tokens, corpus.dropped.types, corpus.dropped.documents_emptied) == (3, 2, 1)
    assert corpus.words.tolist() == [1, 0, 0]
    again = align_corpus(corpus, vocabulary[1:])
    assert (again.dropped.tokens, again.dropped.documents_emptied) == (5, 2)
    texts = align_corpus(["green blue", "", "pink"], vocabulary)
    assert (texts.doc_lengths.tolist(), texts.dropped.tokens) == ([1, 0, 0], 2)
    assert align_corpus(["", ""], vocabulary).n_docs == 2
    with pytest.raises(CorpusError, match="none of the 2 tokens is a word of the training corpus"):
        align_corpus(pt.Corpus.from_texts(["pink blue"]), vocabulary)
    for wrong, message in (("red", "single string"), ([1], "of type int"), (3, "expected a Corpus"), ([], "no docum")):
        with pytest.raises(CorpusError, match=message):
            align_corpus(wrong, vocabulary)


def test_labels_are_known_by_name():
    labels, unknown = align_labels(pt.Labels.infer(["b", "z", None, "a"]), "class", np.array(["a", "b", "c"], object))
    assert (labels.values.tolist(), unknown) == ([1, -1, -1, 0], 1)
    labels, unknown = align_labels(
        pt.Labels.infer([["b"], ["z", "a"], []]), "multi_label", np.array(["a", "b"], object)
    )
    assert (labels.values.tolist(), unknown) == ([[0, 1], [1, 0], [0, 0]], 1)
    labels, unknown = align_labels(pt.Labels.infer([1, 2, 3]), "real", None)
    assert (labels.kind, labels.values.tolist(), unknown) == ("real", [1, 2, 3], 0)
    with pytest.raises(CorpusError, match="of kind 'class', in training 'real'"):
        align_labels(pt.Labels.infer(["a", "b"]), "real", None)
    with pytest.raises(CorpusError, match="2 columns, in training one"):
        align_labels(pt.Labels.infer(np.array([[0.5, 1], [2, 3]])), "real", None)
    with pytest.raises(CorpusError, match="one column without a name, in training 2"):
        align_labels(pt.Labels.infer([0.5, 1.5]), "real", np.array(["u", "v"], object))
