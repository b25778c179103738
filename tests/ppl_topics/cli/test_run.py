"""``run``, ``topics``, ``diagnose`` and ``demo``."""

import json

import numpy as np
import pytest
import xarray as xr
from commands import call

import ppl_topics as pt
from ppl_topics.core.registry import kernel, kernels, unregister_kernel
from ppl_topics.errors import TraceError

FAST = ("--draws", "6", "--warmup", "2", "--seed", "1", "--no-progress", "--set", "topics=2")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ['{"text": "red green red", "y": "a", "v": 1}', '{"text": "", "y": "b", "v": 2}']
    (tmp_path / "c.jsonl").write_text("\n".join([*lines, '{"text": "blue green blue", "y": "c", "v": 3}']))
    return tmp_path


def refused(capsys, folder, *arguments):
    """Assert that a command is refused with one line, exit code 2, and writes nothing; return the line."""
    before = sorted(folder.rglob("*"))
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sorted(folder.rglob("*")) == before
    return err


def test_run_then_topics_and_diagnose(capsys, folder):
    code, out, err = call(capsys, "run", "lda", "--data", "c.jsonl", *FAST, "--out", "a.nc")
    assert code == 0
    assert "lda: 3 documents, 6 tokens, 3 words; chains 2, draws 6, warmup 2, seed 1" in out
    assert "empty documents, kept: 1" in out
    assert "written: a.nc" in out
    assert [line.split()[0] for line in out.splitlines()[4:9]] == ["lp", "log_marginal", "theta", "phi", "topic_share"]
    assert "c.jsonl: 3 documents" in err
    assert pt.load_fit("a.nc").posterior.sizes["draw"] == 6

    code, out, err = call(capsys, "topics", "a.nc", "--words", "2")
    assert (code, err, len(out.splitlines())) == (0, "", 3)
    topics = json.loads(call(capsys, "topics", "a.nc", "--words", "2", "--chain", "1", "--json")[1])
    assert topics["chain"] == 1
    assert [len(topic["words"]) for topic in topics["topics"]] == [2, 2]

    code, out, err = call(capsys, "diagnose", "a.nc")
    assert (code, err) == (0, "")
    assert "chains 2, draws 6, warmup 2, thin 1, seed 1, all kernels exact" in out
    assert "phi:dirichlet_rows" in out
    assert "verdict: cannot tell: 2 chains of 6 draws" in out
    assert "- 6 draws per chain say little about ESS, IF and R-hat; draw 20 or more" in out
    found = json.loads(call(capsys, "diagnose", "a.nc", "--var", "phi", "--json")[1])
    assert list(found["efficiency"]) == ["phi"]
    assert found["stopped"] is False
    assert found["seconds_per_sweep"]["phi:dirichlet_rows"] > 0

    assert "did you mean 'phi'" in refused(capsys, folder, "diagnose", "a.nc", "--var", "psi")
    assert "no chain 7" in refused(capsys, folder, "topics", "a.nc", "--chain", "7")
    assert "at least 1" in refused(capsys, folder, "topics", "a.nc", "--words", "0")
    assert "no such file" in refused(capsys, folder, "diagnose", "b.nc")
    (folder / "b.nc").write_text("no trace")
    assert "cannot be read as a trace" in refused(capsys, folder, "topics", "b.nc")


def test_a_folder_json_and_not_overwriting(capsys, folder):
    run = ["run", "lda", "--data", "c.jsonl", "--chains", "1", "--out", "a", "--json", *FAST, "--record", "theta=none"]
    code, out, _ = call(capsys, *run, "--draws", "3")
    result = json.loads(out)
    assert (code, result["path"]) == (0, "a")
    assert (result["empty_documents"], result["exact"], result["draws"]) == (1, True, 3)
    assert result["efficiency"]["lp"]["ess_bulk_min"] is None
    assert "theta" not in result["efficiency"]
    assert "a run exists here" in refused(capsys, folder, *run)
    assert call(capsys, *run, "--overwrite")[0] == 0
    assert call(capsys, "diagnose", "a")[0] == 0
    assert call(capsys, *run[:-4], "--out", "new/folder")[0] == 0


