"""``topics --quality``: a table, JSON, reference documents."""

import json

import pytest
from commands import call

import ppl_topics as pt

TEXTS = ["goal match goal team", "team match goal", "law vote law", "law vote election"] * 5
FAST = {"topics": 2, "draws": 4, "warmup": 10, "chains": 2, "seed": 1, "progress": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quality")
    corpus = pt.Corpus.from_texts(TEXTS)
    fit = pt.sample("lda", corpus, **FAST)
    fit.save(folder / "lda.nc")
    bare = {**fit.groups, "observed_data": fit.groups["observed_data"].drop_vars("words")}
    pt.Fit(bare).save(folder / "bare.nc")
    shareless = {**fit.groups, "posterior": fit.groups["posterior"].drop_vars("topic_share")}
    pt.Fit(shareless).save(folder / "shareless.nc")
    texts = ["The goal of this match", "law, and a vote", "teams match"]
    (folder / "texts.jsonl").write_text("\n".join(json.dumps({"body": text}) for text in texts))
    (folder / "texts.csv").write_text("text\n" + "\n".join(f'"{text}"' for text in texts))
    (folder / "texts.mallet").write_text("\n".join(f"d{i} x {text}" for i, text in enumerate(texts)))
    (folder / "other.csv").write_text("text\nnothing here\n")
    corpus.save(folder / "corpus")
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_a_table(capsys, folder):
    code, out, err = call(capsys, "topics", "lda.nc", "--quality", "--words", "3", "--chain", "1")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == ("chain 1, coherence on training documents; NPMI: whole documents, C_V: whole documents")
    fit = pt.load_fit(folder / "lda.nc")
    assert lines[1].startswith(f"topic diversity {fit.topic_diversity(chain=1):.3f}: ")
    assert " ".join(lines[3].split()) == "topic share UMass NPMI C_V entropy exclusivity effective words words"
    table = fit.topic_quality(n_words=3, chain=1)
    for line, row in zip(lines[4:], table.to_dict("records"), strict=True):
        cells = line.split()
        assert (int(cells[0]), cells[1]) == (row["topic"], f"{row['share']:.1%}")
        assert float(cells[3]) == pytest.approx(row["npmi"], rel=0.01)
        assert line.endswith(row["words"])


def test_json(capsys, folder):
    code, out, err = call(capsys, "topics", "lda.nc", "--quality", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    table = pt.load_fit(folder / "lda.nc").topic_quality()
    assert found["windows"] == {"npmi": "document", "c_v": "document"}
    assert (found["chain"], found["reference"], found["absent"], found["left_out"]) == (0, "training documents", [], {})
    assert found["topic_diversity"] == 0.5
    for row, expected in zip(found["topics"], table.to_dict("records"), strict=True):
        assert row["words"] == expected.pop("words").split()
        assert {name: row[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("file", ["texts.jsonl", "texts.csv", "texts.mallet"])
def test_texts_as_reference(capsys, file):
    more = ["--text-column", "body"] if file == "texts.jsonl" else []
    code, out, err = call(capsys, "topics", "lda.nc", "--reference", file, *more)
    assert code == 0
    assert "coherence on given texts; NPMI: windows of 10 words, C_V: windows of 110 words" in out
    assert err == "note: top words that occur in no document of the reference: 2 (election, team)\n"


def test_a_corpus_as_reference(capsys):
    code, out, err = call(capsys, "topics", "lda.nc", "--quality", "--reference", "corpus")
    assert (code, err) == (0, "")
    assert "coherence on given documents; NPMI: whole documents" in out
    assert out.splitlines()[3:] == call(capsys, "topics", "lda.nc", "--quality")[1].splitlines()[3:]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lda.nc", "--reference", "gone.csv"], "gone.csv"),
        (["lda.nc", "--reference", "other.csv"], "other.csv: none of its tokens is among the 6 words of the topics"),
        (["lda.nc", "--reference", "texts.jsonl"], "has no column 'text', only body"),
        (["lda.nc", "--quality", "--chain", "9"], "error: lda.nc: the trace has no chain 9; it has 0, 1"),
        (["lda.nc", "--quality", "--text-column", "body"], "--text-column: applies to --reference only"),
        (["lda.nc", "--text-column", "text"], "--text-column: applies to --reference only"),
        (["shareless.nc"], "error: shareless.nc: the trace holds no `topic_share` in `posterior`"),
        (["lda.nc", "--quality", "--words", "0"], "--words: must be a whole number of at least 1"),
        (["bare.nc", "--reference", "lda.nc"], "the name does not tell the format"),
    ],
)
def test_wrong_input_gets_one_line(capsys, arguments, words):
    code, out, err = call(capsys, "topics", *arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("error: ")
    assert words in line


def test_what_a_trace_lacks_is_said(capsys):
    code, out, err = call(capsys, "topics", "bare.nc", "--quality")
    assert code == 0
    assert [line.split(":")[0] for line in err.splitlines()] == ["note", "note", "note"]
    assert "no umass: the trace holds no training documents" in err
    assert "topic  share  entropy  exclusivity" in out
