"""The fuzzer itself: it has to find each fault that was planted, and none where there is none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from outcomes import read, table
from targets import TARGETS

FUZZ = Path(__file__).parent

EXPECTED = {
    "looks_up": ("KeyError", "planted.py"),
    "sizes_by_a_number": ("memory", "planted.py"),
    "fills_memory": ("memory", "resident"),
    "loops": ("hang", "planted.py"),
    "waits": ("hang", "planted.py"),
    "loops_out_of_reach": ("hang", "no news"),
    "swallows_an_alarm": ("hang", "planted.py"),
    "writes_elsewhere": ("forbidden", "open"),
    "removes_elsewhere": ("forbidden", "os.remove"),
    "reads_elsewhere": ("forbidden", "open"),
    "writes_by_a_library": ("forbidden", "changed"),
    "starts_a_process": ("forbidden", "subprocess.Popen"),
    "runs_a_command": ("forbidden", "os.system"),
    "unpickles": ("forbidden", "pickle.find_class"),
    "connects": ("forbidden", "socket.connect"),
    "says_two_lines": ("message", "planted.py"),
    "says_nothing": ("message", "planted.py"),
    "dies": ("crash", "exit code -11"),
    "unmade": ("make", "planted.py"),
}
"""Kind of the finding, and part of the place, by target."""

CASES = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the planted targets ran."""
    pytest.importorskip("resource")
    folder = tmp_path_factory.mktemp("fuzz")
    command = [sys.executable, str(FUZZ / "planted.py"), str(folder), str(CASES)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return folder


@pytest.fixture(scope="module")
def outcomes(folder):
    """What became of each target."""
    lines = (folder / "results.jsonl").read_text().splitlines()
    return {outcome["target"]: outcome for outcome in map(json.loads, lines)}


def test_all_are_tried(outcomes):
    assert sorted(outcomes) == sorted(["sound", *EXPECTED])


def test_a_sound_reader(outcomes):
    assert outcomes["sound"]["findings"] == []
    assert outcomes["sound"]["cases"] == CASES
    assert 0 < outcomes["sound"]["refused"] < CASES


@pytest.mark.parametrize("name", EXPECTED)
def test_a_planted_fault(name, outcomes, folder):
    """It is found in each case, its input is kept, and the target goes on after it."""
    kind, where = EXPECTED[name]
    outcome = outcomes[name]
    kinds = {finding["kind"] for finding in outcome["findings"]}
    (finding,) = (each for each in outcome["findings"] if each["kind"] == kind)
    # A process is started by more than one event.
    assert kinds == {kind}
    assert where in finding["where"]
    assert finding["case"] == 0
    assert finding["times"] == outcome["cases"] == CASES
    assert kind == "make" or (folder / "findings" / f"{name}-0" / "input").read_text()


def test_the_table(folder):
    command = [sys.executable, str(FUZZ), "--table", str(folder / "results.jsonl"), "vocabulary"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    assert done.stdout == "| target | seed | minutes | cases | refused | findings |\n|---|---:|---:|---:|---:|---:|\n"


def test_the_docs_have_the_table():
    rows = table(read(FUZZ / "results.jsonl"), TARGETS)
    assert rows in (FUZZ.parents[1] / "docs" / "hostile-input.md").read_text(encoding="utf-8")
