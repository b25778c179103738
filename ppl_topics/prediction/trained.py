"""What a trace holds for prediction: topics, coefficients, and the names of the classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import xarray as xr

from ppl_topics._util.argument_names import recording
from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray
from ppl_topics.core.alpha import Alpha, LogLinear
from ppl_topics.core.block import Block
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.response import Response
from ppl_topics.core.tokens import Tokens
from ppl_topics.corpus import Corpus
from ppl_topics.corpus.covariates import CovariateColumn, columns_from_json
from ppl_topics.corpus.labels import LabelKind, Labels
from ppl_topics.corpus.names import StrArray
from ppl_topics.corpus.scaling import Scaling
from ppl_topics.engine.bind import index_tokens
from ppl_topics.engine.encode_observed import INTERCEPT, design_of
from ppl_topics.errors import CorpusError, TraceError
from ppl_topics.results.documents import covariate_scaling, topic_labels_of
from ppl_topics.results.mean_topics import has_mean_topics, mean_topics
from ppl_topics.results.one_response import check_one_response
from ppl_topics.results.response_topics import chosen_response, own_topics
from ppl_topics.spec import Model, load_spec

__all__ = ["Part", "TrainedLabels", "TrainedResponse", "TrainedTopics"]

ETA_BYTES = 2**25
"""Of draws of the coefficients that are read at a time."""


class Part(NamedTuple):
    """A chain, or one response of a chain if each has its own topics; `stream` numbers its random streams."""

    chain: int
    response: int | None
    stream: int

    def of(self, array: xr.DataArray) -> xr.DataArray:
        """Select the part of what a trace holds; the dim ``response`` stays if all responses share the topics."""
        selected = array.sel(chain=self.chain)
        apart = self.response is not None and "response" in selected.dims
        return selected.isel(response=self.response) if apart else selected


@dataclass(frozen=True)
class TrainedTopics:
    """The topics of a fit, by the groups of its trace."""

    groups: Mapping[str, xr.Dataset]

    @classmethod
    def of(cls, fitted: Mapping[str, xr.Dataset] | TrainedTopics) -> TrainedTopics:
        """Return the topics of the groups of a trace, or themselves."""
        return fitted if isinstance(fitted, TrainedTopics) else cls(fitted)

    def __post_init__(self) -> None:
        if not has_mean_topics(self.groups) or "model_yaml" not in self.groups["posterior"].attrs:
            raise TraceError("the trace lacks `phi_mean` or `model_yaml`; it was not written by ppl-topics")

    def detached(self, phi: str) -> TrainedTopics:
        """Return the same in memory, without what no prediction needs; draws of topics only if ``phi`` is "draws"."""
        unused = {"doc", "token"} | (set() if phi == "draws" else {"word"})
        posterior, observed = self.groups["posterior"], self.groups.get("observed_data", xr.Dataset())
        large = [name for name, values in posterior.items() if unused & set(values.dims)]
        groups = {
            "posterior": posterior.drop_vars(large),
            "constant_data": self._constants,
            "observed_data": observed.drop_vars("words", errors="ignore"),
        }
        return TrainedTopics({name: group.compute() for name, group in groups.items()})

    @cached_property
    def _constants(self) -> xr.Dataset:
        return self.groups.get("constant_data", xr.Dataset())

    @cached_property
    def model(self) -> Model:
        """The model that was run."""
        return Model.of(load_spec(self.groups["posterior"].attrs["model_yaml"]))

    @cached_property
    def vocabulary(self) -> StrArray:
        """The words, shape (V,)."""
        return strings(self._constants["word"])

    @cached_property
    def word_ids(self) -> dict[str, int]:
        """The place of each word in the vocabulary."""
        return {word: place for place, word in enumerate(self.vocabulary.tolist())}

    @cached_property
    def response(self) -> TrainedResponse:
        """The response of the fit."""
        return TrainedResponse.of(self)

    @property
    def topics(self) -> int:
        """Number of topics."""
        return int(self._constants.sizes["topic"])

    @cached_property
    def chains(self) -> list[int]:
        """Numbers of the chains."""
        return [int(chain) for chain in self._constants["chain"].values]

    @cached_property
    def apart(self) -> list[str]:
        """Names of the responses if each has its own topics, else none."""
        return own_topics(self.groups)

    def parts(self, chain: int) -> list[Part]:
        """Return what has topics in a chain: each response, or the chain itself."""
        number = len(self.apart)
        return [Part(chain, c, chain * number + c) for c in range(number)] or [Part(chain, None, chain)]

    def place_of(self, response: str | None) -> int:
        """Return which of `parts` a response has; None if all share the topics."""
        chosen = chosen_response(self.groups, response)
        return 0 if chosen is None else self.apart.index(chosen)

    def phi_mean(self, part: Part) -> Float32Array:
        """Return the mean topics, word-major of shape (V, K)."""
        if part not in self._phi_means:
            mean = mean_topics(self.groups, part.chain)
            mean = mean if part.response is None else mean.isel(response=part.response)
            self._phi_means[part] = word_major(mean)
        return self._phi_means[part]

    @cached_property
    def _phi_means(self) -> dict[Part, Float32Array]:
        return {}

    def phi_draws(self, part: Part) -> list[xr.DataArray]:
        """Return the kept draws of the topics; see `word_major`."""
        name = self.model.names["phi"]
        posterior = self.groups["posterior"]
        if name not in posterior or posterior[name].sizes.get("word") != len(self.vocabulary):
            raise TraceError(
                f"the trace does not hold all of {name} in each draw; run the model with {recording({name: 'all'})}, "
                "or predict from its mean"
            )
        phi = part.of(posterior[name])
        return [phi.isel(draw=draw) for draw in range(phi.sizes["draw"])]

    @property
    def depends_on_covariates(self) -> bool:
        """Whether the concentrations of the topics do."""
        return self.model.uses_covariates(self.model.weights)

    @cached_property
    def covariates(self) -> tuple[CovariateColumn, ...]:
        """Columns of the covariates that the model has coefficients for."""
        if "x" not in self.model.names:
            return ()
        if "covariate_columns" not in self._constants:
            raise TraceError("the trace lacks the columns of the covariates; it was not written by ppl-topics")
        return columns_from_json(str(self._constants["covariate_columns"].item()))

    @cached_property
    def scaling(self) -> Scaling:
        """How the covariates were centred and scaled, and the formula that was made of them."""
        return covariate_scaling(self._constants)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of what the model has coefficients for: the covariates, or what a formula makes of them."""
        if self.covariates and self.scaling.formula is not None:
            return self.scaling.formula.names
        return tuple(name for column in self.covariates for name in column.names)

    def tokens(self, corpus: Corpus) -> Tokens:
        """Return the tokens of documents in the words of the fit."""
        return index_tokens(corpus.doc_ptr, corpus.words, corpus.n_words, whole=self.model.whole_documents)

    def alpha(self, part: Part, corpus: Corpus, labels: Labels | None = None) -> Alpha:
        """Return the concentrations of the topics in documents; if they or their coefficients were sampled, at means.

        Where they depend on covariates, these are encoded as in training; where on labels, documents have all topics
        unless their labels are given.
        """
        if self._by_labels is not None:
            return self._of_labels(labels)
        if self.depends_on_covariates:
            return self._alpha_of(corpus)(part.of(self._sampled_alpha).mean("draw"))
        if part not in self._alphas:
            if "alpha" in self._constants:
                self._alphas[part] = Alpha.shared(self._constants["alpha"].values)
            else:
                self._alphas[part] = self._alpha_of(corpus)(part.of(self._sampled_alpha).mean("draw"))
        return self._alphas[part]

    @cached_property
    def _alphas(self) -> dict[Part, Alpha]:
        return {}

    @property
    def _by_labels(self) -> Block | None:
        """The prior of assignments, if labels say which topics a document may have."""
        block = self.model.weights
        return None if block.labels_above is None else block

    def _of_labels(self, labels: Labels | None) -> Alpha:
        """Return the concentrations of documents with these labels, or of all without any."""
        block = self._by_labels
        assert block is not None, "topics that no label names"
        if labels is not None:
            return block.document_alpha(labels, self.topics)
        names = topic_labels_of(self.groups).classes
        unlabelled = Labels("multi_label", np.full((1, len(names)), -1, dtype=np.int8), names)
        return Alpha.shared(block.document_alpha(unlabelled, self.topics).rows[0])

    @property
    def topic_labels(self) -> Labels | None:
        """The labels of the training documents, if they say which topics these may have."""
        return None if self._by_labels is None else topic_labels_of(self.groups)

    def alpha_draws(self, part: Part, corpus: Corpus, labels: Labels | None = None) -> Callable[[int], Alpha]:
        """Return a function of the place of a draw, which returns the concentrations of the topics in documents."""
        if "alpha" in self._constants or self._by_labels is not None:
            fixed = self.alpha(part, corpus, labels)
            return lambda draw: fixed
        sampled, alpha_of = part.of(self._sampled_alpha).compute(), self._alpha_of(corpus)
        return lambda draw: alpha_of(sampled.isel(draw=draw))

    @property
    def _sampled_alpha(self) -> xr.DataArray:
        name = self.model.names.get("alpha", "alpha")
        if name not in self.groups["posterior"]:
            raise TraceError(f"the trace does not hold {name}; run the model without record: {{{name}: none}}")
        return self.groups["posterior"][name]

    def _alpha_of(self, corpus: Corpus) -> Callable[[xr.DataArray], Alpha]:
        """Return a function of what was sampled, which returns the concentrations of the topics in documents."""
        if not self.depends_on_covariates:
            return lambda value: Alpha.shared(np.broadcast_to(value.values, (self.topics,)))
        how = LogLinear.on("", design_of(corpus.n_docs, corpus.covariates, self.scaling, intercept=True))
        return lambda value: how.of(value.transpose("topic", "prevalence").values)


