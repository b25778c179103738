"""One chain over documents in several places: the draws of one process, bit for bit."""

from typing import Any

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.engine.bind import BoundModel, bind
from ppl_topics.engine.cluster.members import Inline, MemberLostError
from ppl_topics.engine.cluster.sharded import ShardedExecutor
from ppl_topics.engine.executor import Executor
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.spec import load_spec
from ppl_topics.spec.shipped import shipped

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice([f"w{i}" for i in range(40)], RNG.integers(0, 30))) for _ in range(300)]
CORPUS = pt.Corpus.from_texts(TEXTS)
GIVEN = {"cycle": [{"z": "partially_collapsed"}, {"phi": "dirichlet_rows"}]}
GIVEN_PHI = [name for name, kernel in pt.kernels().items() if kernel.distributes == "doc" and "z" in kernel.updates]


def bound(model: Any, schedule: Any = None, **parameters: Any) -> BoundModel:
    spec = load_spec(model, {"topics": 7, **parameters})
    spec = spec if schedule is None else spec.with_schedule(schedule, "the test")
    return bind(make_plan(spec, CorpusSizes.of(CORPUS)), CORPUS)


def after(executor: Executor, sweeps: int = 4) -> dict[str, np.ndarray]:
    state = executor.bound.initial_state(3, 1)
    memories = executor.memories(state)
    for sweep in range(sweeps):
        executor.sweep(state, memories, 3, 1, sweep)
    state.check()
    return {"z": state.z, "n_wk": state.n_wk, **state.arrays}


def assert_same_everywhere(model: BoundModel) -> None:
    alone = after(Executor(model))
    for members in (1, 3, 7):
        spread = after(ShardedExecutor(model, CorpusSizes.of(CORPUS), Inline(members)))
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


def test_indicators() -> None:
    assert_same_everywhere(bound("lda_spike_slab"))


def test_mixtures_and_repeats() -> None:
    kernels = [{"weight": 0.5, "z": "partially_collapsed"}, {"weight": 0.5, "z": "light_partially_collapsed"}]
    assert_same_everywhere(bound("lda", {"cycle": [{"mixture": kernels}, {"phi": "dirichlet_rows"}]}))


def test_more_members_than_documents() -> None:
    few = CORPUS.select(range(3))
    spec = load_spec("lda", {"topics": 2}).with_schedule(GIVEN, "the test")
    model = bind(make_plan(spec, CorpusSizes.of(few)), few)
    spread = ShardedExecutor(model, CorpusSizes.of(few), Inline(7))
    assert len(spread.spans) <= 3
    np.testing.assert_array_equal(after(spread)["z"], after(Executor(model))["z"])


def test_kernels_that_need_all_documents_are_refused_by_name() -> None:
    model = bound("lda_collapsed", {"z": "collapsed_gibbs"})
    corpus = LABELLED["class"]
    light = bind(make_plan(load_spec("medlda_light"), CorpusSizes.of(corpus)), corpus)
    with pytest.raises(pt.ScheduleError, match=r"'coordinate_normal' \(eta\) needs all .* one of joint_normal"):
        ShardedExecutor(light, CorpusSizes.of(corpus), Inline(2))
    says = r"'collapsed_gibbs'.*needs all documents in one place.*give the step one of"
    with pytest.raises(pt.ScheduleError, match=says):
        ShardedExecutor(model, CorpusSizes.of(CORPUS), Inline(2))


class Unreliable(Inline):
    """Members of which one is lost, with all that it had, at each of some calls."""

    def __init__(self, number: int, lost_at: set[int]) -> None:
        super().__init__(number)
        self.lost_at, self.calls = lost_at, 0

    def call(self, member: str, function: Any, *arguments: Any) -> Any:
        self.calls += 1
        if self.calls in self.lost_at:
            self.stores.pop(member)
            raise MemberLostError(member)
        return super().call(member, function, *arguments)


@pytest.mark.parametrize("lost_at", [{1}, {9}, {20, 21}, {40, 50, 60}, {99}])
def test_members_that_are_lost_change_nothing(lost_at: set[int]) -> None:
    z, phi = GIVEN["cycle"]
    model = bound("lda_learned", {"cycle": [{"alpha": "slice_alpha"}, z, {"beta": "slice_beta"}, phi]})
    alone = after(Executor(model))
    members = Unreliable(4, lost_at)
    spread = after(ShardedExecutor(model, CorpusSizes.of(CORPUS), members))
    assert len(members.members()) == 4 - len(lost_at), "nobody was lost"
    for name, value in alone.items():
        np.testing.assert_array_equal(spread[name], value, err_msg=name)


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
KINDS = {"medlda_regression": "real", "slda_gaussian": "real", "slda_counts": "count"}
"""Labels of models that need others than classes."""


@pytest.mark.parametrize("model", [name for name in shipped() if not name.startswith("lda") and name != "medlda_light"])
def test_shipped_models_with_responses(model: str) -> None:
    corpus = LABELLED[KINDS.get(model, "class")]
    spec, sizes = load_spec(model, {"topics": 7}), CorpusSizes.of(corpus)
    plan = make_plan(spec, sizes, distributed=True)
    spread = bind(plan, corpus)
    # Of more than one group, so that sums over documents have more than one term.
    assert len(spread.tokens.groups) == 3
    assert_same_everywhere(spread)
