"""``--cluster`` and ``--split`` on the command line."""

from pathlib import Path

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.cli import main

pytest.importorskip("distributed")

TEXTS = "text\n" + "\n".join(["red green red", "green blue", "blue blue red"] * 30) + "\n"
HOW = ["--set", "topics=3", "--draws", "5", "--warmup", "5", "--seed", "1", "--no-progress"]


@pytest.mark.parametrize("split", ["chains", "documents"])
def test_a_run_on_workers_of_this_machine(split: str, tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text(TEXTS)
    schedule = tmp_path / "schedule.yaml"
    schedule.write_text("cycle: [{z: partially_collapsed}, {phi: dirichlet_rows}]\n")
    given = ["run", "lda", "--data", str(tmp_path / "texts.csv"), "--schedule", str(schedule), *HOW]
    spread = ["--cluster", "local:2", "--split", split, "--out", str(tmp_path / "spread")]
    assert main([*given, "--out", str(tmp_path / "alone.nc")]) == 0
    assert main([*given, *spread]) == 0
    alone, spread_out = pt.load_fit(tmp_path / "alone.nc"), pt.load_fit(tmp_path / "spread")
    assert np.array_equal(alone.posterior["phi"].values, spread_out.posterior["phi"].values)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--cluster", "tcp://127.0.0.1:9"], "no scheduler answers there"),
        (["--cluster", "nonsense"], "--cluster nonsense: expected"),
        (["--split", "documents"], "give --cluster"),
    ],
)
def test_errors(given: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "texts.csv").write_text(TEXTS)
    code = main(["run", "lda", "--data", str(tmp_path / "texts.csv"), *HOW, *given, "--out", str(tmp_path / "a.nc")])
    error = capsys.readouterr().err
    assert code in (1, 2)
    assert says in error
    assert "Traceback" not in error
