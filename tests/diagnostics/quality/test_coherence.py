"""Words of topics that no document holds."""

import itertools
import math
import re

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.corpus.datasets.docstring_extraction import extract_docstrings
from ppl_topics.corpus.datasets.docstrings import WORD_PATTERN
from ppl_topics.corpus.datasets.prose import prose
from ppl_topics.diagnostics.quality import Reference, cv_coherence, npmi_coherence, umass_coherence
from ppl_topics.diagnostics.quality import cooccurrence as counting
from ppl_topics.diagnostics.quality.cooccurrence import count_together

UNKNOWN = ["qwertz", "uiopue"]


COHERENCES = {"u_mass": umass_coherence, "c_npmi": npmi_coherence, "c_v": cv_coherence}


TOLERANCE = {"u_mass": 1e-6, "c_npmi": 1e-6, "c_v": 1e-3}


@pytest.fixture(scope="module")
def texts():
    """Docstrings of one package, in the order of their words; duplicates, short and empty documents among them."""
    cut = re.compile(WORD_PATTERN)
    found = (cut.findall(prose(docstring.text).lower()) for docstring in extract_docstrings("xarray"))
    found = list(itertools.islice((text for text in found if len(text) > 15), 150))
    return [*found, *found[:20], found[0][:4], found[1][:1], []]


@pytest.fixture(scope="module")
def vocabulary(texts):
    return [*sorted({word for text in texts for word in text}), *UNKNOWN]


@pytest.fixture(scope="module")
def topics(texts, vocabulary):
    """Random topics of ten frequent words."""
    place = {word: i for i, word in enumerate(vocabulary)}
    counts = np.bincount([place[word] for text in texts for word in text], minlength=len(vocabulary))
    often = np.argsort(-counts, kind="stable")[:150]
    rng = np.random.default_rng(1)
    return np.stack([rng.choice(often, 10, replace=False) for _ in range(15)])


def by_gensim(measure, words, texts, vocabulary, window=None):
    from gensim.corpora import Dictionary
    from gensim.models.coherencemodel import CoherenceModel

    lists = [[vocabulary[i] for i in topic if i >= 0] for topic in words]
    options = {"coherence": measure, "window_size": window, "processes": 1, "topn": max(map(len, lists))}
    model = CoherenceModel(topics=lists, texts=texts, dictionary=Dictionary([vocabulary]), **options)
    return np.array(model.get_coherence_per_topic())


@pytest.mark.parametrize("measure", ["u_mass", "c_npmi", "c_v"])
def test_gensim_has_the_same(measure, texts, vocabulary, topics):
    reference = Reference.from_texts(texts, vocabulary)
    ours = COHERENCES[measure](topics, reference, convention="gensim")
    theirs = by_gensim(measure, topics, texts, vocabulary)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE[measure])
    # Far below what is demanded: the same operations.
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("measure", ["c_npmi", "c_v"])
@pytest.mark.parametrize("window", [1, 3, 40])
def test_gensim_has_the_same_with_another_window(measure, window, texts, vocabulary, topics):
    reference = Reference.from_texts(texts, vocabulary)
    ours = COHERENCES[measure](topics[:6], reference, window=window, convention="gensim")
    np.testing.assert_allclose(
        ours, by_gensim(measure, topics[:6], texts, vocabulary, window), rtol=0, atol=TOLERANCE[measure]
    )


@pytest.mark.parametrize("measure", ["c_npmi", "c_v"])
def test_whole_documents_are_gensims_longest_windows(measure, texts, vocabulary, topics):
    # Of a corpus, without order: both conventions are the same, for nothing leaves a window that does not slide.
    corpus = pt.Corpus.from_tokens(texts, vocabulary=vocabulary)
    theirs = by_gensim(measure, topics, texts, vocabulary, 100_000)
    for convention in ("paper", "gensim"):
        ours = COHERENCES[measure](topics, corpus, convention=convention)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


