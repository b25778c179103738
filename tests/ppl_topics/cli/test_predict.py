"""``predict``, and ``run --test``."""

import csv
import io
import json
import os

import numpy as np
import pytest
from commands import COLOURS, call

import ppl_topics as pt
from ppl_topics.cli import main

FAST = ("--draws", "10", "--warmup", "50", "--seed", "1", "--no-progress", "--set", "topics=6", "--chains", "1")


def write(path, n, seed, extra=()):
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        name = list(COLOURS)[i % 3]
        text = " ".join(rng.choice(COLOURS[name].split(), 8))
        rows.append({"id": f"{path.stem}{i}", "text": text, "y": name, "v": (i % 3) / 2 + 0.1})
    path.write_text("\n".join(json.dumps(row) for row in [*rows, *extra]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    write(folder / "train.jsonl", 30, 1)
    strange = {"id": "strange", "text": "red red sepia", "y": "loud", "v": 0.3}
    write(folder / "test.jsonl", 9, 2, [strange, {"id": "empty", "text": "", "y": None, "v": 0.2}])
    (folder / "foreign.jsonl").write_text('{"text": "one two", "y": "warm"}')
    (folder / "others.jsonl").write_text('{"text": "red", "y": "loud"}')
    data = [f"--data={folder / 'train.jsonl'}", "--label-column", "y"]
    assert main(["run", "medlda", *data, *FAST, "--out", str(folder / "classes.nc")]) == 0
    assert main(["run", "lda", *data, *FAST, "--out", str(folder / "lda.nc")]) == 0
    os.mkfifo(folder / "pipe")
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


TEST = ("--data", "test.jsonl", "--id-column", "id")


def test_rows_as_csv_and_json(capsys):
    code, out, err = call(capsys, "predict", "classes.nc", *TEST)
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == ["id", "prediction", "score:cold", "score:dark", "score:warm"]
    assert [row["id"] for row in rows] == [*(f"test{i}" for i in range(9)), "strange", "empty"]
    assert [row["prediction"] for row in rows[:9]] == list(COLOURS) * 3
    assert [float(rows[-1][name]) for name in list(rows[0])[2:]] == [0, 0, 0]
    assert "tokens dropped, their words being outside the vocabulary: 1" in err
    assert "accuracy" not in out + err
    fit = pt.load_fit("classes.nc")
    scores = fit.decision_function(pt.read_corpus("test.jsonl"))
    assert [float(row["score:warm"]) for row in rows] == pytest.approx(scores[:, 2], rel=1e-8)

    code, out, _ = call(capsys, "predict", "classes.nc", *TEST, "--method", "cvb0")
    assert code == 0
    assert [row["prediction"] for row in csv.DictReader(io.StringIO(out))] == [row["prediction"] for row in rows]
    code, _, err = call(capsys, "predict", "classes.nc", *TEST, "--method", "cvb0", "--draws", "5")
    assert (code, "--method: cvb0 draws no topics; leave out --warmup and --draws" in err) == (2, True)

    code, out, err = call(capsys, "predict", "classes.nc", *TEST, "--label-column", "y", "--json", "--threads", "1")
    found = json.loads(out)
    assert (code, found["documents"], found["dropped_tokens"], found["accuracy"]) == (0, 11, 1, 1)
    assert (found["scored"], found["missing"], found["unknown"]) == (9, 1, 1)
    assert found["predictions"][9]["prediction"] == "warm"
    assert found["predictions"][0]["scores"]["warm"] == scores[0, 2]
    assert "labels of classes that training lacks, left out: 1" in err
    assert "missing labels, left out: 1" in err


def test_a_file_of_predictions(capsys, folder):
    arguments = ["predict", "classes.nc", *TEST, "--label-column", "y", "--out", "p.csv", "--eta", "last"]
    code, out, _ = call(capsys, *arguments)
    assert (code, out.splitlines()) == (0, ["accuracy 1.0000", "f1_micro 1.0000", "f1_macro 1.0000", "written: p.csv"])
    assert len((folder / "p.csv").read_text().splitlines()) == 12
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "p.csv: the file already exists" in err
    code, out, _ = call(capsys, *arguments, "--overwrite", "--json")
    assert (code, json.loads(out)["path"], "predictions" in out) == (0, "p.csv", False)


def test_labels_of_unknown_classes_alone_give_no_metrics(capsys):
    code, out, err = call(capsys, "predict", "classes.nc", "--data", "others.jsonl", "--label-column", "y")
    assert (code, out.splitlines()[1].split(",")[1]) == (0, "warm")
    assert "others.jsonl: no metrics: no document has a label" in err


@pytest.mark.parametrize("model", ["medlda", "slda_logistic", "slda_gaussian"])
def test_run_with_a_test_file(capsys, folder, model):
    label = ["--label-column", "v" if model == "slda_gaussian" else "y", "--id-column", "id"]
    arguments = ["run", model, "--data", "train.jsonl", *label, *FAST, "--out", f"{model}.nc", "--test", "test.jsonl"]
    code, out, _ = call(capsys, *arguments, "--json")
    found = json.loads(out)
    assert code == 0
    expected = {
        "medlda": {"accuracy", "f1_micro", "f1_macro"},
        "slda_logistic": {"accuracy", "f1_micro", "f1_macro", "log_score"},
        "slda_gaussian": {"r2", "log_score"},
    }[model]
    assert expected == found.keys() & {"accuracy", "f1_micro", "f1_macro", "r2", "log_score"}
    assert found.get("accuracy", found.get("r2")) > (0.3 if model == "slda_gaussian" else 0.8)
    code, out, _ = call(capsys, "predict", f"{model}.nc", "--data", "test.jsonl", *label, "--json", "--seed", "1")
    again = json.loads(out)
    assert {name: again[name] for name in expected} == {name: found[name] for name in expected}
    if model == "slda_logistic":
        code, out, _ = call(capsys, "predict", f"{model}.nc", *TEST, "--eta", "draws")
        rows = list(csv.DictReader(io.StringIO(out)))
        total = sum(float(rows[0][f"probability:{name}"]) for name in ("cold", "dark", "warm"))
        assert total == pytest.approx(1, abs=1e-8)
        code, out, _ = call(capsys, *arguments, "--overwrite")
        assert [line.split()[:2] for line in out.splitlines()[-5:-1]] == [
            ["test", name] for name in ("accuracy", "f1_micro", "f1_macro", "log_score")
        ]


RUN = ["run", "medlda", "--data", "train.jsonl", "--label-column", "y", *FAST, "--out", "refused.nc"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "lda.nc", *TEST], "error: lda.nc: model 'lda' has no response"),
        (["predict", "none.nc", *TEST], "none.nc: no such file"),
        (["predict", "classes.nc", "--data", "none.jsonl"], "none.jsonl: there is no such file"),
        (["predict", "classes.nc", "--data", "foreign.jsonl"], "foreign.jsonl: none of the 2 tokens is a word"),
        (["predict", "classes.nc", *TEST, "--label-column", "q"], "no column 'q'"),
        (["predict", "classes.nc", *TEST, "--eta", "median"], "--eta: expected draws, mean, last or a draw"),
        (["predict", "classes.nc", *TEST, "--eta", "99"], "no draw 99; it has 0 to 9"),
        (["predict", "classes.nc", *TEST, "--eta", "mean", "--phi", "draws"], "give --eta draws too"),
        (["predict", "classes.nc", *TEST, "--draws", "0"], "--draws: must be a whole number from 1"),
        (["predict", "classes.nc", *TEST, "--seed", "-1"], "--seed: must be"),
        (["predict", "classes.nc", *TEST, "--threads", "9999"], "--threads: must be at most"),
        (["predict", "classes.nc", *TEST, "--out", "none/p.csv"], "none/p.csv: cannot be written"),
        (["predict", "classes.nc", *TEST, "--out", ".."], "..: an existing folder"),
        (
            ["predict", "classes.nc", *TEST, "--out", "pipe", "--overwrite"],
            "pipe: exists and is neither a file",
        ),
        ([*RUN, "--test", "none.jsonl"], "none.jsonl: there is no such file"),
        ([*RUN, "--test", "foreign.jsonl"], "foreign.jsonl: none of the 2 tokens is a word"),
        ([*RUN, "--test", "others.jsonl"], "--test others.jsonl: no document has a label that occurs in training"),
        (["run", "lda", *RUN[2:], "--test", "test.jsonl"], "--test: model 'lda' has no response"),
    ],
)
def test_bad_input_is_refused_in_one_line(capsys, folder, arguments, message):
    before = sorted(folder.rglob("*"))
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, ""), err
    assert message in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("error: ")
    assert sorted(folder.rglob("*")) == before
