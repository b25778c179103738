"""What a run would take: sizes, seconds, and memory against the arrays of a run."""

import numba
import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.api import planning
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.registry import unregister_kernel
from ppl_topics.engine.bind import bind
from ppl_topics.engine.chains import Settings, run_chains
from ppl_topics.engine.machine_speed import machine_speed
from ppl_topics.engine.model_sizes import Demand, recording_seconds
from ppl_topics.engine.phases import Phases
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes, nominal_sizes, runs, step_bytes, step_seconds, sweep_seconds
from ppl_topics.schedule.spelling import spell_bytes, spell_seconds
from ppl_topics.schedule.tree import Cycle, Every, Mixture, Repeat, steps

Z, PHI = pt.step("z", "collapsed_gibbs"), pt.step("phi", "dirichlet_rows")


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    vocabulary = [f"word{i}" for i in range(300)]
    texts = [[vocabulary[w] for w in rng.zipf(1.5, 60) % 300] for _ in range(200)]
    return pt.Corpus.from_tokens(texts)


def test_sizes_of_a_corpus(corpus):
    sizes = CorpusSizes.of(corpus)
    assert (sizes.n_docs, sizes.n_words, sizes.n_tokens) == (corpus.n_docs, corpus.n_words, corpus.n_tokens)
    named = sizes.formula_sizes(10)
    assert (named["N"], named["D"], named["V"], named["K"]) == (12_000, 200, corpus.n_words, 10)
    # 60 tokens meet nearly all of 10 topics if they are spread evenly, and a fitted model has fewer.
    assert named["K_d"] == pytest.approx((10 * (1 - 0.9**60)) ** 0.78)
    assert 1 < named["K_w"] < 10
    counts = np.asarray(corpus.word_counts)
    rare = sizes.formula_sizes(10, (WordSelection(max_count=9),))
    assert rare["N"] == counts[counts <= 9].sum()
    assert rare["K_w"] < named["K_w"]
    assert sizes.formula_sizes(10, (ALL_WORDS,)) == named
    assert sizes.formula_sizes(1)["K_d"] == sizes.formula_sizes(1)["K_w"] == 1
    assert CorpusSizes.count(np.zeros(3), np.zeros(2)).formula_sizes(5)["K_d"] == 1
    assert nominal_sizes().formula_sizes(50)["N"] == 1_000_000


def test_topics_met_grow_with_topics_and_lengths():
    of_topics = [CorpusSizes.count([100] * 9, [9] * 100).formula_sizes(k) for k in (2, 20, 200, 2000)]
    of_lengths = [CorpusSizes.count([n], [n]).formula_sizes(100) for n in (1, 10, 100, 1000)]
    for sizes in (of_topics, of_lengths):
        assert np.all(np.diff([s["K_d"] for s in sizes]) > 0)
        assert np.all(np.diff([s["K_w"] for s in sizes]) > 0)
    # As measured on 20 Newsgroups; see ppl_topics.schedule.costs.
    assert all(s["K_d"] <= s["K"] for s in of_topics)


def test_formulas_of_all_kernels_grow_with_the_corpus_and_the_topics():
    small = CorpusSizes.count([100] * 10, [10] * 100, responses=2)
    large = CorpusSizes.count([100] * 1000, [100] * 1000, responses=20)
    for kernel in pt.kernels().values():
        by_corpus = [kernel.seconds(sizes.formula_sizes(100)) for sizes in (small, large)]
        by_topics = [kernel.seconds(large.formula_sizes(k)) for k in (10, 100, 1000)]
        kept = [kernel.bytes(sizes.formula_sizes(100)) for sizes in (small, large)]
        # Scales of coefficients of topics know no corpus.
        assert by_corpus[0] < by_corpus[1] or kernel.updates[0].startswith("prevalence"), kernel.name
        assert by_corpus[0] <= by_corpus[1], kernel.name
        assert by_topics == sorted(by_topics), kernel.name
        assert 0 <= kept[0] <= kept[1], kernel.name
        threaded = kernel.seconds(large.formula_sizes(100), 4)
        assert threaded <= by_corpus[1]
        if kernel.parallel_over is None:
            assert threaded == by_corpus[1]