def test_words_that_documents_lack(texts, vocabulary, topics):
    """In gensim UMass has 0 for their pairs, as here; NPMI is infinite, and here the pairs have 0."""
    with_unknown = topics[:3].copy()
    with_unknown[:, 4] = len(vocabulary) - 1
    with_unknown[::2, 7] = len(vocabulary) - 2
    reference = Reference.from_texts(texts, vocabulary)
    theirs = by_gensim("u_mass", with_unknown, texts, vocabulary)
    ours = umass_coherence(with_unknown, reference, convention="gensim")
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)
    for measure in ("c_npmi", "c_v"):
        ours = COHERENCES[measure](with_unknown, reference, convention="gensim")
        known = [[i for i in topic if i < len(vocabulary) - 2] for topic in with_unknown]
        theirs = np.array([by_gensim(measure, [topic], texts, vocabulary)[0] for topic in known])
        sizes = np.array([len(topic) for topic in known])
        # A mean over pairs of words, or over words, of which those with unknown words are 0.
        shares = sizes * (sizes - 1) / 90 if measure == "c_npmi" else sizes / 10
        np.testing.assert_allclose(ours, theirs * shares, rtol=0, atol=1e-10)


def test_gensim_forgets_repeated_words():
    """The reason for two conventions: a word that stays in the window is forgotten when its first occurrence leaves."""
    texts = [["a", "a", "x", "b"], ["b", "x", "x", "a"]]
    words = [[0, 1]]
    reference = Reference.from_texts(texts, ["a", "b", "x"])
    counts = [count_together(np.array(words), reference, 3, forgetful=forgetful) for forgetful in (False, True)]
    assert [count.together[0, 0, 1] for count in counts] == [1, 0]
    theirs = by_gensim("c_npmi", words, texts, ["a", "b", "x"], 3)
    np.testing.assert_allclose(npmi_coherence(words, reference, window=3, convention="gensim"), theirs)
    assert npmi_coherence(words, reference, window=3)[0] > theirs[0] + 0.1


def windows_of(texts, size):
    for text in texts:
        for start in range(max(len(text) - size + 1, 1)):
            yield set(text[start : start + size])


def npmi_by_hand(first, second, held):
    def share(*words):
        return sum(set(words) <= window for window in held) / len(held)

    joint, product = share(first, second), share(first) * share(second)
    if product == 0:
        return 0.0
    return 1.0 if joint == 1 else math.log((joint + 1e-12) / product) / -math.log(joint + 1e-12)


@pytest.mark.parametrize("window", [1, 2, 4, 9])
def test_windows_by_hand(window):
    rng = np.random.default_rng(window)
    letters = list("abcdez")
    texts = [list(rng.choice(letters[:5], rng.integers(0, 12), p=[0.3, 0.3, 0.2, 0.1, 0.1])) for _ in range(25)]
    held = list(windows_of(texts, window))
    reference = Reference.from_texts(texts, letters)
    words = np.array([[0, 1, 2, 3], [5, 4, 0, -1], [2, -1, -1, -1], [-1, -1, -1, -1]])
    counts = count_together(words, reference, window)
    assert counts.windows == len(held)
    for topic, row in enumerate(words):
        for i, j in itertools.product(range(4), repeat=2):
            pair = {letters[row[i]], letters[row[j]]} if row[i] >= 0 and row[j] >= 0 else {"nothing"}
            assert counts.together[topic, i, j] == sum(pair <= each for each in held)
    npmi, cv = [], []
    for row in words:
        names = [letters[i] for i in row if i >= 0]
        pairs = list(itertools.combinations(names, 2))
        npmi.append(sum(npmi_by_hand(*pair, held) for pair in pairs) / max(len(pairs), 1))
        vectors = np.array([[npmi_by_hand(a, b, held) for b in names] for a in names])
        total = vectors.sum(axis=0)
        cosines = [v @ total / np.linalg.norm(v) / np.linalg.norm(total) if v.any() else 0.0 for v in vectors]
        cv.append(np.mean(cosines) if cosines else 0.0)
    np.testing.assert_allclose(npmi_coherence(words, reference, window=window), npmi, atol=1e-12)
    np.testing.assert_allclose(cv_coherence(words, reference, window=window), cv, atol=1e-12)


