"""Schedules and kernels that the tests of the rules share."""

import pytest

from ppl_topics.errors import ScheduleError
from ppl_topics.schedule import step
from ppl_topics.schedule.plan import make_plan
from ppl_topics.spec import load_spec

HELD = {"extends": "lda", "name": "held", "blocks": {"theta": {"integrate_out": False}}}
LEARNED = {"extends": "lda_learned", "name": "learned"}
LEARNED_HELD = {"extends": "lda_learned", "name": "learned_held", "blocks": {"theta": {"integrate_out": False}}}
COLLAPSED = {"extends": "lda_collapsed", "name": "collapsed"}
SILENT = {"extends": "lda", "name": "silent", "record": {"phi": "none", "theta": "none"}}

Z_OUT, Z_IN = step("z", "collapsed_gibbs"), step("z", "partially_collapsed")
PHI, THETA = step("phi", "dirichlet_rows"), step("theta", "dirichlet_weights")
ALPHA, BETA = step("alpha", "slice_alpha"), step("beta", "slice_beta")


def words(name, **bounds):
    return step("z", name, words=bounds)


def plan(model, schedule, **options):
    return make_plan(load_spec(model).with_schedule(schedule, "s"), **options)


def refused(model, schedule, **options):
    with pytest.raises(ScheduleError) as failure:
        plan(model, schedule, **options)
    assert "\n" not in str(failure.value)
    return str(failure.value)
