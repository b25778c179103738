"""``compare``, and the verdict and alignment of ``diagnose``."""

import json

import pytest
from commands import call, coloured

import ppl_topics as pt

FAST = {"topics": 3, "draws": 25, "warmup": 20, "chains": 2, "seed": 2, "threads": 1, "progress": False}
HEADINGS = ["ESS", "median", "ESS", "5%", "seconds", "ESS", "a", "second", "ratio"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    texts, labels = coloured(10)
    corpus = pt.Corpus.from_texts(texts, labels=labels)
    for name in ("lda", "lda_collapsed", "medlda_one_vs_all"):
        pt.sample(name, corpus, **FAST).save(folder / f"{name}.nc")
    pt.sample("lda", pt.Corpus.from_texts(texts[:10]), **FAST).save(folder / "other.nc")
    pt.sample("lda", corpus, **{**FAST, "chains": 1, "draws": 1}).save(folder / "one.nc")
    (folder / "sub").mkdir()
    pt.sample("lda", corpus, **{**FAST, "topics": 2}, record={"phi": "none"}).save(folder / "sub" / "lda.nc")
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_two_schedules(capsys):
    code, out, err = call(capsys, "compare", "lda.nc", "lda_collapsed.nc")
    assert (code, err) == (0, "")
    tables = [[line.split() for line in part.splitlines()] for part in out.split("\n\n")]
    assert tables[0][0] == ["variable", "run", *HEADINGS]
    assert [row[:2] for row in tables[0][1:3]] == [["lp", "lda"], ["lp", "lda_collapsed"]]
    assert tables[0][1][-1] == "1"
    assert {row[1] for row in tables[1][1:]} >= {"z:collapsed_gibbs", "phi:dirichlet_rows"}
    assert [row[:3] for row in tables[2][1:]] == [
        [name, "3", run] for name in ("theta", "phi") for run in ("lda", "lda_collapsed")
    ]
    assert "note" not in out


def test_json_and_names_of_runs(capsys):
    code, out, err = call(capsys, "compare", "lda.nc", "sub/lda.nc", "lda_collapsed.nc", "--var", "theta", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["runs"] == ["lda.nc", "sub/lda.nc", "lda_collapsed.nc"]
    assert [row["variable"] for row in found["variables"]] == ["theta"] * 3
    assert found["variables"][0]["ratio"] == 1.0
    assert found["notes"] == [
        "sub/lda.nc and lda.nc have different posteriors, since their models differ (topics 3 and 2)"
    ]
    assert {row["kernel"] for row in found["kernels"]} >= {"z:collapsed_gibbs"}
    assert found["inefficiency"][0]["mean"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lda.nc", "other.nc"], "lda and other are runs on different corpora"),
        (["lda.nc"], "at least two runs, got 1"),
        (["lda.nc", "none.nc"], "none.nc: no such file"),
        (["lda.nc", "lda_collapsed.nc", "lda.nc"], "lda.nc: the run is given twice; give runs that differ"),
        (["lda.nc", "./sub/../lda.nc"], "the run is given twice (lda.nc and ./sub/../lda.nc are one file)"),
        (["none.nc", "none.nc"], "none.nc: the run is given twice"),
        (["lda.nc", "lda_collapsed.nc", "--var", "pi"], "has no variable 'pi'"),
        ([], "RUN"),
    ],
)
def test_errors_are_one_line(capsys, arguments, message):
    code, out, err = call(capsys, "compare", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


def test_diagnose_gives_the_verdict_and_aligns(capsys):
    code, out, err = call(capsys, "diagnose", "lda.nc", "--align")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    (line,) = [line for line in lines if line.startswith("verdict: ")]
    fit = pt.load_fit("lda.nc")
    assert line == f"verdict: {fit.verdict().level}: {fit.verdict().summary}"
    assert [f"- {finding}" for finding in fit.verdict().findings] == [line for line in lines if line.startswith("- ")]
    table = out.split("\n\n")[-1].splitlines()
    assert table[0].split()[:2] == ["topic", "agree"]
    assert table[0].split()[2:4] == ["recurs", "in"]
    assert [row.split()[1:5] for row in table[1:]] == [["yes", "1", "of", "1"]] * 3
    found = json.loads(call(capsys, "diagnose", "lda.nc", "--align", "--json")[1])
    assert found["aligned"] is True
    assert found["verdict"]["summary"] == fit.verdict().summary
    assert [each["what"] for each in found["verdict"]["findings"]] == [each.what for each in fit.verdict().findings]
    assert all(topic["agrees"] and len(topic["words"]) == 8 for topic in found["topics"])
    aligned = fit.aligned().efficiency()
    assert found["efficiency"]["phi"]["rhat_max"] == pytest.approx(aligned.loc["phi", "rhat_max"])
    plain = json.loads(call(capsys, "diagnose", "lda.nc", "--json")[1])
    assert (plain["aligned"], plain["topics"]) == (True, None)
    assert plain["efficiency"] == found["efficiency"]
    assert fit.efficiency().loc["phi", "rhat_max"] == pytest.approx(aligned.loc["phi", "rhat_max"])


@pytest.mark.parametrize("run", ["medlda_one_vs_all.nc", "one.nc", "sub/lda.nc"])
def test_diagnose_aligns_whatever_was_recorded(capsys, run):
    code, out, err = call(capsys, "diagnose", run, "--align")
    assert (code, err) == (0, "")
    assert "verdict: " in out
    assert ("response" in out.split("\n\n")[-1]) == (run == "medlda_one_vs_all.nc")
    assert json.loads(call(capsys, "diagnose", run, "--align", "--json")[1])["topics"]


@pytest.fixture
def schedules(folder):
    for name, kernel in (("collapsed", "collapsed_gibbs"), ("kept", "partially_collapsed")):
        (folder / f"{name}.yaml").write_text(f"cycle: [{{z: {kernel}}}, {{phi: dirichlet_rows}}]\n")
    texts, _ = coloured(10)
    (folder / "d.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return ["--schedules", "collapsed.yaml", "--schedules", "kept.yaml"]


SHORT = ["--data", "d.jsonl", "--set", "topics=3", "--seeds", "2", "--draws", "10", "--warmup", "5"]


def test_schedules_of_a_model(schedules, capsys):
    code, out, err = call(capsys, "compare", "lda", *schedules, *SHORT, "--plot", "a.png")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Effective draws a second, and seconds to the mode; 95% intervals over seeds."
    assert [line.split()[:3] for line in lines[2:4]] == [["lp", "collapsed", "2"], ["lp", "kept", "2"]]


def test_warmups_of_a_model(schedules, folder, capsys):
    """A file may have both, or the one to run before the model's own schedule."""
    (folder / "kept.yaml").write_text("schedule: [z: partially_collapsed, phi: dirichlet_rows]\nwarmup: {z: ad_lda}\n")
    code, _, err = call(capsys, "compare", "lda", *schedules, *SHORT)
    assert code == 2
    assert "kept.yaml:2:10: warmup breaks rule 3" in err
    early = "schedule: [z: collapsed_gibbs, phi: dirichlet_rows]\nwarmup: {temperature: 3, z: ad_lda}\n"
    (folder / "kept.yaml").write_text(early)
    code, out, err = call(capsys, "compare", "lda", *schedules, *SHORT)
    assert (code, err) == (0, "")
    assert [line.split()[:3] for line in out.splitlines()[2:4]] == [["lp", "collapsed", "2"], ["lp", "kept", "2"]]


def test_schedules_as_data(schedules, capsys):
    code, out, _ = call(capsys, "compare", "lda", *schedules, *SHORT, "--var", "lp", "--json")
    found = json.loads(out)
    assert code == 0
    assert {row["quantity"] for row in found["table"]} == {"lp", "seconds to the mode"}
    assert len(found["runs"]) == 2 * 2 * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lda", "--schedules", "kept.yaml", *SHORT], "--schedules: one schedule is nothing to compare"),
        (["lda", "x", "--schedules", "kept.yaml", *SHORT], "--schedules: expected one MODEL to run, got lda, x"),
        (["lda", "--schedules", "kept.yaml"], "--schedules: the documents are missing; name their file, --data FILE"),
        (["lda.nc", "lda_collapsed.nc", *SHORT[:2]], "--data, --set and --plot go with --schedules"),
        (["lda", "--schedules", "kept.yaml", "--schedules", "no.yaml", *SHORT], "--schedules no.yaml: no such file"),
    ],
)
def test_errors_of_schedules(schedules, capsys, arguments, message):
    code, _, err = call(capsys, "compare", *arguments)
    assert code == 2
    assert message in err