def test_resume(capsys, folder):
    run = ["run", "lda", "--data", "c.jsonl", "--chains", "1", "--out", "a", *FAST, "--draws", "3"]
    assert call(capsys, *run, "--checkpoint-sweeps", "2", "--checkpoint-minutes", "0.5")[0] == 0
    code, out, err = call(capsys, "resume", "a", "--draws", "+4", "--no-progress", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["draws"] == 7
    assert pt.load_fit("a").posterior.sizes["draw"] == 7
    for arguments, message in [
        (["a", "--draws", "5"], "--draws: the run was asked for 7 draws a chain"),
        (["a", "--draws", "many"], "--draws: must be a whole number, or +N for N more draws"),
        (["a", "--threads", "99999"], "--threads: must be at most"),
        (["a", "--processes", "0"], "--processes: must be a whole number"),
        (["c.jsonl"], "c.jsonl: is a file"),
        (["b"], "b: no such folder; `ppl-topics run MODEL --data FILE --out b` creates one"),
        (["."], "not the folder of a run: it has no run.json"),
    ]:
        assert message in refused(capsys, folder, "resume", *arguments)
    for arguments, message in [
        (["--out", "b.nc", "--checkpoint-sweeps", "2"], "--checkpoint-sweeps: only a run with a folder"),
        (["--out", "b", "--checkpoint-minutes", "0"], "--checkpoint-minutes: must be a number above 0"),
        (["--out", "b", "--checkpoint-sweeps", "0"], "--checkpoint-sweeps: must be a whole number"),
        (["--out", "."], "which is not part of a run"),
    ]:
        assert message in refused(capsys, folder, "run", "lda", "--data", "c.jsonl", *arguments)


def test_columns_words_and_schedule_of_the_command_line(capsys, folder):
    (folder / "stop.txt").write_text("green\n")
    (folder / "s.yaml").write_text("cycle:\n  - z: partially_collapsed\n  - phi: dirichlet_rows\n")
    options = [
        "--label-column",
        "y",
        "--covariates",
        "v",
        "--stop-words",
        "stop.txt",
        "--min-df",
        "1",
        "--max-df",
        "0.9",
    ]
    more = ["--schedule", "s.yaml", "--chains", "1", "--out", "a.nc", "--json", "--token-pattern", "[a-z]+"]
    code, out, _ = call(capsys, "run", "lda", "--data", "c.jsonl", *FAST, *options, *more)
    assert (code, json.loads(out)["words"]) == (0, 2)
    assert pt.load_fit("a.nc").groups["observed_data"]["labels"].sizes["doc"] == 3


def test_an_inexact_kernel_is_warned_about_in_one_line(capsys, folder):
    step = kernels()["collapsed_gibbs"]

    def build(binding):
        return step.build(binding)

    kernel("sloppy", updates="z", handles=step.handles, integrates_out=("theta", "phi"), exact=False)(build)
    try:
        (folder / "s.yaml").write_text("cycle: [{z: sloppy}]")
        arguments = ["--data", "c.jsonl", *FAST, "--chains", "1", "--out", "a.nc", "--schedule", "s.yaml"]
        code, _, err = call(capsys, "run", "lda_collapsed", *arguments)
    finally:
        unregister_kernel("sloppy")
    assert code == 0
    warnings = [line for line in err.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1
    assert "sloppy does not leave the posterior invariant" in warnings[0]


def test_a_result_that_cannot_be_written_is_a_failed_run(capsys, folder, monkeypatch):
    def fail(self, path):
        raise TraceError(f"{path}: cannot write the trace (No space left on device)")

    monkeypatch.setattr(pt.Fit, "save", fail)
    code, out, err = call(capsys, "run", "lda", "--data", "c.jsonl", *FAST, "--chains", "1", "--out", "a.nc")
    assert (code, out) == (1, "")
    last = err.splitlines()[-1]
    assert last.startswith("error: a.nc: cannot write the trace (No space left on device), nor can a temporary file")
    assert last.endswith("the draws are lost; a run whose output does not end in .nc keeps them as they are made")


FILES = {
    "none.jsonl": b"",
    "empty.jsonl": b'{"text": ""}\n{"text": " "}\n',
    "negative.svmlight": b"1 1:-2\n",
    "fraction.svmlight": b"1 1:1.5\n",
    "past.svmlight": b"1 9:1\n",
    "latin.jsonl": b'{"text": "caf\xe9"}\n',
    "v.txt": b"a\nb\n",
    "unknown": b"x",
}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "missing.jsonl"], "missing.jsonl: there is no such file"),
        (["--data", "none.jsonl"], "none.jsonl: the corpus has no documents"),
        (["--data", "empty.jsonl"], "empty.jsonl: all 2 documents are empty"),
        (["--data", "negative.svmlight"], "negative.svmlight:1: the count of word id 1 is -2"),
        (["--data", "fraction.svmlight"], "fraction.svmlight:1: the count of word id 1 is 1.5"),
        (["--data", "past.svmlight", "--vocabulary", "v.txt"], "past.svmlight:1: found word id 9"),
        (["--data", "latin.jsonl"], "give the file's encoding, for example --encoding latin-1"),
        (["--data", "unknown"], "otherwise give --format"),
        (["--label-column", "y", "--label-kind", "real"], "c.jsonl:1: "),
        (["--label-kind", "whole"], "--label-kind is 'whole'"),
        (["--text-column", "body"], "no column 'body'"),
        (["--min-df", "some"], "--min-df: expected"),
        (["--min-df", "2.5"], "--min-df is 2.5"),
        (["--stop-words", "stop.txt"], "--stop-words stop.txt"),
        (["--token-pattern", "("], "--token-pattern '(' is not a regular expression"),
        (["--token-pattern", ""], "--token-pattern '' matches the empty string"),
        (["--stop-words", ""], "--stop-words : expected `english`"),
        (["--encoding", "rot13"], "encoding 'rot13' is unknown"),
        (["--label-kind", "class"], "--label-kind is given without --label-column"),
        (["--vocabulary", "v.txt"], "all 3 documents are empty, for none of their 6 tokens is in the vocabulary"),
        (["--data", "past.svmlight", "--covariates", "v"], "--covariates and --more-labels cannot be used"),
        (["--set", "topics=0"], "--set topics: topics must be a whole number from 1 to 65,535, got 0"),
        (["--set", "topics=70000"], "--set topics: "),
        (["--set", "alpha=-1"], "--set alpha: "),
        (["--set", "alhpa=1"], "did you mean 'alpha'?"),
        (["--set", "draws=1"], "did you mean '--draws'?"),
        (["--set", "topics"], "--set topics: expected NAME=VALUE"),
        (["--set", "topics="], "the value is missing"),
        (["--set", "topics=[1"], "--set topics:1:10: not valid YAML"),
        (["--set", "topics=3", "--set", "topics=4"], "--set topics: given twice"),
        (["--record", "psi=all"], "--record: "),
        (["--record", "phi=some"], "--record: "),
        (["--record", "theta={top_words: 2}"], "--record: record: 'theta' has dims"),
        (["--record", "phi={docs: 2}"], "--record: record: 'phi' has dims"),
        (["--record", "phi={}"], "'record.phi.top_words' is missing"),
        (["--draws", "1" + "0" * 30], "--draws: must be a whole number from 1 to 1000000000, got 1"),
        (["--draws", "0"], "--draws: must be a whole number from 1 to 1000000000, got 0"),
        (["--threads", "9999"], "--threads: must be at most"),
        (["--seed", "-1"], "--seed: must be a whole number from 0"),
        (["--seed", "one"], "--seed"),
        (["--schedule", "s.yaml"], "--schedule s.yaml: no such file"),
        (["--out", "missing/a.nc"], "the folder missing does not exist"),
        (["--out", "c.jsonl/a.nc"], "the folder c.jsonl does not exist"),
        (["--out", "c.jsonl"], "c.jsonl: an existing file; name a file that ends in .nc, or a folder"),
        (["--out", "c.jsonl/a"], "c.jsonl is a file; name a folder, or a file that ends in .nc"),
        (["--out", ""], "--out: the name is empty"),
        (["--out", "x" * 240 + ".nc"], "the name is too long"),
        (["--out", "x" * 300 + "/a.nc"], "is longer than the 255 bytes"),
        (["--data", "x" * 300], "is longer than the 255 bytes"),
        (["--schedule", "folder.nc"], "--schedule folder.nc: a folder, expected a YAML file"),
        (["--out", "folder.nc"], "folder.nc: this is a folder"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(capsys, folder, arguments, message):
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "folder.nc").mkdir()
    defaults = {"--data": "c.jsonl", "--out": "a.nc"}
    given = [text for option, value in defaults.items() if option not in arguments for text in (option, value)]
    assert message in refused(capsys, folder, "run", "lda", *given, *arguments)


