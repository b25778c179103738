"""Long runs: counts stay those of z, nothing that kernels keep up to date drifts, and memory does not grow.

What is kept up to date from move to move: the counts by word and topic of a state; the counts of blocks of words and of
documents in the memory of the tiled kernels; the slope of the responses (with it m, the sum of the coefficients over a
document's tokens), which is computed again for each sweep; the mean of phi over the draws.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

import ppl_topics as pt
from ppl_topics.core.keys import Key
from ppl_topics.engine.bind import bind
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.recorder import Recorder
from ppl_topics.samplers.assignments.tile_sweeper import TileSweeper
from ppl_topics.samplers.responses import response_term as response_term
from ppl_topics.samplers.topics.expected import update_mean_phi
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.tree import Cycle, steps
from ppl_topics.spec.shipped import shipped

TOPICS = 4
LENGTHS = (9, 0, 1, 14, 30, 8, 11, 6, 17, 5, 12, 7)
NUMBERS = {"medlda_regression": "real", "slda_gaussian": "real", "slda_counts": "count"}
CLOSE = 1e-9
"""Of what is kept up to date to what is computed from scratch, relative to the largest value."""

MEAN_CLOSE = 5e-4
"""Of the mean of phi, which is rounded to float32 at every draw: 1e-4 was seen after 10,000 of them."""

WARM, GROWN = 0.2, 4e6
"""Part of the sweeps after which memory should stand still, and bytes by which it may grow after that."""

READ_ONLY = "gram_partially_collapsed"
"""This kernel of z leaves the slope as it is: what follows from moves it computes again for each document."""


def corpus_for(model: str) -> pt.Corpus:
    rng = np.random.default_rng(7)
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 12, n)) for n in LENGTHS]
    kind = NUMBERS.get(model, "class")
    classes = ["a", "b"] if model == "medlda_binary" else ["a", "b", "c"]
    labels = {
        "class": [classes[i % len(classes)] for i in range(len(LENGTHS))],
        "real": [float(x) for x in rng.normal(size=len(LENGTHS))],
        "count": [int(x) for x in rng.integers(0, 6, len(LENGTHS))],
    }[kind]
    frame = (
        pd.DataFrame({"age": rng.normal(size=len(LENGTHS))})
        if model.startswith("dmr") or model.endswith("_covariates")
        else None
    )
    if model == "dmr_time":
        frame["year"] = np.resize(["2001", "2002", "2003"], len(LENGTHS))
    return pt.Corpus.from_texts(texts, labels=labels, label_kind=kind, covariates=frame)


class Nowhere:
    """Takes the draws of a chain and keeps none."""

    def __init__(self) -> None:
        self.n_draws = self.n_warmup = 0

    def add(self, warmup: bool, values: Any, statistics: Any) -> None:
        self.n_draws += 1

    def flush(self) -> None:
        pass


class Soak:
    """A chain that is run for long, and looked at now and then."""

    def __init__(self, model: Any, monkeypatch: pytest.MonkeyPatch, bug: Any = None, **parameters: Any) -> None:
        name = model if isinstance(model, str) else model["name"]
        spec = pt.load_spec(model, {"topics": TOPICS, **parameters})
        bound = bind(make_plan(spec), corpus_for(name))
        self.bound = bound if bug is None else with_bug(bound, bug)
        self.kernel = next(step.kernel.name for step in steps(bound.plan.schedule) if step.variable == "z")
        self.executor = Executor(self.bound)
        self.state = self.bound.initial_state(1, 0)
        self.memories = self.executor.memories(self.state)
        self.recorder = Recorder(self.bound, Nowhere())
        self.mean = np.zeros((self.state.sizes.words, TOPICS))
        self.term: tuple[Any, ...] = ()
        made = response_term.new_term

        def watched(*given: Any) -> Any:
            result = made(*given)
            self.term = (given, result, self.state.z.copy())
            return result

        monkeypatch.setattr(response_term, "new_term", watched)

    def run(self, sweeps: int, every: int) -> float:
        """Run, look at all that is kept up to date every few sweeps, and return the bytes that memory grew by."""
        begin = 0.0
        for sweep in range(sweeps):
            record = self.executor.sweep(self.state, self.memories, 1, 0, sweep)
            self.recorder.record(self.state, record, Key(1, 0, sweep, 0), warmup=False)
            # Of plain topics; those of others are what a chain holds, or have counts of their own.
            if self.bound.block("phi").kind == "dirichlet":
                self._add_to_mean(sweep + 1)
            if sweep % every == every - 1 or sweep == sweeps - 1:
                self.look()
            if sweep == int(WARM * sweeps):
                begin = resident()
        return resident() - begin

    def look(self) -> None:
        """Compare what is kept up to date with what is computed from scratch."""
        self.state.check()
        for memory in self.memories:
            sweeper = next((m for m in (memory, getattr(memory, "sweeper", None)) if isinstance(m, TileSweeper)), None)
            if sweeper is not None:
                self._look_at_tiles(sweeper)
        if self.term:
            self._look_at_slope()
        if self.mean.any():
            np.testing.assert_allclose(self.recorder.topics.mean, self.mean, rtol=MEAN_CLOSE, atol=1e-7)

    def _add_to_mean(self, count: int) -> None:
        expected = np.zeros(self.mean.shape, np.float32)
        update_mean_phi(self.state.n_wk, self.state.n_k, self.state.beta, 1.0, expected)
        self.mean += (expected - self.mean) / count

    def _look_at_tiles(self, sweeper: TileSweeper) -> None:
        tiling, state = sweeper.tiling, self.state
        if len(sweeper.n_dk):
            np.testing.assert_array_equal(sweeper.n_dk, state.n_dk)
        for block in range(len(sweeper.n_bk)):
            own = state.z[tiling.word_block[state.tokens.words] == block]
            np.testing.assert_array_equal(sweeper.n_bk[block], np.bincount(own, minlength=TOPICS))

    def _look_at_slope(self) -> None:
        (eta, b, omega, fitted, lengths), term, before = self.term
        after = before if self.kernel == READ_ONLY else self.state.z
        shares = [self._shares(z) for z in (before, after)]
        b, omega, lengths = (np.asarray(a, dtype=np.float64) for a in (b, omega, lengths))
        expected = (b - omega * (fitted + (shares[1] - shares[0]) @ eta.T)) / np.maximum(lengths, 1)[:, None]
        found = term.slope[:, : expected.shape[1]]
        np.testing.assert_allclose(found, expected, rtol=CLOSE, atol=CLOSE * np.abs(expected).max())

    def _shares(self, z: Any) -> Any:
        lengths = np.maximum(self.bound.tokens.doc_lengths, 1)[:, None]
        counts = np.zeros((len(lengths), TOPICS))
        np.add.at(counts, (self.bound.tokens.docs, z), 1.0)
        return counts / lengths


def resident() -> float:
    """Return the resident memory; free memory goes back to the system first, or it would hide what grows into it."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return float(psutil.Process().memory_info().rss)


