"""What the trace says of the topics of a state, and of their mean over draws, however a chain holds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ppl_topics.core.keyword_cells import KeywordCells, with_tokens
from ppl_topics.core.sparse_topics import SparseTopics
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes
from ppl_topics.engine.log_joint import (
    density_n_kw,
    density_phi,
    log_sparse_phi_part,
    log_words_given_phi,
    phi_terms,
)
from ppl_topics.results.mean_topics import SparseMean
from ppl_topics.samplers.concentration.log_pochhammer import log_pochhammer
from ppl_topics.samplers.counts import add_in_order
from ppl_topics.samplers.topics.expected import (
    MeanCells,
    add_expected_sparse,
    update_mean_included_phi,
    update_mean_phi,
)
from ppl_topics.samplers.topics.included_rows import included_mass
from ppl_topics.samplers.topics.sparse_counts import sparse_mass
from ppl_topics.spec import Model

__all__ = ["OfTopics", "TopicSums", "topic_sums"]


class OfTopics(NamedTuple):
    """log p(w | z), given any indicators, and the shares of counts and of phi that are not zero.

    Of topics that are given, or have keywords, it is log p(w | z, phi).
    """

    log_words: float
    densities: Mapping[str, float]


class TopicSums(ABC):
    """Sums over the topics of states; `mean` is that of E[phi | z] over the states added, given any indicators.

    Of topics with keywords, or a background, it is the mean of phi.
    """

    mean: Any

    @abstractmethod
    def summarise(self, state: ChainState) -> OfTopics:
        """Summarise the counts by word of a state, and its indicators."""

    @abstractmethod
    def add(self, state: ChainState, weight: float) -> None:
        """Move the mean towards the state's expectation by the weight, 1 / n for the n-th state."""


class AllWords(TopicSums):
    """Of topics that include all words."""

    def __init__(self, sizes: Sizes) -> None:
        self.mean = np.zeros((sizes.words, sizes.topics), dtype=np.float32)

    def summarise(self, state: ChainState) -> OfTopics:
        beta = state.beta
        mass = np.full(state.sizes.topics, add_in_order(beta))
        log_words, met = phi_terms(state.n_wk, state.n_k, beta, mass)
        return OfTopics(log_words, {"density_n_kw": met / max(1, state.n_wk.size)})

    def add(self, state: ChainState, weight: float) -> None:
        update_mean_phi(state.n_wk, state.n_k, state.beta, weight, self.mean)


class SomeWords(AllWords):
    """Of topics that include some words, by indicators."""

    def summarise(self, state: ChainState) -> OfTopics:
        included = state.arrays["included"]
        log_words, met = phi_terms(state.n_wk, state.n_k, state.beta, included_mass(state.beta, included))
        densities = {"density_n_kw": met / max(1, state.n_wk.size), "density_phi": density_phi(included)}
        return OfTopics(log_words, densities)

    def add(self, state: ChainState, weight: float) -> None:
        included = state.arrays["included"]
        mass = included_mass(state.beta, included)
        update_mean_included_phi(state.n_wk, state.n_k, state.beta, included, mass, weight, self.mean)


class GivenTopics(AllWords):
    """Of topics that are given: the mean is what they are."""

    def __init__(self, sizes: Sizes, phi: str) -> None:
        super().__init__(sizes)
        self._phi = phi

    def summarise(self, state: ChainState) -> OfTopics:
        log_words = log_words_given_phi(state.n_wk, state.arrays[self._phi])
        return OfTopics(log_words, {"density_n_kw": density_n_kw(state.n_wk)})

    def add(self, state: ChainState, weight: float) -> None:
        self.mean[:] = state.arrays[self._phi]


class GivenPhi(GivenTopics):
    """Of topics with keywords or a background: given phi, for the sum over what came from where has no closed form."""

    def add(self, state: ChainState, weight: float) -> None:
        self.mean += np.float32(weight) * (state.arrays[self._phi] - self.mean)


class WithSeeds(AllWords):
    """Of topics in which keywords count for some tokens more."""

    def __init__(self, sizes: Sizes, cells: KeywordCells, number: int) -> None:
        super().__init__(sizes)
        self._cells, self._number = cells, number

    def summarise(self, state: ChainState) -> OfTopics:
        with with_tokens(state, self._cells, self._number):
            value = super().summarise(state).log_words
        beta = state.beta
        # Less what the tokens are that are not the corpus's.
        value -= sum(log_pochhammer(beta[word], self._number) for word in self._cells.words)
        value += sum(log_pochhammer(beta.sum(), self._number * int(n)) for n in np.diff(self._cells.pointer))
        return OfTopics(value, {"density_n_kw": density_n_kw(state.n_wk)})

    def add(self, state: ChainState, weight: float) -> None:
        with with_tokens(state, self._cells, self._number):
            super().add(state, weight)


class SparseWords(TopicSums):
    """Of sparse topics."""

    def __init__(self, sizes: Sizes) -> None:
        pointer, topics = np.zeros(sizes.words + 1, np.int64), np.zeros(0, np.uint16)
        self.mean = SparseMean(pointer, topics, np.zeros(0), np.ones(sizes.topics))

    def summarise(self, state: ChainState) -> OfTopics:
        sparse, beta = _sparse(state), state.beta
        mass = sparse_mass(beta, sparse)
        log_words = log_sparse_phi_part(sparse.pointer, sparse.counts, state.n_k, beta, mass)
        cells = max(1, state.sizes.words * state.sizes.topics)
        counted = int(np.count_nonzero(sparse.counts[: sparse.size]))
        return OfTopics(log_words, {"density_n_kw": counted / cells, "density_phi": sparse.size / cells})

    def add(self, state: ChainState, weight: float) -> None:
        before = MeanCells(self.mean.pointer, self.mean.topics, self.mean.values)
        pointer, topics, values = add_expected_sparse(_sparse(state), state.n_k, state.beta, weight, before)
        given = np.bincount(topics, values, minlength=state.sizes.topics)
        self.mean = SparseMean(pointer, topics, values, np.maximum(0.0, 1.0 - given))


def _sparse(state: ChainState) -> SparseTopics:
    assert state.sparse_topics is not None, "a state without sparse topics"
    return state.sparse_topics


def topic_sums(model: Model, sizes: Sizes, *, sparse: bool) -> TopicSums:
    """Return the sums for the topics of a model, dense or sparse."""
    phi = model.variables.get(model.names["phi"])
    if phi is not None and phi.given:
        return GivenTopics(sizes, phi.name)
    if phi is not None and {"keyword_weight", "background_share"} & model.names.keys():
        return GivenPhi(sizes, phi.name)
    block = model.spec.blocks[model.names["phi"]]
    if block.tokens_of_keywords:
        return WithSeeds(sizes, block.cells, block.tokens_of_keywords)
    return SparseWords(sizes) if sparse else SomeWords(sizes) if "included" in model.names else AllWords(sizes)
