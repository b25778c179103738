"""A model on a corpus so small that its posterior can be enumerated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.observed import Observed
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.response import Response
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Tokens
from ppl_topics.diagnostics.exactness.enumeration import token_counts
from ppl_topics.diagnostics.exactness.tiny_response import tiny_above, tiny_observed
from ppl_topics.engine.bind import BoundModel, bind_tokens, index_tokens
from ppl_topics.models.background import Background
from ppl_topics.models.dirichlet import Dirichlet
from ppl_topics.models.gamma import Gamma
from ppl_topics.models.keyword_topics import KeywordTopics
from ppl_topics.models.spike_slab import SpikeSlab
from ppl_topics.schedule import Plan
from ppl_topics.spec import Model, Spec

__all__ = [
    "TINY_DOCUMENTS",
    "TINY_WORDS",
    "TinyModel",
    "draw_dirichlet",
    "tiny_spec",
    "with_a_distribution",
    "with_heavy_topics",
]

TINY_DOCUMENTS: Sequence[Sequence[int]] = ((0, 0, 1), (0, 1), (), (2,))
"""A repeated word, documents that share words, an empty document, and one whose only word occurs once."""

TINY_WORDS = 4
"""Vocabulary of the tiny corpus; its last word never occurs."""

ALPHA = (0.2, 0.5, 1.0)
BETA = (0.2, 0.6, 0.3, 0.5)
HEAVY_BETA = (9.0, 14.0, 6.0, 11.0)
HEAVY_EQUAL_BETA = (10.0,) * 4
INCLUSION = (0.3, 0.7, 0.55, 0.4)


def tiny_spec(spec: Spec) -> Spec:
    """Return the model with 2 or 3 topics, unequal fixed concentrations, and the blocks' `tiny_parameters`.

    Unequal concentrations show errors that equal ones hide, such as an index taken for another; so do priors
    whose shape and rate differ from 1, such as a rate taken for a scale.
    """
    priors = [b for b in spec.blocks.values() if isinstance(b, CoefficientPrior) and not b.of_topics]
    scales = any(prior.auxiliaries() for prior in priors)
    topics = 2 if any(isinstance(b, Gamma) and b.per == "topic" for b in spec.blocks.values()) else 3
    blocks = {}
    for name, block in spec.blocks.items():
        if isinstance(block, Dirichlet) and not isinstance(block.concentration, str):
            values = ALPHA[:topics] if block.over == "topic" else BETA
            block = block.model_copy(update={"concentration": list(values)})
        if isinstance(block, Background | KeywordTopics):
            block = block.model_copy(update={"concentration": list(BETA)})
        if isinstance(block, SpikeSlab):
            block = block.model_copy(update={"concentration": list(BETA), "inclusion": _tiny_inclusion(block)})
        update = dict(block.tiny_parameters)
        if isinstance(block, Response) and scales:
            update |= block.tiny_with_scales
        # Numbers that have priors keep them.
        block = block.model_copy(update={key: value for key, value in update.items() if key not in block.numbers})
        blocks[name] = block
    return replace(spec, blocks=blocks, topics=topics)


def _tiny_inclusion(block: SpikeSlab) -> float | list[float] | str:
    """Return the probability of inclusion, unchanged if it is 1 or has a prior."""
    if isinstance(block.inclusion, list):
        return list(INCLUSION)
    return block.inclusion if isinstance(block.inclusion, str) or block.inclusion == 1.0 else INCLUSION[-1]


def with_heavy_topics(plan: Plan) -> Plan | None:
    """Return the plan with concentrations of phi that sum to a large number, or None if they have a prior.

    Compiled code may draw phi in one way if its concentrations are small, and in another if they are not; the
    tiny corpus by itself would only reach the first. The same holds for indicators if all concentrations are equal,
    as in most models: under a spike-and-slab prior these are.
    """
    spec = plan.model.spec
    phi = plan.model.names["phi"]
    block = spec.blocks[phi]
    if not isinstance(block, Background | Dirichlet | KeywordTopics | SpikeSlab) or isinstance(
        block.concentration, str
    ):
        return None
    heavy_beta = HEAVY_EQUAL_BETA if isinstance(block, SpikeSlab) else HEAVY_BETA
    heavy = block.model_copy(update={"concentration": list(heavy_beta)})
    return replace(plan, model=Model.of(replace(spec, blocks={**spec.blocks, phi: heavy})))


def with_a_distribution(plan: Plan) -> Plan | None:
    """Return the plan with labels that have a distribution to be drawn from, or None if some have none."""
    blocks = dict(plan.model.spec.blocks)
    for alone in (each.model for each in plan.model.by_response.values()):
        if alone.response is None:
            return plan
        response = alone.response.model_copy(update=dict(alone.response.generative_parameters))
        if not response.generative:
            return None
        blocks[alone.names["y"]] = response
    return replace(plan, model=Model.of(replace(plan.model.spec, blocks=blocks)))


class TinyModel:
    """A plan bound to the tiny corpus, of lists of word ids; labels are of that many responses."""

    def __init__(
        self,
        plan: Plan,
        documents: Sequence[Sequence[int]] = TINY_DOCUMENTS,
        responses: int = 3,
        words: int = TINY_WORDS,
    ) -> None:
        # Words are called by their numbers.
        plan = replace(plan, model=plan.model.for_corpus([str(word) for word in range(words)]))
        self.plan, self.responses, self._n_words = plan, responses, words
        self._doc_ptr, first = token_counts(documents)
        self.observed = self._observed(plan.model, 0)
        self.above = tiny_above(plan.model, len(self._doc_ptr) - 1)
        others = enumerate(plan.model.marginals.items())
        self.observed_by = {name: self._observed(each.model, place) for place, (name, each) in others}
        self.bound = self.with_tokens(self.tokens(first))

    def with_documents(self, documents: Sequence[Sequence[int]]) -> TinyModel:
        """Return the plan bound to other documents."""
        return TinyModel(self.plan, documents, self.responses)

    @property
    def model(self) -> Model:
        """The model."""
        return self.bound.model

    def prior(self, role: str) -> Gamma | None:
        """Return the gamma prior of a concentration, or None if it is fixed."""
        block = self.model.spec.blocks.get(self.model.names.get(role, ""))
        return block if isinstance(block, Gamma) else None

    def tokens(self, words: NDArray[np.integer]) -> Tokens:
        """Return documents of the same lengths with other words."""
        whole = self.plan.model.whole_documents
        return index_tokens(self._doc_ptr, words.astype(np.uint32), self._n_words, whole=whole)

    def with_tokens(self, tokens: Tokens) -> BoundModel:
        """Return the plan bound to other documents."""
        return bind_tokens(self.plan, tokens, self._n_words, self.observed, self.observed_by, self.above)

    def _observed(self, model: Model, shift: int) -> Observed | None:
        block = model.label_block
        if block is None:
            return None
        return tiny_observed(block, len(self._doc_ptr) - 1, self.responses, model.uses_covariates(block), shift)

    def set_response(self, state: ChainState, response: str, values: Mapping[str, NDArray[np.floating]]) -> None:
        """Set the variables of one of `BoundModel.by_response`, given by role."""
        marginal = self.model.by_response[response]
        for role, value in values.items():
            name = marginal.whole_name(marginal.model.names.get(role, role))
            if name in state.arrays:
                state.arrays[name][...] = value

    def set_values(self, state: ChainState, values: Mapping[str, NDArray[np.floating]]) -> None:
        """Set the variables that the chain holds, given by role."""
        # Sparse topics have no place for probabilities of words that are not included yet.
        in_sparse = {self.model.names.get(role, role) for role in ("included", "phi")}
        for role in sorted(values, key=lambda role: role == "phi"):
            value = values[role]
            name = self.model.names.get(role, "")
            if name in state.arrays or (name in in_sparse and state.sparse_topics is not None):
                state.set_value(name, value)


def draw_dirichlet(concentration: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw from the Dirichlet distributions of the last axis, through logarithms: small concentrations underflow."""
    log_gamma = (
        np.log(rng.standard_gamma(concentration + 1)) + np.log1p(-rng.random(concentration.shape)) / concentration
    )
    weights = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