def with_bug(bound: Any, bug: Any) -> Any:
    """Return the same model, in which the kernel of z does something more after each sweep."""

    def planted(step: Any) -> Any:
        def build(binding: Any, **options: Any) -> Any:
            functions = step.kernel.build(binding, **options)

            def buggy(state: Any, memory: Any, key: Key) -> Any:
                statistics = functions.step(state, memory, key)
                bug(state, memory, key)
                return statistics

            return functions._replace(step=buggy)

        return replace(step, kernel=replace(step.kernel, build=build)) if step.variable == "z" else step

    schedule = Cycle(tuple(map(planted, bound.plan.schedule.children)))
    return replace(bound, plan=replace(bound.plan, schedule=schedule))


KEYWORDS = {"keywords": {"first": ["w1*"], "second": ["w2", "w3"]}}
PARAMETERS = {
    "labelled_lda": {"background": 1},
    "keyword_lda": KEYWORDS,
    "seeded_lda": KEYWORDS,
    "slda_ordinal": {"levels": ["a", "b", "c"]},
}
MODELS = [(name, PARAMETERS.get(name, {})) for name in shipped()]
MODELS += [(name, {"storage": "sparse"}) for name in shipped() if name.endswith("spike_slab")]
LONGEST = {"lda", "lda_collapsed", "medlda", "dolda_spike_slab", "dmr_supervised"}
SCHEDULES = [
    {"extends": "medlda", "name": f"medlda by {name}", "schedule": {"cycle": [{"xi": "inverse_gaussian"}, *rest]}}
    for name, kernel in pt.kernels().items()
    if kernel.updates == ("z",) and {"quadratic_response", "assignments", "words"} <= set(kernel.handles)
    for rest in [[{"eta": "coordinate_normal"}, {"z": name}, {"phi": "dirichlet_rows"}]]
]
QUICK = [("medlda", {}), ("dolda_spike_slab", {"storage": "sparse"})]


