"""Whether a run fits into memory, decided before it starts, and which changes would make it fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ppl_topics.core.block import sparse_topics_block
from ppl_topics.corpus import Corpus
from ppl_topics.engine.available_memory import Available, available_memory
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.model_sizes import corpus_bytes, run_bytes
from ppl_topics.engine.recorder import rule_for
from ppl_topics.errors import MemoryEstimateError, PplTopicsError
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.schedule.forecast import MEMORY, spell_bytes
from ppl_topics.spec import load_spec

__all__ = ["Demand", "Remedy", "available_to", "check_memory", "remedies"]

FEWER_WORDS = (2, 3, 5, 10, 20, 50, 100)
"""Values of min_count that are tried."""

LARGE = {"word", "doc", "token"}
"""Dims of the variables that take most of the memory of a trace."""

MOST_SHOWN = 6

WORTHWHILE = 0.95
"""A change must bring memory below this share to be combined with others."""

FEWEST_TOPICS = 0.1
"""Fewer than this share of the requested topics would be another model."""


@dataclass(frozen=True)
class Demand:
    """A run whose memory is estimated.

    Attributes
    ----------
    plan : Plan
    sizes : CorpusSizes
        Of the corpus, as all models see it.
    draws, warmup, thin, chains, processes : int
        As the user gives them.
    streamed : bool
        Whether draws go to a run folder.
    """

    plan: Plan
    sizes: CorpusSizes
    draws: int
    warmup: int
    thin: int
    chains: int
    processes: int
    streamed: bool = False

    @classmethod
    def of(
        cls, plan: Plan, corpus: Corpus, settings: Settings, chains: int, processes: int, streamed: bool = False
    ) -> Demand:
        """Return what a run of a plan on a corpus takes; chains as the user gives them."""
        how = (settings.draws, settings.warmup, settings.thin, chains, processes, streamed)
        return cls(plan, CorpusSizes.of(corpus), *how)

    @property
    def bytes(self) -> dict[str, float]:
        """Memory of the run by purpose; see `ppl_topics.engine.model_sizes.run_bytes`."""
        model = self.plan.model
        # Responses that are apart have chains of their own.
        units = self.chains * (max(1, self.sizes.responses) if model.apart else 1)
        return run_bytes(
            model,
            self.plan.schedule,
            self.sizes.for_model(model),
            draws=self.draws,
            warmup=self.warmup,
            chains=units,
            processes=min(self.processes, units),
            streamed=self.streamed,
        )

    @property
    def more(self) -> float:
        """Bytes beyond the corpus, which is in memory when the run starts."""
        return self.bytes["total"] - corpus_bytes(self.sizes)

    def fits(self, available: float) -> bool:
        """Tell whether the run fits into this many bytes."""
        return self.more <= available


@dataclass(frozen=True)
class Remedy:
    """A change of the run that takes less memory.

    Attributes
    ----------
    shell, python : str
        How it is written as options of ``ppl-topics run``, and as arguments of ``ppl_topics.sample``.
    demand : Demand
        The run so changed.
    """

    shell: str
    python: str
    demand: Demand


def available_to(demand: Demand) -> Available:
    """Return the memory that a run may still take."""
    return available_memory(one_process=demand.processes == 1)


def check_memory(demand: Demand, available: Available | None = None) -> None:
    """Refuse a run that cannot fit into memory."""
    if available is None:
        available = available_to(demand)
    if not demand.fits(available.bytes):
        raise _refusal(demand, available)


def _refusal(demand: Demand, available: Available) -> MemoryEstimateError:
    parts = ", ".join(
        f"{MEMORY[key]} {spell_bytes(size)}" for key, size in demand.bytes.items() if size and key in MEMORY
    )
    problem = (
        f"the run needs about {spell_bytes(demand.more)} of memory beyond what is in use, and "
        f"{spell_bytes(available.bytes)} is available ({available.limit}). In total: {parts}. "
    )
    # What takes one process instead of several would be under the limits of this one as well.
    found = list(remedies(demand, min(available, available_memory()).bytes))
    texts = []
    for how, escape in (("python", "ignore_memory=True"), ("shell", "--ignore-memory")):
        shown = "; ".join(f"{getattr(r, how)} ({spell_bytes(r.demand.more)})" for r in found[:MOST_SHOWN])
        what = f"It would fit with: {shown}" if found else "No single option makes it fit: use a smaller corpus"
        texts.append(f"{problem}{what}; or run it anyway with {escape}")
    return MemoryEstimateError(*texts)


def remedies(demand: Demand, available: float) -> Iterator[Remedy]:
    """Find changes that make a run fit.

    Each is tried alone, starting with those that change the results least. If none is enough, they are combined one
    after another until they are.
    """
    start = Remedy("", "", demand)
    single = [found for change in CHANGES for found in change(start, available) if found.demand.fits(available)]
    yield from single
    if single:
        return
    together = start
    for change in CHANGES:
        candidates = sorted(change(together, available), key=lambda found: found.demand.more)
        if candidates and candidates[0].demand.more < WORTHWHILE * together.demand.more:
            together = candidates[0]
        if together.demand.fits(available):
            yield together
            return


def _added(before: Remedy, shell: str, python: str, **changed: Any) -> Remedy:
    written = f"{before.shell} {shell}".lstrip(), f"{before.python}, {python}".removeprefix(", ")
    return Remedy(*written, replace(before.demand, **changed))


def _one_process(before: Remedy, available: float) -> Iterator[Remedy]:
    if before.demand.processes > 1:
        yield _added(before, "--processes 1", "processes=1", processes=1)


def _to_disk(before: Remedy, available: float) -> Iterator[Remedy]:
    if not before.demand.streamed:
        yield _added(before, "--out FOLDER", "out='FOLDER'", streamed=True)


def _sparse(before: Remedy, available: float) -> Iterator[Remedy]:
    spec = before.demand.plan.model.spec
    if "storage" in spec.parameters and sparse_topics_block(spec.blocks) is None:
        yield from _parameter(before, "storage", "sparse")


def _record_less(before: Remedy, available: float) -> Iterator[Remedy]:
    """Yield runs that record none of one large variable, and none of all of them."""
    model = before.demand.plan.model
    large = [name for name, v in model.variables.items() if LARGE & set(v.dims) and rule_for(v, model) != "none"]
    for names in [*([name] for name in large), *([large] if len(large) > 1 else [])]:
        rules = dict.fromkeys(names, "none")
        plan = _replanned(before.demand, record=rules)
        if plan is not None:
            shell = " ".join(f"--record {name}=none" for name in names)
            yield _added(before, shell, f"record={rules}", plan=plan)


def _fewer_draws(before: Remedy, available: float) -> Iterator[Remedy]:
    """Yield a run of the same length that keeps fewer draws."""
    demand = before.demand
    sweeps = demand.draws * demand.thin

    def kept(draws: int) -> Remedy:
        thin = sweeps // draws
        return _added(before, f"--draws {draws} --thin {thin}", f"draws={draws}, thin={thin}", draws=draws, thin=thin)

    if not demand.streamed:
        yield from _most(kept, demand.draws, available, least=min(50, demand.draws))


def _fewer_chains(before: Remedy, available: float) -> Iterator[Remedy]:
    yield from _most(
        lambda n: _added(before, f"--chains {n}", f"chains={n}", chains=n), before.demand.chains, available
    )


def _fewer_words(before: Remedy, available: float) -> Iterator[Remedy]:
    """Yield the first run without rare words that fits, or else the one without the most words."""
    sizes = before.demand.sizes
    made = None
    for least in FEWER_WORDS:
        often = sizes.counts >= least
        if not often.any():
            break
        fewer = replace(sizes, counts=sizes.counts[often], words=sizes.words[often])
        # The number of tokens is left as it is: rare words have few.
        made = _added(before, f"--min-count {least}", f"a corpus of words with min_count={least}", sizes=fewer)
        if made.demand.fits(available):
            break
    if made is not None:
        yield made


def _fewer_topics(before: Remedy, available: float) -> Iterator[Remedy]:
    topics = before.demand.plan.model.spec.topics

    def with_topics(n: int) -> Remedy:
        return next(_parameter(before, "topics", n), before)

    yield from _most(with_topics, topics, available, least=max(min(2, topics), round(FEWEST_TOPICS * topics)))


CHANGES: tuple[Callable[[Remedy, float], Iterator[Remedy]], ...] = (
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


def _parameter(before: Remedy, name: str, value: Any) -> Iterator[Remedy]:
    plan = _replanned(before.demand, {name: value})
    if plan is not None:
        yield _added(before, f"--set {name}={value}", f"{name}={value!r}", plan=plan)


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
