"""What schedules cost: the sizes that kernels' formulas use, and from them seconds and bytes.

How many topics a document or a word has is known only once a model is fitted. Were the n tokens of a document spread
evenly over K topics, they would meet K (1 - (1 - 1/K)^n) of them; a fitted model has that number to the power 0.78, for
words as for documents: on 20 Newsgroups after 50 sweeps a token found 10.2, 28.6 and 114 topics in its document, and
its word in 10.9, 37.6 and 128, at K = 20, 100 and 1000, where this gives 10.3, 33 and 107, and 9.8, 31 and 142.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import IntArray
from ppl_topics.core.block import Block, sparse_topics_block
from ppl_topics.core.kernel import WordSelection
from ppl_topics.core.response import FixedFeatures
from ppl_topics.corpus import Corpus, Covariates, Labels
from ppl_topics.schedule.tree import Cycle, Mixture, Node, Repeat, Step
from ppl_topics.spec.model import Model

__all__ = [
    "NOMINAL_THREADS",
    "CorpusSizes",
    "device_bytes",
    "longest_on_device",
    "nominal_sizes",
    "runs",
    "step_bytes",
    "step_seconds",
    "sweep_seconds",
]

NOMINAL_THREADS = 4
"""Threads that kernels are compared at: the choice, and so the draws, must not depend on the machine."""

OCCUPANCY = 0.78

STEP_SECONDS = 50e-6
"""Of any step, however small: Python, and waking the threads."""


@dataclass(frozen=True, eq=False)
class CorpusSizes:
    """What forecasts need to know of a corpus."""

    lengths: IntArray
    docs: IntArray
    """How many documents have each of the lengths."""
    counts: IntArray
    words: IntArray
    """How many words have each of the corpus counts."""
    responses: int = 0
    """One of two classes, else one for each class, label or target."""
    covariates: int = 0
    covariate_cells: int = 0
    """Values of the covariates that are not zero."""
    described: Covariates | None = None
    """The covariates themselves, which a model may make other features of."""
    supervised: int | None = None
    """Topics with coefficients; all by default."""
    held: float = 1.0
    """Share of the cells of phi that a chain holds."""
    more_responses: Mapping[str, int] = field(default_factory=dict)
    """Responses of labels of other names."""
    alone: Mapping[str, CorpusSizes] = field(default_factory=dict)
    """Of several responses, the sizes of one alone, by the variables that only it has."""

    @classmethod
    def count(cls, doc_lengths: NDArray[Any], word_counts: NDArray[Any], responses: int = 0) -> CorpusSizes:
        """Tabulate the lengths of all documents, and the corpus counts of all words of the vocabulary."""
        lengths, docs = np.unique(np.asarray(doc_lengths, dtype=np.int64), return_counts=True)
        counts, words = np.unique(np.asarray(word_counts, dtype=np.int64), return_counts=True)
        return cls(lengths, docs, counts, words, responses)

    @classmethod
    def of(cls, corpus: Corpus) -> CorpusSizes:
        """Tabulate a corpus."""
        made = cls.count(np.diff(corpus.doc_ptr), corpus.word_counts, _responses(corpus.labels))
        made = replace(made, more_responses={name: _responses(each) for name, each in corpus.more_labels.items()})
        if corpus.covariates is None:
            return made
        matrix: Any = corpus.covariates.matrix
        cells = matrix.size if isinstance(matrix, np.ndarray) else matrix.nnz
        number = corpus.covariates.n_columns
        return replace(made, covariates=number, covariate_cells=int(cells), described=corpus.covariates)

    def share(self, machines: int) -> CorpusSizes:
        """Return the sizes of an equal share of the documents, with all words."""
        if machines == 1:
            return self
        made: Any = {"docs": self.docs / machines, "counts": self.counts / machines}
        return replace(self, **made, covariate_cells=self.covariate_cells // machines)

    def cells_met(self, topics: int) -> float:
        """Return in how many cells of words and topics there are tokens; counts may be those of a share, below 1."""
        return float(self.words @ np.minimum(_spread(self.counts, topics) ** OCCUPANCY, self.counts))

    def for_model(self, model: Model) -> CorpusSizes:
        """Return the sizes as one chain of a model sees them.

        Without a response, there are no labels; if responses are apart, each chain has one. Covariates count if
        the model has coefficients for them.
        """
        if model.marginals:
            each = {name: self.for_model(marginal.model) for name, marginal in model.marginals.items()}
            own = {v: sizes for name, sizes in each.items() for v in model.marginals[name].names.values()}
            widest = max(each.values(), key=lambda sizes: sizes.coefficients(model.spec.topics))
            return replace(widest, responses=sum(sizes.responses for sizes in each.values()), alone=own)
        called = "labels" if model.label_block is None else model.label_block.observed_labels
        found = self.responses if called == "labels" else self.more_responses.get(called, 1)
        most = 0 if not model.supervised else 1 if model.apart else found
        listed = sparse_topics_block(model.spec.blocks)
        covariates, cells = self._features(model.spec.blocks.get(model.names.get("x", "")))
        return replace(
            self,
            responses=min(found, most),
            covariates=covariates,
            covariate_cells=cells,
            supervised=None if model.response is None else model.response.supervised(model.spec.topics),
            held=1.0 if listed is None else listed.included_share(model.spec.blocks),
        )

    def _features(self, block: Block | None) -> tuple[int, int]:
        """Return how many features a block makes of the covariates, and how many of their values are not zero."""
        if not isinstance(block, FixedFeatures):
            return 0, 0
        if self.described is None:
            return self.covariates, self.covariate_cells
        number = len(block.columns(self.described))
        # A formula makes a dense matrix.
        return number, self.covariate_cells if number == self.covariates else self.n_docs * number

    def coefficients(self, topics: int) -> int:
        """F, coefficients of a response less its intercept."""
        return (topics if self.supervised is None else self.supervised) + self.covariates

    @property
    def n_docs(self) -> int:
        """D, documents."""
        return int(self.docs.sum())

    @property
    def n_words(self) -> int:
        """V, words of the vocabulary."""
        return int(self.words.sum())

    @property
    def n_tokens(self) -> int:
        """N, tokens."""
        return int(self.lengths @ self.docs)

    def formula_sizes(self, topics: int, selections: tuple[WordSelection, ...] = ()) -> dict[str, float]:
        """Return the values of the names that formulas may use."""
        drawn, met = self.words.copy(), _met(self.lengths, self.docs, topics)
        for selection in selections:
            drawn[~selection.mask(self.counts)] = 0
        return {
            "N": float(self.counts @ drawn if selections else self.n_tokens),
            "D": float(self.n_docs),
            "V": float(self.n_words),
            "K": float(topics),
            "C": float(self.responses),
            "F": float(self.coefficients(topics)),
            "F_d": min(met, float(self.coefficients(topics) - self.covariates))
            + self.covariate_cells / max(1, self.n_docs),
            "K_d": met,
            "K_w": _met(self.counts, drawn, topics),
            "L": self.held * self.n_words * topics,
        }


def _responses(labels: Labels | None) -> int:
    """Return how many responses labels make."""
    if labels is None:
        return 0
    return 1 if labels.kind == "class" and labels.n_responses == 2 else labels.n_responses


def _met(sizes: IntArray, times: IntArray, topics: int) -> float:
    """Return how many topics a token meets in its document, or word, on average over tokens; at least 1."""
    tokens = sizes * times
    if topics == 1 or not tokens.any():
        return 1.0
    return float(tokens @ _spread(sizes, topics) ** OCCUPANCY / tokens.sum())


def _spread(sizes: NDArray[Any], topics: int) -> NDArray[Any]:
    """Return how many topics tokens would meet if they were spread evenly over all."""
    spread: NDArray[Any]
    spread = np.minimum(sizes, 1.0) if topics == 1 else -topics * np.expm1(sizes * np.log1p(-1.0 / topics))
    return spread


@cache
def nominal_sizes() -> CorpusSizes:
    """Return the sizes of a nominal corpus: 10,000 documents of 100 tokens, 20,000 words by Zipf, 2 classes."""
    rank = np.arange(1, 20_001)
    share = 1.0 / (rank + 2.7)
    return CorpusSizes.count(np.full(10_000, 100), np.rint(1e6 * share / share.sum()), responses=1)


def step_seconds(step: Step, corpus: CorpusSizes, topics: int, threads: int, device: str = "cpu") -> float:
    """Return the seconds of one execution of a step on the nominal machine, or device if it can run on that."""
    if device in step.kernel.devices:
        return step.kernel.seconds_on(device, _sizes(step, corpus, topics), step.options)
    return STEP_SECONDS + step.kernel.seconds(_sizes(step, corpus, topics), threads, step.options)


def step_bytes(step: Step, corpus: CorpusSizes, topics: int) -> float:
    """Return the memory of a step's kernel, in one chain."""
    return step.kernel.bytes(_sizes(step, corpus, topics), step.options)