def test_a_model_with_an_unknown_block_is_refused(capsys, folder):
    blocks = "blocks: {theta: {block: dirichlt, over: topic, per: doc, concentration: 0.1}}"
    (folder / "m.yaml").write_text(f"name: m\nparameters: {{topics: 3}}\n{blocks}\n")
    line = refused(capsys, folder, "run", "m.yaml", "--data", "c.jsonl", "--out", "a.nc")
    assert line == "error: m.yaml:3:18: block 'theta': unknown block 'dirichlt'; did you mean 'dirichlet'?\n"


def test_demo(capsys, folder, monkeypatch):
    monkeypatch.setattr("ppl_topics.corpus.load_docstrings", lambda: pt.read_corpus("c.jsonl"))
    for name, value in (("TOPICS", 2), ("DRAWS", 5), ("WARMUP", 1)):
        monkeypatch.setattr(f"ppl_topics.cli.demo.{name}", value)
    for _ in range(2):
        code, out, err = call(capsys, "demo", "--no-progress")
    assert code == 0
    assert (folder / "demo.nc").is_file()
    for part in ("Topics, their share", "R-hat", "written: demo.nc", "ppl-topics diagnose demo.nc"):
        assert part in out
    assert "reading the docstrings" in err
    assert "does not exist" in refused(capsys, folder, "demo", "--out", "missing/demo.nc")