def test_formulas_may_use_options_that_are_numbers():
    def build(binding, *, rounds: int = 2, words: WordSelection = ALL_WORDS):
        return KernelFunctions(lambda state, memory, key: None)

    handles = ("dirichlet", "assignments", "words")
    declared = {"updates": "z", "integrates_out": "theta", "reads": ("alpha", "phi"), "handles": handles}
    pt.kernel("in_rounds", **declared, exact=False, cost="N * rounds", memory="rounds")(build)
    try:
        schedule = pt.cycle(pt.step("z", "in_rounds", rounds=7), PHI)
        step, _ = steps(make_plan(pt.load_spec("lda").with_schedule(schedule, "s")).schedule)
        sizes = CorpusSizes.count([100], [100])
        assert step.kernel.seconds(sizes.formula_sizes(3)) == pytest.approx(200e-9)
        assert step_seconds(step, sizes, 3, 1) - step_seconds(step, CorpusSizes.count([50], [50]), 3, 1) == (
            pytest.approx(350e-9, rel=1e-3)
        )
        assert step_bytes(step, sizes, 3) == 7
    finally:
        unregister_kernel("in_rounds")


def test_runs_of_a_schedule():
    z, phi = steps(make_plan(pt.load_spec("lda").with_schedule(pt.cycle(Z, PHI), "s")).schedule)
    tree = Cycle((Mixture((z, Repeat(4, z)), (1.0, 3.0)), Every(5, phi)))
    assert [times for _, times in runs(tree)] == pytest.approx([0.25, 3.0, 0.2])
    sizes = nominal_sizes()
    expected = 3.25 * step_seconds(z, sizes, 50, 2) + 0.2 * step_seconds(phi, sizes, 50, 2)
    assert sweep_seconds(tree, sizes, 50, 2) == pytest.approx(expected)


def test_the_speed_of_this_machine_is_measured_once():
    speed = machine_speed()
    assert 0.01 < speed < 100
    assert machine_speed() == speed


def test_a_plan_has_a_forecast_only_with_a_corpus(corpus, monkeypatch):
    monkeypatch.setattr(planning, "machine_speed", lambda: 2.0)
    assert pt.plan("lda").forecast is None
    assert "forecast" not in pt.plan("lda").to_dict()
    made = pt.plan("lda", corpus, threads=1, draws=10, warmup=5, thin=2, chains=3, processes=2)
    forecast = made.forecast
    assert (forecast.threads, forecast.chains, forecast.processes, forecast.sweeps) == (1, 3, 2, 25)
    sizes = CorpusSizes.of(corpus)
    assert forecast.seconds_sweep == pytest.approx(sweep_seconds(made.schedule, sizes, 50, 1) / 2)
    chosen = [row for row in forecast.kernels if row.chosen]
    assert [(row.variable, row.kernel) for row in chosen] == [(s.variable, s.kernel.name) for s in steps(made.schedule)]
    assert sum(row.seconds for row in chosen) == pytest.approx(forecast.seconds_sweep)
    assert forecast.seconds_recording == pytest.approx(recording_seconds(made.model, sizes, 1) / 2)
    # Two chains in turn in one of the processes.
    assert forecast.seconds_run == pytest.approx(2 * (25 * forecast.seconds_sweep + 15 * forecast.seconds_recording))
    assert made.to_dict()["forecast"] == forecast.to_dict()
    assert str(made) == str(make_plan(pt.load_spec("lda"), sizes))
    for row in forecast.kernels:
        assert f"{row.kernel}{' *' if row.chosen else ''}  " in str(forecast)
    with pytest.raises(pt.PplTopicsError, match="draws: must be a whole number from 1"):
        pt.plan("lda", corpus, draws=0)


def test_a_plan_has_notes_on_the_labels():
    labels = [["common"]] * 97 + [["rare"]] * 3
    texts = ["red green"] * 100
    several = pt.Corpus.from_texts(texts, labels=labels, label_kind="multi_label")

    def notes(model, corpus=several, **parameters):
        return pt.plan(model, corpus, threads=1, **parameters).notes

    cost, rare = notes("medlda")
    assert cost.startswith("cost weighs the labels against the words")
    # 64 / (4 * 1.6 * variance / 9) documents gain what the prior loses; at a variance of 30 these are three.
    assert rare.startswith("1 of 2 labels hold for fewer than 90 documents, too few")
    assert "set the variance of the coefficients to 100, or" in rare
    assert "fewer than 12 documents" in notes("medlda", margin=8.0)[1]
    classes = pt.Corpus.from_texts(texts, labels=[label[0] for label in labels])
    for model, corpus, parameters in (
        ("medlda", several, {"variance": 100.0}),
        ("medlda_horseshoe", several, {}),
        ("medlda", classes, {}),
    ):
        assert notes(model, corpus, **parameters) == (cost,)
    for model, parameters in (("medlda", {"cost": 0.0}), ("slda_logistic", {}), ("lda", {})):
        assert notes(model, **parameters) == ()
    made = pt.plan("medlda", several, threads=1)
    assert made.to_dict()["notes"] == [cost, rare]
    assert str(made).splitlines()[-2:] == [f"note: {cost}", f"note: {rare}"]


