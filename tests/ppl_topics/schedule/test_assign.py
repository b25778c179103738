"""The default schedule: which kernels, in which order, and why."""

import numpy as np
import pytest

from ppl_topics.core import registry
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import blocks, kernel, kernels
from ppl_topics.errors import ScheduleError
from ppl_topics.schedule.assign import sweep_order
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.schedule.plan import make_plan
from ppl_topics.schedule.rules import check
from ppl_topics.schedule.tree import Cycle, steps
from ppl_topics.spec import Model, load_spec


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_registry", registry._Registry(blocks(), kernels(), loaded=True))


def add(name, **declared):
    def build(binding):
        return KernelFunctions(lambda state, memory, key: None)

    handles = ("dirichlet", "assignments", "words", "gamma")
    kernel(name, **({"handles": handles, "exact": True, "automatic": True, "cost": "1"} | declared))(build)


def chosen(model, parameters=None, sizes=None):
    plan = make_plan(load_spec(model, parameters), sizes)
    assert isinstance(plan.schedule, Cycle)
    return [(s.variable, s.kernel.name) for s in steps(plan.schedule)]


HELD = {"extends": "lda_learned", "name": "held", "blocks": {"theta": {"integrate_out": False}}}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("lda", ["z", "phi"]),
        ("lda_collapsed", ["z"]),
        ("lda_learned", ["z", "alpha", "beta", "phi"]),
        (HELD, ["z", "alpha", "beta", "theta", "phi"]),
    ],
)
def test_shipped_models(model, expected):
    plan = make_plan(load_spec(model))
    assert [s.variable for s in steps(plan.schedule)] == expected
    assert plan.exact
    check(plan.schedule, plan.model)
    for step in steps(plan.schedule):
        assert step.kernel.automatic
        assert step.kernel.exact
        assert step.reason in str(plan)
    listed = plan.to_dict()
    assert listed["exact"]
    assert [next(iter(e.values()))["reason"] for e in listed["schedule"]["cycle"]] == [
        s.reason for s in steps(plan.schedule)
    ]


def test_order_follows_from_what_kernels_integrate_out():
    """A variable that a kernel of another one integrates out comes later, whatever its name."""
    model = Model.of(load_spec(HELD))
    latent = list(model.latent.values())
    assert [v.name for v in sweep_order(latent)] == ["z", "alpha", "beta", "theta", "phi"]
    add("leaves_z_stale", updates="phi", integrates_out="z")
    add("leaves_z_too", updates="theta", integrates_out="z")
    assert [v.name for v in sweep_order([v for v in latent if v.role in ("z", "alpha")])] == ["z", "alpha"]
    add("leaves_alpha_stale", updates="beta", integrates_out="alpha")
    assert [v.name for v in sweep_order(latent)].index("beta") < [v.name for v in sweep_order(latent)].index("alpha")


