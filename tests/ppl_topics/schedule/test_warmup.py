"""What runs before the first kept draw: which rules bind it, and what the plan says of it."""

import pytest
from rule_cases import ALPHA, BETA, COLLAPSED, PHI, SILENT, Z_IN, Z_OUT

import ppl_topics as pt
from ppl_topics.errors import ScheduleError
from ppl_topics.schedule import cycle, every, mixture, step
from ppl_topics.schedule.plan import make_plan
from ppl_topics.spec import load_spec
from ppl_topics.spec.shipped import shipped

INEXACT = step("z", "ad_lda")
GIVEN_PHI = cycle(Z_IN, PHI)
LAST = "put `phi: dirichlet_rows` at the end of the warmup"


def planned(warmup, schedule=GIVEN_PHI, model="lda", **options):
    spec = load_spec(model).with_warmup(warmup, "w")
    return make_plan(spec if schedule is None else spec.with_schedule(schedule, "s"), **options)


def refused(warmup, schedule=GIVEN_PHI, model="lda"):
    with pytest.raises(ScheduleError) as failure:
        planned(warmup, schedule, model)
    assert "\n" not in str(failure.value)
    return str(failure.value)


def test_inexact_kernels_leave_the_plan_exact():
    plan = planned(cycle(INEXACT, PHI))
    assert plan.exact
    assert plan.inexact_kernels == []
    assert plan.warmup.inexact == ("ad_lda",)
    assert str(plan).splitlines()[-6:] == [
        "exact",
        "warmup, before the first kept draw only",
        "  cycle",
        "    z: ad_lda",
        "    phi: dirichlet_rows",
        "  inexact, before the first kept draw only: ad_lda",
    ]
    entry = {"kernel": "ad_lda", "exact": False, "reason": "named by the model"}
    data = plan.to_dict()
    assert data["exact"] is True
    assert data["warmup"]["schedule"]["cycle"][0] == {"z": entry}
    assert (data["warmup"]["inexact"], data["warmup"]["temperature"]) == (["ad_lda"], 1.0)


def test_exact_kernels_are_said_to_be_exact():
    assert str(planned(cycle(Z_OUT, PHI))).splitlines()[-1] == "  exact"


def test_an_inexact_schedule_stays_inexact():
    assert not planned(GIVEN_PHI, cycle(INEXACT, PHI)).exact


ANNEALED = ("background_lda", "keyword_lda", "lda", "lda_collapsed", "lda_spike_slab", "seeded_lda")


@pytest.mark.parametrize("model", shipped())
def test_a_model_is_annealed_where_its_words_alone_say_what_its_topics_are(model):
    """Of the shipped ones, those of keywords have none unless they are given."""
    plan = make_plan(load_spec(model))
    if model not in ANNEALED:
        assert plan.warmup is None
        assert "warmup" not in str(plan)
        return
    assert (plan.warmup.schedule, plan.warmup.temperature) == (plan.schedule, 20)
    assert str(plan).splitlines()[-3:] == [
        "  the kernels of the schedule",
        "  annealed, since chains then end in better modes; `warmup: {temperature: 1}` turns it off",
        "  inexact, before the first kept draw only: temperature 20, falling to 1",
    ]


def test_what_leaves_annealing_out():
    """Keywords, topics that are given, concentrations that are learned, and a warmup that the model asks for."""
    learned = {"extends": "lda", "name": "own", "parameters": {"beta": None}}
    learned["blocks"] = {"phi": {"concentration": "beta"}, "beta": {"block": "gamma", "shape": 1.0, "rate": 1.0}}
    for spec in (
        load_spec("keyword_lda", {"keywords": {"one": ["w"]}}),
        load_spec("lda").with_given(["phi"], "{name}"),
        load_spec(learned),
        load_spec("lda").with_warmup({"temperature": 1}, "w"),
    ):
        assert make_plan(spec).warmup is None
    assert make_plan(load_spec("medlda")).to_dict()["warmup"] is None
    assert not planned(cycle(INEXACT, PHI)).warmup.reason


def test_rule_1_does_not_bind():
    """Some variables may stand still until the schedule begins."""
    plan = planned(cycle(Z_IN, PHI), cycle(Z_IN, ALPHA, BETA, PHI), "lda_learned")
    assert plan.warmup.waiting == ("alpha", "beta")
    assert "  stays where it starts until then: alpha, beta" in str(plan).splitlines()
    some = step("z", "partially_collapsed", words={"min_count": 5})
    assert planned(cycle(some, PHI)).warmup.waiting == ()


@pytest.mark.parametrize(
    "tree",
    [
        mixture(cycle(INEXACT, PHI), cycle(Z_IN, PHI)),
        cycle(every(3, INEXACT), pt.repeat(2, Z_OUT), PHI),
        [Z_OUT, PHI],
    ],
)
def test_all_forms_of_a_schedule(tree):
    assert planned(tree).warmup is not None


def test_phi_is_drawn_at_the_boundary():
    """A kernel that integrates it out leaves none that a kernel given phi could read."""
    message = refused(INEXACT)
    assert message.startswith("w['z']: warmup breaks rule 3: kernel 'ad_lda' integrated phi out, and the schedule, ")
    assert message.endswith(f"which follows, needs it; {LAST}")
    assert LAST in refused(mixture(INEXACT, Z_OUT))
    # The schedule may draw it before anything reads it, or never have it.
    assert planned(INEXACT, cycle(PHI, Z_IN, PHI)).warmup is not None
    assert planned(INEXACT, cycle(Z_OUT, PHI)).warmup is not None
    assert planned(INEXACT, Z_OUT, COLLAPSED).warmup is not None


