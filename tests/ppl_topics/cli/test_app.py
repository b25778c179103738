"""The entry point, help, listings, plan, schema and verify."""

import json
import os
import subprocess
import sys
import time
import types

import pytest
from commands import call

import ppl_topics
from ppl_topics.cli import main
from ppl_topics.cli.output import number
from ppl_topics.spec.shipped import shipped

COMMANDS = [
    "demo",
    "models",
    "kernels",
    "blocks",
    "plan",
    "graph",
    "run",
    "topics",
    "coefficients",
    "diagnose",
    "compare",
    "verify",
    "calibrate",
    "warm",
    "schema",
    "shard",
    "new",
]


def test_help_answers_at_once_and_imports_nothing_heavy():
    program = "import sys; from ppl_topics.cli import main; main(['--help']); print(sorted(sys.modules))"
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert time.perf_counter() - started < 3
    assert "Usage: ppl-topics" in done.stdout
    for name in ("numba", "arviz", "sklearn", "xarray", "pandas", "numpy", "pydantic"):
        assert f"'{name}'" not in done.stdout


def test_the_package_lists_and_finds_its_names():
    assert set(ppl_topics.__all__) <= set(dir(ppl_topics))
    assert set(ppl_topics._HOME_OF) == set(ppl_topics.__all__)
    for name in ppl_topics.__all__:
        assert getattr(ppl_topics, name).__name__
    assert ppl_topics.__version__
    with pytest.raises(AttributeError, match="no attribute 'smaple'"):
        _ = ppl_topics.smaple


def test_python_m_runs_the_command_line_and_output_survives_a_closed_pipe():
    done = subprocess.run([sys.executable, "-m", "ppl_topics", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"ppl-topics {ppl_topics.__version__}\n"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "ppl_topics", "models"], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert done.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "ppl_topics", "models"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == b"error: the output cannot be written (No space left on device)\n"


def test_a_standard_output_that_was_closed_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["models"]) == 0
    sys.stdout.close()


def test_an_interrupt_of_the_imports_is_one_line(capsys, monkeypatch):
    def interrupt(name):
        raise KeyboardInterrupt

    # The attribute `app` of an empty module is looked up, as in a first import.
    module = types.ModuleType("ppl_topics.cli.app")
    module.__getattr__ = interrupt
    monkeypatch.setitem(sys.modules, "ppl_topics.cli.app", module)
    assert call(capsys, "models") == (1, "", "error: interrupted; nothing more was done\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(capsys, command):
    code, out, err = call(capsys, command, "--help")
    assert (code, err) == (0, "")
    assert f"Usage: ppl-topics {command}" in out
    assert "For example:" in out
    assert f"  ppl-topics {command}" in out.split("For example:")[1]


def test_without_a_command_help_is_shown(capsys):
    code, out, err = call(capsys)
    assert (code, err) == (2, "")
    assert all(f"  {command}" in out for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["modls"], "No such command 'modls'"),
        (["run"], "Missing argument 'MODEL'"),
        (["models", "--jsn"], "No such option"),
        (["models", "ldaa"], "no model is named 'ldaa'; did you mean 'lda'?"),
        (["kernels", "collapsed_gibs"], "did you mean 'collapsed_gibbs'?"),
        (["blocks", "dirichlt"], "did you mean 'dirichlet'?"),
        (["plan", "ldaa"], "did you mean 'lda'?"),
        (["plan", "lda", "--data", "nowhere.jsonl"], "nowhere.jsonl"),
        (["plan", "lda", "--vocabulary", "v.txt"], "--vocabulary: means nothing without --data; add --data FILE"),
        (["plan", "lda", "--draws", "5"], "--draws: means nothing without --data"),
        (["plan", "lda", "--data", "nowhere.jsonl", "--threads", "0"], "--threads: must be a whole number at least 1"),
        (["schema", "--out", "nowhere/schema.json"], "nowhere/schema.json: cannot be written"),
        (["verify", "lda", "--kernel", "gibs"], "kernel 'gibs': no kernel has this name"),
        (["verify", "lda", "--set", "beta=-1"], "--set beta: "),
        (["verify", "lda", "--seed", "-1"], "--seed"),
    ],
)
def test_wrong_usage_gives_one_line_and_exit_code_2(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (ValueError("oh\nno"), "error: internal error: ValueError: oh no (set PPL_TOPICS_TRACEBACK=1 to see where"),
        (MemoryError(), "error: out of memory"),
        (KeyboardInterrupt(), "error: interrupted"),
    ],
)
def test_what_goes_wrong_unforeseen_is_one_line_too(capsys, monkeypatch, raised, message):
    def fail():
        raise raised

    monkeypatch.setattr("ppl_topics.spec.shipped.shipped", fail)
    code, out, err = call(capsys, "models")
    assert (code, out) == (1, "")
    assert err.startswith(message)
    assert err.count("\n") == 1
    if isinstance(raised, ValueError):
        monkeypatch.setenv("PPL_TOPICS_TRACEBACK", "1")
        assert "Traceback" in call(capsys, "models")[2]


