"""The rules on kernels and blocks that a test registers: what they declare, handle, redraw and leave stale."""

from typing import Literal

import pytest
from rule_cases import (
    BETA,
    LEARNED,
    PHI,
    Z_IN,
    Z_OUT,
    plan,
    refused,
)

from ppl_topics.core import registry
from ppl_topics.core.block import Block
from ppl_topics.core.kernel import ALL_WORDS, KernelFunctions, WordSelection
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.registry import block, blocks, kernel, kernels
from ppl_topics.models.assignments import Assignments
from ppl_topics.schedule import cycle, step
from ppl_topics.schedule.plan import make_plan
from ppl_topics.spec import load_spec


@pytest.fixture
def register(monkeypatch):
    """Return a function that registers a kernel which does nothing, for this test alone."""
    monkeypatch.setattr(registry, "_registry", registry._Registry(blocks(), kernels(), loaded=True))

    def add(name, *, words=False, **declared):
        def selective(binding, *, words: WordSelection = ALL_WORDS):
            return KernelFunctions(lambda state, memory, key: None)

        def plain(binding):
            return KernelFunctions(lambda state, memory, key: None)

        defaults = {"handles": ("dirichlet", "assignments", "words", "gamma"), "exact": True}
        kernel(name, **(defaults | declared))(selective if words else plain)

    return add


def test_rule_2_factors_that_a_kernel_does_not_handle(register):
    register("no_words", updates="z", integrates_out="theta", reads=("alpha", "phi"), handles=("dirichlet", "gamma"))
    expected = (
        "s['cycle'][0]['z']: schedule breaks rule 2: kernel 'no_words' does not handle the factor 'z' (assignments) "
        "that touches theta, which it integrates out; use `collapsed_gibbs` here, or add 'assignments' to the "
        "`handles` of 'no_words' if it draws by that factor too"
    )
    assert refused("lda", cycle(step("z", "no_words"), PHI)) == expected
    # With phi integrated out there is the prior of phi to handle as well.
    register("no_prior", updates="z", integrates_out=("theta", "phi"), handles=("assignments", "words"))
    assert "does not handle the factor 'theta' (dirichlet)" in refused("lda", cycle(step("z", "no_prior"), PHI))
    # Where a block fits says nothing of its density.
    register(
        "seams",
        updates="z",
        integrates_out=("theta", "phi"),
        handles=("topics", "topic_weights", "assignments", "words"),
    )
    assert "does not handle the factor 'theta' (dirichlet)" in refused("lda", cycle(step("z", "seams"), PHI))


@pytest.fixture
def register_block():
    """Register blocks, and forget them afterwards."""
    names = []

    def add(name, cls):
        names.append(name)
        return registry.block(name)(cls)

    yield add
    for name in names:
        del registry._registry.blocks[name]


def test_rule_2_another_distribution_in_the_same_place(register_block):
    class Sticky(Assignments):
        """Assignments that follow the one before."""

        block: Literal["sticky_assignments"] = "sticky_assignments"

    class Renamed(Assignments):
        """The usual distribution under another name."""

        handled_as = frozenset({"assignments"})
        block: Literal["renamed_assignments"] = "renamed_assignments"

    register_block("sticky_assignments", Sticky)
    register_block("renamed_assignments", Renamed)
    model = {"name": "m", "extends": "lda", "blocks": {"z": {"block": "sticky_assignments", "prior": "theta"}}}
    assert "does not handle the factor 'z' (sticky_assignments)" in refused(model, cycle(Z_IN, PHI))
    model["blocks"]["z"]["block"] = "renamed_assignments"
    assert plan(model, cycle(Z_IN, PHI)).exact


@pytest.mark.parametrize("features", ["z", ["z"]])
def test_rule_2_sees_references_in_lists(register_block, features):
    class Tilt(Block):
        """A factor on z beside those of LDA."""

        references = {"features": "assignments"}  # noqa: RUF012
        own_role = "tilt"
        block: Literal["tilt"] = "tilt"
        features: str | list[str]

        def reference_role(self, key, own_role):
            return "z"

    register_block("tilt", Tilt)
    model = {"name": "m", "extends": "lda", "blocks": {"y": {"block": "tilt", "features": features}}}
    assert "does not handle the factor 'y' (tilt) that touches z" in refused(model, cycle(Z_IN, PHI))


def test_rule_2_without_another_kernel(register):
    register("poor", updates="alpha", integrates_out="theta", reads="z", handles=("gamma", "assignments"))
    registry.unregister_kernel("slice_alpha")
    message = refused(LEARNED, cycle(Z_IN, step("alpha", "poor"), BETA, PHI))
    assert message.endswith("(dirichlet) that touches alpha; no registered kernel handles it; register one that does")


@pytest.mark.parametrize(
    ("model", "declared", "missing", "factor"),
    [
        ("lda", {"updates": "z", "integrates_out": "theta", "reads": "alpha"}, "phi", "'w' (words)"),
        (LEARNED, {"updates": "z", "integrates_out": "theta", "reads": "phi"}, "alpha", "'theta' (dirichlet)"),
        (LEARNED, {"updates": "z", "integrates_out": ("theta", "phi"), "reads": "alpha"}, "beta", "'phi' (dirichlet)"),
        (LEARNED, {"updates": "z", "reads": ("alpha", "phi")}, "theta", "'z' (assignments)"),
        (LEARNED, {"updates": "phi", "reads": "beta"}, "z", "'w' (words)"),
        (LEARNED, {"updates": "beta", "integrates_out": "phi"}, "z", "'w' (words)"),
        (LEARNED, {"updates": "alpha"}, "theta", "'theta' (dirichlet)"),
    ],
)
def test_rule_2_blankets_are_declared_in_full(register, model, declared, missing, factor):
    register("careless", **declared)
    message = refused(model, step(declared["updates"], "careless"), partial=True)
    assert f"rule 2: kernel 'careless' handles the factor {factor}, but does not say what it does with " in message
    assert (
        f"with {missing}, which that factor touches; declare {missing!r} under `reads` or `integrates_out`" in message
    )