def test_a_stale_phi_is_not_recorded():
    """The schedule draws phi in every fifth sweep only, so that the first draws would hold that of no sweep."""
    seldom = cycle(Z_IN, every(5, PHI))
    assert planned(Z_IN, seldom).warmup is not None
    late = cycle(Z_OUT, every(5, PHI))
    assert LAST in refused(INEXACT, seldom)
    assert planned(INEXACT, late, SILENT).warmup is not None


def test_rules_2_3_and_5_bind():
    assert "warmup breaks rule 3: kernel 'partially_collapsed' reads phi" in refused(cycle(INEXACT, Z_IN, PHI))
    assert refused(cycle(INEXACT, Z_IN, PHI)).endswith("put `phi: dirichlet_rows` before this entry")
    assert "warmup breaks rule 2: kernel 'dirichlet_rows'" in refused(PHI, model="lda_spike_slab", schedule=None)
    held = load_spec("lda").with_given(["phi"], "given {name}").with_schedule(Z_IN, "s")
    with pytest.raises(ScheduleError, match="warmup breaks rule 5: kernel 'ad_lda' integrates out phi, which is given"):
        make_plan(held.with_warmup(INEXACT, "w"))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (step("z", "ad_ldaa"), "w['z']: warmup: z: unknown kernel 'ad_ldaa'; did you mean 'ad_lda'?"),
        ({"cycle": []}, "w['cycle']: warmup: expected a list with at least one entry"),
        ({"repeat": 0, "z": "ad_lda"}, "w['repeat']: warmup: `repeat` is a whole number, at least 1 (rule 4)"),
        ({"cycle": [{"temperature": 2, "z": "ad_lda"}]}, "`temperature` stands at the top of `warmup`; move it there"),
        ({"temperature": 0.5}, "w['temperature']: warmup: temperature: must be a number from 1 to 1000, got 0.5"),
        ({"temperature": True}, "must be a number from 1 to 1000, got True"),
        ({"temperature": float("nan")}, "must be a number from 1 to 1000, got nan"),
    ],
)
def test_mistakes(tree, message):
    assert message in refused(tree)


def test_the_schedule_has_no_temperature():
    with pytest.raises(ScheduleError, match="schedule: `temperature` stands at the top of `warmup`; move it there"):
        make_plan(load_spec("lda").with_schedule({"temperature": 2, "cycle": [Z_IN, PHI]}, "s"))


def test_a_temperature_needs_fixed_concentrations():
    message = refused({"temperature": 5}, None, "lda_learned")
    assert "temperature: multiplies concentrations that are fixed, and alpha is a variable of this model" in message
    assert message.endswith("give alpha a number, or leave temperature out")


def test_temperatures_fall_to_that_of_the_model():
    plan = planned({"temperature": 8})
    assert plan.warmup.schedule is plan.schedule
    assert [plan.before(3).annealing.temperature_at(sweep) for sweep in range(4)] == pytest.approx([8, 4, 2, 1])
    assert str(plan).splitlines()[-2:] == [
        "  the kernels of the schedule",
        "  inexact, before the first kept draw only: temperature 8, falling to 1",
    ]
    both = planned({"temperature": 2.5, **cycle(INEXACT, PHI)}).warmup
    assert both.inexact == ("ad_lda", "temperature 2.5, falling to 1")


def test_it_is_not_part_of_a_part():
    """What `verify` and the members of a cluster plan is a schedule alone."""
    assert planned(cycle(INEXACT, PHI), partial=True).warmup is None
    assert make_plan(load_spec("lda"), partial=True).warmup is None


def test_a_run_is_forecast_with_both():
    corpus = pt.Corpus.from_texts(["red green red blue"] * 50)
    how = {"topics": 3, "draws": 10, "threads": 1, "schedule": GIVEN_PHI}
    slow = cycle(pt.repeat(50, INEXACT), PHI)
    plain, longer, own = (
        pt.plan("lda", corpus, warmup=warmup, **how, **more).forecast
        for warmup, more in ((10, {}), (20, {}), (20, {"warmup_schedule": slow}))
    )
    assert plain.seconds_warmup_sweep == plain.seconds_sweep
    assert own.seconds_sweep == pytest.approx(longer.seconds_sweep, rel=0.5)
    assert own.seconds_warmup_sweep > 10 * own.seconds_sweep
    assert own.seconds_run > longer.seconds_run + 10 * own.seconds_warmup_sweep
    assert "a sweep of the warmup, whose kernels are not in the table: " in str(own)
    assert "warmup" not in str(longer)


def test_machines_that_share_documents():
    """A kernel that cannot serve is refused by name, with what would; a temperature is not."""
    corpus = pt.Corpus.from_texts(["red green red blue"] * 50)
    with pytest.raises(ScheduleError, match=r"kernel 'ad_lda' \(z\) needs all documents in one place; give the step"):
        pt.plan("lda", corpus, topics=3, machines=2, threads=1, warmup_schedule=cycle(INEXACT, PHI))
    annealed = pt.plan("lda", corpus, topics=3, machines=2, threads=1, warmup_schedule={"temperature": 3})
    assert annealed.warmup.temperature == 3