def test_listings(capsys):
    _, out, _ = call(capsys, "models")
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(shipped())
    assert not any(line.endswith(" ") for line in out.splitlines())
    assert [model["name"] for model in json.loads(call(capsys, "models", "--json")[1])] == list(shipped())
    assert call(capsys, "models", "lda")[1].startswith("name: lda\n")
    assert json.loads(call(capsys, "models", "lda", "--json")[1])["name"] == "lda"
    assert "collapsed_gibbs" in call(capsys, "kernels")[1]
    assert "full_conditional" not in call(capsys, "kernels", "collapsed_gibbs")[1]
    declared = {kernel["name"]: kernel for kernel in json.loads(call(capsys, "kernels", "--json")[1])}
    assert declared["collapsed_gibbs"]["exact"] is True
    assert json.loads(call(capsys, "kernels", "dirichlet_rows", "--json")[1])["updates"] == ["phi"]
    assert "concentration" in call(capsys, "blocks")[1]
    assert "integrate_out: no" in call(capsys, "blocks", "dirichlet")[1]
    assert {block["name"] for block in json.loads(call(capsys, "blocks", "--json")[1])} >= {"dirichlet", "words"}


def test_plan_counts_labels_and_covariates(capsys, tmp_path):
    data = tmp_path / "c.csv"
    data.write_text("text,kind,year\nred green,x,1\ngreen blue,y,2\nblue red,z,4\n")
    arguments = ("plan", "slda_covariates", "--set", "topics=5", "--data", str(data), "--json")
    code, out, _ = call(capsys, *arguments, "--label-column", "kind", "--covariates", "year")
    assert code == 0
    sizes = json.loads(out)["forecast"]["sizes"]
    assert (sizes["C"], sizes["F"]) == (3, 6)
    code, _, err = call(capsys, *arguments, "--label-column", "kind", "--covariates", "year,year")
    assert (code, err) == (2, "error: --covariates: 'year' is given twice; give each column once\n")


def test_plan_tells_the_kernels_and_why(capsys, tmp_path):
    code, out, err = call(capsys, "plan", "lda_collapsed", "--set", "topics=7")
    assert (code, err) == (0, "")
    assert "topics: 7" in out
    assert "the exact kernel for z with the cheapest sweep" in out
    assert "nominal corpus" in out
    schedule = tmp_path / "schedule.yaml"
    schedule.write_text("schedule:\n  - z: collapsed_gibbs\n  - phi: dirichlet_rows\n")
    data = tmp_path / "c.jsonl"
    data.write_text('{"text": "red green"}\n')
    arguments = ("plan", "lda", "--schedule", str(schedule), "--data", str(data), "--threads", "1", "--draws", "7")
    code, out, err = call(capsys, *arguments, "--json")
    assert code == 0
    planned = json.loads(out)
    assert [list(entry) for entry in planned["schedule"]["cycle"]] == [["z"], ["phi"]]
    assert "1 documents, 2 tokens, 2 words" in err
    forecast = planned["forecast"]
    assert (forecast["threads"], forecast["chains"], forecast["sweeps"]) == (1, 2, 207)
    rows = {row["kernel"]: row for row in forecast["kernels"]}
    assert [name for name, row in rows.items() if row["chosen"]] == ["collapsed_gibbs", "dirichlet_rows"]
    assert not rows["ad_lda"]["exact"]
    assert rows["partially_collapsed"]["seconds"] > 0
    assert forecast["bytes"]["total"] > forecast["bytes"]["recorded"] > 0
    code, out, _ = call(capsys, *arguments)
    assert code == 0
    assert "\nz      collapsed_gibbs *  " in out
    assert "run: 2 chains of 207 sweeps, 1 process of 1 thread: " in out
    said = [line.split(":")[0] for line in out.splitlines()[-3:]]
    assert said == ["memory", "memory if draws are streamed to a folder (--out FOLDER)", "memory available"]