def test_a_schedule_of_ones_own_is_forecast_with_its_options(corpus):
    words = {"min_count": 20}
    schedule = pt.cycle(pt.step("z", "collapsed_gibbs", words=words), Z, PHI)
    rows = pt.plan("lda", corpus, schedule=schedule, threads=1).forecast.kernels
    first, second = (row for row in rows if row.kernel == "collapsed_gibbs")
    assert first.chosen
    assert second.chosen
    assert first.seconds < second.seconds
    assert not any(row.chosen for row in rows if row.kernel == "partially_collapsed")


def test_the_choice_does_not_depend_on_this_machine(corpus, monkeypatch):
    plans = []
    for speed, cores in ((0.1, 1), (10.0, 64)):
        monkeypatch.setattr(planning, "machine_speed", lambda speed=speed: speed)
        monkeypatch.setattr(numba, "get_num_threads", lambda cores=cores: cores)
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", cores)
        plans.append(pt.plan("lda", corpus))
    assert plans[0].schedule == plans[1].schedule
    assert str(plans[0]) == str(plans[1])
    assert plans[0].forecast.seconds_sweep > plans[1].forecast.seconds_sweep


def predicted(plan, corpus, settings, **changed):
    return Demand(plan, CorpusSizes.of(corpus), settings).changed(**changed).bytes


@pytest.mark.parametrize("model", ["lda", "lda_collapsed", "lda_learned"])
def test_memory_is_that_of_the_arrays_of_a_run(corpus, model):
    settings = Settings(draws=40, warmup=10, thin=1, seed=1, threads=1)
    learned = [pt.step("alpha", "slice_alpha"), pt.step("beta", "slice_beta")] if model == "lda_learned" else []
    schedule = pt.cycle(Z, *learned, *([] if model == "lda_collapsed" else [PHI]))
    spec = pt.load_spec(model, {"topics": 20}, record={"phi": {"top_words": 50}, "z": "all"})
    plan = make_plan(spec.with_schedule(schedule, "s"))
    bound = bind(plan, corpus)
    (draws,) = run_chains(Phases.here(bound, 10), [0], settings, lambda report: None, lambda: False).values()
    lists = [*draws.posterior.values(), *draws.warmup.values()]
    recorded = sum(array.nbytes for arrays in lists for array in arrays)
    state = bound.initial_state(1, 0)
    arrays = [state.z, state.n_wk, state.n_k, draws.phi_mean, *state.arrays.values()]
    tokens = bound.tokens
    indexes = [tokens.doc_ptr, tokens.words, tokens.word_ptr, tokens.chunk_ptr]
    run = predicted(plan, corpus, settings)
    assert 0.9 * recorded < run["recorded"] < 1.5 * recorded
    assert run["total"] == sum(run[part] for part in run if part != "total")
    assert run["total"] > sum(array.nbytes for array in [*arrays, *indexes]) + recorded
    nothing = dict.fromkeys(("theta", "phi", "z"), "none")
    bare = make_plan(pt.load_spec(model, {"topics": 20}, record=nothing).with_schedule(schedule, "s"))
    few = predicted(bare, corpus, Settings(draws=1, warmup=0, thin=1, seed=1, threads=1))
    held = sum(array.nbytes for array in arrays)
    assert 0.9 * held < few["state"] + few["assembling"] < 1.3 * held
    assert few["corpus"] > sum(array.nbytes for array in indexes)


def test_memory_grows_with_what_is_asked_for(corpus):
    plan = make_plan(pt.load_spec("lda", {"topics": 20}))
    settings = Settings(draws=5, warmup=5, thin=1, seed=1, threads=1)
    small = predicted(plan, corpus, settings)
    more_draws = predicted(plan, corpus, Settings(draws=50, warmup=5, thin=1, seed=1, threads=1))
    assert more_draws["total"] > small["total"]
    assert predicted(plan, corpus, settings, chains=3)["total"] > 2 * small["state"] + small["total"]
    bare = make_plan(pt.load_spec("lda", {"topics": 20}, record={"phi": "none", "theta": "none"}))
    together = predicted(bare, corpus, settings, chains=3)
    assert together["recorded"] / 3 < small["recorded"] / 10
    # One of each worker, and that of the process which started them.
    assert predicted(bare, corpus, settings, chains=3, processes=3)["corpus"] == 4 * together["corpus"]


def test_times_and_sizes_are_spelt_with_their_units():
    assert [spell_seconds(x) for x in (0.0, 0.5, 61.0, 100.0, 4000.0)] == ["0 ms", "500 ms", "61 s", "1.7 min", "1.1 h"]
    assert [spell_bytes(x) for x in (12, 9.94e6, 1e12)] == ["12 B", "9.9 MB", "1,000 GB"]