@dataclass(frozen=True)
class TrainedLabels:
    """The block of a fit that observes labels, and these."""

    trained: TrainedTopics
    block: Block

    @classmethod
    def of(cls, trained: TrainedTopics) -> Self:
        """Take the labels of a fit."""
        model = trained.model
        check_one_response(model)
        if model.label_block is None:
            raise TraceError(
                f"model {model.spec.name!r} has no response, so this fit has no coefficients and predicts nothing "
                "about new documents but their topics (transform); run a supervised model, such as medlda"
            )
        if "labels" not in trained.groups.get("observed_data", xr.Dataset()):
            raise TraceError("the trace lacks `labels` in `observed_data`, the names and the kind of what is predicted")
        return cls(trained, model.label_block)

    def detached(self, phi: str) -> Self:
        """Return the same in memory; see `TrainedTopics.detached`."""
        return replace(self, trained=self.trained.detached(phi))

    @property
    def _observed(self) -> xr.Dataset:
        return self.trained.groups["observed_data"]

    @property
    def covariates(self) -> tuple[CovariateColumn, ...]:
        """Columns of the covariates that the labels depend on."""
        return self.trained.covariates if self.trained.model.uses_covariates(self.block) else ()

    @property
    def kind(self) -> LabelKind:
        """Kind of the training labels."""
        kind: LabelKind = self._observed["labels"].attrs["kind"]
        return kind

    def labels(self, documents: slice = slice(None)) -> Labels:
        """Return the training labels."""
        names = np.empty(0, dtype=object) if self.classes is None else self.classes
        return Labels(self.kind, self._observed["labels"].values[documents], names)

    @cached_property
    def classes(self) -> StrArray | None:
        """Names of the classes, labels or targets of training; None if there is one target without a name."""
        dim = "class" if self.kind == "class" else "response"
        return strings(self._observed[dim]) if dim in self._observed.coords else None

    @property
    def draws(self) -> IntArray:
        """Numbers of the kept draws, shape (M,)."""
        return np.asarray(self.trained.groups["posterior"]["draw"].values)


