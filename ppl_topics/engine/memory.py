"""Whether a run fits into memory, decided before it starts, and which changes would make it fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ppl_topics._util.argument_names import are_options, recording, set_parameter, setting
from ppl_topics.core.block import sparse_topics_block
from ppl_topics.engine.available_memory import Available, available_memory
from ppl_topics.engine.model_sizes import Demand
from ppl_topics.engine.recorder import LARGE_DIMS, rule_for
from ppl_topics.errors import PplTopicsError, RunError
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.forecast import MEMORY
from ppl_topics.schedule.spelling import spell_bytes
from ppl_topics.spec import load_spec

__all__ = ["Remedy", "check_memory", "remedies"]

FEWER_WORDS = (2, 3, 5, 10, 20, 50, 100)
"""Values of min_count that are tried."""

MOST_SHOWN = 6

WORTHWHILE = 0.95
"""A change must bring memory below this share to be combined with others."""

FEWEST_TOPICS = 0.1
"""Fewer than this share of the requested topics would be another model."""


class Remedy(NamedTuple):
    """A change of the run that takes less memory, as the user would write it, and the run so changed."""

    text: str
    demand: Demand


def check_memory(demand: Demand, available: Available | None = None) -> None:
    """Refuse a run that cannot fit into memory."""
    if available is None:
        available = demand.available()
    if demand.fits(available.bytes):
        return
    parts = ", ".join(
        f"{MEMORY[key]} {spell_bytes(size)}" for key, size in demand.bytes.items() if size and key in MEMORY
    )
    # A run in one process instead of several would be under the limits of this process as well.
    found = list(remedies(demand, min(available, available_memory()).bytes))
    shown = "; ".join(f"{text} ({spell_bytes(changed.more)})" for text, changed in found[:MOST_SHOWN])
    what = f"It would fit with: {shown}" if found else "No single option makes it fit: use a smaller corpus"
    raise RunError(
        f"the run needs about {spell_bytes(demand.more)} of memory in addition to what is in use, and "
        f"{spell_bytes(available.bytes)} is available ({available.limit}). In total: {parts}. "
        f"{what}; or run it anyway with {setting('ignore_memory', True)}"
    )


def remedies(demand: Demand, available: float) -> Iterator[Remedy]:
    """Find changes that make a run fit.

    Each is tried by itself, starting with those that change the results least. If none is enough, they are combined one
    after another until they are.
    """
    single = [found for change in CHANGES for found in change(demand, available) if found.demand.fits(available)]
    yield from single
    if single:
        return
    texts = []
    for change in CHANGES:
        best = min(change(demand, available), key=lambda found: found.demand.more, default=None)
        if best is not None and best.demand.more < WORTHWHILE * demand.more:
            texts.append(best.text)
            demand = best.demand
        if demand.fits(available):
            yield Remedy((" " if are_options() else ", ").join(texts), demand)
            return


def _one_process(demand: Demand, available: float) -> Iterator[Remedy]:
    if demand.settings.processes > 1:
        yield Remedy(setting("processes", 1), demand.changed(processes=1))


def _to_disk(demand: Demand, available: float) -> Iterator[Remedy]:
    if not demand.streamed:
        yield Remedy(setting("out", "FOLDER"), replace(demand, streamed=True))


def _sparse(demand: Demand, available: float) -> Iterator[Remedy]:
    spec = demand.plan.model.spec
    if "storage" in spec.parameters and sparse_topics_block(spec.blocks) is None:
        yield from _parameter(demand, "storage", "sparse")


def _record_less(demand: Demand, available: float) -> Iterator[Remedy]:
    """Yield runs that record none of one large variable, and none of all of them."""
    model = demand.plan.model
    large = [name for name, v in model.variables.items() if LARGE_DIMS & set(v.dims) and rule_for(v, model) != "none"]
    for names in [*([name] for name in large), *([large] if len(large) > 1 else [])]:
        rules = dict.fromkeys(names, "none")
        plan = _replanned(demand, record=rules)
        if plan is not None:
            yield Remedy(recording(rules), replace(demand, plan=plan))


def _fewer_draws(demand: Demand, available: float) -> Iterator[Remedy]:
    """Yield a run of the same length that keeps fewer draws."""
    draws = demand.settings.draws
    sweeps = draws * demand.settings.thin

    def kept(n: int) -> Remedy:
        thin = sweeps // n
        joint = " " if are_options() else ", "
        text = f"{setting('draws', n)}{joint}{setting('thin', thin)}"
        return Remedy(text, demand.changed(draws=n, thin=thin))

    if not demand.streamed:
        yield from _most(kept, draws, available, least=min(50, draws))


def _fewer_chains(demand: Demand, available: float) -> Iterator[Remedy]:
    def with_chains(n: int) -> Remedy:
        return Remedy(setting("chains", n), demand.changed(chains=n))

    yield from _most(with_chains, demand.settings.chains, available)


def _fewer_words(demand: Demand, available: float) -> Iterator[Remedy]:
    """Yield the first run without rare words that fits, or else the one without the most words."""
    sizes, made = demand.sizes, None
    for least in FEWER_WORDS:
        often = sizes.counts >= least
        if not often.any():
            break
        text = setting("min_count", least)
        # The number of tokens is left as it is: rare words have few.
        fewer = replace(sizes, counts=sizes.counts[often], words=sizes.words[often])
        changed = replace(demand, sizes=fewer)
        made = Remedy(text if are_options() else f"a corpus of words with {text}", changed)
        if changed.fits(available):
            break
    if made is not None:
        yield made


def _fewer_topics(demand: Demand, available: float) -> Iterator[Remedy]:
    topics = demand.plan.model.spec.topics

    def with_topics(n: int) -> Remedy:
        return next(_parameter(demand, "topics", n), Remedy("", demand))

    yield from _most(with_topics, topics, available, least=max(min(2, topics), round(FEWEST_TOPICS * topics)))


CHANGES: tuple[Callable[[Demand, float], Iterator[Remedy]], ...] = (
    _to_disk,
    _one_process,
    _sparse,
    _record_less,
    _fewer_draws,
    _fewer_chains,
    _fewer_words,
    _fewer_topics,
)
"""What is tried, in this order."""


def _parameter(demand: Demand, name: str, value: Any) -> Iterator[Remedy]:
    plan = _replanned(demand, {name: value})
    if plan is not None:
        yield Remedy(set_parameter(name, value), replace(demand, plan=plan))


def _replanned(
    demand: Demand, parameters: Mapping[str, Any] | None = None, record: Mapping[str, Any] | None = None
) -> Plan | None:
    """Return the plan with some parameters or recording rules changed, or None if the model does not allow them."""
    try:
        return make_plan(load_spec(demand.plan.model.spec, parameters, record=record), demand.sizes)
    except PplTopicsError:
        return None


def _most(make: Callable[[int], Remedy], asked: int, available: float, least: int = 1) -> Iterator[Remedy]:
    """Yield the run with the largest number below `asked` that fits, by bisection, or else with the least number."""
    if asked <= least:
        return
    low, high = least, asked
    while high - low > 1:
        middle = (low + high) // 2
        if make(middle).demand.fits(available):
            low = middle
        else:
            high = middle
    yield make(low)