def test_blocks_of_words_change_nothing(monkeypatch):
    rng = np.random.default_rng(5)
    names = [str(i) for i in range(40)]
    reference = Reference.from_texts([rng.choice(names, 30).tolist() for _ in range(20)], names)
    words = np.stack([rng.choice(40, 6, replace=False) for _ in range(12)])
    whole = count_together(words, reference, 7).together
    monkeypatch.setattr(counting, "MOST_WORDS", 10)
    assert len(list(counting._blocks(words))) > 3
    np.testing.assert_array_equal(count_together(words, reference, 7).together, whole)
    assert whole.min() < whole.max()


def test_always_finite():
    everywhere = pt.Corpus.from_tokens([["a", "b"]] * 3, vocabulary=["a", "b", "c"])
    for words in ([[0, 1]], [[2, 0]], [[2, -1]], [[0, -1]], [[-1, -1]], np.zeros((1, 0))):
        for convention in ("paper", "gensim"):
            for coherence in COHERENCES.values():
                assert np.isfinite(coherence(words, everywhere, convention=convention)).all()
    # Words in all documents: the limit of complete association; in gensim -1, which rounding leaves of 0 / 0.
    assert npmi_coherence([[0, 1]], everywhere)[0] == 1.0
    assert npmi_coherence([[0, 1]], everywhere, convention="gensim")[0] == pytest.approx(-1.0)
    assert by_gensim("c_npmi", [[0, 1]], [["a", "b"]] * 3, ["a", "b", "c"])[0] == pytest.approx(-1.0)
    assert cv_coherence([[0, -1], [2, -1]], everywhere).tolist() == [1.0, 0.0]
    # One document, and documents without words.
    assert np.isfinite(npmi_coherence([[0, 1]], pt.Corpus.from_tokens([["a"], []], vocabulary=["a", "b"]))).all()
    empty = Reference.from_texts([[]], ["a", "b"])
    assert [coherence([[0, 1]], empty)[0] for coherence in COHERENCES.values()] == [0.0, 0.0, 0.0]


def test_order_of_the_reference():
    vocabulary = ["cat", "dog"]
    ordered = Reference.from_texts(["The cat, the DOG!", "a dog"], vocabulary)
    assert ordered.words.tolist() == [-1, 0, -1, 1, 1]
    assert Reference.of([["cat"], []], vocabulary).doc_lengths.tolist() == [1, 0]
    other = pt.Corpus.from_tokens([["dog", "eel"], ["cat"]])
    assert Reference.of(other, vocabulary).words.tolist() == [1, -1, 0]
    assert Reference.of(ordered, vocabulary) is ordered
    with pytest.raises(pt.CorpusError, match="does not keep the order of words"):
        npmi_coherence([[0, 1]], other, window=10)
    with pytest.raises(pt.PplTopicsError, match="window: must be a whole number"):
        npmi_coherence([[0, 1]], ordered, window=0)
    with pytest.raises(pt.PplTopicsError, match="'paper' or 'gensim'"):
        npmi_coherence([[0, 1]], ordered, convention="palmetto")
    for wrong, message in (
        ("cat", "a single string"),
        ([], "no texts"),
        ([3], "text 0 is of type int"),
        (3, "of type int"),
        (Reference.from_texts(["a"], ["a"]), "vocabulary of 1 words"),
    ):
        with pytest.raises(pt.CorpusError, match=message):
            Reference.of(wrong, vocabulary)


DOCUMENTS = [["a", "b", "b"], ["a", "c"], ["b", "c", "d"], ["d"], [], ["a", "b", "c"]]


def umass_by_hand(words):
    held = [set(document) for document in DOCUMENTS]

    def count(*given):
        return sum(set(given) <= document for document in held)

    pairs = itertools.combinations(words, 2)
    return sum(math.log((count(first, later) + 1) / count(first)) for first, later in pairs if count(first))


@pytest.mark.parametrize("words", ["abc", "cba", "dab", "ad", "b", "zab"])
def test_umass_by_hand(words):
    corpus = pt.Corpus.from_tokens(DOCUMENTS, vocabulary=["a", "b", "c", "d", "z"])
    ids = [corpus.vocabulary.tolist().index(word) for word in words]
    assert umass_coherence([ids], corpus)[0] == pytest.approx(umass_by_hand(words), abs=1e-12)
    assert umass_coherence([ids, ids], corpus).shape == (2,)


def test_coherence_depends_on_the_order_of_words():
    assert umass_by_hand("ad") != umass_by_hand("da")
