"""``warm``: what a run needs is compiled before it."""

import os
import subprocess
import sys

import pytest
from commands import call

OF_RUN = ("--data", "c.csv", "--label-column", "y", "--set", "topics=2", "--no-progress")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["red green red,a", "blue green blue,b", ",a", "red red green,a"] * 6
    (tmp_path / "c.csv").write_text("\n".join(["text,y", *rows]))
    return tmp_path


@pytest.mark.parametrize("model", ["lda", "medlda", "medlda_one_vs_all"])
def test_a_second_time_there_is_nothing_to_compile(capsys, folder, model):
    assert call(capsys, "warm", model, *OF_RUN)[0] == 0
    code, out, err = call(capsys, "warm", model, *OF_RUN)
    assert (code, err) == (0, "c.csv: 24 documents, 54 tokens, 3 words; empty documents, kept: 6\n")
    assert out.startswith(f"{model}: nothing to compile; ")
    assert os.listdir(folder) == ["c.csv"]


def test_a_trace_that_does_not_predict_is_no_failure(capsys):
    code, _, err = call(capsys, "warm", "medlda", *OF_RUN, "--record", "eta=none")
    assert code == 0
    assert "no predictions: the trace does not hold the coefficients eta" in err


PROGRAM = """
import sys
from numba.core import event
from ppl_topics.cli import main
with event.install_recorder("numba:compile") as compiled:
    assert main(sys.argv[1:]) == 0
print("compiled:", len(compiled.buffer))
"""


@pytest.mark.slow
def test_a_run_after_it_compiles_nothing(tmp_path):
    """Nor do its predictions."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    counts = []
    for words in (["warm", "medlda", *OF_RUN], ["run", "medlda", *OF_RUN, "--test", "c.csv", "--out", "a.nc"]):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words], env=environment, check=True, capture_output=True, text=True
        )
        counts.append(int(done.stdout.rpartition("compiled: ")[2]))
    assert counts[0] > counts[1] == 0
