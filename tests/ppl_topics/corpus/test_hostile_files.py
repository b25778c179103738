"""Files made to do harm, many of them found by the fuzzers of tests/fuzz."""

import gzip
import json
import os
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ppl_topics import Corpus, CorpusError, read_corpus
from ppl_topics.corpus import label_inference, native

MATRIX = "%%MatrixMarket matrix coordinate integer general\n"
DEEP = "[" * 990 + "]" * 990
HUGE = "1" + "0" * 400

# A few bytes that ask for gigabytes, or for hours.
GREEDY = [
    ("a.svmlight", "1 1:2 50000000:1\n", {}, "a.svmlight:1: there would be 50,000,000 words for 2 pairs"),
    ("a.svmlight", "1 1:1\n1 3000000:1\n", {}, "a.svmlight:2: there would be 3,000,000 words for 2 pairs"),
    ("a.svmlight", "1 1:100000000 2:100000000\n", {}, "a.svmlight:1: the counts add up to 200,000,000 tokens so far"),
    ("a.svmlight", "1 1:9999999\n" * 3, {}, "a.svmlight:3: the counts add up to 29,999,997 tokens so far, for 3 pairs"),
    ("a.ldac", "2 0:100000000 3:2\n", {}, "a.ldac:1: the counts add up to 100,000,002 tokens"),
    ("a.uci", "2147483647\n2\n2147483647\n2147483646 1 1\n", {}, "a.uci:4: there would be 2147483646 documents for 1"),
    ("a.uci", "9000000\n50\n1\n1 1 1\n", {}, "a.uci:1: there would be 9000000 documents for 1 entries"),
    ("a.uci", "1\n50000000\n1\n1 1 1\n", {}, "a.uci:1: there would be 50,000,000 words for 1 pairs"),
    ("a.mtx", MATRIX + "9000000 2 1\n1 1 1\n", {}, "a.mtx:2: there would be 9000000 documents for 1 entries"),
    ("a.mtx", MATRIX + "2 9000000 1\n1 1 1\n", {}, "a.mtx:2: there would be 9,000,000 words for 1 pairs"),
]