def corpus(docs, length, words):
    counts = np.full(words, docs * length // words)
    counts[0] += docs * length - counts.sum()
    return CorpusSizes.count(np.full(docs, length), counts)


def test_reasons():
    add("slower", updates="z", integrates_out=("theta", "phi"), reads=("alpha", "beta"), cost="1000 * N * K")
    sizes = corpus(1000, 100, 500)
    z, phi = steps(make_plan(load_spec("lda")).schedule)
    most = "the exact kernel for z that integrates out most, its sweep being within 100% of the cheapest: 0."
    assert z.reason.startswith(most)
    assert " s (4 threads of the nominal machine, nominal corpus), against " in z.reason
    assert z.reason.endswith(", slower 50 s")
    assert f" {z.kernel.name} " not in z.reason
    assert phi.reason == "the only exact kernel for phi that is chosen without being named"
    z, _ = steps(make_plan(load_spec("lda"), sizes).schedule)
    assert " s (4 threads of the nominal machine), against " in z.reason
    assert z.reason.endswith(", slower 5 s")


def test_the_choice_depends_on_costs_and_sizes():
    collapsed = {"updates": "z", "integrates_out": ("theta", "phi"), "reads": ("alpha", "beta")}
    add("of_few_topics", **collapsed, cost="0.01 * N * K")
    add("of_many_topics", **collapsed, cost="0.2 * N")
    add("of_large_corpora", **collapsed, cost="0.1 * N + 30 * V * K")
    few, many = corpus(10, 100, 100), corpus(10_000, 100, 100)
    assert chosen("lda", {"topics": 2}, few)[0] == ("z", "of_few_topics")
    assert chosen("lda", {"topics": 100}, few)[0] == ("z", "of_many_topics")
    assert chosen("lda", {"topics": 30}, many)[0] == ("z", "of_large_corpora")


def test_a_kernel_that_fits_no_whole_sweep_is_passed_over():
    before = chosen("lda_learned")
    # By itself it keeps the rules, but slice sampling of alpha would start from a stale value.
    add("alpha_out", updates="z", integrates_out=("theta", "phi", "alpha"), reads="beta")
    assert chosen("lda_learned") == before
    (z, *_) = steps(make_plan(load_spec("lda_learned")).schedule)
    assert "alpha_out" not in z.reason


def test_threads_are_those_of_the_nominal_machine():
    given_phi = {"updates": "z", "integrates_out": "theta", "reads": ("alpha", "phi")}
    add("serial", **given_phi, cost="0.003 * N")
    add("by_document", **given_phi, parallel_over="doc", cost="0.01 * N")
    # 0.003 is more than 0.01 / 4, and less than 0.01 / 2.
    assert chosen("lda")[0] == ("z", "by_document")
    add("in_few_tasks", **given_phi, parallel_over="doc", tasks="2", cost="0.0045 * N")
    assert chosen("lda")[0] == ("z", "in_few_tasks")


def test_a_cheaper_kernel_is_chosen_only_if_exact_automatic_and_admissible():
    before = chosen("lda")
    add("inexact", updates="z", integrates_out="theta", reads=("alpha", "phi"), exact=False)
    add("by_hand", updates="z", integrates_out="theta", reads=("alpha", "phi"), automatic=False)
    add("blind", updates="z", integrates_out="theta", reads=("alpha", "phi"), handles="words")
    add("reads_theta", updates="z", reads=("theta", "phi"))
    assert chosen("lda") == before
    add("cheap", updates="z", integrates_out="theta", reads=("alpha", "phi"))
    assert chosen("lda")[0] == ("z", "cheap")


def test_kernels_that_leave_variables_stale_are_followed_by_redraws():
    add("cheap", updates="z", integrates_out=("theta", "phi"), reads=("alpha", "beta"))
    assert [name for _, name in chosen(HELD)] == [
        "cheap",
        "slice_alpha",
        "slice_beta",
        "dirichlet_weights",
        "dirichlet_rows",
    ]


def test_no_kernel():
    registry.unregister_kernel("dirichlet_rows")
    with pytest.raises(ScheduleError, match="included_rows: schedule breaks rule 2: kernel 'included_rows' does not"):
        make_plan(load_spec("lda"))
    registry.unregister_kernel("included_rows")
    registry.unregister_kernel("listed_rows")
    registry.unregister_kernel("keyword_rows")
    registry.unregister_kernel("background_rows")
    registry.unregister_kernel("keyword_background_rows")
    registry.unregister_kernel("seeded_rows")
    with pytest.raises(ScheduleError) as failure:
        make_plan(load_spec("lda"))
    assert str(failure.value) == "lda.yaml:6:3: no exact kernel can be chosen for phi; name one in a schedule"
    add("blind", updates="phi", reads=("z", "beta"), handles="dirichlet", full_conditional=True)
    with pytest.raises(ScheduleError) as failure:
        make_plan(load_spec("lda"))
    assert str(failure.value).startswith(
        "lda.yaml:6:3: no exact kernel can be chosen for phi; blind: schedule breaks rule 2: kernel 'blind' does not "
        "handle the factor 'w' (words) that touches phi"
    )
    assert "\n" not in str(failure.value)
