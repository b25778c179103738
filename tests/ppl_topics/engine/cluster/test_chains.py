"""Chains and grids on workers: the draws of one process, whatever happens to the workers."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.engine.cluster import workers
from ppl_topics.engine.cluster.connection import connected
from ppl_topics.engine.cluster.sharded import ShardedExecutor

distributed = pytest.importorskip("distributed")

CORPUS = pt.Corpus.from_texts(["red green red", "green blue", "blue blue red"] * 30, labels=["a", "b", "c"] * 30)
HOW = {"topics": 3, "draws": 10, "warmup": 5, "seed": 1, "chains": 3, "progress": False, "threads": 1}


@pytest.fixture(scope="module")
def cluster() -> Iterator["distributed.LocalCluster"]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


def same(one: pt.Fit, other: pt.Fit) -> bool:
    return all(
        np.array_equal(one.groups[group][name].values, other.groups[group][name].values)
        for group in ("posterior", "log_likelihood", "constant_data")
        if group in one.groups
        for name in one.groups[group].data_vars
    )


@pytest.mark.parametrize("model", ["lda", "medlda", "medlda_one_vs_all"])
def test_draws_are_those_of_one_process(model: str, cluster: "distributed.LocalCluster", tmp_path: Path) -> None:
    alone = pt.sample(model, CORPUS, **HOW)
    assert same(alone, pt.sample(model, CORPUS, cluster=cluster, **HOW))
    assert same(alone, pt.sample(model, CORPUS, cluster=cluster.scheduler_address, out=tmp_path / "run", **HOW))


GIVEN_PHI = {"cycle": [{"z": "partially_collapsed"}, {"phi": "dirichlet_rows"}]}


ROTATING = {"cycle": [{"z": {"kernel": "block_collapsed", "blocks": 4}}, {"phi": "dirichlet_rows"}]}


@pytest.mark.parametrize("schedule", [GIVEN_PHI, ROTATING], ids=["given phi", "rotating"])
def test_documents_of_one_chain_on_two_workers(
    schedule: dict[str, Any], cluster: "distributed.LocalCluster", tmp_path: Path
) -> None:
    how = HOW | {"chains": 2, "schedule": schedule}
    alone = pt.sample("lda", CORPUS, **how)
    assert same(alone, pt.sample("lda", CORPUS, cluster=cluster, split="documents", **how))
    spread = pt.sample("lda", CORPUS, cluster=cluster, split="documents", out=tmp_path / "run", **how)
    assert same(alone, spread)
    assert np.array_equal(alone.groups["sample_stats"]["lp"], spread.groups["sample_stats"]["lp"])
    more = pt.resume(tmp_path / "run", draws=20, cluster=cluster, split="documents", progress=False)
    assert same(more, pt.sample("lda", CORPUS, **how | {"draws": 20}))


def test_kernels_are_chosen_that_can_be_distributed(cluster: "distributed.LocalCluster", tmp_path: Path) -> None:
    spread = pt.sample("lda", CORPUS, cluster=cluster, split="documents", out=tmp_path / "run", **HOW)
    more = pt.resume(tmp_path / "run", draws=20, progress=False)
    assert same(more, pt.sample(spread.spec, CORPUS, **HOW | {"draws": 20}))
    with pytest.raises(pt.ScheduleError, match=r"listed_partially_collapsed needs all documents in one place"):
        pt.sample("lda_spike_slab", CORPUS, storage="sparse", cluster=cluster, split="documents", **HOW)


def test_a_call_is_made_once() -> None:
    """Dask would repeat what a worker did, and all before it, where another one that needed it is lost."""

    def put(number: int, value: int) -> list[Any]:
        calls = [dict.update, dict.get], [[["value", {"draws": value}]], [["value", "draws"]]]
        return workers._on_worker("a run", number, None, *calls)

    assert put(1, 10) == [None, 10]
    assert put(3, 20) == [None, 20]
    for number in (3, 2):
        with pytest.raises(workers.RepeatedError):
            put(number, 30)
    assert workers._on_worker("a run", 4, None, [dict.get], [[["value", "draws"]]]) == [20]
    workers._forget("a run")


def test_calls_go_in_one_task_until_one_waits_for_another_worker(cluster: "distributed.LocalCluster") -> None:
    with connected(cluster) as connection:
        made = workers.Workers(connection)
        one, other = made.members()
        put = dict.setdefault
        first = made.call(one, put, "a", 1)
        second = made.call(one, put, "b", [first, 2])
        there = made.call(other, put, "a", 10)
        assert made.calls == 0
        both = made.call(one, put, "c", [second, there])
        assert made.calls == 2, "what it waits for, and what was before it"
        last = made.call(one, put, "d", both)
        by_itself = made.call(one, put, "e", 5, alone=True)
        assert made.calls == 4
        assert [made.fetch(reply) for reply in (last, by_itself, first, second)] == [[[1, 2], 10], 5, 1, [1, 2]]
        assert made.fetch(made.call(one, dict.get, "d")) == [[1, 2], 10]
        assert made.fetch(made.call(other, dict.get, "d")) is None
        assert made.calls == 6
        made.close()


class Disturbed:
    """Sends signals to workers when the counts have been reduced so many times, and counts who has documents."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, when: dict[int, tuple[int, int]]) -> None:
        self.processes, self.dealt, self.woken = list[int](), list[int](), list[int]()
        deal, reduce, reduced = ShardedExecutor._deal, ShardedExecutor._reduce, list[int]()

        def counted(executor: ShardedExecutor) -> None:
            deal(executor)
            self.dealt.append(len(executor.spans))
            for process in self.woken:
                os.kill(process, signal.SIGCONT)

        def disturbed(executor: ShardedExecutor, chain: int) -> dict[str, object]:
            reduced.append(chain)
            if len(reduced) in when:
                place, number = when[len(reduced)]
                os.kill(self.processes[place], number)
                self.woken += [self.processes[place]] if number == signal.SIGSTOP else []
            return reduce(executor, chain)

        monkeypatch.setattr(ShardedExecutor, "_deal", counted)
        monkeypatch.setattr(ShardedExecutor, "_reduce", disturbed)


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, *(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGTERM, signal.SIGSTOP))]
)
def test_documents_of_workers_that_are_lost_go_to_others(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was frozen wakes up when others have its documents, and answers: nobody listens any more."""
    monkeypatch.setattr(workers, "FROZEN_SECONDS", 3.0)
    how = HOW | {"draws": 60, "chains": 2, "schedule": GIVEN_PHI}
    alone = pt.sample("lda", CORPUS, **how)
    disturbed = Disturbed(monkeypatch, {20: (0, number), 60: (1, number)})
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
        cluster.get_client() as client,
    ):
        disturbed.processes += client.run(os.getpid).values()
        spread = pt.sample("lda", CORPUS, cluster=client, split="documents", **how)
    # On a busy machine others may count as lost too.
    assert len(disturbed.dealt) >= 3, "a loss was not noticed"
    assert same(alone, spread)


def test_a_run_goes_on_elsewhere(cluster: "distributed.LocalCluster", tmp_path: Path) -> None:
    pt.sample("lda", CORPUS, out=tmp_path / "run", **HOW)
    more = pt.resume(tmp_path / "run", draws=20, cluster=cluster, progress=False)
    assert same(more, pt.sample("lda", CORPUS, **HOW | {"draws": 20}))


def test_a_grid_is_that_of_one_process(cluster: "distributed.LocalCluster", tmp_path: Path) -> None:
    how = HOW | {"chains": 1, "folds": 3}
    rows: list[float] = []
    alone = pt.grid("medlda", CORPUS, {"cost": [0.1, 1.6]}, **how)
    spread = pt.grid(
        "medlda", CORPUS, {"cost": [0.1, 1.6]}, cluster=cluster, done=lambda row: rows.append(row["cost"]), **how
    )
    assert rows == [0.1, 1.6]
    assert spread.drop(columns="seconds").equals(alone.drop(columns="seconds"))
    refused = pt.grid("lda", CORPUS, {"alpha": [-1.0, 0.1]}, cluster=cluster, out=tmp_path / "grid", **HOW)
    assert ["alpha" in problem for problem in refused["problem"]] == [True, False]
    assert Path(refused["path"][1]).exists()


def test_a_calibration_is_that_of_one_process(cluster: "distributed.LocalCluster") -> None:
    sizes: dict[str, int] = {"topics": 2, "documents": 4, "lengths": 5, "words": 4}
    how: dict[str, Any] = {"replicates": 10, "draws": 8, "warmup": 5, "seed": 1, "progress": False}
    alone = pt.calibrate("lda", **sizes, **how)
    assert pt.calibrate("lda", **sizes, **how, cluster=cluster).values.identical(alone.values)


def test_a_chain_whose_worker_is_killed_runs_again() -> None:
    how = HOW | {"draws": 6000, "chains": 2}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        cluster.get_client() as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        pt.sample("lda", CORPUS, cluster=client, **HOW)
        killer = threading.Timer(0.5, os.kill, (victim, signal.SIGKILL))
        killer.start()
        started = time.monotonic()
        fit = pt.sample("lda", CORPUS, cluster=client, **how)
        assert time.monotonic() - started > 1.0, "the chains were done when the worker was killed"
        assert victim not in client.run(os.getpid).values()
    assert same(fit, pt.sample("lda", CORPUS, **how))


@pytest.mark.usefixtures("interrupted")
def test_an_interrupt_keeps_what_was_drawn(cluster: "distributed.LocalCluster") -> None:
    long = HOW | {"draws": 10**6, "record": {"phi": "none", "theta": "none"}}
    fit = pt.sample("lda", CORPUS, cluster=cluster, **long)
    assert fit.posterior.attrs["stopped"]
    assert 4 <= fit.posterior.sizes["draw"] < 10**6


def test_errors_of_workers_are_those_of_one_process(cluster: "distributed.LocalCluster") -> None:
    unlabelled = pt.Corpus.from_texts(["red green"] * 5)
    with pytest.raises(pt.CorpusError, match="label"):
        pt.sample("medlda", unlabelled, cluster=cluster, **HOW)


def test_workers_that_cannot_serve_are_refused() -> None:
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as wrong,
        pytest.raises(pt.RunError, match=r"has 2 threads; start workers with --nthreads 1"),
    ):
        pt.sample("lda", CORPUS, cluster=wrong, **HOW)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("foo", "expected a Dask client or cluster, the address"),
        ("local:none", "such as local:2"),
        (3, "got 3"),
    ],
)
def test_what_is_no_cluster_is_refused(given: object, says: str) -> None:
    with pytest.raises(pt.PplTopicsError, match=says):
        pt.sample("lda", CORPUS, cluster=given, **HOW)


def test_processes_and_a_cluster_are_one_too_many(cluster: "distributed.LocalCluster") -> None:
    with pytest.raises(pt.PplTopicsError, match="processes: with cluster"):
        pt.sample("lda", CORPUS, cluster=cluster, **HOW | {"processes": 2})
