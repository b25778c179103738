"""One chain over documents in several places: the draws of one process, bit for bit."""

from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
from two_responses import BOTH

import ppl_topics as pt
from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState
from ppl_topics.engine.bind import BoundModel, bind
from ppl_topics.engine.chains import Settings, run_chains
from ppl_topics.engine.cluster import blocks, parts, reduction
from ppl_topics.engine.cluster.counts import encode
from ppl_topics.engine.cluster.members import Inline, MemberLostError
from ppl_topics.engine.cluster.sharded import ShardedExecutor, _as_data
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.phases import Phases
from ppl_topics.engine.summary import Summary, of_documents, summarise
from ppl_topics.engine.topic_sums import topic_sums
from ppl_topics.samplers.assignments import block_masses, tile_sweeper
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.schedule.plan import to_data
from ppl_topics.schedule.spread import MOST_DIRECT
from ppl_topics.spec import load_spec
from ppl_topics.spec.shipped import shipped

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice([f"w{i}" for i in range(40)], RNG.integers(0, 30))) for _ in range(300)]
CORPUS = pt.Corpus.from_texts(TEXTS)
GIVEN = {"cycle": [{"z": "partially_collapsed"}, {"phi": "dirichlet_rows"}]}
GIVEN_PHI = [
    name
    for name, kernel in pt.kernels().items()
    if kernel.distributes == "doc" and "z" in kernel.updates and "assignments" in kernel.handles
]


def bound(model: Any, schedule: Any = None, **parameters: Any) -> BoundModel:
    spec = load_spec(model, {"topics": 7, **parameters})
    spec = spec if schedule is None else spec.with_schedule(schedule, "the test")
    return bind(make_plan(spec, CorpusSizes.of(CORPUS)), CORPUS)


def after(executor: Executor, sweeps: int = 4) -> dict[str, np.ndarray]:
    state = executor.bound.initial_state(3, 1)
    memories = executor.memories(state)
    for sweep in range(sweeps):
        record = executor.sweep(state, memories, 3, 1, sweep)
    state.check()
    return {"z": state.z, "n_wk": state.n_wk, **state.arrays, **record.statistics}


class Apart(Inline):
    """Members that get the model as plain data, like those of other processes."""

    apart = True


def assert_same_everywhere(model: BoundModel) -> None:
    alone = after(Executor(model))
    for members, kind in ((1, Inline), (3, Apart), (7, Inline)):
        spread = after(ShardedExecutor(model, kind(members)))
        assert alone.keys() == spread.keys()
        for name, value in alone.items():
            np.testing.assert_array_equal(spread[name], value, err_msg=f"{name}, {members} members")


@pytest.mark.parametrize("kernel", [name for name in GIVEN_PHI if name != "gram_partially_collapsed"])
def test_kernels_of_documents(kernel: str) -> None:
    assert_same_everywhere(bound("lda", {"cycle": [{"z": kernel}, {"phi": "dirichlet_rows"}]}))


@pytest.mark.parametrize("phi", ["dirichlet_rows", "polya_urn_rows"])
def test_learned_concentrations(phi: str) -> None:
    steps = [{"z": "partially_collapsed"}, {"alpha": "slice_alpha"}, {"beta": "slice_beta"}, {"phi": phi}]
    assert_same_everywhere(bound("lda_learned", {"cycle": steps}))