def test_plan_with_a_warmup(capsys, tmp_path):
    path = tmp_path / "early.yaml"
    for text in ("warmup:\n  temperature: 5\n  z: ad_lda\n", "temperature: 5\nz: ad_lda\n"):
        path.write_text(text)
        code, out, err = call(capsys, "plan", "lda_collapsed", "--warmup-schedule", str(path))
        assert (code, err) == (0, "")
        assert out.splitlines()[-4:] == [
            "exact",
            "warmup, before the first kept draw only",
            "  z: ad_lda",
            "  inexact, before the first kept draw only: ad_lda, temperature 5, falling to 1",
        ]
    path.write_text("cycle:\n  - z: gibbs\n")
    code, _, err = call(capsys, "plan", "lda", "--warmup-schedule", str(path))
    assert code == 2
    assert err.startswith(f"error: {path}:2:5: warmup: z: unknown kernel 'gibbs'")


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("cycle:\n  - z: collapsed_gibbs\n  - z: partially_collapsed\n  - phi: dirichlet_rows\n", ":3:5: "),
        ("cycle:\n  - phi: dirichlet_rows\n", "rule 1: no kernel updates z"),
        ("cycle:\n  - z: gibbs\n", "unknown kernel 'gibbs'"),
        ("schedule: {cycle: []}\nname: x\n", ":2:1: a schedule file may hold nothing but `schedule`"),
        ("- z: gibbs\n", "expected a mapping"),
    ],
)
@pytest.mark.parametrize("command", ["plan", "verify"])
def test_a_schedule_that_breaks_a_rule_is_refused_with_its_place(capsys, tmp_path, command, schedule, message):
    path = tmp_path / "s.yaml"
    path.write_text(schedule)
    code, out, err = call(capsys, command, "lda", "--schedule", str(path))
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {path}:")
    assert message in err
    assert err.count("\n") == 1


def test_schema(capsys, tmp_path):
    assert json.loads(call(capsys, "schema")[1])["title"] == "ppl-topics model"
    path = tmp_path / "schema.json"
    code, out, _ = call(capsys, "schema", "--out", str(path))
    assert (code, out) == (0, "")
    assert json.loads(path.read_text())["title"] == "ppl-topics model"


def test_verify_exits_with_its_verdict(capsys, monkeypatch):
    from ppl_topics.diagnostics.exactness import Certificate, Verification

    def fake(model, **options):
        assert options == {"kernel": ["collapsed_gibbs"], "schedule": None, "device": "cpu", "seed": 3}
        return Verification(model.name, 1e-5, (Certificate("collapsed_gibbs", "z", True, "", *refusal),), {})

    monkeypatch.setattr("ppl_topics.diagnostics.exactness.verify", fake)
    arguments = ["verify", "lda", "--kernel", "collapsed_gibbs", "--seed", "3", "--json"]
    refusal = ()
    code, out, err = call(capsys, *arguments)
    assert (code, json.loads(out)["passed"], err) == (0, True, "")
    refusal = ("alone", "p = 0")
    code, out, err = call(capsys, *arguments)
    assert (code, json.loads(out)["passed"]) == (1, False)
    assert err == "error: model lda: refused: collapsed_gibbs\n"


def test_numbers():
    assert [number(x) for x in (12345.6, 1.5, float("inf"))] == ["12,346", "1.5", "inf"]