@dataclass(frozen=True)
class TrainedResponse(TrainedLabels):
    """The response of a fit: the block of its model, and what was drawn for it."""

    block: Response

    @classmethod
    def of(cls, trained: TrainedTopics) -> Self:
        """Take the response of a fit."""
        made = super().of(trained)
        model = trained.model
        if model.response is None:
            raise TraceError(
                f"block {made.block.kind!r} is no pt.Response, so there are no linear predictors of new documents, nor "
                "what follows from these, but only the means of their labels (predict) and their topics (transform)"
            )
        name = model.names["eta"]
        posterior = trained.groups["posterior"]
        if name not in posterior or not {"response", "coefficient"} <= set(posterior[name].dims):
            raise TraceError(f"the trace does not hold the coefficients {name}; run the model with record {name}: all")
        if not posterior[name].sizes["response"]:
            raise TraceError("the trace has coefficients of no response")
        if posterior.sizes["coefficient"] != made.supervised + len(made.columns):
            raise TraceError(
                f"{name} has {posterior.sizes['coefficient']} coefficients for {made.supervised} topics; new documents "
                f"have {', '.join(made.columns) or 'nothing'} besides them"
            )
        if posterior["coefficient"].values.tolist()[made.supervised :] != list(made.columns):
            raise TraceError(
                f"{name} has coefficients of other features than its model, which has besides the topics "
                f"{', '.join(made.columns) or 'none'}"
            )
        # No label need be encoded for their number.
        n_responses = made._encode(slice(0)).shape[1]
        if posterior.sizes["response"] != n_responses:
            raise TraceError(
                f"{name} has coefficients of {posterior.sizes['response']} responses, and the labels of the training "
                f"documents make {n_responses}"
            )
        return made

    @property
    def supervised(self) -> int:
        """Topics with coefficients, the first ones."""
        return self.block.supervised(self.trained.topics)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the features of documents besides the topics."""
        names = self.trained.features if self.covariates else ()
        return (*names, INTERCEPT) if self.block.intercept else names

    @cached_property
    def target_scaling(self) -> Scaling:
        """How the targets were centred and scaled, by response; not at all unless the trace says so."""
        constants = self.trained.groups.get("constant_data", xr.Dataset())
        if "target_scale" not in constants:
            return Scaling(np.zeros(len(self.responses)), np.ones(len(self.responses)))
        return Scaling(constants["target_mean"].values, constants["target_scale"].values)

    @cached_property
    def targets(self) -> FloatArray:
        """The training labels as the response has them, encoded, centred and scaled, shape (D, C)."""
        return np.asarray(self.target_scaling.apply(self._encode(slice(None))))

    def _encode(self, documents: slice) -> FloatArray:
        try:
            return self.block.encode(self.labels(documents))[0]
        except CorpusError as error:
            raise TraceError(f"the labels in `observed_data` are not those of the model: {error}") from None

    @cached_property
    def responses(self) -> StrArray:
        """Names of the responses, shape (C,)."""
        return strings(self.trained.groups["posterior"]["response"])

    def eta(self, part: Part) -> Iterator[FloatArray]:
        """Yield the kept draws of the coefficients, shape (C, F), those of topics first; few are in memory at a time.

        Where each response has its own topics, C is 1.
        """
        if part in self._etas:
            yield from self._etas[part]
            return
        eta = part.of(self.trained.groups["posterior"][self.trained.model.names["eta"]])
        eta = eta if part.response is None else eta.expand_dims("response")
        eta = eta.transpose("draw", "response", "coefficient")
        at_once = max(1, ETA_BYTES // max(1, 8 * int(np.prod(eta.shape[1:]))))
        for first in range(0, len(eta), at_once):
            read = np.ascontiguousarray(eta.isel(draw=slice(first, first + at_once)).values, dtype=np.float64)
            if len(read) == len(eta):
                self._etas[part] = read
            yield from read

    @cached_property
    def _etas(self) -> dict[Part, FloatArray]:
        """Draws of the coefficients that have been read, where they are few."""
        return {}

    def scale(self, chain: int) -> FloatArray | None:
        """Return the kept draws of the response's parameter in a chain, such as sigma2, shape (M, C).

        Ones if it has none; None if it was not recorded.
        """
        posterior = self.trained.groups["posterior"]
        if "doc" in self.block.augmentation_dims:
            return np.ones((posterior.sizes["draw"], len(self.responses)))
        name = self.block.augmentation
        if name not in posterior:
            return None
        return np.asarray(posterior[name].sel(chain=chain).transpose("draw", "response").values)

    def recorded_scale(self, chain: int) -> FloatArray:
        """Return `scale`, which has to be recorded."""
        scale = self.scale(chain)
        if scale is None:
            name = self.block.augmentation
            raise TraceError(f"the trace does not hold {name}; run the model with record {name}: all")
        return scale

    def blocks(self, chain: int) -> list[Response]:
        """Return the block with its numbers as they are in each kept draw of a chain, M of them."""
        numbers, n_draws = self._numbers([chain]), len(self.draws)
        if not numbers:
            return [self.block] * n_draws
        return [self.block.at({name: values[0, draw] for name, values in numbers.items()}) for draw in range(n_draws)]

    def block_of_chain(self, chain: int) -> Response:
        """Return the block with its numbers as they are in all draws of a chain, for predictors of shape (M, D, C)."""
        numbers = self._numbers([chain])
        return self.block.at({name: values[0].reshape(len(self.draws), 1, -1) for name, values in numbers.items()})

    def mean_block(self, chain: int, draws: slice) -> Response:
        """Return the block with the means of its numbers over draws of a chain."""
        numbers = self._numbers([chain])
        return self.block.at({name: values[0, draws].mean(axis=0) for name, values in numbers.items()})

    def _numbers(self, chains: list[int]) -> dict[str, FloatArray]:
        """Return the draws of numbers that have priors, shape (chains, M), or (chains, M, C) if models are apart."""
        posterior, names = self.trained.groups["posterior"], list(self.block.numbers.values())
        missing = next((name for name in names if name not in posterior), None)
        if missing is not None:
            raise TraceError(f"the trace does not hold {missing}; run the model with record {missing}: all")
        return {name: posterior[name].sel(chain=chains).transpose("chain", "draw", ...).values for name in names}

    def draw_targets(self, scores: FloatArray, seed: int) -> FloatArray:
        """Draw a target for each linear predictor, by the parameters of its chain and draw; a label is 0 or 1.

        Both are centred and scaled as the response has them.
        """
        result = np.empty_like(scores)
        for place, chain in enumerate(self.trained.chains):
            scale, block = self.recorded_scale(chain)[:, None, :], self.block_of_chain(chain)
            result[place] = self.draw_given(block, scores[place], scale, self._generator(seed, chain))
        return result

    def draw_given(
        self, block: Response, scores: FloatArray, scale: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Draw a target for each linear predictor, given the block at a draw and the parameter that broadcasts."""
        drawn = block.draw_targets(scores, scale, rng)
        # Some responses call a label that does not hold -1.
        return np.maximum(drawn, 0.0) if self.kind == "multi_label" else drawn

    def draw_classes(self, probability: FloatArray, seed: int) -> IntArray:
        """Draw the number of a class for each document by its probabilities (chains, M, D, number of classes)."""
        result = np.empty(probability.shape[:-1], dtype=np.int64)
        for place, chain in enumerate(self.trained.chains):
            point = self._generator(seed, chain).random((*result.shape[1:], 1))
            below = np.cumsum(probability[place, ..., :-1], axis=-1) <= point
            result[place] = below.sum(axis=-1)
        return result

    @staticmethod
    def _generator(seed: int, chain: int) -> np.random.Generator:
        return Key(seed, chain, 0, Reserved.TARGETS).generator()


def word_major(phi: xr.DataArray) -> Float32Array:
    """Return topics as the kernels want them, of shape (V, K)."""
    return np.ascontiguousarray(phi.transpose("word", "topic").values, dtype=np.float32)


def strings(values: Any) -> StrArray:
    """Return the strings of a coordinate as an object array."""
    array = np.empty(values.size, dtype=object)
    array[:] = [str(value) for value in values.values.tolist()]
    array.flags.writeable = False
    return array
