"""The four rules: what is refused, what the message says, and that the change it proposes is accepted."""

import pytest
from rule_cases import (
    ALPHA,
    BETA,
    HELD,
    LEARNED,
    LEARNED_HELD,
    PHI,
    SILENT,
    THETA,
    Z_IN,
    Z_OUT,
    plan,
    refused,
    words,
)

from ppl_topics.errors import ScheduleError
from ppl_topics.schedule import cycle, mixture, repeat
from ppl_topics.schedule.plan import make_plan
from ppl_topics.spec import load_spec

SOUND = [
    ("lda", cycle(Z_IN, PHI)),
    ("lda", cycle(PHI, Z_IN)),
    ("lda", cycle(Z_OUT, PHI)),
    ("lda", cycle(Z_IN, PHI, Z_OUT, PHI)),
    # A redraw now and then is enough where nothing goes stale.
    ("lda", cycle(Z_IN, {"every": 5, **PHI})),
    ("lda", cycle({"every": 5, **cycle(Z_OUT, PHI)}, Z_IN, PHI)),
    ("lda", mixture(Z_IN, cycle(Z_OUT, PHI))),
    ("lda", mixture(Z_IN, PHI)),
    ("lda", cycle(mixture(Z_OUT, cycle(PHI, Z_OUT)), PHI)),
    ("lda", repeat(3, cycle(Z_IN, PHI))),
    ("lda", cycle(repeat(3, Z_OUT), PHI)),
    ("lda", cycle(words("collapsed_gibbs", max_count=4), PHI, words("partially_collapsed", min_count=5), PHI)),
    ("lda", cycle(words("partially_collapsed", min_count=5), words("sparse_partially_collapsed", max_count=7), PHI)),
    ("lda", cycle(mixture(words("partially_collapsed", min_count=5), words("partially_collapsed", max_count=4)), PHI)),
    ("lda_collapsed", cycle(Z_OUT)),
    (HELD, cycle(Z_IN, PHI, THETA)),
    (HELD, cycle(Z_OUT, THETA, PHI)),
    # Van Dyk and Park: z with theta and phi out, then alpha with theta out, then both redrawn in any order.
    (LEARNED_HELD, cycle(Z_OUT, ALPHA, BETA, PHI, THETA)),
    (LEARNED_HELD, cycle(ALPHA, Z_OUT, BETA, THETA, PHI)),
    (LEARNED_HELD, cycle(Z_IN, ALPHA, THETA, BETA, PHI)),
    (LEARNED, cycle(Z_IN, ALPHA, BETA, PHI)),
    # What is stale may stay so where nobody looks, as long as it is updated at times.
    (SILENT, cycle(PHI, Z_OUT)),
    (SILENT, cycle(PHI, Z_IN, PHI, Z_OUT)),
]


@pytest.mark.parametrize(("model", "schedule"), SOUND)
def test_sound_schedules_pass(model, schedule):
    assert plan(model, schedule).exact