def peak(action):
    """Return the most memory that was in use while an action went on, in MiB."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def refusal(path, **options):
    with pytest.raises(CorpusError) as caught:
        read_corpus(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("name", "text", "options", "message"), GREEDY)
def test_a_number_in_a_small_file_sizes_no_array(tmp_path, name, text, options, message):
    (tmp_path / name).write_text(text)
    seen = []
    assert peak(lambda: seen.append(refusal(tmp_path / name, **options))) < 20
    assert message in seen[0]


def test_limits_grow_with_the_entries(tmp_path):
    """A few real entries allow many unused words and empty documents."""
    (tmp_path / "a.svmlight").write_text("1 1:900000\n1 200000:3\n")
    corpus = read_corpus(tmp_path / "a.svmlight")
    assert (corpus.n_tokens, corpus.n_words) == (900_003, 200_000)
    (tmp_path / "a.uci").write_text("40000\n3\n2\n20000 1 1\n30000 2 2\n")
    corpus = read_corpus(tmp_path / "a.uci")
    assert (corpus.n_docs, corpus.n_empty_docs) == (40_000, 39_998)


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("content", [b"a", b"\n"])
def test_decompression_bombs_are_refused(tmp_path, kind, content):
    data = content * 6_000_000
    path = tmp_path / f"a.svmlight.{kind}"
    path.write_bytes(gzip.compress(data, 1) if kind == "gz" else zstandard.compress(data))
    assert refusal(path).endswith("which no text does; if it is right, decompress it first")


def test_a_small_file_that_expands(tmp_path):
    """Two kilobytes of documents with a label each: a table of them would be thousands of times as large."""
    path = tmp_path / "a.svmlight.zst"
    path.write_bytes(zstandard.compress(b"".join(b"%d,\n" % (number % 4_999) for number in range(400_000)), 19))
    assert refusal(path).endswith("which no text does; if it is right, decompress it first")


@pytest.mark.parametrize("tail", ["x", ".", "e", "1e", ":"])
def test_a_number_without_end(tmp_path, tail):
    """Backtracking over all ways to split a row of digits would take hours."""
    path = tmp_path / "a.svmlight"
    path.write_text(f"1 1:{'1' * 10**6}{tail}\n")
    assert "a.svmlight:1" in refusal(path)


def test_zstandard_that_expands_in_one_go(tmp_path):
    """Each block of four bytes is 128 KiB of one letter: a piece of 64 KiB would be two gigabytes."""
    block = (131_072 << 3 | 1 << 1).to_bytes(3, "little") + b"a"
    path = tmp_path / "a.mallet.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00\x58" + block * 2_048)
    seen = []
    assert peak(lambda: seen.append(refusal(path))) < 150
    assert "which no text does" in seen[0]


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("ppl_topics.corpus.readers.lines._MAX_LINE", 5_000)
    monkeypatch.setattr("ppl_topics.corpus.readers.lines._CHUNK", 1_000)
    (tmp_path / "a.mallet").write_text("a b c\n" + "x " * 5_000)
    assert refusal(tmp_path / "a.mallet") == (
        f"{tmp_path}/a.mallet:2: the line has over 5,000 characters; is this a file of lines?"
    )
    (tmp_path / "a.mallet").write_text("a b cat\n" + "x y " + "dog " * 1_000 + "\n")
    assert read_corpus(tmp_path / "a.mallet").n_tokens == 1_001


def test_many_empty_members(tmp_path):
    path = tmp_path / "a.svmlight.gz"
    path.write_bytes(gzip.compress(b"") * 20_000 + gzip.compress(b"1 1:1\n"))
    assert read_corpus(path).n_tokens == 1


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.svmlight", f"1 {'0' * 5_000}1:2\n", {}, None),
        ("a.svmlight", f"1 {'0' * 5_000}:2\n", {"first_id": 1}, "found word id 0"),
        ("a.uci", f"{'0' * 5_000}1\n1\n1\n1 1 1\n", {}, None),
        ("a.jsonl", f'{{"text": "ab", "l": {HUGE}}}\n', {"label_column": "l"}, None),
        ("a.jsonl", f'{{"text": "ab", "l": {HUGE}}}\n{{"text": "ab", "l": 0.5}}\n', {"label_column": "l"}, "finite"),
        ("a.jsonl", f'{{"text": "ab", "l": {HUGE}}}\n', {"label_column": "l", "label_kind": "real"}, "a.jsonl:1: the"),
        ("a.jsonl", f'{{"text": "ab", "l": {HUGE}}}\n', {"label_column": "l", "label_kind": "count"}, "a.jsonl:1: the"),
        ("a.jsonl", f'{{"text": "ab", "l": {HUGE}}}\n', {"covariates": ["l"]}, "expected a finite number"),
        ("a.jsonl", f'{{"text": "ab", "l": {HUGE}}}\n{{"text": "b", "l": 1.5}}\n', {"covariates": ["l"]}, "a finite"),
        ("a.jsonl", f'{{"text": "ab", "l": {DEEP}}}\n', {"label_column": "l"}, "a.jsonl:1: "),
        ("a.jsonl", DEEP, {}, "a.jsonl:1: "),
        ("a.jsonl", DEEP * 200, {}, "a.jsonl:1: "),
        ("a.csv", 'a,"b\nc\x1b[31m\u202e"\n1,2\n', {}, "only a, b\\nc\\x1b[31m\\u202e"),
    ],
)
def test_numbers_and_depths_beyond_python(tmp_path, name, text, options, message):
    (tmp_path / name).write_text(text)
    if message is None:
        assert read_corpus(tmp_path / name, **options).n_docs == 1
    else:
        assert message in refusal(tmp_path / name, **options)


def test_many_labels_for_many_documents(tmp_path, monkeypatch):
    """A table of labels by documents grows with the square of the file."""
    lines = (json.dumps({"text": "cat dog", "l": [f"label {i}"]}) for i in range(400))
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert read_corpus(tmp_path / "a.jsonl", label_column="l").labels.values.shape == (400, 400)
    monkeypatch.setattr(label_inference, "CELLS", 10_000)
    monkeypatch.setattr(label_inference, "CELLS_PER_LABEL", 300)
    assert "there are 400 different labels for 400 documents" in refusal(tmp_path / "a.jsonl", label_column="l")


def test_many_columns_of_numbers():
    """From 128 columns on a matrix is sparse, also where no column is of categories."""
    frame = pd.DataFrame(np.eye(3, 130) + 1.0, columns=[f"c{i}" for i in range(130)])
    corpus = Corpus.from_tokens([["a"], ["b"], ["a"]], covariates=frame)
    assert corpus.covariates.is_sparse
    assert (corpus.covariates.toarray() == frame.to_numpy()).all()


LINES = st.lists(
    st.text(st.sampled_from('01239:. ,"{}[]#%abt\t-e\0é\u2028\ud800'), max_size=30).map(
        lambda text: text.encode(errors="surrogatepass")
    ),
    max_size=6,
)


def test_a_document_of_millions_of_tokens(tmp_path):
    """Of one entry: what is done with its tokens goes through them piece by piece, as through many documents."""
    n_tokens = 3_000_000
    (tmp_path / "one.ldac").write_text(f"2 0:1 3:{n_tokens - 1}\n1 0:1\n")
    tracemalloc.start()
    try:
        corpus = read_corpus(tmp_path / "one.ldac", min_df=0.3)
        first = corpus.select([0])
        again = corpus.with_vocabulary(first)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert again.n_tokens == n_tokens + 1
    # The tokens of the three, and half as much again.
    assert peak < 4.5 * 4 * n_tokens


@given(lines=LINES, kind=st.sampled_from([".svmlight", ".ldac", ".uci", ".mtx", ".jsonl", ".csv", ".tsv", ".mallet"]))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_any_lines_are_read_or_refused(tmp_path_factory, lines, kind):
    path = tmp_path_factory.getbasetemp() / f"lines{kind}"
    head = {".mtx": MATRIX.encode(), ".csv": b"text\n", ".tsv": b"text\n", ".uci": b"3\n3\n"}.get(kind, b"")
    path.write_bytes(head + b"\n".join(lines))
    try:
        corpus = read_corpus(path)
    except CorpusError as error:
        message = str(error)
    else:
        assert corpus.word_counts.sum() == corpus.n_tokens
        return
    assert "\n" not in message
    assert str(path) in message


class TestNative:
    """A malicious folder with matching checksums."""

    @pytest.fixture
    def folder(self, tmp_path):
        frame = pd.DataFrame({"year": [1, 2, 3], "source": ["a", "b", "a"]})
        corpus = Corpus.from_tokens([["a", "b"], [], ["c", "b"]], labels=["x", "y", "x"], covariates=frame)
        corpus.with_doc_ids(["i", "j", "k"]).save(tmp_path / "c")
        return tmp_path / "c"

    def rewrite(self, folder, arrays=(), /, **changes):
        """Put other arrays and other descriptions in, which may be ``arrays``, with checksums that fit."""
        meta = json.loads((folder / "meta.json").read_text())
        for name, array in dict(arrays).items():
            np.save(folder / f"{name}.npy", array)
            meta["arrays"][name] = native._digest(np.asarray(array))
        for path, value in changes.items():
            *keys, last = path.split("__")
            place = meta
            for key in keys:
                place = place[key]
            place[last] = value
        meta["fingerprint"] = native._fingerprint(meta["arrays"], meta["parts"])
        (folder / "meta.json").write_text(json.dumps(meta))

    def refused(self, folder):
        message = refusal(folder)
        assert "is damaged (" in message
        return message

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"words": np.array([0, 9, 1, 2], np.uint32)}, "has word id 9, but there are 3 words"),
            ({"words": np.array([1, 0, 1, 2], np.uint32)}, "is not sorted within documents"),
            ({"words": np.array([0, 1, 1, 2], np.int64)}, "words.npy has 1 dimensions of int64"),
            ({"doc_ptr": np.array([0, 3, 2, 4])}, "doc_ptr.npy does not increase from 0 to 4"),
            ({"doc_ptr": np.array([0, -(2**62), 2, 4])}, "doc_ptr.npy does not increase from 0 to 4"),
            ({"vocabulary_offsets": np.array([0, 3, 0, 3])}, "vocabulary_offsets.npy does not increase from 0 to 3"),
            ({"vocabulary_offsets": np.array([0, 2, 2, 3])}, "is empty"),
            ({"vocabulary_data": np.array([255, 97, 98], np.uint8)}, "invalid start byte"),
            ({"ids_offsets": np.array([0, 1, 2])}, "ids_offsets.npy does not increase"),
            ({"labels": np.array([0, 7, 0], np.int32)}, "run from 0 to 7"),
            ({"labels": np.array([0.0, 0.5, 0.0])}, "labels.npy has float64, expected int32"),
            ({"covariates": np.full((3, 3), np.nan)}, "a covariate is not finite"),
            ({"covariates": np.zeros((3, 3, 1))}, "has the shape"),
        ],
    )
    def test_arrays(self, folder, arrays, message):
        self.rewrite(folder, arrays)
        assert message in self.refused(folder)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"arrays__../c/words": "0"}, "a corpus has no array '../c/words'"),
            ({"arrays": {"/etc/hostname": "0"}}, "a corpus has no array '/etc/hostname'"),
            ({"name": ["x"]}, "its name is not valid text"),
            ({"name": "a\0"}, "its name is not valid text"),
            ({"dropped__tokens": "many"}, "expected a count"),
            ({"dropped__other": 1}, "unexpected keyword"),
            ({"parts__labels__kind": "no"}, "label kind"),
            ({"parts__labels__classes": ["x", 1]}, "expected a list of names"),
            ({"parts__labels__more": 1}, "describes another corpus"),
            ({"parts__covariates__columns": [["year", None]]}, "missing 1 required"),
            ({"parts__covariates__n_columns": 10**30}, "describes another corpus"),
        ],
    )
    def test_descriptions(self, folder, changes, message):
        self.rewrite(folder, **changes)
        assert message in self.refused(folder)

    def test_indices_of_sparse_covariates(self, tmp_path):
        """They lead compiled code of SciPy to where they say."""
        frame = pd.DataFrame(np.eye(3, 130), columns=[f"c{i}" for i in range(130)])
        Corpus.from_tokens([["a"], ["b"], ["a"]], covariates=frame).save(tmp_path / "c")
        self.rewrite(tmp_path / "c", {"covariates_indices": np.array([0, 1, 2**40])})
        assert "covariates_indices.npy goes beyond 130 columns" in self.refused(tmp_path / "c")

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (b"(4,)", b"(1000000000000,)", "should have"),
            (b"(4,)", b"(4, 0)", "should have 0 bytes"),
            (b"(4,)", b"(-4,)", "has the shape"),
            (b"(4,)", b"(True,)", "has the shape"),
            (b"(4,)", b"(" + b"(" * 120 + b")" * 120 + b",)", "words.npy"),
            (b"'<u4'", b"'|O'", "expected numbers"),
            (b"'<u4'", b"'|V0'", "expected numbers"),
            (b"'<u4'", b"'>u4'", "expected numbers"),
            (b"'<u4'", b"[('a', '<u4')]", "expected numbers"),
            (b"'<u4'", b"'<u4,<u4'", "words.npy"),
        ],
    )
    def test_headers_of_arrays(self, folder, old, new, message):
        raw = (folder / "words.npy").read_bytes()
        end = raw.index(b"\n") + 1
        header = raw[10:end].replace(old, new)
        assert header != raw[10:end]
        (folder / "words.npy").write_bytes(raw[:8] + len(header).to_bytes(2, "little") + header + raw[end:])
        message_of = refusal(folder)
        assert "is damaged (" in message_of
        assert message in message_of or "descr" in message_of or "header" in message_of.lower()

    def test_a_header_of_four_gigabytes(self, folder):
        raw = (folder / "words.npy").read_bytes()
        (folder / "words.npy").write_bytes(raw[:6] + b"\x02\x00\xff\xff\xff\xff" + raw[10:])
        assert "has an unknown version" in self.refused(folder)

    @pytest.mark.parametrize("name", ["words.npy", "meta.json"])
    @pytest.mark.parametrize("target", ["copy", "/dev/zero", None])
    def test_links_and_pipes_are_not_followed(self, folder, name, target):
        (folder / name).rename(folder / "copy")
        if target is None:
            os.mkfifo(folder / name)
        else:
            (folder / name).symlink_to(target)
        message = refusal(folder)
        assert "is a link" in message or "is not a plain file" in message or "is not a corpus" in message

    def test_descriptions_that_nest(self, folder):
        (folder / "meta.json").write_text('{"format": ' + "[" * 100_000)
        assert "is not a corpus" in refusal(folder)
