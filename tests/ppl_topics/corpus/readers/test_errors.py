"""What is wrong with a file is said in one sentence that names the file and the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ppl_topics.corpus import Corpus, read_corpus
from ppl_topics.errors import CorpusError

MM = "%%MatrixMarket matrix coordinate integer general\n"
WORDS = {"vocabulary": ["ant", "bee"]}
LABEL = {"label_column": "y"}

CASES: list[tuple[str, str, dict[str, Any], str]] = [
    # svmlight
    ("a.svmlight", "1 1:2\n1 1:-2\n", {}, "a.svmlight:2: the count of word id 1 is -2, expected a whole number"),
    ("a.svmlight", "1 1:0.5\n", {}, "a.svmlight:1: the count of word id 1 is 0.5, .*not weights such as tf-idf"),
    ("a.svmlight", "1 1:nan\n", {}, "a.svmlight:1: the count of word id 1 is nan"),
    ("a.svmlight", "1 1:x\n", {}, "a.svmlight:1: the count of word id 1 is 'x'"),
    ("a.svmlight", "1 1:1_0\n", {}, "a.svmlight:1: the count of word id 1 is '1_0'"),
    ("a.svmlight", "1 1:2000000000\n", {}, "a.svmlight:1: the count of word id 1 is 2000000000, expected"),
    ("a.svmlight", "1 x:1\n", {}, "a.svmlight:1: the word id is 'x', expected a whole number"),
    ("a.svmlight", "1 -1:1\n", {}, "a.svmlight:1: the word id is '-1', expected a whole number"),
    ("a.svmlight", "1 17 2\n", {}, "a.svmlight:1: found '17', expected a pair 'id:count'"),
    ("a.svmlight", "1 1:2:3\n", {}, "a.svmlight:1: the count of word id 1 is '2:3'"),
    ("a.svmlight", "spam 1:2\n", {}, "a.svmlight:1: the label is 'spam', expected a number"),
    ("a.svmlight", "1,b 1:2\n", {}, "a.svmlight:1: the label is 'b', expected a number"),
    ("a.svmlight", "1 1:1\n1 3:1\n", WORDS, "a.svmlight:2: found word id 3, .* past the vocabulary of 2 words"),
    ("a.svmlight", "1 0:1\n1 2:1\n", WORDS, "a.svmlight:2: found word id 2, .* expected ids from 0 to 1"),
    ("a.svmlight", "1 0:1\n", {"first_id": 1}, "a.svmlight:1: found word id 0, expected ids from 1; .*first_id=0"),
    ("a.svmlight", f"1 {2**31}:1\n", {}, "a.svmlight:1: the word id 2147483648 is too large"),
    ("a.svmlight", f"1 1{'0' * 5000}:1\n", {}, "a.svmlight:1: the word id 10000000000000000000 is too large"),
    ("a.svmlight", f"1 {2**31 - 1}:1\n", {}, "a.svmlight:1: found word id 2147483647, expected at most 50000000"),
    ("a.svmlight", f"1 {2**31 - 1}:1\n", WORDS, "a.svmlight:1: found word id 2147483647, .* past the vocabulary"),
    ("a.svmlight", "", {}, "a.svmlight: the corpus has no documents"),
    ("a.svmlight", "# nothing\n\n", {}, "a.svmlight: the corpus has no documents"),
    ("a.svmlight", "1\n2 4:0\n", {}, "a.svmlight: all 2 documents are empty"),
    ("a.svmlight", "1,2 1:1\n", {"label_kind": "real"}, "a.svmlight:1: the label of document 0 .* a finite number"),
    (
        "a.svmlight",
        "1 1:1\n1,2 1:1\n",
        {"label_kind": "class"},
        "a.svmlight:2: the label of document 1 is \\['1'",
    ),
    ("a.svmlight", "inf 1:1\n", {"label_kind": "real"}, "a.svmlight:1: the label is inf, expected a finite"),
    ("a.svmlight", "1:1\n", {"label_kind": "class"}, "a.svmlight: no document has a label"),
    # LDA-C
    ("a.ldac", "1 0:1\n2 0:1\n", {}, "a.ldac:2: the line announces 2 pairs 'id:count', but has 1"),
    ("a.ldac", "0:1\n", {}, "a.ldac:1: found '0:1' first, expected the number of pairs"),
    ("a.ldac", "one 0:1\n", {}, "a.ldac:1: the number of pairs is 'one'"),
    ("a.ldac", "1 2:1\n", WORDS, "a.ldac:1: found word id 2, .* expected ids from 0 to 1"),
    # UCI
    ("a.uci", "2\n", {}, "a.uci:2: the header has no number of words"),
    ("a.uci", "2\n3\nx\n", {}, "a.uci:3: the number of entries is 'x'"),
    ("a.uci", "1\n2\n1\n1 3 1\n", {}, "a.uci:4: the word id is 3, expected 1 to 2 as announced on line 1"),
    ("a.uci", "1\n2\n1\n1 0 1\n", {}, "a.uci:4: the word id is 0, expected 1 to 2"),
    ("a.uci", "1\n2\n2\n1 1 1\n2 1 1\n", {}, "a.uci:5: the document id is 2, expected 1 to 1"),
    ("a.uci", "1\n2\n2\n1 1 1\n", {}, "a.uci:1: the header announces 2 entries, but the file has 1"),
    ("a.uci", "1\n2\n1\n1 1\n", {}, "a.uci:4: found 2 fields, expected the 3 numbers"),
    ("a.uci", "1\n2\n1\n1 1 -1\n", {}, "a.uci:4: the count of word id 1 is -1"),
    ("a.uci", "1\n3\n1\n1 1 1\n", WORDS, "a.uci:1: the header announces 3 words, but the vocabulary has 2"),
    ("a.uci", f"1\n{10**8}\n1\n1 1 1\n", {}, "a.uci:1: the header announces 100000000 words, expected at most"),
    ("a.uci", f"{10**9}\n1\n1\n1 1 1\n", {}, "a.uci:1: the header announces 1000000000 documents for 1"),
    ("a.uci", "1\n1\n1\n1 1 1\n", {"first_id": 0}, "a.uci: first_id cannot be used with the format uci"),
    # Matrix Market
    ("a.mtx", "1 1 1\n", {}, "a.mtx:1: found '1 1 1', expected the banner"),
    ("a.mtx", MM.replace("coordinate", "array"), {}, "a.mtx:1: the matrix is 'array integer general', expected"),
    ("a.mtx", MM + "% only\n", {}, "a.mtx: the file ends before the line 'documents words entries'"),
    ("a.mtx", MM + "1 1\n", {}, "a.mtx:2: found 2 fields, expected the three numbers"),
    ("a.mtx", MM + "1 2 1\n%\n1 1 0.25\n", {}, "a.mtx:4: the count of word id 1 is 0.25"),
    ("a.mtx", MM + "1 2 1\n%\n1 5 1\n", {}, "a.mtx:4: the word id is 5"),
    # JSON Lines
    ("a.jsonl", '{"text": "a b"}\n{"text": }\n', {}, "a.jsonl:2: this is not JSON: .* at column 10"),
    ("a.jsonl", "[" * 100_000 + "\n", {}, "a.jsonl:1: this "),
    ("a.jsonl", '{"text": ' + "1" * 5000 + "}\n", {}, "a.jsonl:1: this JSON cannot be read"),
    ("a.jsonl", '["text"]\n', {}, 'a.jsonl:1: found \\["text"\\], expected a JSON object'),
    ("a.jsonl", '{"txt": "a", "id": 3}\n', {}, "a.jsonl:1: .* no column 'text', only txt, id; did you mean 'txt'"),
    ("a.jsonl", '{"text": 3}\n', {}, "a.jsonl:1: 'text' is 3, expected a string"),
    (
        "a.jsonl",
        '{"text": ["a", 3]}\n',
        {},
        r"a.jsonl:1: 'text' is \[.a., 3\], expected a string or a list of its tokens",
    ),
    ("a.jsonl", '{"text": "aa", "y": {}}\n', LABEL, "a.jsonl:1: 'y' is {}, expected a string, a number"),
    ("a.jsonl", '{"text": "aa", "y": null}\n', LABEL, "a.jsonl: no document has a label"),
    ("a.jsonl", '{"text": "aa", "y": 1e999}\n', LABEL, "a.jsonl:1: 'y' is infinite"),
    (
        "a.jsonl",
        '{"text": "aa", "y": 1}\n\n{"text": "aa", "y": "b"}\n',
        LABEL,
        "a.jsonl:3: the label of document 1 is 'b', text, but that of document 0 is a number",
    ),
    ("a.jsonl", '{"text": "aa", "i": null}\n', {"id_column": "i"}, "a.jsonl:1: the id 'i' is null"),
    (
        "a.jsonl",
        '{"text": "aa", "i": 1}\n{"text": "aa", "i": 1}\n',
        {"id_column": "i"},
        "a.jsonl:2: document id '1' is used twice, by documents 0 and 1",
    ),
    # CSV
    ("a.csv", "txt,y\naa,1\n", {}, "a.csv:1: the header has no column 'text', only txt, y; did you mean 'txt'"),
    ("a.csv", "text,y\naa,1,2\n", {}, "a.csv:2: the row has 3 fields, expected 2"),
    ("a.csv", 'text,y\n"a\na",1\n"b,1\n', {}, "a.csv:4: the row that starts here is malformed: unexpected end"),
    ("a.csv", "text,text\na,b\n", {}, "a.csv:1: the header has 2 columns 'text', expected one"),
    ("a.csv", "text\n", {}, "a.csv: the corpus has no documents"),
    ("a.csv", "", {}, "a.csv: the corpus has no documents"),
    ("a.csv", "text\na\n", {}, "a.csv: all 1 documents are empty"),
    (
        "a.csv",
        "text,y\naa,1\naa,b\n",
        {**LABEL, "label_kind": "count"},
        "a.csv:3: the label of document 1 is 'b'; a label of kind 'count' is a whole number",
    ),
    ("a.csv", "text,x\naa,1\naa,\n", {"covariates": ["x"]}, "a.csv:3: covariate 'x' of document 1 is missing"),
    ("a.csv", "text\naa\n", {"covariates": "text"}, "covariates must be a list of columns"),
    ("a.csv", "text\naa\n", {"covariates": ["text"]}, "covariates: 'text' is the text_column; remove it"),
    ("a.csv", "text,y\naa,1\n", {**LABEL, "covariates": ["y"]}, "covariates: 'y' is the label_column; remove it"),
    # MALLET
    ("a.mallet", "d1 en aa\nd2\n", {}, "a.mallet:2: found 'd2' alone, expected 'name label text"),
    # options
    ("a.mallet", "d1 en aa\n", {"text_column": "t"}, "text_column.* cannot be used with the format mallet"),
    ("a.svmlight", "1 1:1\n", {"stop_words": ["a"]}, "stop_words cannot be used .*; give vocabulary, which"),
    ("a.svmlight", "1 1:1\n", {"stop_words": "german"}, "stop_words is 'german'; expected 'english' or a list"),
    ("a.svmlight", "1 1:1\n", {"token_pattern": "."}, "token_pattern cannot be used with the format svmlight"),
    ("a.svmlight", "1 1:1\n", {"tokenizer": str.split}, "tokenizer cannot be used with the format svmlight"),
    ("a.svmlight", "1 1:1\n", {"ngrams": 2}, "ngrams cannot be used with the format svmlight"),
    ("a.svmlight", "1 1:1\n", {"label_kind": "klass"}, "label_kind is 'klass'; expected one of 'class'"),
    ("a.svmlight", "1 1:1\n", {"first_id": 2}, "first_id is 2, expected 0 or 1"),
    ("a.svmlight", "1 1:1\n", {"min_count": 2}, "a.svmlight: none of the 1 words passes min_count=2"),
    ("a.svmlight", "1 1:1\n", {"format": "svmlite"}, "format 'svmlite' is unknown.*did you mean 'svmlight'"),
    ("a.svmlight", "1 1:1\n", {"encoding": "utf-9"}, "encoding 'utf-9' is unknown"),
    ("a.svmlight", "1 1:1\n", {"encoding": "base64"}, "encoding 'base64' is unknown"),
    ("a.svmlight", "1 1:1\n", {"encoding": None}, "encoding is None, expected a string"),
    ("a.svmlight", "1 1:1\n", {"format": 3}, "format is 3, expected one of svmlight"),
    ("a.svmlight", "1 1:1\n", {"vocabulary": 3}, "expected a list of word names, got '3', of type int"),
    ("a.svmlight", "1_0 1:1\n", {}, "a.svmlight:1: the label is '1_0', expected a number"),
    ("a.svmlight", "1 1:1\n2.5 1:1\n", {"label_kind": "class"}, "a.svmlight:2: the label of document 1 is 2.5"),
    ("a.svmlight", "1 1:1\n-2 1:1\n", {"label_kind": "count"}, "a.svmlight:2: the label of document 1 is -2"),
    ("a.jsonl", '{"text": "aa", "y": ""}\n', LABEL, "a.jsonl: no document has a label"),
    ("a.jsonl", '{"text": "aa"}\n', {"label_kind": "class"}, "a.jsonl: label_kind is given without label_column"),
    ("a.jsonl", '{"text": "aa"}\n', {"text_column": None}, "text_column is None, expected a string"),
    ("a.jsonl", '{"text": "aa"}\n', {"covariates": 3}, "expected a list of columns as covariates, got '3'"),
    ("a.jsonl", '{"text": "aa"}\n', {"covariates": [3]}, "a name in covariates is 3, expected a string"),
    ("a.jsonl", '{"text": "aa"}\n', {"stop_words": 3}, "expected 'english' or a list of words as stop_words, got '3'"),
    (
        "a.jsonl",
        '{"text": "aa", "y": "\\u0000"}\n',
        {"id_column": "y"},
        "a.jsonl:1: the id .* contains a NUL",
    ),
    ("a.jsonl", '{"text": "aa", "y": "\\u0000"}\n', LABEL, "a.jsonl: class 0, .* contains a NUL character"),
    ("a.csv", "text\naa\n", {"token_pattern": 3}, "token_pattern 3 is not a string"),
    ("a.csv", "text\naa\n", {"token_pattern": "a*"}, r"token_pattern 'a\*' matches the empty string"),
    (
        "a.jsonl",
        '{"text": "a\\u0000"}\n',
        {"token_pattern": "[^ ]+"},
        "document 0 .*contains a NUL character",
    ),
    ("a.csv", "text\naa\n", {"token_pattern": "(a)(b)"}, "token_pattern .* has 2 groups"),
    ("a.csv", "text\naa\n", {"token_pattern": "("}, "token_pattern '\\(' is not a regular expression"),
    ("a.xlsx", "x", {}, r"a\.xlsx: the name does not tell the format, .*\.svmlight, .*give format"),
]


@pytest.mark.parametrize(("name", "text", "options", "message"), CASES)
def test_message(tmp_path: Path, name: str, text: str, options: dict[str, Any], message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=message) as caught:
        read_corpus(path, **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value).count(str(path)) <= 1


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "train.svmlight").write_text("1 1:1\n")
    with pytest.raises(CorpusError, match=r"trian\.svmlight: there is no such file; near it: train\.svmlight"):
        read_corpus(tmp_path / "trian.svmlight")
    with pytest.raises(CorpusError, match="there is no such file in"):
        read_corpus(tmp_path / "x")
    with pytest.raises(CorpusError, match="there is no such file, nor a folder"):
        read_corpus(tmp_path / "y" / "x.csv")


def test_a_folder_cannot_be_read_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="this is a folder, expected a file"):
        read_corpus(tmp_path, format="csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ant\n\nbee\n", r"v\.txt:2: the line is blank, expected a word"),
        ("ant\nbee\nant\n", r"v\.txt:3: the word 'ant' is also on line 1"),
        ("\n", r"v\.txt: the vocabulary is empty"),
    ],
)
def test_a_vocabulary_file_is_checked(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.svmlight").write_text("1 1:1\n")
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(CorpusError, match=message):
        read_corpus(tmp_path / "a.svmlight", vocabulary=tmp_path / "v.txt")
    with pytest.raises(CorpusError, match=r"w\.txt: there is no such file; near it: v\.txt"):
        read_corpus(tmp_path / "a.svmlight", vocabulary=str(tmp_path / "w.txt"))


def test_a_word_of_megabytes_is_shortened(tmp_path: Path) -> None:
    (tmp_path / "a.svmlight").write_text("1 " + "x" * 1_000_000)
    with pytest.raises(CorpusError, match=r"a\.svmlight:1: found 'x+\.\.\. expected a pair") as caught:
        read_corpus(tmp_path / "a.svmlight")
    assert len(str(caught.value)) < 300 + len(str(tmp_path))


def test_utf_16_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "aa"}\n', encoding="utf-16")
    with pytest.raises(CorpusError, match=r"found 0xff, which is not utf-8 text; .*encoding='utf-16'"):
        read_corpus(path)
    assert read_corpus(path, encoding="utf-16").n_tokens == 1


def test_a_vocabulary_with_a_nul_character(tmp_path: Path) -> None:
    (tmp_path / "a.svmlight").write_text("1 1:1\n")
    (tmp_path / "v.txt").write_text("a\nb\0c\n")
    with pytest.raises(CorpusError, match=r"v\.txt:2: the word 'b\\x00c' contains a NUL character"):
        read_corpus(tmp_path / "a.svmlight", vocabulary=tmp_path / "v.txt")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (None, "expected the path of a corpus, a string or pathlib.Path, got 'None'"),
        (b"a.csv", "expected the path of a corpus"),
        ("a\0b", "contains a NUL character"),
        ("x" * 300, "the name x+... is longer than the 255 bytes"),
    ],
)
def test_what_is_no_path(path: Any, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_corpus(path)
    with pytest.raises(CorpusError):
        Corpus.load(path)
