"""svmlight, LDA-C, UCI and Matrix Market files give the corpus that they describe."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from ppl_topics.corpus import Corpus, read_corpus
from ppl_topics.errors import CorpusError

SHARED = Path(__file__).parents[4].parent / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the shared corpora are not here")

WORDS = ["ant", "bee", "the", "dog"]
BAGS = [{"ant": 2, "the": 1}, {}, {"bee": 3, "dog": 1, "the": 1}]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def bags(corpus: Corpus) -> list[dict[str, int]]:
    return [corpus.document(i) for i in range(corpus.n_docs)]


FILES = {
    "a.svmlight": "1 1:2 3:1\n2\n1 2:3 4:1 3:1\n",
    "zero.libsvm": "1 0:2 2:1 # first\n\n# only a comment\n2\t\n1\tqid:3  1:3   3:1\t2:1.0\n",
    "a.ldac": "2 0:2 2:1\n0\n3 1:3 3:1 2:1\n",
    "a.lda-c": "2 0:2 2:1\r\n0\r\n3 1:3 3:1 2:1\r\n",
    "a.docword.txt": "3\n4\n5\n1 1 2\n1 3 1\n3 2 3\n3 3 1\n3 4 1\n",
    "docword.a.txt": "3\n4\n5\n1 1 2\n\n1 3 1\n3 2 3\n3 3 1\n3 4 1",
    "a.uci": "3\n4\n5\n3 4 1\n1 3 1\n3 2 3\n3 3 1\n1 1 2\n",
    "a.mm": "%%MatrixMarket matrix coordinate real general\n3 4 5        \n1 1 2.0\n1 3 1\n3 2 3.\n3 3 1e0\n3 4 1\n",
    "a.mtx": "%%MatrixMarket matrix coordinate integer general\n% by columns\n3 4 5\n"
    "1 1 2\n3 2 3\n1 3 1\n3 3 1\n3 4 1\n",
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_bags(tmp_path: Path, name: str) -> None:
    corpus = read_corpus(write(tmp_path / name, FILES[name]), vocabulary=WORDS)
    assert bags(corpus) == BAGS
    assert list(corpus.vocabulary) == WORDS
    assert corpus.name == name.split(".")[0]


@pytest.mark.parametrize("name", FILES)
def test_words_are_named_by_their_ids_without_a_vocabulary(tmp_path: Path, name: str) -> None:
    corpus = read_corpus(write(tmp_path / name, FILES[name]))
    first = 0 if name in ("zero.libsvm", "a.ldac", "a.lda-c") else 1
    assert list(corpus.vocabulary) == [str(i) for i in range(first, first + 4)]
    assert corpus.document(0) == {str(first): 2, str(first + 2): 1}


def test_words_of_the_header_count_even_if_they_do_not_occur(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path / "a.uci", "4\n7\n1\n2 3 1\n"))
    assert (corpus.n_docs, corpus.n_words, corpus.n_tokens) == (4, 7, 1)


def test_a_pattern_matrix_counts_one_each(tmp_path: Path) -> None:
    text = "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 1\n2 2\n"
    assert bags(read_corpus(write(tmp_path / "a.mtx", text))) == [{"1": 1}, {"1": 1, "2": 1}]


@pytest.mark.parametrize("order", ["csr", "csc"])
def test_what_scipy_writes_is_read_back(tmp_path: Path, order: str) -> None:
    dense = np.random.default_rng(3).poisson(0.3, (40, 17))
    scipy.io.mmwrite(tmp_path / "a.mtx", sparse.coo_array(sparse.csr_array(dense).asformat(order)))
    np.testing.assert_array_equal(read_corpus(tmp_path / "a.mtx").to_matrix().toarray(), dense)


def test_rows_longer_than_a_block_and_across_blocks(tmp_path: Path) -> None:
    n = 150_000
    rows = "".join(f"{1 + i // 70_000} {1 + i % 70_000} 1\n" for i in range(n))
    corpus = read_corpus(write(tmp_path / "a.uci", f"4\n70000\n{n}\n{rows}"))
    assert corpus.doc_lengths.tolist() == [70_000, 70_000, 10_000, 0]


def test_a_repeated_id_adds_up_and_order_does_not_matter(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path / "a.svmlight", "0 3:1 1:1 3:2\n"))
    assert bags(corpus) == [{"1": 1, "3": 3}]


def test_id_0_on_the_last_line_means_ids_from_0(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path / "a.svmlight", "1 1:1\n2 0:4\n"), vocabulary=["ant", "bee"])
    assert bags(corpus) == [{"bee": 1}, {"ant": 4}]


def test_id_0_in_a_comment_means_nothing(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path / "a.svmlight", "1 1:1 # 0:4\n2 10:1\n"))
    assert bags(corpus) == [{"1": 1}, {"10": 1}]


def test_first_id_is_taken_at_its_word(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path / "a.svmlight", "1 1:1\n"), vocabulary=["ant", "bee"], first_id=0)
    assert bags(corpus) == [{"bee": 1}]
    corpus = read_corpus(write(tmp_path / "a.ldac", "1 1:1\n"), vocabulary=["ant", "bee"], first_id=1)
    assert bags(corpus) == [{"ant": 1}]


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("+1 1:1\n-1 1:1\n", "class", [1, 0]),
        ("0.5 1:1\n-1.25 1:1\n1:1\n", "real", [0.5, -1.25, np.nan]),
        ("1,3 1:1\n3 1:1\n1:1\n", "multi_label", [[1, 1], [0, 1], [0, 0]]),
    ],
)
def test_labels(tmp_path: Path, text: str, kind: str, values: list[float]) -> None:
    labels = read_corpus(write(tmp_path / "a.svmlight", text)).labels
    assert labels is not None
    assert labels.kind == kind
    np.testing.assert_array_equal(labels.values, values)


def test_no_label_at_all_is_no_labels(tmp_path: Path) -> None:
    assert read_corpus(write(tmp_path / "a.svmlight", "1:1\n2:1\n")).labels is None


def test_words_are_dropped_by_frequency_and_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svmlight", FILES["a.svmlight"])
    corpus = read_corpus(path, vocabulary=WORDS, stop_words="english")
    assert list(corpus.vocabulary) == ["ant", "bee", "dog"]
    assert bags(corpus) == [{"ant": 2}, {}, {"bee": 3, "dog": 1}]
    assert list(read_corpus(path, vocabulary=WORDS, min_count=2).vocabulary) == ["ant", "bee", "the"]
    assert list(read_corpus(path, vocabulary=WORDS, min_df=2).vocabulary) == ["the"]
    assert list(read_corpus(path, vocabulary=WORDS, max_df=1).vocabulary) == ["ant", "bee", "dog"]
    assert list(read_corpus(path, vocabulary=WORDS, max_vocabulary=1).vocabulary) == ["bee"]
    capitals = [word.upper() for word in WORDS]
    assert read_corpus(path, vocabulary=capitals, stop_words=["the"]).n_words == 3
    assert read_corpus(path, vocabulary=capitals, stop_words=["the"], lowercase=False).n_words == 4


def test_the_vocabulary_may_be_a_file_or_a_corpus(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svmlight", FILES["a.svmlight"])
    words = write(tmp_path / "vocab.txt", "\n".join(WORDS) + "\n\n")
    train = read_corpus(path, vocabulary=words)
    assert bags(train) == BAGS
    assert bags(read_corpus(path, vocabulary=train)) == BAGS


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text("0123456789:,.- \n\t#e%", max_size=40).map(str.encode))
@pytest.mark.parametrize("kind", ["svmlight", "ldac", "uci", "mtx", "csv", "jsonl", "mallet"])
def test_rubbish_gives_a_corpus_or_a_corpus_error(tmp_path: Path, kind: str, content: bytes) -> None:
    path = tmp_path / f"a.{kind}"
    path.write_bytes(content)
    # Any other exception fails the test.
    with contextlib.suppress(CorpusError):
        assert read_corpus(path).n_docs >= 1


@needs_shared
def test_20_newsgroups_has_the_documents_and_tokens_of_the_papers() -> None:
    folder = SHARED / "20news-matlab"
    corpus = read_corpus(folder / "train.svmlight.gz", vocabulary=folder / "vocab.txt")
    assert (corpus.n_docs, corpus.n_tokens, corpus.n_words) == (11_269, 2_765_300, 61_188)
    assert corpus.labels is not None
    assert corpus.labels.classes.tolist() == [str(i) for i in range(1, 21)]


@needs_shared
def test_hotel_reviews_have_real_labels() -> None:
    folder = SHARED / "hotel"
    corpus = read_corpus(folder / "test.svmlight.gz", vocabulary=folder / "vocab.txt")
    assert corpus.labels is not None
    assert (corpus.n_docs, corpus.n_words, corpus.labels.kind) == (2_500, 12_000, "real")
    assert np.unique(corpus.labels.values).size == 5