def _sizes(step: Step, corpus: CorpusSizes, topics: int) -> dict[str, float]:
    selections = tuple(value for _, value in step.options if isinstance(value, WordSelection))
    return corpus.alone.get(step.variable, corpus).formula_sizes(topics, selections)


def runs(node: Node, times: float = 1.0) -> Iterator[tuple[Step, float]]:
    """Yield each step of a schedule with how often a sweep runs it, on average."""
    if isinstance(node, Step):
        yield node, times
    elif isinstance(node, Cycle):
        for child in node.children:
            yield from runs(child, times)
    elif isinstance(node, Mixture):
        for child, weight in zip(node.children, node.weights, strict=True):
            yield from runs(child, times * weight / sum(node.weights))
    else:
        yield from runs(node.child, times * node.times if isinstance(node, Repeat) else times / node.n)


def sweep_seconds(node: Node, corpus: CorpusSizes, topics: int, threads: int, device: str = "cpu") -> float:
    """Return the mean seconds of a sweep on the nominal machine, with the nominal device if one is used."""
    return sum(times * step_seconds(step, corpus, topics, threads, device) for step, times in runs(node))


def longest_on_device(corpus: CorpusSizes, topics: int) -> float:
    """Return the seconds that the longest document takes on the nominal device: its tokens are drawn one by one."""
    return float(corpus.lengths.max(initial=0)) * (1.1e-6 + 1.8e-9 * topics)


def device_bytes(tokens: float, docs: float, words: float, topics: float, chains: int = 1) -> float:
    """Return the memory of chains on a device: the words of tokens, and of each chain topics; counts, phi and lists."""
    return 4 * tokens + 20 * docs + chains * (4 * tokens + 20 * docs + 11 * words * topics)
