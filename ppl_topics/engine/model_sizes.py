"""How much memory a run takes, and how long it takes to record, worked out from sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ppl_topics.core.block import sparse_topics_block
from ppl_topics.core.tokens import Sizes, topic_dtype
from ppl_topics.engine.available_memory import Available, available_memory
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.recorder import LARGE_DIMS, rule_for
from ppl_topics.results.run_folder.draws import CHUNK_BYTES, CHUNK_DRAWS
from ppl_topics.schedule import Plan
from ppl_topics.schedule.costs import CorpusSizes, runs, step_bytes
from ppl_topics.schedule.tree import Node
from ppl_topics.spec import Docs, TopWords
from ppl_topics.spec.model import Model, Variable

__all__ = ["Demand", "corpus_bytes", "recording_seconds"]

ARRAY = 120
"""Of a NumPy array, in addition to its numbers."""

TEXT = 70
"""Of a word, or a document's id: a short string of Python, and the place that points to it."""

BY_ROLE = {"phi": 4, "theta": 4, "included": 1}
"""Bytes a number of variables that are not float64; z has its own type."""

DESIGN = 10
"""Of a value of the covariates that is not zero, with its column, as the kernels have it."""

LISTS = 10
"""Of a cell of sparse topics: topic, count and probability."""

MEAN_OF_LISTS = 14
"""Of a cell of their mean, while the trace is put together; there are at most as many as tokens at a time."""

STARTING = 20
"""Bytes a number while the starting value of theta is worked out, in addition to that value."""

WORKER = 190e6
"""Of a process that was started to run chains, before it has any: what of Python and the libraries is not shared."""

ENCODED = 5
"""Copies of the largest chunk of draws while it is put together, compressed and written, and the room between them."""

RECORDING_SECONDS = 200e-6, 6.5e-9, 1e-9, 30e-9
"""To record a state on the nominal machine: at least, and for each token, each cell of phi and each number recorded."""


def recording_seconds(model: Model, corpus: CorpusSizes, threads: int) -> float:
    """Return the seconds that recording a draw takes on the nominal machine."""
    dims = _dim_sizes(model, corpus)
    at_least, of_token, of_cell, of_number = RECORDING_SECONDS
    cells = corpus.held * dims["word"] * dims["topic"]
    numbers = sum(size for _, size in _recorded(model, dims)) / 4.0
    return at_least + (of_token * dims["token"] + of_cell * cells + of_number * numbers) / threads


def corpus_bytes(corpus: CorpusSizes) -> float:
    """Return the bytes of the tokens, words and document ids, which are in memory before a run starts."""
    return 4.0 * corpus.n_tokens + TEXT * (corpus.n_words + corpus.n_docs)


@dataclass(frozen=True)
class Demand:
    """A run whose memory is estimated, on a corpus of some sizes; `streamed` if its draws go to a folder."""

    plan: Plan
    sizes: CorpusSizes
    settings: Settings
    streamed: bool = False

    def changed(self, **settings: Any) -> Demand:
        """Return the run with some other settings."""
        return replace(self, settings=replace(self.settings, **settings))

    @property
    def chains(self) -> int:
        """Chains of all responses, if each has its own."""
        return self.settings.chains * (max(1, self.sizes.responses) if self.plan.model.apart else 1)

    @property
    def processes(self) -> int:
        """Processes that have chains."""
        return min(self.settings.processes, self.chains)

    @property
    def more(self) -> float:
        """Bytes beyond the corpus, which is in memory when the run starts."""
        return self.bytes["total"] - corpus_bytes(self.sizes)

    def fits(self, available: float) -> bool:
        """Tell whether the run fits into this many bytes."""
        return self.more <= available

    def available(self) -> Available:
        """Return the memory that the run may still take."""
        return available_memory(one_process=self.settings.processes == 1)

    @property
    def bytes(self) -> dict[str, float]:
        """The bytes in use when the run takes most, by what they are for.

        Most is in use either by the last sweep, or after it, when the chains' states are gone and the draws are being
        copied into one array each. If draws are streamed to disk, nothing is copied at the end, and a checkpoint writes
        arrays from where they are.
        """
        model, schedule, corpus = self.plan.model, self.plan.schedule, self.sizes.for_model(self.plan.model)
        draws, chains, processes = self.settings.draws, self.chains, self.processes
        dims = _dim_sizes(model, corpus)
        cells = 4.0 * dims["word"] * dims["topic"]
        lists = sparse_topics_block(model.spec.blocks) is not None
        copies = 1 if processes == 1 else processes + 1
        texts = corpus_bytes(corpus)
        index = 8 * (2 * dims["doc"] + dims["word"])
        variables = [v for v in model.held.values() if not (lists and v.role in ("phi", "included"))]
        held = {v.name: float(_variable_bytes(v, dims)) for v in variables}
        starting = STARTING / 4 * sum(held[v.name] for v in variables if v.role == "theta")
        # Besides the state, each chain has the counts of words and the mean of phi.
        of_topics, mean = 2 * cells, cells
        if lists:
            counted = _counted_cells(corpus, dims["topic"])
            mean = MEAN_OF_LISTS * counted
            of_topics = LISTS * max(counted, corpus.held * dims["word"] * dims["topic"]) + mean
        state = chains * (sum(held.values()) + of_topics) + DESIGN * processes * corpus.covariate_cells
        before = self.plan.first_schedule
        # Those of the warmup are gone when the schedule begins.
        kernels = max(_kernel_bytes(model, tree, corpus, chains, processes) for tree in (before, schedule))
        kept = dict(_recorded(model, dims))
        large = {name for name, variable in model.variables.items() if LARGE_DIMS & set(variable.dims)}
        small = sum(size for name, size in kept.items() if name not in large)
        early, statistics = (10 * ARRAY + 40 * sum(1 for _ in runs(tree)) for tree in (before, schedule))
        recorded = chains * (draws * (sum(kept.values()) + statistics) + self.settings.warmup * (small + early))
        if self.streamed:
            recorded = _streamed_bytes(kept, statistics, draws, chains)
        # Phi of the words to keep may be drawn for the trace, with their counts.
        drawn = 3 * kept.get(model.names.get("phi", ""), 0.0)
        last = chains * (mean + dims["token"] * np.dtype(topic_dtype(dims["topic"])).itemsize)
        phases = [
            {
                "corpus": float(copies * (texts + index)),
                "state": state + max(starting, drawn),
                "kernels": kernels,
                "recorded": recorded,
                # What a run leaves besides its draws is read back from a folder before the memory of states is free.
                "assembling": last if self.streamed else 0.0,
                "workers": 0.0 if processes == 1 else WORKER * processes,
            }
        ]
        if not self.streamed:
            # Of each variable first one array a chain is made of its draws, then one of all chains.
            twice = chains * draws * max(kept.values(), default=0.0)
            after = {"corpus": float(texts + index), "state": last, "kernels": 0.0}
            phases.append({**phases[0], **after, "assembling": recorded + twice + last})
        most = max(phases, key=lambda phase: sum(phase.values()))
        return {**most, "total": sum(most.values())}


