"""The default schedule: which kernels, in which order, and why."""

import pytest

from ppl_topics import registry
from ppl_topics.declarations import KernelFunctions
from ppl_topics.errors import ScheduleError
from ppl_topics.registry import blocks, kernel, kernels
from ppl_topics.schedule.assign import cost_sizes
from ppl_topics.schedule.plan import make_plan
from ppl_topics.schedule.rules import check
from ppl_topics.schedule.tree import Cycle, steps
from ppl_topics.spec import load_spec


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


def test_reasons():
    lda, collapsed = make_plan(load_spec("lda")), make_plan(load_spec("lda_collapsed"))
    z, phi = steps(lda.schedule)
    assert z.reason.startswith("the cheapest exact kernel for z: cost ")
    assert f"({z.kernel.cost}), against " in z.reason
    assert "collapsed_gibbs 7.5e+07" in z.reason
    assert phi.reason == "the only exact kernel for phi"
    (only,) = steps(collapsed.schedule)
    assert (only.kernel.name, only.reason) == ("collapsed_gibbs", "the only exact kernel for z")


def test_the_choice_depends_on_costs_and_sizes():
    few, many = {"N": 1e3, "D": 10.0, "V": 100.0}, {"N": 1e7, "D": 1e5, "V": 1e4}
    assert chosen("lda", {"topics": 2}, few)[0] == ("z", "partially_collapsed")
    assert chosen("lda", {"topics": 500}, many)[0] == ("z", "sparse_partially_collapsed")
    sizes = cost_sizes(500, many)
    assert sizes["K_d"] == pytest.approx(10.0)
    assert cost_sizes(3, many)["K_d"] == 3
    assert cost_sizes(3, {"N": 0.0, "D": 0.0, "V": 0.0})["K_d"] == 1


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
