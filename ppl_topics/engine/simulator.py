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
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.response import Response
from ppl_topics.core.state import WORD_MAJOR
from ppl_topics.corpus import Corpus, Covariates, Labels
from ppl_topics.corpus.names import StrArray
from ppl_topics.engine.encode_observed import encode_observed
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
    """What simulations of one model share: sizes, covariates or their number, and values by role, as a state has them.

    ``labels`` are of the kind that the response takes, and say nothing.
    """

    model: Model
    doc_ptr: IntArray
    vocabulary: StrArray
    labels: Labels | None
    covariates: Covariates | int | None
    given: Mapping[str, NDArray[Any]]

    def draw(self, seed: int, number: int = 0) -> Simulation:
        """Return a simulation; ``number`` tells those of one seed apart."""
        rng, model = Key(seed, number, 0).reserved(Reserved.SIMULATION).generator(), self.model
        corpus = self.corpus(rng)
        observed = encode_observed(model, corpus)
        state = state_without_words(model, self.doc_ptr, corpus.n_words, observed)
        order, values = drawing_order(model), None
        for _ in range(TRIES):
            values = draw_from_prior(model, order, state, rng, self.given)
            if values is not None:
                break
        else:
            raise RunError(
                f"model {model.spec.name!r}: {TRIES:,} draws of the prior had a topic without words; give words a "
                "larger probability of inclusion, or take more of them"
            )
        # As a corpus has them: sorted by word inside each document.
        sort = np.lexsort((values["w"], state.tokens.docs))
        values["z"] = values["z"].astype(state.z.dtype)[sort]
        state.z[:] = values["z"]
        labels, response, block = self.labels, self.response, model.label_block
        if response is not None and labels is not None:
            scores = document_features(state.n_dk, state) @ values["eta"].T
            given = response.at(values, by_role=True)
            targets, parameter = draw_targets(given, scores, rng, self.given.get("augmentation"))
            labels = labels_of(response.indicators(targets), targets, labels)
            if "doc" not in response.augmentation_dims:
                values["augmentation"] = parameter
        elif block is not None and labels is not None:
            targets, others = draw_labels(block, values, state, rng, self.given)
            labels, values = labels_of(targets, targets, labels), values | others
        corpus = replace(corpus, words=values.pop("w")[sort].astype(np.uint32), labels=labels)
        data = {}
        for name, variable in model.variables.items():
            if variable.role in values:
                value = values[variable.role]
                data[name] = (variable.dims, np.ascontiguousarray(value.T) if variable.role in WORD_MAJOR else value)
        dims = dict.fromkeys(dim for of_variable, _ in data.values() for dim in of_variable)
        dataset = xr.Dataset(data, coordinates(list(dims), corpus, state.sizes, observed))
        about = {"model_name": model.spec.name, "model_yaml": self.yaml, "seed": seed}
        return Simulation(corpus, dataset.assign_attrs(about))

    def corpus(self, rng: np.random.Generator) -> Corpus:
        """Return the documents with their covariates, before words and labels are drawn."""
        words, covariates = np.zeros(int(self.doc_ptr[-1]), np.uint32), self.covariates
        if isinstance(covariates, int):
            names = [f"x{i}" for i in range(covariates)]
            covariates = Covariates.from_matrix(rng.normal(size=(len(self.doc_ptr) - 1, covariates)), names)
        name = f"simulated, {self.model.spec.name}"
        return Corpus(self.doc_ptr, words, self.vocabulary, labels=self.labels, covariates=covariates, name=name)

    @cached_property
    def yaml(self) -> str:
        """The model with its parameters."""
        return self.model.spec.to_yaml()

    @property
    def response(self) -> Response | None:
        """The block that observes labels, if the model has one."""
        return self.model.response


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