def test_all_that_a_kernel_updates_must_be_held(register):
    register("joint", updates=("z", "phi"), integrates_out="theta", reads=("alpha", "beta"))
    assert plan("lda", step("z", "joint")).exact
    assert "kernel 'joint' updates phi, which the model integrates out" in refused("lda_collapsed", step("z", "joint"))


def test_a_redraw_of_some_tokens_leaves_the_others_stale(register):
    register("phi_alone", updates="phi", integrates_out="z", reads="beta", full_conditional=True)
    register("redraw", updates="z", integrates_out="theta", reads=("alpha", "phi"), full_conditional=True, words=True)
    model = {"extends": "lda_collapsed", "name": "m", "blocks": {"phi": {"integrate_out": False}}}
    register("phi_marginal", updates="phi", integrates_out=("z", "theta"), reads=("beta", "alpha"))
    whole = cycle(step("phi", "phi_marginal"), step("z", "redraw"))
    assert plan(model, whole).exact
    some = cycle(step("phi", "phi_marginal"), step("z", "redraw", words={"min_count": 2}), step("z", "redraw"))
    expected = "kernel 'redraw' reads z, left stale by 'phi_marginal', which integrated it out"
    assert expected in refused(model, some)


def test_what_the_log_posterior_reads_must_not_be_stale(register):
    # Each sweep's log posterior takes z, alpha and beta, whether or not they are recorded.
    register("phi_marginal", updates="phi", integrates_out=("z", "theta"), reads=("beta", "alpha"))
    register("redraw", updates="z", integrates_out="theta", reads=("alpha", "phi"), full_conditional=True)
    model = {"extends": "lda", "name": "m", "record": {"z": "none"}}
    message = refused(model, cycle(step("z", "redraw"), step("phi", "phi_marginal")))
    assert message.endswith("before the sweep ends; put `z: redraw` at the end of the schedule")
    plan(model, cycle(step("z", "redraw"), step("phi", "phi_marginal"), step("z", "redraw")))


def test_a_kernel_that_looks_at_the_old_value_cannot_redraw(register):
    register("slice_phi", updates="phi", reads=("z", "beta"))
    message = refused("lda", cycle(Z_OUT, step("phi", "slice_phi")))
    assert "kernel 'slice_phi' reads phi, left stale by 'collapsed_gibbs'" in message
    assert message.endswith("put `phi: dirichlet_rows` before this entry")
    plan("lda", cycle(Z_OUT, PHI, step("phi", "slice_phi")))


def test_no_kernel_that_redraws(register):
    registry.unregister_kernel("dirichlet_rows")
    register("slice_phi", updates="phi", reads=("z", "beta"))
    message = refused("lda", cycle(Z_OUT, step("phi", "slice_phi")))
    assert message.endswith("no registered kernel redraws phi from its full conditional; register one")


def test_inexact_kernels_are_never_proposed_but_may_run(register):
    registry.unregister_kernel("dirichlet_rows")
    register("rough", updates="phi", reads=("z", "beta"), exact=False, full_conditional=True)
    assert refused("lda", cycle(Z_IN)).endswith("no kernel updates phi; register a kernel that updates it")
    made = plan("lda", cycle(Z_IN, step("phi", "rough")))
    assert not made.exact
    assert made.inexact_kernels == ["rough"]
    assert "NOT exact: rough" in str(made).splitlines()


@pytest.fixture
def own_scale(register):
    """A model whose prior of coefficients gives its scale a name and a role that no other prior has."""

    @block("own_prior")
    class OwnPrior(CoefficientPrior):
        block: Literal["own_prior"] = "own_prior"

        def auxiliaries(self):
            return {"spread": ("own_scale", ("response",))}

        def precision(self, state):
            return self.with_intercept(state.arrays["spread"][:, None] ** -2.0, state)

    register("own_scale", updates="own_scale", reads="eta", handles="own_prior", automatic=True)
    return {"extends": "slda_gaussian", "name": "own", "blocks": {"eta": {"block": "own_prior"}}}


def test_kernels_of_coefficients_read_scales_of_any_role(own_scale, register):
    own = make_plan(load_spec(own_scale))
    assert own.schedule.children[0].variable == "spread"
    assert {"joint_normal", "own_scale"} <= {step.kernel.name for step in own.schedule.children}
    # The bug that the role `scales` is there for: a list of the scales that were known when the kernel was written.
    declared = {"updates": "eta", "handles": ("quadratic_response", "conditional_normal")}
    register("forgets", reads=("z", "augmentation", "tau", "lambda", "slab"), **declared)
    rest = (step("sigma2", "inverse_gamma"), Z_IN, PHI, step("spread", "own_scale"))
    expected = (
        "kernel 'forgets' handles the factor 'eta' (own_prior), but does not say what it does with spread, which that "
        "factor touches; declare 'own_scale' under `reads`"
    )
    assert expected in refused(own_scale, cycle(step("eta", "forgets"), *rest))
