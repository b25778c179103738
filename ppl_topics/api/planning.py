"""What a user asks before a run: which kernels it would use and why, how long it would take, and how much memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

from ppl_topics.api.sampling import ModelLike, Prepared, prepare
from ppl_topics.core.response import Response
from ppl_topics.corpus import Corpus
from ppl_topics.engine.machine_speed import machine_speed
from ppl_topics.engine.model_sizes import Demand, corpus_bytes, recording_seconds
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.costs import CorpusSizes, sweep_seconds
from ppl_topics.schedule.forecast import Forecast, forecast_kernels

__all__ = ["plan", "planned"]


def plan(
    model: ModelLike,
    corpus: Corpus | None = None,
    *,
    schedule: Any = None,
    draws: int = 200,
    warmup: int = 200,
    chains: int = 2,
    thin: int = 1,
    threads: int | None = None,
    processes: int = 1,
    record: Mapping[str, Any] | None = None,
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
    draws, warmup, chains, thin, threads, processes : int
        How to run, for the forecast; see :func:`ppl_topics.sample`.
    record : mapping, optional
        What to keep of each variable, for the forecast.
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
        schedule=schedule,
        draws=draws,
        warmup=warmup,
        chains=chains,
        thin=thin,
        threads=threads,
        processes=processes,
    )
    return planned(prepared, corpus)


def planned(prepared: Prepared, corpus: Corpus | None) -> Plan:
    """Return the plan of a run; with a corpus, also its forecast on this machine."""
    if corpus is None:
        return make_plan(prepared.spec) if prepared.written is None else prepared.written
    plan, settings = prepared.plan(corpus), prepared.settings
    model, topics = plan.model, plan.model.spec.topics
    demand = Demand(plan, CorpusSizes.of(corpus), settings)
    available = demand.available()
    sizes = demand.sizes.for_model(model)
    speed = machine_speed()
    one, several = (sweep_seconds(plan.schedule, sizes, topics, n) / speed for n in (1, settings.threads))
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
        seconds_recording=recording,
        seconds_run=in_turn * (settings.sweeps * several + (settings.warmup + settings.draws) * recording),
        bytes=demand.bytes,
        bytes_in_folder=replace(demand, streamed=True).bytes,
        bytes_before=corpus_bytes(demand.sizes),
        bytes_available=available.bytes if isfinite(available.bytes) else None,
        available_by=available.limit,
    )
    response = model.spec.blocks.get(model.names.get("y", ""))
    notes: list[str] = []
    if isinstance(response, Response) and corpus.labels is not None:
        notes = response.advice(corpus.labels, model.spec.blocks[response.coefficients])
    return replace(plan, forecast=made, notes=tuple(notes))
