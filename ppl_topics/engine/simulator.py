"""Corpora drawn from a model whose sizes are given, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.alpha import Above
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.observed import Observed
from ppl_topics.core.state import WORD_MAJOR, ChainState
from ppl_topics.corpus import Corpus, Covariates, Labels
from ppl_topics.corpus.names import StrArray
from ppl_topics.engine.encode_observed import encode_above, encode_observed
from ppl_topics.engine.group_builder import coordinates
from ppl_topics.engine.simulation import (
    check_simulates,
    document_features,
    draw_from_prior,
    draw_labels,
    draw_targets,
    drawing_order,
    state_without_words,
)
from ppl_topics.errors import RunError, SpecError
from ppl_topics.spec import Model
from ppl_topics.spec.model import Marginal

__all__ = ["Simulation", "Simulator", "check_generative", "labels_of"]

TRIES = 10_000
"""Draws of a prior that excludes some of them, before it is given up."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """A corpus that was drawn from a model.

    Attributes
    ----------
    corpus : Corpus
        The words and, as far as the model has them, labels and covariates.
    values : xarray.Dataset
        The values that it was drawn with, by name of the variable, with the dims and coordinates of a trace: phi of
        shape (topic, word), theta of shape (doc, topic), z of shape (token,) in the order of ``corpus.words``, ...
        Its attributes are ``model_name``, ``model_yaml`` and ``seed``.
    """

    corpus: Corpus
    values: xr.Dataset

    def __repr__(self) -> str:
        return f"Simulation of {self.values.attrs['model_name']}: {', '.join(map(str, self.values))}; {self.corpus!r}"


@dataclass(frozen=True)
class Simulator:
    """What simulations of one model share: sizes, covariates or their number, and given values by variable.

    ``labels``, by the names that `observed` gives them, are of the kind that the response takes, and say nothing.
    """

    model: Model
    doc_ptr: IntArray
    vocabulary: StrArray
    labels: Mapping[str, Labels]
    covariates: Covariates | int | None
    given: Mapping[str, NDArray[Any]]

    def draw(self, seed: int, number: int = 0) -> Simulation:
        """Return a simulation; ``number`` tells those of one seed apart."""
        rng, model = Key(seed, number, 0).reserved(Reserved.SIMULATION).generator(), self.model
        corpus, labels = self.corpus(rng), dict(self.labels)
        common: dict[str, NDArray[Any]] = {}
        datasets = []
        for marginal in model.by_response.values():
            observed, above = encode_observed(marginal.model, corpus), encode_above(marginal.model, corpus)
            state = state_without_words(marginal.model, self.doc_ptr, corpus.n_words, observed, above)
            values = self._parameters(marginal, state, rng, common)
            if not common:
                # As a corpus has them: sorted by word inside each document.
                sort = np.lexsort((values["w"], state.tokens.docs))
                values["z"], values["w"] = values["z"].astype(state.z.dtype)[sort], values["w"][sort]
            state.z[:] = values["z"]
            labels |= self._draw_labels(marginal, state, values, rng)
            own = {role for name, role in _roles(marginal.model) if name in marginal.names}
            datasets.append(_dataset(marginal, values, corpus, state, above, leaving_out=common))
            common = {role: value for role, value in values.items() if role not in own}
        corpus = _labelled(replace(corpus, words=common["w"].astype(np.uint32)), labels)
        about = {"model_name": model.spec.name, "model_yaml": self.yaml, "seed": seed}
        return Simulation(corpus, xr.merge(datasets, join="exact", compat="override").assign_attrs(about))

    def _parameters(
        self, marginal: Marginal, state: ChainState, rng: np.random.Generator, common: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """Draw all that a response depends on, by role, but for what is given or common to several."""
        model, order, given = marginal.model, drawing_order(marginal.model), {**self._given(marginal), **common}
        for _ in range(TRIES):
            values = draw_from_prior(model, order, state, rng, given)
            if values is not None:
                return values
        raise RunError(
            f"model {model.spec.name!r}: {TRIES:,} draws of the prior had a topic without words, or a concentration "
            "out of range; give words a larger probability of inclusion, or take more of them, and coefficients of "
            "concentrations a smaller variance"
        )

    def _draw_labels(
        self, marginal: Marginal, state: ChainState, values: dict[str, NDArray[Any]], rng: np.random.Generator
    ) -> dict[str, Labels]:
        """Draw the labels that a model observes, by name, and add to the values what they come with."""
        model, given = marginal.model, self._given(marginal)
        response, block = model.response, model.label_block
        if block is None:
            return {}
        name = block.observed_labels
        like = self.labels[name]
        if response is None:
            targets, others = draw_labels(block, values, state, rng, given)
            values |= others
            return {name: labels_of(targets, targets, like)}
        scores = document_features(state.n_dk, state) @ values["eta"].T
        with_numbers = response.at(values, by_role=True)
        targets, parameter = draw_targets(with_numbers, scores, rng, given.get("augmentation"))
        if "doc" not in response.augmentation_dims:
            values["augmentation"] = parameter
        return {name: labels_of(response.indicators(targets), targets, like)}

    def _given(self, marginal: Marginal) -> dict[str, NDArray[Any]]:
        """Return the given values that a model has, by role."""
        given = {role: self.given.get(marginal.whole_name(name)) for name, role in _roles(marginal.model)}
        return {role: value for role, value in given.items() if value is not None}

    def corpus(self, rng: np.random.Generator) -> Corpus:
        """Return the documents with their covariates, before words and labels are drawn."""
        words, covariates = np.zeros(int(self.doc_ptr[-1]), np.uint32), self.covariates
        if isinstance(covariates, int):
            names = [f"x{i}" for i in range(covariates)]
            covariates = Covariates.from_matrix(rng.normal(size=(len(self.doc_ptr) - 1, covariates)), names)
        name = f"simulated, {self.model.spec.name}"
        return _labelled(Corpus(self.doc_ptr, words, self.vocabulary, covariates=covariates, name=name), self.labels)

    @cached_property
    def yaml(self) -> str:
        """The model with its parameters."""
        return self.model.spec.to_yaml()


def _labelled(corpus: Corpus, labels: Mapping[str, Labels]) -> Corpus:
    """Return a corpus with labels of some names."""
    for name, each in labels.items():
        corpus = corpus.with_labels(each, name=name)
    return corpus


def _roles(model: Model) -> list[tuple[str, str]]:
    """Return the variables of a model with their roles."""
    return [(name, variable.role) for name, variable in model.variables.items()]


def _dataset(
    marginal: Marginal,
    values: Mapping[str, NDArray[Any]],
    corpus: Corpus,
    state: ChainState,
    above: Above | None,
    leaving_out: Mapping[str, NDArray[Any]],
) -> xr.Dataset:
    """Return values by variable, but for those in some roles, with the dims and coordinates of a trace."""
    data = {}
    for name, variable in marginal.model.variables.items():
        if variable.role in values and variable.role not in leaving_out:
            value = values[variable.role]
            data[name] = (variable.dims, np.ascontiguousarray(value.T) if variable.role in WORD_MAJOR else value)
    dims = dict.fromkeys(dim for of_variable, _ in data.values() for dim in of_variable)
    prevalence = above if isinstance(above, Observed) else None
    keywords = marginal.model.keyword_names(corpus.vocabulary) if "keyword" in dims else ()
    made = xr.Dataset(data, coordinates(list(dims), corpus, state.sizes, state.observed, prevalence, keywords))
    new = {each: marginal.whole_dim(each) for each in dims} | {name: marginal.whole_name(name) for name in data}
    return made.rename({old: name for old, name in new.items() if old != name})


def labels_of(indicators: FloatArray, targets: FloatArray, like: Labels) -> Labels:
    """Return targets, with what is positive where a class or label holds, as labels of the kind of others."""
    holds = indicators > 0.0
    if like.kind == "class":
        values: NDArray[Any] = holds[:, 0] if holds.shape[1] == 1 else holds.argmax(axis=1)
    else:
        values = holds if like.kind == "multi_label" else targets
    return Labels(like.kind, values.reshape(like.values.shape).astype(like.values.dtype), like.classes)


def check_generative(model: Model, responses: int) -> None:
    """Refuse a block that is no distribution of so many labels."""
    check_simulates(model)
    response = model.response
    if response is None:
        return
    what = f"block {model.names['y']!r} ({response.kind}) cannot be simulated"
    if response.apart and responses > 1:
        raise SpecError(
            f"{what}: with one_vs_all each response has its own topics of the same words; simulate one response, or "
            "set one_vs_all: false"
        )
    if not response.generative:
        values = ", ".join(f"{name}: {value:g}" for name, value in response.generative_parameters.items())
        advice = f"set {values}" if values else "take a model of labels that has one, such as slda_multinomial"
        raise SpecError(f"{what}: it is a pseudo-likelihood, not a distribution of the labels; {advice}")
