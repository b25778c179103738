"""What a sweep over several machines would take."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.api.planning import _forecast_spread
from ppl_topics.api.sampling import prepare
from ppl_topics.engine.bind import bind
from ppl_topics.engine.cluster.members import Inline
from ppl_topics.engine.cluster.sharded import ShardedExecutor
from ppl_topics.engine.model_sizes import Demand
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes, nominal_sizes
from ppl_topics.schedule.spread import GAIN, Machines, SpreadForecast, forecast_spread
from ppl_topics.schedule.tree import steps
from ppl_topics.spec import load_spec

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice([f"w{i}" for i in range(400)], 60)) for _ in range(500)]
GIVEN_PHI = [{"z": "sparse_partially_collapsed"}, {"phi": "dirichlet_rows"}]
CORPUS = pt.Corpus.from_texts(TEXTS, labels=["a", "b"] * 250)


def spread(number: int, topics: int = 100, scale: int = 1, gbits: float = 10.0) -> SpreadForecast:
    plan = make_plan(load_spec("lda", {"topics": topics}).with_schedule(GIVEN_PHI, "the test"))
    sizes = nominal_sizes().for_model(plan.model)
    many = CorpusSizes(sizes.lengths, sizes.docs * scale, sizes.counts * scale, sizes.words)
    return forecast_spread(plan.schedule, many, topics, Machines(number, 16, gbits), 1.0)


def test_one_machine_sends_nothing() -> None:
    alone = spread(1)
    assert alone.seconds_sweep == alone.seconds_one == alone.seconds_drawing
    assert alone.bytes_sweep == 0


def test_documents_are_shared_and_topics_are_not() -> None:
    """Of many tokens, a machine of four draws a fourth; what all draw themselves does not get less."""
    many, few = spread(4, scale=1000), spread(4096)
    assert many.seconds_drawing == pytest.approx(many.seconds_one / 4, rel=0.1)
    assert few.seconds_drawing > 2 * few.seconds_one / 4096
    assert spread(4, gbits=1.0).seconds_sending == pytest.approx(10 * spread(4).seconds_sending)


@pytest.mark.parametrize("scale", [1, 100, 10_000])
def test_how_many_machines_are_useful(scale: int) -> None:
    useful = spread(2, scale=scale).machines_useful
    seconds = [spread(n, scale=scale).seconds_sweep for n in (useful, 2 * useful)]
    assert seconds[0] / seconds[1] < GAIN
    if useful > 1:
        assert spread(useful // 2, scale=scale).seconds_sweep / seconds[0] >= GAIN
    assert (useful == 1) == (scale == 1)


@pytest.mark.parametrize("members", [2, 12])
def test_bytes_are_about_those_that_members_send(members: int) -> None:
    made = pt.plan("lda", CORPUS, topics=20, machines=members, cores=1)
    model = bind(made, CORPUS)
    executor, state = ShardedExecutor(model, Inline(members)), model.initial_state(1, 0)
    memories = executor.memories(state)
    sent = [executor.sweep(state, memories, 1, 0, sweep).sent for sweep in range(10)][-1]
    assert made.forecast is not None
    assert made.forecast.spread is not None
    assert sent / 1.5 < made.forecast.spread.bytes_sweep < 1.5 * sent


def test_the_plan_is_that_of_several_machines() -> None:
    alone, several = pt.plan("medlda_light"), pt.plan("medlda", machines=3)
    assert not all(step.kernel.distributes for step in steps(alone.schedule))
    assert all(step.kernel.distributes for step in steps(several.schedule))
    alone, several = (pt.plan("lda", CORPUS, topics=4, machines=n, threads=1) for n in (1, 3))
    assert alone.forecast is not None
    assert alone.forecast.spread is None
    assert "3 machines of 1 core " in str(several.forecast)
    assert several.to_dict()["forecast"]["spread"]["machines"] == 3


def test_what_cannot_be_spread_is_refused() -> None:
    with pytest.raises(pt.ScheduleError, match=r"'collapsed_gibbs'.*needs all documents in one place; give"):
        pt.plan("lda_collapsed", schedule={"z": "collapsed_gibbs"}, topics=3, machines=2)
    with pytest.raises(pt.ScheduleError, match=r"'coordinate_normal'.*give the step one of joint_normal"):
        pt.plan("medlda_light", machines=2)


def test_blocks_have_work_for_some_threads() -> None:
    made = pt.plan("lda_collapsed", CORPUS, schedule={"z": "block_collapsed"}, topics=3, machines=4, cores=16)
    assert made.forecast is not None
    assert made.forecast.spread is not None
    assert made.forecast.spread.threads_useful == 1
    assert "only 1 threads of all find work" in str(made.forecast)
    assert made.forecast.spread.seconds_drawing == pytest.approx(made.forecast.spread.seconds_one)


@pytest.mark.parametrize(("machines", "cores", "says"), [(2, 1, "later"), (64, 64, "sooner, so name sparse_part")])
def test_blocks_that_rotate_beside_draws_given_phi(machines: int, cores: int, says: str) -> None:
    """Blocks have work for some threads only; given phi it takes twice the sweeps, but there is work for all."""
    lengths, words = np.array([200]), np.array([10**5])
    prepared = prepare("lda", {"topics": 100}, draws=1, warmup=0, chains=1)
    many = CorpusSizes(lengths, np.array([10**7]), np.array([20_000]), words)
    demand = Demand(make_plan(prepared.spec, many, distributed=True), many, prepared.settings)
    made = _forecast_spread(prepared, demand.plan, demand, Machines(machines, cores, 10.0), 1.0)
    assert made.seconds_given_phi is not None
    assert (2 * made.seconds_given_phi < made.seconds_sweep) == (says != "later")
    assert f"many lead to the mode: {says}" in "\n".join(made.lines())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"machines": 0}, "machines: must be a whole number from 1"),
        ({"machines": 2, "cores": 0}, "cores: must be a whole number from 1"),
        ({"machines": 2, "gbits": 0}, "gbits: must be a number above 0, got 0"),
        ({"machines": 2, "gbits": "10"}, "gbits: must be a number above 0, got '10'"),
        ({"cores": 16}, "cores: means those of several machines; give machines"),
    ],
)
def test_wrong_machines(given: dict[str, object], says: str) -> None:
    with pytest.raises(pt.PplTopicsError, match=says):
        pt.plan("lda", CORPUS, topics=3, **given)