# Model, schedule, the message from the rule on, and the schedule with the proposed change.
BROKEN = [
    (
        "lda",
        cycle(PHI),
        "s: schedule breaks rule 1: no kernel updates z; add `z: collapsed_gibbs` at the start of the schedule",
        cycle(Z_OUT, PHI),
    ),
    (
        "lda",
        cycle(Z_IN),
        "s: schedule breaks rule 1: no kernel updates phi; add `phi: dirichlet_rows` at the end of the schedule",
        cycle(Z_IN, PHI),
    ),
    (
        "lda",
        cycle(Z_OUT),
        "s: schedule breaks rule 1: no kernel updates phi; add `phi: dirichlet_rows` at the end of the schedule, "
        "or set `integrate_out: true` on phi",
        cycle(Z_OUT, PHI),
    ),
    (
        HELD,
        cycle(Z_IN, PHI),
        "s: schedule breaks rule 1: no kernel updates theta; add `theta: dirichlet_weights` at the end of the "
        "schedule, or set `integrate_out: true` on theta",
        cycle(Z_IN, PHI, THETA),
    ),
    (
        LEARNED,
        cycle(Z_IN, PHI, BETA, PHI),
        "s: schedule breaks rule 1: no kernel updates alpha; add `alpha: slice_alpha` at the end of the schedule",
        cycle(Z_IN, PHI, BETA, PHI, ALPHA),
    ),
    (
        "lda",
        cycle(words("partially_collapsed", min_count=5), PHI),
        "s['cycle'][0]['z']: schedule breaks rule 1: tokens of words that occur 1 to 4 times are never updated in z; "
        "add `z: {kernel: partially_collapsed, words: {max_count: 4}}` after this entry",
        cycle(words("partially_collapsed", min_count=5), words("partially_collapsed", max_count=4), PHI),
    ),
    (
        "lda",
        cycle(words("collapsed_gibbs", max_count=4), words("collapsed_gibbs", min_count=9), PHI),
        "s['cycle'][0]['z']: schedule breaks rule 1: tokens of words that occur 5 to 8 times are never updated in z; "
        "add `z: {kernel: collapsed_gibbs, words: {min_count: 5, max_count: 8}}` after this entry",
        cycle(
            words("collapsed_gibbs", max_count=4),
            words("collapsed_gibbs", min_count=5, max_count=8),
            words("collapsed_gibbs", min_count=9),
            PHI,
        ),
    ),
    (
        "lda",
        cycle(words("partially_collapsed", max_count=4), PHI),
        "s['cycle'][0]['z']: schedule breaks rule 1: tokens of words that occur 5 times or more are never updated in "
        "z; add `z: {kernel: partially_collapsed, words: {min_count: 5}}` after this entry",
        cycle(words("partially_collapsed", max_count=4), words("partially_collapsed", min_count=5), PHI),
    ),
    (
        "lda",
        cycle(PHI, Z_OUT),
        "s['cycle'][1]['z']: schedule breaks rule 3: phi is recorded, but kernel 'collapsed_gibbs' integrated it out "
        "and nothing redraws it before the sweep ends; put `phi: dirichlet_rows` at the end of the schedule, or set "
        "`record: {phi: none}`",
        cycle(PHI, Z_OUT, PHI),
    ),
    (
        "lda",
        cycle(Z_OUT, {"every": 3, **PHI}),
        "s['cycle'][0]['z']: schedule breaks rule 3: phi is recorded, but kernel 'collapsed_gibbs' integrated it out "
        "and nothing redraws it before the sweep ends; put `phi: dirichlet_rows` at the end of the schedule, or set "
        "`record: {phi: none}`",
        cycle(Z_OUT, {"every": 3, **PHI}, PHI),
    ),
    # The next sweep reads what this one left stale.
    (
        "lda",
        cycle(Z_IN, PHI, Z_OUT),
        "s['cycle'][0]['z']: schedule breaks rule 3: kernel 'partially_collapsed' reads phi, left stale by "
        "'collapsed_gibbs', which integrated it out; put `phi: dirichlet_rows` at the end of the schedule",
        cycle(Z_IN, PHI, Z_OUT, PHI),
    ),
    (
        "lda",
        cycle(Z_OUT, Z_IN, PHI),
        "s['cycle'][1]['z']: schedule breaks rule 3: kernel 'partially_collapsed' reads phi, left stale by "
        "'collapsed_gibbs', which integrated it out; put `phi: dirichlet_rows` before this entry",
        cycle(Z_OUT, PHI, Z_IN, PHI),
    ),
    (
        "lda",
        cycle({"every": 7, **Z_OUT}, Z_IN, PHI),
        "s['cycle'][1]['z']: schedule breaks rule 3: kernel 'partially_collapsed' reads phi, left stale by "
        "'collapsed_gibbs', which integrated it out; put `phi: dirichlet_rows` before this entry",
        cycle({"every": 7, **Z_OUT}, PHI, Z_IN, PHI),
    ),
    (
        "lda",
        cycle(repeat(2, cycle(Z_IN, PHI, Z_OUT)), PHI),
        "s['cycle'][0]['cycle'][0]['z']: schedule breaks rule 3: kernel 'partially_collapsed' reads phi, left stale by "
        "'collapsed_gibbs', which integrated it out; put `phi: dirichlet_rows` before this entry",
        cycle(repeat(2, cycle(PHI, Z_IN, PHI, Z_OUT)), PHI),
    ),
    (
        "lda",
        cycle(words("collapsed_gibbs", max_count=4), words("partially_collapsed", min_count=5), PHI),
        "s['cycle'][1]['z']: schedule breaks rule 3: kernel 'partially_collapsed' reads phi, left stale by "
        "'collapsed_gibbs', which integrated it out; put `phi: dirichlet_rows` before this entry",
        cycle(words("collapsed_gibbs", max_count=4), PHI, words("partially_collapsed", min_count=5), PHI),
    ),
    (
        LEARNED,
        cycle(Z_IN, PHI, ALPHA, BETA),
        "s['cycle'][0]['z']: schedule breaks rule 3: kernel 'partially_collapsed' reads phi, left stale by "
        "'slice_beta', which integrated it out; put `phi: dirichlet_rows` at the end of the schedule",
        cycle(Z_IN, PHI, ALPHA, BETA, PHI),
    ),
    (
        LEARNED_HELD,
        cycle(Z_IN, PHI, THETA, BETA, PHI, ALPHA),
        "s['cycle'][5]['alpha']: schedule breaks rule 3: theta is recorded, but kernel 'slice_alpha' integrated it "
        "out and nothing redraws it before the sweep ends; put `theta: dirichlet_weights` at the end of the schedule, "
        "or set `record: {theta: none}`",
        cycle(Z_IN, PHI, THETA, BETA, PHI, ALPHA, THETA),
    ),
    (
        "lda",
        cycle(mixture(Z_IN, Z_OUT, PHI), PHI),
        "s['cycle'][0]['mixture'][1]['z']: schedule breaks rule 3: this branch of the mixture leaves phi stale (kernel "
        "'collapsed_gibbs' integrated it out) and another does not; put `phi: dirichlet_rows` at the end of this "
        "branch",
        cycle(mixture(Z_IN, cycle(Z_OUT, PHI), PHI), PHI),
    ),
    (
        "lda",
        cycle(mixture(cycle(PHI, Z_OUT), cycle(Z_OUT, PHI), Z_OUT), PHI),
        "s['cycle'][0]['mixture'][0]['cycle']: schedule breaks rule 3: this branch of the mixture leaves phi stale "
        "(kernel 'collapsed_gibbs' integrated it out) and another does not; put `phi: dirichlet_rows` at the end of "
        "each branch that leaves it stale",
        cycle(mixture(cycle(PHI, Z_OUT, PHI), cycle(Z_OUT, PHI), cycle(Z_OUT, PHI)), PHI),
    ),
    # Here the first branch leaves stale what came in stale.
    (
        "lda",
        cycle(Z_OUT, mixture(Z_OUT, PHI), PHI),
        "s['cycle'][1]['mixture'][0]['z']: schedule breaks rule 3: this branch of the mixture leaves phi stale (kernel "
        "'collapsed_gibbs' integrated it out) and another does not; put `phi: dirichlet_rows` at the end of this "
        "branch",
        cycle(Z_OUT, mixture(cycle(Z_OUT, PHI), PHI), PHI),
    ),
    (
        "lda_collapsed",
        cycle(Z_IN),
        "s['cycle'][0]['z']: schedule breaks rule 3: kernel 'partially_collapsed' reads phi, which the model "
        "integrates out; use `collapsed_gibbs` here, or remove `integrate_out: true` from phi and add a kernel that "
        "updates it",
        cycle(Z_OUT),
    ),
    (
        "lda_collapsed",
        cycle(Z_OUT, PHI),
        "s['cycle'][1]['phi']: schedule breaks rule 3: kernel 'dirichlet_rows' updates phi, which the model "
        "integrates out; drop this entry, or remove `integrate_out: true` from phi",
        cycle(Z_OUT),
    ),
]


