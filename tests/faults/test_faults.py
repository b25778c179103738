"""The harness runs, its table is made from its results, and every kind of trial can fail."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from planted_faults import PLANTED

HARNESS = Path(__file__).parent


def harness(results, *words):
    command = [sys.executable, str(HARNESS), str(results), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return records, done.stdout


def test_the_table_of_a_page_is_made_from_the_results(tmp_path):
    results, page = tmp_path / "faults.jsonl", tmp_path / "page.md"
    about = {"kind": "kills", "fault": "SIGKILL", "when": "in warmup", "commit": "abc"}
    lines = [{**about, "model": model, "what": "resumed, equal"} for model in ("lda", "lda", "dolda")]
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))
    page.write_text("# Page\n\n| Fault | When or where | Times | Models | What happened |\n|---|\n| old |\n")
    harness(results, "--times", 0, "--write", page)
    assert page.read_text().splitlines()[2:] == [
        "| Fault | When or where | Times | Models | What happened |",
        "|---|---|---:|---:|---|",
        "| SIGKILL | in warmup | 3 | 2 | resumed, equal |",
        "",
        "Tried at commit abc: 3 faults, 3 of them SIGKILL; 0 failed.",
    ]


@pytest.mark.slow
def test_runs_that_are_killed_or_started_twice_end_equal(tmp_path):
    asked = ["--kinds", "kills", "two", "--times", 4, "--models", "lda"]
    records, printed = harness(tmp_path / "results.jsonl", *asked)
    assert len(records) == 8
    assert all(record["what"].endswith("equal") for record in records), records
    assert "| SIGKILL |" in printed


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_bug_makes_its_trials_fail(kind, tmp_path):
    """For example a resumed run loses a draw, or a damaged checkpoint is read."""
    # 24 trials, which end at the first that fails: of kills, only those among the draws do.
    asked = ["--plant", "--kinds", kind, "--times", 24, "--models", "lda"]
    records, _ = harness(tmp_path / "results.jsonl", *asked)
    if not records and kind in ("full", "file", "read-only"):
        pytest.skip("no file system can be mounted here")
    assert records[-1]["what"] == "FAILED", records