@pytest.mark.parametrize(("model", "parameters"), QUICK)
def test_nothing_drifts_in_a_few_sweeps(model, parameters, monkeypatch):
    Soak(model, monkeypatch, **parameters).run(40, every=10)


@pytest.mark.parametrize("model", SCHEDULES, ids=lambda model: model["name"])
def test_responses_are_kept_up_to_date_by_every_kernel(model, monkeypatch):
    soak = Soak(model, monkeypatch)
    soak.run(12, every=3)
    assert soak.term


@pytest.mark.slow
@pytest.mark.parametrize(("model", "parameters"), MODELS, ids=lambda part: part if isinstance(part, str) else str(part))
def test_thousands_of_sweeps(model, parameters, monkeypatch):
    """Most of models that share few kernels with others."""
    sweeps = 10_000 if model in LONGEST else 3_000
    grown = Soak(model, monkeypatch, **parameters).run(sweeps, every=sweeps // 40)
    print(f"{model} {parameters}: resident memory grew by {grown / 1e3:,.0f} kB after a fifth of the sweeps")
    assert grown < GROWN


@pytest.mark.slow
@pytest.mark.parametrize("model", SCHEDULES, ids=lambda model: model["name"])
def test_two_thousand_sweeps_of_every_kernel(model, monkeypatch):
    """Fewer than of the shipped models, whose kernels are among these."""
    assert Soak(model, monkeypatch).run(2_000, every=200) < GROWN


def miscount(state, memory, key):
    if key.sweep == 17:
        state.n_wk[3, 1] += 1


def miscount_totals(state, memory, key):
    if key.sweep == 17:
        state.n_k[:2] += (1, -1)


def miscount_blocks(state, memory, key):
    if key.sweep >= 17:
        memory.n_bk[0, :2] += (1, -1)


@pytest.mark.parametrize(
    ("bug", "error"),
    [(miscount, pt.RunError), (miscount_totals, pt.RunError), (miscount_blocks, AssertionError)],
)
def test_planted_drift_of_counts_is_caught(bug, error, monkeypatch):
    soak = Soak("lda_collapsed", monkeypatch, bug)
    assert soak.kernel in ("block_collapsed", "sparse_collapsed")
    soak.run(17, every=5)
    with pytest.raises(error):
        Soak("lda_collapsed", monkeypatch, bug).run(20, every=5)


def test_planted_drift_of_the_responses_is_caught(monkeypatch):
    soak = Soak("medlda", monkeypatch)
    soak.run(5, every=5)
    soak.term[1].slope[4, 1] *= 1 + 1e-7
    with pytest.raises(AssertionError):
        soak.look()


def test_planted_drift_of_the_mean_is_caught(monkeypatch):
    soak = Soak("lda", monkeypatch)
    soak.run(5, every=5)
    soak.recorder.topics.mean *= 1.001
    with pytest.raises(AssertionError):
        soak.look()


def test_planted_growth_is_caught(monkeypatch):
    kept = []
    soak = Soak("lda", monkeypatch, lambda state, memory, key: kept.append(np.ones(30_000)))
    assert soak.run(60, every=60) > GROWN