@pytest.mark.parametrize(("model", "schedule", "message", "fixed"), BROKEN)
def test_broken_schedules_are_refused_and_their_fixes_accepted(model, schedule, message, fixed):
    assert refused(model, schedule) == message
    plan(model, fixed)


def test_schedules_with_the_other_suggestions_are_accepted():
    plan({"extends": "lda", "record": {"phi": "none"}}, cycle(PHI, Z_OUT))
    plan("lda_collapsed", Z_OUT)
    plan({"extends": "lda_collapsed", "blocks": {"phi": {"integrate_out": None}}}, cycle(Z_IN, PHI))


def test_the_place_in_a_file(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text("extends: lda\nschedule:\n  cycle:\n    - phi: dirichlet_rows\n    - z: collapsed_gibbs\n")
    with pytest.raises(ScheduleError, match=rf"^{path}:5:7: schedule breaks rule 3: phi is recorded"):
        make_plan(load_spec(path))
    path.write_text("extends: lda\nschedule:\n  phi: dirichlet_rows\n")
    with pytest.raises(ScheduleError, match=rf"^{path}:2:1: schedule breaks rule 1: no kernel updates z"):
        make_plan(load_spec(path))


def test_two_changes_are_proposed_one_after_the_other():
    schedule = repeat(2, cycle(Z_IN, PHI, Z_OUT))
    assert refused("lda", schedule).endswith("put `phi: dirichlet_rows` before this entry")
    schedule = repeat(2, cycle(PHI, Z_IN, PHI, Z_OUT))
    assert "put `phi: dirichlet_rows` at the end of the schedule" in refused("lda", schedule)
    plan("lda", cycle(schedule, PHI))


def test_another_kernel_is_proposed_where_a_redraw_would_not_do():
    assert refused("lda", cycle(Z_OUT, mixture(Z_IN, Z_OUT), PHI)).endswith("use `collapsed_gibbs` here")
    plan("lda", cycle(Z_OUT, mixture(Z_OUT, Z_OUT), PHI))


def test_partial_schedules():
    assert plan("lda", Z_IN, partial=True).exact
    assert plan("lda", Z_OUT, partial=True).exact
    assert plan("lda", words("partially_collapsed", min_count=5), partial=True).exact
    assert "rule 3" in refused("lda", cycle(Z_OUT, Z_IN), partial=True)
