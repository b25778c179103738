"""A run that cannot fit into memory is refused before it begins, with what would fit."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import ppl_topics as pt
from ppl_topics._util.argument_names import arguments_are_options
from ppl_topics.cli import main
from ppl_topics.engine.available_memory import Available, available_memory
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.memory import check_memory, remedies
from ppl_topics.engine.model_sizes import Demand, corpus_bytes
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import nominal_sizes

ONE_VS_ALL = "slda_logistic_one_vs_all"
NONE_LEFT = Available(1e3, "a test")


def demand(model="lda", *, draws=1000, chains=4, processes=1, streamed=False, **parameters):
    sizes = nominal_sizes()
    plan = make_plan(pt.load_spec(model, {"topics": 200, **parameters}), sizes)
    return Demand(plan, sizes, Settings(draws, 100, 1, 1, 1, chains, processes), streamed)


@pytest.mark.parametrize("model", ["lda", "lda_spike_slab", "dolda", ONE_VS_ALL])
def test_every_remedy_fits_and_the_run_itself_does_not(model):
    asked = demand(model, processes=2)
    for part in (0.9, 0.3, 0.1, 0.03):
        room = part * asked.more
        found = list(remedies(asked, room))
        assert found
        assert all(remedy.demand.fits(room) for remedy in found)
        with pytest.raises(pt.RunError, match="a test"):
            check_memory(asked, Available(room, "a test"))
    check_memory(asked, Available(asked.more, "a test"))


def test_streaming_does_not_grow_with_the_draws():
    one, many = (demand(draws=draws, streamed=True).bytes["total"] for draws in (2000, 200_000))
    assert one == many < demand(draws=2000).bytes["total"] / 10
    assert demand(draws=2000).more == demand(draws=2000).bytes["total"] - corpus_bytes(nominal_sizes())


def test_sparse_storage_and_one_process_are_named_where_they_help():
    asked = demand("lda_spike_slab", draws=1, chains=1, inclusion=0.02)
    asked = replace(asked, plan=make_plan(pt.load_spec(asked.plan.model.spec, record={"phi": "none"}), asked.sizes))
    assert "storage='sparse'" in [remedy.text for remedy in remedies(asked, 0.8 * asked.more)]
    with arguments_are_options():
        assert "--set storage=sparse" in [remedy.text for remedy in remedies(asked, 0.8 * asked.more)]
        assert "--processes 1" in [remedy.text for remedy in remedies(demand(draws=1, processes=4), 400e6)]


def test_the_least_of_all_limits_counts(tmp_path, monkeypatch):
    group = tmp_path / "memory" / "box"
    group.mkdir(parents=True)
    (group / "memory.limit_in_bytes").write_text("5000\n")
    (group / "memory.usage_in_bytes").write_text("4000\n")
    (group / "memory.stat").write_text("cache 1\ntotal_inactive_file 300\n")
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text(f"{2**63 - 4096}\n")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("9000\n")
    (tmp_path / "own").write_text("4:memory:/box/not/seen\n0::/\n")
    monkeypatch.setattr("ppl_topics.engine.available_memory.CGROUPS", tmp_path)
    monkeypatch.setattr("ppl_topics.engine.available_memory.OWN_CGROUPS", tmp_path / "own")
    assert available_memory().bytes == 1300
    assert str(group) in available_memory().limit
    (tmp_path / "memory.max").write_text("700")
    (tmp_path / "memory.current").write_text("100")
    assert available_memory().bytes == 600
    (tmp_path / "memory.max").write_text("max")
    assert available_memory().bytes == 1300


def test_a_run_is_refused_in_python_and_at_the_command_line(tmp_path, monkeypatch, capsys):
    corpus = pt.Corpus.from_texts(["red green red", "green blue"] * 3)
    for module in ("memory", "model_sizes"):
        monkeypatch.setattr(f"ppl_topics.engine.{module}.available_memory", lambda **_: NONE_LEFT)
    how = {"topics": 2, "draws": 9, "warmup": 1, "chains": 1, "progress": False, "threads": 1}
    with pytest.raises(pt.RunError, match=r"the run needs about .* of memory .*ignore_memory=True"):
        pt.sample("lda", corpus, **how)
    assert pt.sample("lda", corpus, ignore_memory=True, **how).posterior.sizes["draw"] == 9
    data = tmp_path / "a.jsonl"
    data.write_text('{"text": "red green red"}\n{"text": "green blue"}\n')
    command = ["--data", str(data), "--draws", "9", "--warmup", "1", "--threads", "1", "--set", "topics=2"]
    assert main(["run", "lda", *command, "--out", str(tmp_path / "a.nc")]) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert re.search(r"1\.0 kB is available \(a test\).*--ignore-memory", line)
    assert not (tmp_path / "a.nc").exists()
    assert main(["plan", "lda", *command]) == 0
    assert "would refuse this run" in capsys.readouterr().out
