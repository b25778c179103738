"""``ppl-topics calibrate``."""

import json

import pytest
from commands import call, refused

import ppl_topics as pt

SMALL = (
    "--set",
    "topics=2",
    "--documents",
    "4",
    "--lengths",
    "5",
    "--words",
    "4",
    "--replicates",
    "10",
    "--draws",
    "8",
)
HOW = ("--warmup", "10", "--seed", "1", "--no-progress")


def test_table_file_and_plot(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    out, plot = str(tmp_path / "ranks.nc"), str(tmp_path / "ranks.png")
    code, text, err = call(capsys, "calibrate", "lda", *SMALL, *HOW, "--out", out, "--plot", plot)
    assert (code, err) == (0, "")
    result = pt.load_calibration(out)
    assert text == f"{result}\nwritten: {out}\nwritten: {plot}\n"
    assert refused(capsys, "calibrate", "lda", *SMALL, *HOW, "--out", out).endswith("or give --overwrite")
    code, text, _ = call(capsys, "calibrate", "lda", *SMALL, *HOW, "--json")
    found = json.loads(text)
    assert (code, found["passed"], found["refused"]) == (0, True, [])
    assert found["quantities"]["log p(w, z)"]["p"] == pytest.approx(result.table()["p"]["log p(w, z)"])


def test_a_refusal_is_an_error(capsys, monkeypatch):
    monkeypatch.setattr(pt.Calibration, "refused", ["log p(w, z)"])
    code, out, err = call(capsys, "calibrate", "lda", *SMALL, *HOW, "--json")
    assert (code, json.loads(out)["passed"]) == (1, False)
    assert err == "error: model lda: refused: log p(w, z)\n"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["lda", "--replicates", "2"], "--replicates: must be a whole number at least 10"),
        (["lda", "--false-alarm", "2"], "--false-alarm: expected a probability"),
        (["lda", "--responses", "2"], "--responses: model 'lda' has no labels"),
        (["medlda"], "cannot be simulated"),
        (["lda", "--plot", "a.txt"], "--plot a.txt: expected a file that ends in .png, .pdf or .svg"),
    ],
)
def test_wrong_usage(capsys, given, message):
    assert message in refused(capsys, "calibrate", *given)
