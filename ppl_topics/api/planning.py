"""What a user asks before a run: which kernels it would use and why, how long it would take, and how much memory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import isfinite
from typing import Any

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import check_choice, check_whole
from ppl_topics.api.sampling import ModelLike, Prepared, prepare
from ppl_topics.api.starting import Given
from ppl_topics.corpus import Corpus
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.machine_speed import machine_speed
from ppl_topics.engine.model_sizes import Demand, corpus_bytes, recording_seconds
from ppl_topics.engine.placing import DEVICES, Device, check_model, check_schedule
from ppl_topics.errors import PplTopicsError, ScheduleError
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.assign import assign
from ppl_topics.schedule.costs import (
    CorpusSizes,
    device_bytes,
    longest_on_device,
    runs,
    step_seconds,
    sweep_seconds,
)
from ppl_topics.schedule.forecast import DeviceForecast, Forecast, forecast_kernels
from ppl_topics.schedule.spread import Machines, SpreadForecast, check_spread, forecast_spread
from ppl_topics.schedule.tree import Node
from ppl_topics.spec.model import Model

__all__ = ["check_machines", "plan", "planned"]

MAX_MACHINES = 2**14


def plan(
    model: ModelLike,
    corpus: Corpus | None = None,
    *,
    schedule: Any = None,
    warmup_schedule: Any = None,
    draws: int = 200,
    warmup: int = 200,
    chains: int = 2,
    thin: int = 1,
    threads: int | None = None,
    processes: int = 1,
    record: Mapping[str, Any] | None = None,
    given: Given | None = None,
    machines: int = 1,
    cores: int | None = None,
    gbits: float = 10.0,
    device: Device = "cpu",
    **parameters: Any,
) -> Plan:
    """Return the schedule that a model would run, with the reason for each choice.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
    corpus : Corpus, optional
        Its sizes decide between kernels, and the plan gets a ``forecast`` of seconds and memory, for which the speed of
        this machine is measured. The choice itself depends neither on that speed nor on `threads`.
    schedule : mapping or list, optional
        Replaces the model's own schedule.
    warmup_schedule : mapping or list, optional
        Replaces what the model runs before the first kept draw; see :func:`ppl_topics.sample`.
    draws, warmup, chains, thin, threads, processes : int
        How to run, for the forecast; see :func:`ppl_topics.sample`.
    record : mapping, optional
        What to keep of each variable, for the forecast.
    given : mapping, optional
        Variables that are held fixed, with their values; see :func:`ppl_topics.sample`.
    machines, cores, gbits : int, int, float
        Several machines, each with some documents of every chain (``split="documents"``); the cores of each, by default
        `threads`; and the gigabits a second that each can send and receive. The schedule is the one that would run
        there, and the forecast gets ``spread``: seconds and bytes of a sweep, and how many machines pay.
    device : {'cpu', 'cuda'}
        Where the kernels that can run there would run; this machine need not have a GPU.
    **parameters
        Model parameters to set.

    Raises
    ------
    SpecError, ScheduleError
    CorpusError
        If the corpus has no tokens.

    Examples
    --------
    >>> print(plan("lda_collapsed", schedule={"z": "collapsed_gibbs"}, topics=3))
    model lda_collapsed (topics: 3)
      theta is integrated out by the model
      phi is integrated out by the model
    z: collapsed_gibbs
    exact
    >>> corpus = Corpus.from_texts(["red green red", "green blue", "blue blue red"])
    >>> made = plan("lda", corpus, topics=3, threads=1)
    >>> [(row.kernel, row.exact) for row in made.forecast.kernels if row.chosen and row.variable == "phi"]
    [('dirichlet_rows', True)]
    """
    prepared = prepare(
        model,
        parameters,
        record=record,
        given=given,
        schedule=schedule,
        warmup_schedule=warmup_schedule,
        draws=draws,
        warmup=warmup,
        chains=chains,
        thin=thin,
        threads=threads,
        processes=processes,
    )
    return planned(prepared, corpus, check_machines(machines, cores, gbits, prepared.settings.threads), device)


def check_machines(number: int, cores: int | None, gbits: float, threads: int) -> Machines | None:
    """Check what a plan is told of several machines; None if there is one."""
    check_whole(argument("machines"), number, 1, MAX_MACHINES)
    if cores is not None:
        check_whole(argument("cores"), cores, 1, MAX_MACHINES)
    if not isinstance(gbits, (int, float)) or isinstance(gbits, bool) or not 0 < gbits < float("inf"):
        raise PplTopicsError(f"{argument('gbits')}: must be a number above 0, got {gbits!r}")
    if number == 1:
        if cores is not None:
            raise PplTopicsError(f"{argument('cores')}: means those of several machines; give {argument('machines')}")
        return None
    return Machines(int(number), int(cores or threads), float(gbits))


def planned(
    prepared: Prepared, corpus: Corpus | None, machines: Machines | None = None, device: Device = "cpu"
) -> Plan:
    """Return the plan of a run; with a corpus, also its forecast on this machine, or several, or with a GPU."""
    check_choice(argument("device"), device, DEVICES)
    if device != "cpu" and machines is not None:
        raise PplTopicsError(f"{argument('device')}: {device} runs in one process; leave out {argument('machines')}")
    prepared = replace(prepared, settings=replace(prepared.settings, device=device))
    if machines is not None:
        prepared = replace(prepared, settings=replace(prepared.settings, split="documents"))
    if corpus is None:
        plan = (
            make_plan(prepared.spec, distributed=machines is not None, device=device)
            if prepared.written is None
            else prepared.written
        )
    else:
        plan = prepared.plan(corpus)
    check_model(plan.model, device)
    check_schedule(plan.schedule, device)
    if machines is not None:
        check_spread(plan.schedule)
        check_spread(plan.first_schedule)
    if corpus is None:
        return plan
    settings = prepared.fitted_settings(plan, corpus)
    model, topics = plan.model, plan.model.spec.topics
    demand = Demand(plan, CorpusSizes.of(corpus), settings)
    available = demand.available()
    sizes = demand.sizes.for_model(model)
    speed = machine_speed()
    one, several = (sweep_seconds(plan.schedule, sizes, topics, n) / speed for n in (1, settings.threads))
    on_device = None
    if device != "cpu":
        on_device = _forecast_device(plan, plan.schedule, sizes, settings, speed)
        several = on_device.seconds_sweep
    first = plan.first_schedule
    early = (
        sweep_seconds(first, sizes, topics, settings.threads) / speed
        if on_device is None
        else _forecast_device(plan, first, sizes, settings, speed).seconds_sweep
    )
    sweeping = settings.warmup * early + (settings.sweeps - settings.warmup) * several
    recording = recording_seconds(model, sizes, settings.threads) / speed
    # Chains of one process advance in turn; those of several at the same time.
    in_turn = -(-demand.chains // demand.processes)
    made = Forecast(
        threads=settings.threads,
        chains=demand.chains,
        processes=demand.processes,
        sweeps=settings.sweeps,
        speed=speed,
        sizes=sizes.formula_sizes(topics),
        kernels=forecast_kernels(model, plan.schedule, sizes, settings.threads, speed),
        seconds_sweep_one_thread=one,
        seconds_sweep=several,
        seconds_warmup_sweep=early,
        seconds_recording=recording,
        seconds_run=in_turn * (sweeping + (settings.warmup + settings.draws) * recording),
        bytes=demand.bytes,
        bytes_in_folder=replace(demand, streamed=True).bytes,
        bytes_before=corpus_bytes(demand.sizes),
        bytes_available=available.bytes if isfinite(available.bytes) else None,
        available_by=available.limit,
        spread=None if machines is None else _forecast_spread(prepared, plan, demand, machines, speed),
        on_device=on_device,
    )
    notes: list[str] = []
    for alone in (each.model for each in model.by_response.values()):
        response = alone.response
        labels = None if response is None else corpus.labels_of(response.observed)
        if response is not None and labels is not None:
            notes += response.advice(labels, alone.spec.blocks[response.coefficients])
    return replace(plan, forecast=made, notes=tuple(notes))


def _forecast_device(
    plan: Plan, schedule: Node, sizes: CorpusSizes, settings: Settings, speed: float
) -> DeviceForecast:
    """Forecast a sweep with a GPU; kernels that cannot run there run on this machine."""
    topics, device, threads = plan.model.spec.topics, settings.device, settings.threads
    here = there = 0.0
    for step, times in runs(schedule):
        seconds = times * step_seconds(step, sizes, topics, threads, device)
        if device in step.kernel.devices:
            least = times * longest_on_device(sizes, topics) if "z" in step.kernel.updates else 0.0
            there += max(seconds, least)
        else:
            here += seconds / speed
    known = sizes.formula_sizes(topics)
    return DeviceForecast(here + there, here, device_bytes(known["N"], known["D"], known["V"], topics, settings.chains))


def _forecast_spread(
    prepared: Prepared, plan: Plan, demand: Demand, machines: Machines, speed: float
) -> SpreadForecast:
    """Forecast a sweep on several machines; where blocks of words rotate, beside one that draws z given phi."""
    model, topics = plan.model, plan.model.spec.topics
    sizes = demand.sizes.for_model(model)
    made = forecast_spread(plan.schedule, sizes, topics, machines, speed)
    if prepared.written is not None or made.threads_useful is None:
        return made
    with suppress(ScheduleError):
        other = assign(Model.of(prepared.spec), demand.sizes, distributed=True, rotating=False)
        return replace(made, seconds_given_phi=forecast_spread(other, sizes, topics, machines, speed).seconds_sweep)
    return made