@pytest.mark.parametrize(
    ("blocks", "topics"), [(None, 7), (1, 7), (2, 7), (3, 7), (6, 7), (8, 7), (16, 7), (4, 600), (3, 600)]
)
def test_blocks_of_words_that_rotate(blocks: int | None, topics: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 600 topics rare words have lists, in the order of which topics are drawn, as documents have for others."""
    monkeypatch.setattr(tile_sweeper, "RARE", 109)
    step = {"z": {"kernel": "block_collapsed", "blocks": blocks}}
    assert_same_everywhere(bound("lda_collapsed", step, topics=topics))


def test_some_words_rotate() -> None:
    often, seldom = {"min_count": 110}, {"max_count": 109}
    steps = [
        {"z": {"kernel": "block_collapsed", "words": often, "blocks": 4}},
        {"phi": "dirichlet_rows"},
        {"z": {"kernel": "partially_collapsed", "words": seldom}},
        {"alpha": "slice_alpha"},
        {"beta": "slice_beta"},
        {"phi": "dirichlet_rows"},
    ]
    assert_same_everywhere(bound("lda_learned", {"cycle": steps}))


@pytest.mark.parametrize(
    ("rare", "blocks", "topics"),
    [(109, None, 7), (109, 1, 7), (109, 3, 7), (109, 8, 7), (109, 3, 600), (0, 3, 7), (999, 3, 7)],
)
def test_rare_words_rotate(rare: int, blocks: int | None, topics: int) -> None:
    """Some words, none and all are rare."""
    step = {"z": {"kernel": "semi_collapsed", "rare": rare, "blocks": blocks}}
    assert_same_everywhere(bound("lda_collapsed", step, topics=topics))


def test_indicators() -> None:
    assert_same_everywhere(bound("lda_spike_slab"))


def test_mixtures_and_repeats() -> None:
    kernels = [{"weight": 0.5, "z": "partially_collapsed"}, {"weight": 0.5, "z": "light_partially_collapsed"}]
    assert_same_everywhere(bound("lda", {"cycle": [{"mixture": kernels}, {"phi": "dirichlet_rows"}]}))


def warmed_up(warmup: Any, schedule: Any) -> BoundModel:
    """Return a model with seven topics that has a warmup."""
    spec = load_spec("lda", {"topics": 7}).with_schedule(schedule, "the test").with_warmup(warmup, "the test")
    return bind(make_plan(spec), CORPUS)


@pytest.mark.parametrize("members", [1, 3])
def test_a_warmup_and_then_the_schedule(members: int) -> None:
    """Members begin anew with the schedule, which has other steps, and none takes a part for one of before."""
    early = [{"z": {"kernel": "block_collapsed", "blocks": 2}}, {"phi": "dirichlet_rows"}]
    model = warmed_up(early, GIVEN)
    settings = Settings(draws=2, warmup=3, thin=1, seed=3, threads=1, start={})
    inline, deals = Inline(members), count(1)
    there = Phases(model, 3, lambda part: ShardedExecutor(part, inline, deals=deals))
    assert there.at(0).deals != there.at(3).deals
    alone, spread = (
        run_chains(phases, [0, 1], settings, lambda report: None, lambda: False)
        for phases in (Phases.here(model, 3), there)
    )
    for chain in (0, 1):
        np.testing.assert_array_equal(alone[chain].z, spread[chain].z)
        np.testing.assert_array_equal(alone[chain].posterior["phi"], spread[chain].posterior["phi"])
        np.testing.assert_array_equal(alone[chain].warmup_statistics["lp"], spread[chain].warmup_statistics["lp"])
    sent = make_plan(load_spec(_as_data(there.at(0).bound.plan)), partial=True)
    assert sent.schedule == there.at(0).bound.plan.schedule


@pytest.mark.parametrize("kernel", ["partially_collapsed", "block_collapsed"])
def test_members_anneal(kernel: str) -> None:
    """Each by itself, whether it is sent the plan or a specification, which says nothing of temperatures."""
    model = warmed_up({"temperature": 20}, {"cycle": [{"z": kernel}, {"phi": "dirichlet_rows"}]})
    annealed = replace(model, plan=model.plan.before(4))
    assert_same_everywhere(annealed)
    assert not np.array_equal(after(Executor(annealed))["z"], after(Executor(model))["z"])


def test_more_members_than_documents() -> None:
    few = CORPUS.select(range(3))
    spec = load_spec("lda", {"topics": 2}).with_schedule(GIVEN, "the test")
    model = bind(make_plan(spec, CorpusSizes.of(few)), few)
    spread = ShardedExecutor(model, Inline(7))
    assert len(spread.spans) <= 3
    np.testing.assert_array_equal(after(spread)["z"], after(Executor(model))["z"])


def test_kernels_that_need_all_documents_are_refused_by_name() -> None:
    model = bound("lda_collapsed", {"z": "collapsed_gibbs"})
    corpus = LABELLED["class"]
    light = bind(make_plan(load_spec("medlda_light"), CorpusSizes.of(corpus)), corpus)
    with pytest.raises(pt.ScheduleError, match=r"'coordinate_normal' \(eta\) needs all .* one of joint_normal"):
        ShardedExecutor(light, Inline(2))
    says = r"'collapsed_gibbs'.*needs all documents in one place.*give the step one of"
    with pytest.raises(pt.ScheduleError, match=says):
        ShardedExecutor(model, Inline(2))


class Unreliable(Inline):
    """Members of which one is lost, with all that it had, at each of some calls."""

    def __init__(self, number: int, lost_at: set[int]) -> None:
        super().__init__(number)
        self.lost_at, self.calls = lost_at, 0

    def call(self, member: str, function: Any, *arguments: Any, alone: bool = False) -> Any:
        self.calls += 1
        if self.calls in self.lost_at:
            self.stores.pop(member)
            raise MemberLostError(member)
        return super().call(member, function, *arguments)


ROTATING = {"kernel": "block_collapsed", "blocks": 8}
RARE_ROTATE = {"kernel": "semi_collapsed", "rare": 109, "blocks": 8}


@pytest.mark.parametrize("kernel", ["partially_collapsed", ROTATING, RARE_ROTATE], ids=["doc", "rotate", "rare"])
@pytest.mark.parametrize("lost_at", [{1}, {9}, {20, 21}, {40, 50, 60}, {99}])
def test_members_that_are_lost_change_nothing(lost_at: set[int], kernel: Any) -> None:
    steps = [{"alpha": "slice_alpha"}, {"z": kernel}, {"beta": "slice_beta"}, {"phi": "dirichlet_rows"}]
    model = bound("lda_learned", {"cycle": steps})
    alone = after(Executor(model))
    members = Unreliable(4, lost_at)
    spread = after(ShardedExecutor(model, members))
    assert len(members.members()) == 4 - len(lost_at), "nobody was lost"
    for name, value in alone.items():
        np.testing.assert_array_equal(spread[name], value, err_msg=name)


def summary_of(model: BoundModel, state: ChainState) -> Summary:
    documents = of_documents(model.tokens.chunk_ptr, state)
    topics = topic_sums(model.model, model.sizes, sparse=False)
    return summarise(model.sizes.docs, model.sizes.topics, [documents], topics.summarise(state))


@pytest.mark.parametrize("rotates", [False, True], ids=["doc", "rotate"])
@pytest.mark.parametrize("lost_at", [set(), {30}, {100}, {200, 201}, {300, 400}])
def test_states_that_are_not_seen_whole(lost_at: set[int], rotates: bool) -> None:
    """Members are lost when the state here is behind, and lacks the topics."""
    (z, phi), both = GIVEN["cycle"], [{"alpha": "slice_alpha"}, {"beta": "slice_beta"}]
    model = bound("lda_learned", {"cycle": [*both, {"z": ROTATING}, phi, z] if rotates else [z, *both, phi]})
    alone, spread = Executor(model), ShardedExecutor(model, Unreliable(4, lost_at))
    states = [model.initial_state(3, 1) for _ in range(2)]
    memories = alone.memories(states[0])
    looks = [({"z", "n_wk"}, True), (frozenset(), False), ({"phi", "z", "n_wk"}, True), (frozenset(), True)]
    for sweep in range(50):
        wanted, seen = looks[sweep // 2 % 4] if sweep < 20 else (frozenset(), sweep % 3 == 0)
        alone.sweep(states[0], memories, 3, 1, sweep)
        record = spread.sweep(states[1], [None] * 5, 3, 1, sweep, wanted, seen)
        if seen:
            assert record.summary == summary_of(model, states[0])
            for name in {"n_k", *wanted} - {"phi"}:
                np.testing.assert_array_equal(getattr(states[1], name), getattr(states[0], name), err_msg=str(sweep))
            for name in {"alpha", "beta", *wanted} - {"z", "n_wk"}:
                np.testing.assert_array_equal(states[1].arrays[name], states[0].arrays[name], err_msg=str(sweep))
    assert not np.array_equal(states[1].arrays["phi"], states[0].arrays["phi"]), "it never was behind"
    spread.settle(states[1], [None] * 5, 3, 1, 50)
    for name, value in {"z": states[0].z, **states[0].arrays}.items():
        np.testing.assert_array_equal({"z": states[1].z, **states[1].arrays}[name], value, err_msg=name)


@pytest.mark.parametrize("members", [1, 3, 12])
def test_bytes_that_members_send_each_other(members: int) -> None:
    model = bound("lda", GIVEN)
    executor, state = ShardedExecutor(model, Inline(members)), model.initial_state(3, 1)
    members = len(executor.spans)
    record = executor.sweep(state, executor.memories(state), 3, 1, 0)
    slices, ptr = executor.slices, model.tokens.doc_ptr
    expected = (members - 1) * encode(state.n_wk).nbytes
    if members <= MOST_DIRECT:
        slices, expected = [slice(None)] * members, 0
    for place, (first, last) in enumerate(executor.spans.values()):
        own = np.zeros_like(state.n_wk)
        tokens = slice(ptr[first], ptr[last])
        np.add.at(own, (model.tokens.words[tokens], state.z[tokens]), 1)
        expected += sum(encode(own[words]).nbytes for other, words in enumerate(slices) if other != place)
    assert (record.members, record.sent) == (members, expected)
    assert 0 <= record.waited < record.seconds.sum()


def test_document_numbers_of_a_shard_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: streams are named by the number of a document among those of its member."""
    model = bound("lda", GIVEN)
    open_part = ShardedExecutor._begin

    def numbered_from_zero(self: ShardedExecutor, chain: str, state: Any) -> None:
        open_part(self, chain, state)
        for store in self.members.stores.values():  # type: ignore[attr-defined]
            for part in store.values():
                part.first = 0

    monkeypatch.setattr(ShardedExecutor, "_begin", numbered_from_zero)
    with pytest.raises(AssertionError, match="z, 3 members"):
        assert_same_everywhere(model)


@pytest.mark.parametrize(("members", "function"), [(3, "add_counts"), (5, "set_counts")])
def test_a_member_with_counts_of_the_sweep_before_is_noticed(
    members: int, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug: one member draws the topics without the counts of the others."""
    take, at = getattr(reduction, function), []

    def not_always(store: Any, name: Any, *given: Any) -> Any:
        at.append(name)
        if len(at) != 2 * members + 2:
            return take(store, name, *given)
        return 0 if function == "add_counts" else reduction.Sizes([0] * members, [0] * members)

    monkeypatch.setattr(reduction, function, not_always)
    with pytest.raises(pt.RunError, match=r"inline 0 and inline 1 drew different values of phi from the same random"):
        after(ShardedExecutor(bound("lda", GIVEN), Inline(members)))


@pytest.mark.parametrize(("members", "function"), [(3, "add_counts"), (5, "add_up")])
def test_a_part_that_is_counted_twice_is_noticed(members: int, function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: a reply is taken twice."""
    take = getattr(reduction, function)

    def twice(store: Any, name: Any, *given: Any) -> Any:
        *others, sent = given
        return take(store, name, *others, [*sent, sent[0]])

    monkeypatch.setattr(reduction, function, twice)
    with pytest.raises(pt.RunError, match=r"the members have \d+ tokens of word 0 in all, and the corpus has \d+"):
        after(ShardedExecutor(bound("lda", GIVEN), Inline(members)))


@pytest.mark.parametrize("planted", ["stale", "masses"])
def test_faults_of_a_rotation_are_noticed(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bugs: blocks as they were before others visited them, and masses of the sweep before."""
    model, visit = bound("lda_collapsed", {"z": ROTATING}), blocks.visit
    alone = after(Executor(model))

    def without_others(*given: Any) -> Any:
        *others, _, _, leaving = given
        return visit(*others, [], [], leaving)

    if planted == "stale":
        monkeypatch.setattr(blocks, "visit", without_others)
    if planted == "masses":
        draw, name = block_masses.draw_masses, "ppl_topics.samplers.assignments.block_collapsed.draw_masses"
        monkeypatch.setattr(name, lambda n_bk, beta_sum, key: draw(n_bk, beta_sum, key._replace(sweep=key.sweep - 1)))
    executor, state = ShardedExecutor(model, Inline(2)), model.initial_state(3, 1)
    for sweep in range(4):
        executor.sweep(state, executor.memories(state), 3, 1, sweep)
    assert not np.array_equal(state.z, alone["z"])
    if planted == "stale":
        with pytest.raises(pt.RunError, match="n_wk"):
            state.check()


def test_a_block_of_rare_words_that_two_count_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: members do not forget the blocks that others have."""
    monkeypatch.setattr(blocks, "keep_blocks", lambda store, name, *given: store[name].visits)
    with pytest.raises(pt.RunError, match=r"the members have \d+ tokens of word \d+ in all, and the corpus has \d+"):
        after(ShardedExecutor(bound("lda_collapsed", {"z": RARE_ROTATE}), Inline(3)))


def test_what_was_asked_before_documents_were_dealt_again_finds_no_part() -> None:
    model, members = bound("lda", GIVEN), Inline(1)
    executor = ShardedExecutor(model, members)
    state = model.initial_state(3, 1)
    executor.sweep(state, executor.memories(state), 3, 1, 0)
    executor._deal()
    executor.sweep(state, executor.memories(state), 3, 1, 1)
    (store,) = members.stores.values()
    assert list(store) == [(1, 2)]
    with pytest.raises(KeyError):
        parts.draw(store, (1, 1), 0, Key(3, 1, 0, 1))


def test_a_member_that_computes_otherwise_is_refused_before_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: one member begins with other values, as if its arithmetic were another."""
    members, open_part, opened = Inline(3), parts.open_part, []

    def differs(store: Any, name: Any, *arguments: Any) -> None:
        opened.append(name)
        open_part(store, name, *arguments)
        if len(opened) == 3:
            store[name].state.arrays["phi"] *= np.linspace(1, 2, 7)

    monkeypatch.setattr(parts, "open_part", differs)
    with pytest.raises(
        pt.RunError, match=r"inline 0 and inline 2 drew different values of phi, z.*machines of one kind"
    ):
        after(ShardedExecutor(bound("lda", GIVEN), members))
    assert len(opened) == 3, "they drew"


def test_sparse_topics_are_refused() -> None:
    with pytest.raises(pt.ScheduleError, match=r"storage='sparse' keeps the topics in one place.*storage='dense'"):
        ShardedExecutor(bound("lda_spike_slab", storage="sparse"), Inline(2))


LABELLED = {
    kind: pt.Corpus.from_texts(
        TEXTS, labels=labels, label_kind=kind, covariates=pt.Covariates.from_matrix(RNG.normal(size=(300, 2)))
    )
    for kind, labels in {
        "class": [f"c{RNG.integers(3)}" if i % 7 else None for i in range(300)],
        "real": [float(RNG.normal()) for _ in range(300)],
        "count": [int(RNG.poisson(2.0)) for _ in range(300)],
        "multi_label": [[f"c{c}" for c in range(4) if RNG.random() < 0.4] for _ in range(300)],
    }.items()
}
NEEDS_PHI = {
    "background_rows",
    "document_partially_collapsed",
    "indicator_scan",
    "keyword_background_rows",
    "keyword_rows",
    "seeded_rows",
}
"""Kernels of topics that z cannot be drawn without."""
KINDS = {"medlda_regression": "real", "slda_gaussian": "real", "slda_counts": "count"}
"""Labels of models that need others than classes."""
TWO_LABELS = LABELLED["class"].with_labels(LABELLED["real"].labels.values, name="rating")


@pytest.mark.parametrize("model", [name for name in shipped() if not name.startswith("lda") and name != "medlda_light"])
def test_shipped_models_with_responses(model: str) -> None:
    assert_spreads(model, LABELLED[KINDS.get(model, "class")])


def corpus_of(model: Any, corpus: pt.Corpus) -> pt.Corpus:
    """Return a corpus with the covariates that a model wants."""
    years = [{"size": i % 11, "year": str(2001 + i % 3)} for i in range(len(corpus))]
    return corpus.with_covariates(years) if model == "dmr_time" else corpus


def topics_of(model: Any) -> dict[str, Any]:
    """Return the number of topics of a model, and what they are; labels name three of them where they name any."""
    keywords = {"keywords": {"a": ["w1*", "w3"], "b": ["w5", "w3"]}}
    others = {"labelled_lda": {"background": 4}, "keyword_lda": keywords, "seeded_lda": keywords}
    others["slda_ordinal"] = {"levels": ["c0", "c1", "c2"]}
    return {"topics": 7} | (others.get(model, {}) if isinstance(model, str) else {})


def test_several_responses() -> None:
    """Sums over documents are those of each response."""
    assert_spreads(BOTH, TWO_LABELS)


def assert_spreads(model: Any, corpus: pt.Corpus) -> None:
    corpus = corpus_of(model, corpus)
    spec, sizes = load_spec(model, topics_of(model)), CorpusSizes.of(corpus)
    plan = make_plan(spec, sizes, distributed=True)
    spread = bind(plan, corpus)
    # Of more than one group, so that sums over documents have more than one term.
    assert len(spread.tokens.groups) == 3
    assert_same_everywhere(spread)
    if any(kernel in str(plan) for kernel in NEEDS_PHI):
        return
    steps = to_data(plan.schedule)["cycle"]
    assert sum("z" in step for step in steps) == 1
    for kernel in (ROTATING, RARE_ROTATE):
        with_kernel = [{"z": kernel} if "z" in step else step for step in steps]
        rotating = spec.with_schedule({"cycle": with_kernel}, "the test")
        assert_same_everywhere(bind(make_plan(rotating, sizes), corpus))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ppl_topics.CovariateWarning")
@pytest.mark.parametrize("workers", [1, 4])
def test_shipped_models_on_workers(workers: int) -> None:
    """Every model that can be spread, given phi and with blocks of words that rotate, as drawn by two threads alone."""
    distributed = pytest.importorskip("distributed")
    how: dict[str, Any] = {"draws": 3, "warmup": 2, "chains": 1, "seed": 1, "progress": False, "record": {"z": "all"}}
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster:
        corpora = {
            model: corpus_of(model, LABELLED[KINDS.get(model, "class")])
            for model in shipped()
            if model != "medlda_light"
        }
        for model, corpus in [*corpora.items(), (BOTH, TWO_LABELS)]:
            plan = make_plan(load_spec(model, topics_of(model)), CorpusSizes.of(corpus), distributed=True)
            cycle = to_data(plan.schedule).get("cycle", [to_data(plan.schedule)])
            schedules = [cycle]
            if not any(kernel in str(plan) for kernel in NEEDS_PHI):
                for kernel in (ROTATING, RARE_ROTATE):
                    schedules.append([{"z": kernel} if "z" in step else step for step in cycle])
            for schedule in schedules:
                given = {**topics_of(model), "schedule": {"cycle": schedule}, **how}
                alone = pt.sample(model, corpus, **given).posterior
                spread = pt.sample(model, corpus, cluster=cluster, split="documents", **given).posterior
                for name, values in alone.data_vars.items():
                    np.testing.assert_array_equal(spread[name], values, err_msg=f"{model} {schedule} {name}")
