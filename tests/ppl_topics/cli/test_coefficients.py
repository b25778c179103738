"""``coefficients``, and the lines on coefficients and zeros in other reports."""

import json

import numpy as np
import pytest
from commands import call, coloured, refused

import ppl_topics as pt
from ppl_topics.cli.report import reading_lines
from ppl_topics.diagnostics.summary import summary

FAST = {"topics": 3, "draws": 10, "warmup": 20, "chains": 2, "seed": 1, "threads": 1, "progress": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("coefficients")
    texts, labels = coloured(10)
    corpus = pt.Corpus.from_texts(texts, labels=labels)
    with_intercept = {"name": "logistic", "extends": "slda_logistic", "blocks": {"y": {"intercept": True}}}
    pt.sample(with_intercept, corpus, **FAST).save(folder / "shared.nc")
    pt.sample("medlda_one_vs_all", corpus, margin=1.0, **FAST).save(folder / "apart.nc")
    pt.sample("lda", corpus, **FAST).save(folder / "lda.nc")
    pt.sample("medlda", corpus, record={"eta": "none"}, **FAST).save(folder / "bare.nc")
    pt.sample("medlda", corpus, **{**FAST, "draws": 1}).save(folder / "one.nc")
    numbers = corpus.with_labels(pt.Labels.infer(np.arange(30.0) + 0.5))
    pt.sample("slda_gaussian", numbers, record={"sigma2": "none"}, **FAST).save(folder / "numbers.nc")
    rows = [json.dumps({"text": text, "y": label}) for text, label in zip(texts, labels, strict=True)]
    (folder / "train.jsonl").write_text("\n".join(rows))
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_a_table(capsys):
    code, out, err = call(capsys, "coefficients", "shared.nc", "--words", "2", "--probability", "0.8", "--chain", "1")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "chain 1, draws 10, 80% intervals; * excludes 0"
    assert lines[1].startswith("signal topics: ")
    assert lines[1].endswith(" of 3")
    assert lines[2].startswith("effective coefficients: ")
    assert lines[4].split() == ["response", "coefficient", "mean", "sd", "low", "high", "*", "ESS", "words"]
    rows = [line.split() for line in lines[5:]]
    # Three topics and the intercept of three classes.
    assert [row[0] for row in rows] == ["cold"] * 4 + ["dark"] * 4 + ["warm"] * 4
    assert [row[1] for row in rows[3::4]] == ["intercept"] * 3
    fit = pt.load_fit("shared.nc")
    table = fit.coefficients("cold", chain=1, probability=0.8, n_words=2)
    assert [f"{row[1]} {row[2]}" for row in rows[:3]] == table["coefficient"].tolist()[:3]
    assert rows[0][-2:] == table["words"].iloc[0].split()
    for row, starred in zip(rows[:4], table["excludes_0"], strict=True):
        assert ("*" in row) == starred


def test_one_response_and_few_coefficients(capsys):
    _, out, _ = call(capsys, "coefficients", "shared.nc", "--response", "warm", "--top", "1")
    assert [line.split()[0] for line in out.splitlines()[5:]] == ["warm", "warm"]
    found = pt.load_fit("shared.nc").coefficients("warm")
    signal = int(found.loc[found["topic"].notna(), "excludes_0"].sum())
    assert f"signal topics: {signal} of 3" in out


def test_json_has_all_and_what_topics_are_for(capsys):
    code, out, err = call(capsys, "coefficients", "shared.nc", "--json", "--words", "3")
    assert (code, err) == (0, "")
    found = json.loads(out)
    fit = pt.load_fit("shared.nc")
    table = fit.coefficients(n_words=3)
    assert (found["chain"], found["probability"], found["draws"]) == (0, 0.9, 10)
    assert [row["mean"] for row in found["coefficients"]] == table["mean"].tolist()
    assert found["coefficients"][3]["coefficient"] == "intercept"
    assert found["coefficients"][3]["topic"] is None
    assert found["coefficients"][3]["words"] == []
    assert found["coefficients"][0]["words"] == table["words"].iloc[0].split()
    assert isinstance(found["coefficients"][0]["topic"], int)
    topics = fit.signal_topics(n_words=3)
    assert [row["responses"] for row in found["topics"]] == topics["responses"].tolist()
    assert [row["relevance"] for row in found["topics"]] == topics["relevance"].tolist()
    assert found["signal_topics"] == topics["signal"].sum()
    effective = fit.effective_coefficients()
    assert [row["effective"] for row in found["effective_coefficients"]] == effective["effective"].tolist()


def test_topics_of_their_own(capsys):
    found = json.loads(call(capsys, "coefficients", "apart.nc", "--response", "dark", "--json")[1])
    assert [row["response"] for row in found["topics"]] == ["dark"] * 3
    assert found["topics_with_coefficients"] == 3
    _, out, _ = call(capsys, "coefficients", "apart.nc")
    assert " of 9" in out.splitlines()[1]


def test_one_draw_has_no_intervals(capsys):
    code, out, _ = call(capsys, "coefficients", "one.nc", "--response", "warm")
    assert code == 0
    assert "signal" not in out
    assert out.splitlines()[-1].split()[4:7] == ["-", "-", "-"]
    found = json.loads(call(capsys, "coefficients", "one.nc", "--json")[1])
    assert found["topics"] is None
    assert found["coefficients"][0]["low"] is None


def test_without_an_error_variance_coefficients_are_read_all_the_same(capsys):
    code, out, err = call(capsys, "coefficients", "numbers.nc")
    assert code == 0
    assert "note: no effective number of coefficients: the trace does not hold sigma2" in err
    assert "effective" not in out
    assert len(out.splitlines()) == 7


def test_errors_are_one_line(capsys):
    assert "error: lda.nc: model 'lda' has no response" in refused(capsys, "coefficients", "lda.nc")
    assert "does not hold the coefficients eta; run the model with record eta: all" in refused(
        capsys, "coefficients", "bare.nc"
    )
    assert "no response 'worm'; did you mean 'warm'?" in refused(
        capsys, "coefficients", "shared.nc", "--response", "worm"
    )
    assert "no chain 2; it has 0, 1" in refused(capsys, "coefficients", "shared.nc", "--chain", "2")
    assert "between 0 and 1" in refused(capsys, "coefficients", "shared.nc", "--probability", "90")
    assert "top: must be a whole number of at least 1" in refused(capsys, "coefficients", "shared.nc", "--top", "0")
    assert "at least 1" in refused(capsys, "coefficients", "shared.nc", "--words", "0")
    # What the trace lacks is named once.
    assert refused(capsys, "coefficients", "none.nc").startswith("error: none.nc: no such file")
    assert "--chain" in refused(capsys, "coefficients", "shared.nc", "--chain", "x")


def test_lines_of_the_reports(capsys):
    train = ["--data", "train.jsonl", "--label-column", "y", "--out", "run.nc", "--overwrite", "--no-progress"]
    how = ["--draws", "5", "--warmup", "5", "--chains", "2", "--seed", "1", "--set", "topics=3"]
    run = ["run", "slda_logistic", *train, *how]
    code, out, _ = call(capsys, *run)
    assert code == 0
    lines = reading_lines(summary(pt.load_fit("run.nc").groups))
    assert [line.split(":")[0] for line in lines] == ["signal topics", "effective coefficients"]
    assert "of 9 coefficients)" in lines[0]
    assert set(lines) <= set(out.splitlines())
    _, out, _ = call(capsys, "diagnose", "run.nc")
    assert set(lines) <= set(out.splitlines())
    found = json.loads(call(capsys, "diagnose", "run.nc", "--json")[1])
    assert (found["topics_with_coefficients"], found["slopes"]) == (3, 9)
    assert "signal topics" not in call(capsys, "diagnose", "lda.nc")[1]
    assert "signal topics" not in call(capsys, "diagnose", "bare.nc")[1]
    assert json.loads(call(capsys, *run, "--json")[1])["signal_probability"] == 0.9


def test_chains_are_told_apart_where_they_differ():
    what = {
        "signal_topics": [12, 13],
        "topics_with_coefficients": 50,
        "signal_coefficients": [20, 20],
        "coefficients_of_topics": 1000,
        "signal_probability": 0.95,
        "effective_coefficients": [31.24, 30.0],
        "slopes": 1005,
        "zeros_in_phi": [0.8811, 0.8812],
    }
    assert reading_lines(what) == [
        "signal topics: 12, 13 of 50 (a 95% interval excludes 0, as do those of 20 of 1,000 coefficients)",
        "effective coefficients: 31.2, 30 of 1,005",
        "zeros in phi: 88.1%",
    ]
    assert reading_lines({}) == []