def _counted_cells(corpus: CorpusSizes, topics: int) -> float:
    """Return how many pairs of word and topic have tokens while topics are random; later there are fewer."""
    if topics == 1:
        return float(corpus.words[corpus.counts > 0].sum())
    return float(corpus.words @ (-topics * np.expm1(corpus.counts * np.log1p(-1.0 / topics))))


def _kernel_bytes(model: Model, schedule: Node, corpus: CorpusSizes, chains: int, processes: int) -> float:
    """Return the bytes of kernels.

    Those of z keep theirs in each chain, but for what grows with the responses; this, and all of the other kernels, is
    free after each step, and chains of one process take their steps in turn.
    """
    kept, passing, unlabelled = 0.0, 0.0, replace(corpus, responses=0)
    for step, _ in runs(schedule):
        stays = 0.0
        if model.variables[step.variable].role == "z":
            stays = step_bytes(step, unlabelled, model.spec.topics)
        kept += stays
        passing = max(passing, step_bytes(step, corpus, model.spec.topics) - stays)
    return chains * kept + processes * passing


def _streamed_bytes(kept: Mapping[str, float], statistics: float, draws: int, chains: int) -> float:
    """Return the bytes of the draws that are not on disk yet: a chunk of each variable, and copies of one at a time."""
    chunks = [
        size * max(1, min(CHUNK_DRAWS, draws, CHUNK_BYTES // max(1, int(size - ARRAY)))) for size in kept.values()
    ]
    return chains * (sum(chunks) + statistics * min(CHUNK_DRAWS, draws)) + ENCODED * max(chunks, default=0.0)


def _dim_sizes(model: Model, corpus: CorpusSizes) -> dict[str, int]:
    topics = model.spec.topics
    size = corpus.coefficients(topics)
    dims = (
        Sizes(corpus.n_docs, corpus.n_words, topics, corpus.n_tokens, corpus.responses, size, size)
        ._replace(prevalence=corpus.covariates + 1, keywords=model.n_keywords)
        .by_dim
    )
    for name, marginal in model.marginals.items():
        dims |= {marginal.whole_dim(dim): n for dim, n in _dim_sizes(marginal.model, corpus.alone[name]).items()}
    return dims


def _variable_bytes(variable: Variable, dims: Mapping[str, int]) -> int:
    number = np.dtype(topic_dtype(dims["topic"])).itemsize if variable.role == "z" else BY_ROLE.get(variable.role, 8)
    return number * int(np.prod([dims[dim] for dim in variable.dims], dtype=np.int64))


def _recorded(model: Model, dims: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Yield the bytes of each variable in one draw of the trace."""
    for name, variable in model.variables.items():
        rule = rule_for(variable, model)
        if rule == "none":
            continue
        kept = dict(dims)
        if isinstance(rule, TopWords):
            kept["word"] = min(rule.top_words, dims["word"])
        if isinstance(rule, Docs):
            kept["doc"] = min(rule.docs, dims["doc"])
        yield name, float(ARRAY + _variable_bytes(variable, kept))
    yield "topic_share", ARRAY + 8.0 * dims["topic"]