def test_stop_words_may_repeat(capsys, folder):
    (folder / "stop.txt").write_text("red\n\nred\n")
    code, _, err = call(capsys, "plan", "lda", "--data", "c.jsonl", "--stop-words", "stop.txt")
    assert (code, err) == (0, "c.jsonl: 3 documents, 4 tokens, 2 words; empty documents, kept: 1\n")


@pytest.mark.parametrize("command", ["topics", "diagnose"])
def test_what_is_no_trace_of_ours_is_refused(capsys, folder, command):
    xr.Dataset({"phi": (("x", "y"), np.ones((2, 5)))}).to_netcdf("dims.nc", group="posterior")
    words = xr.DataArray([["a", "b"]], coords={"chain": [0], "draw": [0, 1]}, name="phi")
    words.to_dataset().to_netcdf("words.nc", group="posterior")
    for name, message in (
        ("dims.nc", "posterior has no chain; the file is damaged, or was not written by ppl-topics"),
        ("words.nc", "posterior/phi is of type object"),
        ("c.jsonl", "c.jsonl: cannot be read as a trace"),
        ("x" * 300, "is longer than the 255 bytes"),
    ):
        error = refused(capsys, folder, command, name)
        assert message in error or (command == "topics" and "not written by ppl-topics" in error)


def test_keywords_from_a_file(capsys, folder):
    (folder / "k.csv").write_text("topic,keyword\ncolours,red\n")
    run = ["run", "keyword_lda", "--data", "c.jsonl", *FAST, "--keywords", "k.csv", "--out", "a.nc"]
    assert call(capsys, *run)[0] == 0
    out = call(capsys, "topics", "a.nc", "--words", "2")[1]
    assert "colours" in out
    found = json.loads(call(capsys, "topics", "a.nc", "--json")[1])["topics"]
    assert {topic["name"] for topic in found} == {"colours", ""}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["keyword_lda", "--keywords", "none.csv"], "none.csv: cannot read the keywords (No such file or directory)"),
        (["keyword_lda", "--keywords", "k.csv", "--set", "keywords={a: [red]}"], "also given by --set keywords"),
        (["lda", "--keywords", "k.csv"], "model 'lda' has no parameter 'keywords'"),
    ],
)
def test_wrong_keywords_are_refused_before_anything_is_written(capsys, folder, arguments, message):
    (folder / "k.csv").write_text("topic,keyword\ncolours,redd\n")
    assert message in refused(capsys, folder, "run", *arguments, "--data", "c.jsonl", *FAST, "--out", "a.nc")


def test_keywords_that_the_corpus_lacks_are_refused(capsys, folder):
    (folder / "k.csv").write_text("topic,keyword\ncolours,redd\n")
    run = ["run", "keyword_lda", "--data", "c.jsonl", *FAST, "--out", "a.nc"]
    for keywords, message in (
        (["--keywords", "k.csv"], "the corpus has none of the keywords of 'colours': redd; did you mean 'red'?"),
        ([], "there are no keywords; name topics and list words of each"),
    ):
        code, _, err = call(capsys, *run, *keywords)
        assert (code, message in err.splitlines()[-1]) == (2, True)
        assert not (folder / "a.nc").exists()
