"""The response of a model on the tiny corpus: its distribution given z, by quadrature over the coefficients.

Coefficients, the scales of their prior, and the augmentation are given if the schedule does not change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.alpha import Above
from ppl_topics.core.block import Block
from ppl_topics.core.number import CutPointPrior, PositivePrior
from ppl_topics.core.observed import Design, Observed
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.response import Response
from ppl_topics.core.state import ChainState
from ppl_topics.corpus.labels import Labels
from ppl_topics.diagnostics.exactness.goodness import mix, total
from ppl_topics.diagnostics.exactness.prior_nodes import NODES, PriorNodes, cumulated_weights, draw_nodes
from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.encode_observed import observed_of
from ppl_topics.engine.simulation import document_features
from ppl_topics.errors import CorpusError, SpecError
from ppl_topics.schedule.tree import steps
from ppl_topics.spec import Model

__all__ = ["TinyResponse", "TinyResponses", "moved_roles", "numbers_of", "response_statistics", "tiny_observed"]


SIGNS = ((1, 0, -1), (0, 1, 0), (1, 1, 0), (0, 1, 1))
NUMBERS = ((0.7, -1.2, np.nan), (-0.4, 0.3, 1.1), (0.2, -0.6, 0.5), (1.3, 0.8, -0.9))
COUNTS = ((2, 0, -1), (0, 3, 1), (1, 1, 0), (4, 0, 2))
"""Labels of the four documents in three columns, one of them missing; more documents have them over again."""

CLASSES = (3, 0, -1, 3)
"""Of the four documents, for responses that take nothing else; one is missing. The evidence depends on the topics more
than with most others."""

COVARIATES = ((0.8, 1.0), (-0.5, 0.0), (0.3, 1.0), (-0.9, 0.0))
"""Of the four documents: a number, and a category."""


def tiny_observed(block: Block, n_docs: int, columns: int, covariates: bool = False, shift: int = 0) -> Observed:
    """Return targets of the tiny corpus in a number of columns, of the kind that the block takes, and covariates.

    Those of another ``shift`` are others, so that responses that are mistaken for each other show.
    """
    intercept = isinstance(block, Response) and block.intercept
    classes = block.class_names(columns)
    rows, of_labels = (np.arange(n_docs) + by for by in (0, shift))
    rows, of_labels = rows % len(NUMBERS), of_labels % len(NUMBERS)
    for kind, table in (("multi_label", SIGNS), ("class", CLASSES), ("real", NUMBERS), ("count", COUNTS)):
        by_class = kind == "class"
        values = np.minimum(table, len(classes) - 1)[of_labels] if by_class else np.array(table)[of_labels, :columns]
        names = np.array(classes if by_class else classes[:columns], dtype=object)
        try:
            targets, responses = block.encode(Labels(kind, values, names))  # type: ignore[arg-type]
        except CorpusError:
            continue
        names_of_columns = (("x0", "x1") if covariates else ()) + (("intercept",) if intercept else ())
        fixed = np.hstack([np.array(COVARIATES)[rows], np.ones((n_docs, 1))])
        wanted = fixed[:, 0 if covariates else 2 : 3 if intercept else 2]
        observed = observed_of(targets, Design.of(wanted), responses, names_of_columns, intercept)
        return replace(observed, classes=tuple(names) if by_class else ())
    raise CorpusError(f"block {block.kind!r} accepts neither classes, numbers nor counts, so `verify` cannot test it")


def tiny_above(model: Model, n_docs: int) -> Above | None:
    """Return what the weights of topics depend on: covariates, with an intercept, or labels; None if a model has none.

    Labels of every fourth document are missing.
    """
    block = model.weights
    if block.labels_above is not None:
        labels = block.simulated_labels(n_docs, model.spec.topics, np.random.default_rng(1))
        values = np.where(np.arange(n_docs)[:, None] % 4 == 3, -1, labels.values)
        return block.document_alpha(Labels(labels.kind, values, labels.classes), model.spec.topics)
    if not model.uses_covariates(block):
        return None
    documents = np.arange(n_docs)
    number = np.resize([row[0] for row in COVARIATES], (n_docs, 1))
    fixed = np.hstack([number, np.eye(3)[documents % 3], np.ones((n_docs, 1))])
    columns = ("x0", "x[a]", "x[b]", "x[c]", "intercept")
    return observed_of(np.zeros((n_docs, 0)), Design.of(fixed), (), columns, True)


class TinyResponse:
    """The distribution of the targets, the coefficients, the scales of their prior and the augmentation, given z.

    ``state`` holds what is given; ``moved`` are the roles that the schedule updates.
    """

    def __init__(self, bound: BoundModel, state: ChainState, moved: set[str]) -> None:
        # Where each response has its own model, the chain observes one of them.
        response, observed = bound.response, state.observed
        assert response is not None, "the model has no response"
        assert observed is not None, "the corpus has no targets"
        prior = bound.block(bound.model.names["eta"])
        assert isinstance(prior, CoefficientPrior), "coefficients without a prior"
        self.response, self.observed, self.prior = response, observed, prior
        self.names = bound.model.names
        self.moves_eta, self.moves_augmentation = "eta" in moved, "augmentation" in moved
        self._state = state
        self._numbers = _moved_numbers(bound.model, moved)
        self.nodes = PriorNodes(prior, state, moved, self._numbers)
        self._precision = prior.precision(state)
        self._given_eta = state.arrays[self.names["eta"]].copy()
        self._given_augmentation = state.arrays[self.names["augmentation"]].copy()
        self._given_weights = self.nodes.weights_given(self._given_eta)
        self._given_scales = cumulated_weights(self._given_weights)
        self._distributions: dict[bytes, tuple[FloatArray, FloatArray]] = {}
        # Each document has its own factor unless something that they share is summed over; few factors differ.
        self._adds_up = type(response).log_evidence is Response.log_evidence or not self.moves_augmentation
        self._by_document: dict[tuple[int, bytes], FloatArray] = {}

    def features(self, n_dk: NDArray[Any]) -> FloatArray:
        """Return the features of documents, shape (D, F)."""
        return document_features(n_dk, self._state)

    def log_evidence(self, n_dk: NDArray[Any]) -> FloatArray:
        """Return log p(targets | z) up to a constant for each state."""
        return np.array([logsumexp(self._distribution(counts)[0]) for counts in n_dk])

    def draw(self, n_dk: NDArray[Any], rng: np.random.Generator) -> dict[str, FloatArray]:
        """Draw coefficients, the scales that are not given, and augmentation given the assignments; by role."""
        features = self.features(n_dk)
        eta, drawn = self._given_eta, {}
        if self._is_normal:
            eta = np.stack([rng.multivariate_normal(mean, cov) for mean, cov in self._normal(features)])
        else:
            log_groups, cumulated = self._distribution(n_dk)
            group = 0
            if self.nodes.numbers:
                group = int(rng.choice(len(log_groups), p=np.exp(log_groups - logsumexp(log_groups))))
            number = group * cumulated.shape[2] + draw_nodes(cumulated[group], rng)
            drawn = {role: values[number] for role, values in self.nodes.scales.items()}
            drawn |= {role: values[number[0]] for role, values in self.nodes.numbers.items()}
            if self.moves_eta:
                eta = self.nodes.eta[np.arange(len(number)), number]
        augmentation = self._given_augmentation
        if self.moves_augmentation:
            response = self._response({role: drawn[role] for role in self.nodes.numbers})
            augmentation = response.draw_augmentation(self.observed.targets, features @ eta.T, rng)
        return {"eta": eta, "augmentation": augmentation, **drawn}

    @property
    def _is_normal(self) -> bool:
        """Whether the distribution of the coefficients is normal: only they are summed over."""
        return self.moves_eta and not self.moves_augmentation and not self.nodes.scales and not self.nodes.numbers

    def _response(self, numbers: Mapping[str, Any]) -> Response:
        """Return the response with numbers that are summed over, by role, and with the others as they are given."""
        return self.response.at(self._state.arrays | {self._numbers[role][0]: value for role, value in numbers.items()})

    def _at_all_nodes(self, dims: int) -> Response:
        """Return the response with the numbers of all nodes, along the first of so many dims."""
        shape = (NODES,) + (1,) * (dims - 2)
        return self._response({role: values.reshape(*shape, -1) for role, values in self.nodes.numbers.items()})

    def _distribution(self, n_dk: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        """Return the log evidence by group of nodes, shape (groups,), and their cumulated weights."""
        key = np.ascontiguousarray(n_dk, dtype=np.int64).tobytes()
        if key not in self._distributions:
            self._distributions[key] = self._compute(self.features(n_dk))
        return self._distributions[key]

    def _compute(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        groups = self.nodes.groups
        if self._is_normal:
            value = [
                0.5 * (np.linalg.slogdet(cov)[1] + mean @ np.linalg.solve(cov, mean))
                for mean, cov in self._normal(features)
            ]
            return np.array([sum(value)]), np.zeros((1, 0, 0))
        weights = self._weights(features) if self.moves_eta else self._weights_given_eta(features)
        if not self.moves_eta and not self.nodes.numbers:
            return weights.sum(keepdims=True)[0], self._given_scales
        by_group = logsumexp(weights.reshape(groups, -1, weights.shape[1]), axis=1) - np.log(NODES // groups)
        return by_group.sum(axis=1) - np.log(groups), cumulated_weights(weights, groups)

    def _weights(self, features: FloatArray) -> FloatArray:
        """Return the log evidence of each response at each node, shape (NODES, C)."""
        parts = [self._at_nodes(doc, row) for doc, row in enumerate(features)]
        if self._adds_up:
            return np.asarray(np.sum(parts, axis=0))
        return self._at_all_nodes(3).log_evidence(self.observed.targets, np.stack(parts, 1))

    def _weights_given_eta(self, features: FloatArray) -> FloatArray:
        """Return the same where the coefficients are given, with their density; shape (1, C) without numbers."""
        fitted = features @ self._given_eta.T
        if self.moves_augmentation:
            evidence = self._at_all_nodes(3).log_evidence(self.observed.targets, fitted)
        else:
            evidence = self._quadratic(fitted).sum(axis=0)
        return self._given_weights + evidence if self.nodes.numbers else evidence[None]

    def _at_nodes(self, doc: int, features: FloatArray) -> FloatArray:
        """Return a document's log pseudo-likelihood, or else its linear predictors, at all nodes, shape (NODES, C)."""
        key = (doc, features.tobytes())
        if key not in self._by_document:
            fitted = (self.nodes.eta @ features).T
            if not self.moves_augmentation:
                fitted = self._quadratic(fitted, doc)
            elif self._adds_up:
                fitted = self._at_all_nodes(2).log_likelihood(self.observed.targets[doc], fitted, np.ones(1))
            self._by_document[key] = fitted
        return self._by_document[key]

    def _quadratic(self, fitted: FloatArray, doc: int | slice = slice(None)) -> FloatArray:
        """Return the log pseudo-likelihood given the augmentation, up to a constant."""
        b, omega = self._response({}).potential(self.observed.targets, self._given_augmentation)
        return b[doc] * fitted - omega[doc] * fitted**2 / 2.0

    def _normal(self, features: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return mean and covariance of each response's coefficients given the augmentation."""
        b, omega = self._response({}).potential(self.observed.targets, self._given_augmentation)
        result = []
        for c, precision in enumerate(self._precision):
            inverse = np.diag(precision) + (features * omega[:, c : c + 1]).T @ features
            cov = np.asarray(np.linalg.inv(inverse), dtype=np.float64)
            result.append((cov @ (features.T @ b[:, c]), cov))
        return result


class TinyResponses:
    """The distribution of all responses given z, which makes them independent; see `TinyResponse`."""

    def __init__(self, bound: BoundModel, state: ChainState) -> None:
        self.each = {
            name: TinyResponse(alone, bound.seen_by(name, state), moved_roles(alone))
            for name, alone in bound.by_response.items()
        }

    def log_evidence(self, n_dk: NDArray[Any]) -> FloatArray:
        """Return log p(targets | z) up to a constant for each state."""
        return np.asarray(sum(each.log_evidence(n_dk) for each in self.each.values()))

    def draw(self, n_dk: NDArray[Any], rng: np.random.Generator) -> dict[str, dict[str, FloatArray]]:
        """Draw coefficients, scales and augmentations given the assignments; by response and role."""
        return {name: each.draw(n_dk, rng) for name, each in self.each.items()}

    @property
    def summed_roughly(self) -> set[str]:
        """Roles of scales and numbers that are summed over by nodes."""
        return {role for each in self.each.values() for role in (*each.nodes.scales, *each.nodes.numbers)}


def moved_roles(bound: BoundModel) -> set[str]:
    """Return the roles that are not given: the schedule updates or integrates them out."""
    touched = {role for s in steps(bound.plan.schedule) for role in s.kernel.updates + s.kernel.integrates_out}
    return touched & bound.model.names.keys()


def numbers_of(model: Model) -> dict[str, str]:
    """Return the variables that are numbers of the response or of the prior of its coefficients: names by role."""
    blocks = [model.spec.blocks[model.names[role]] for role in ("eta", "y") if role in model.names]
    return {model.variables[name].role: name for block in blocks for name in block.numbers.values()}


def _moved_numbers(model: Model, moved: set[str]) -> dict[str, tuple[str, PositivePrior | CutPointPrior]]:
    """Return the numbers that a schedule updates, with their priors, by role."""
    result = {}
    for role, name in numbers_of(model).items():
        if role not in moved:
            continue
        prior = model.spec.blocks[name]
        if not isinstance(prior, PositivePrior | CutPointPrior):
            raise SpecError(f"{model.spec.locate('blocks', name)}: {name!r} is no pt.PositivePrior to sum over")
        # What has a density given the number must be summed over too.
        of_response = name in model.spec.blocks[model.names["y"]].numbers.values()
        scales = [own for own, _ in model.spec.blocks[model.names["eta"]].auxiliaries().values()]
        missing = [own for own in (["augmentation"] if of_response else scales) if own not in moved]
        if missing:
            raise SpecError(
                f"{model.spec.locate('schedule')}: verify cannot sum over {name} given {model.names[missing[0]]}; "
                f"let the schedule update {model.names[missing[0]]} as well"
            )
        result[role] = (name, prior)
    return result


def response_statistics(
    bound: BoundModel, n_dk: IntArray, targets: FloatArray, variables: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """Return bounded statistics of coefficients, scales of their prior, and augmentation, shape (n,).

    The variables come by role, ``eta`` of shape (n, C, F); counts of topics have the shape (n, D, K).
    """
    n_states, supervised, slopes = len(n_dk), bound.sizes.supervised, bound.sizes.slopes
    eta = ndtr(variables["eta"])
    augmentation = variables["augmentation"]
    scales = {
        role: array / (1.0 + np.abs(array)) for role, array in variables.items() if role not in ("eta", "augmentation")
    }
    bounded = augmentation / (1.0 + np.abs(augmentation))
    values: dict[str, FloatArray] = {}
    for name, array in {"eta": eta, "augmentation": bounded, **scales}.items():
        values[f"{name}[0]"] = array.reshape(n_states, -1)[:, 0]
        values[f"sum {name}^2"] = total(array**2)
        values[f"mix of {name}"] = mix(array)
    # Around the middle, so that a wrong spread or correlation is not lost in the spread of the sum.
    values["spread of eta"] = total((eta - 0.5) ** 2)
    values["eta with its neighbour"] = total((eta[:, :, 1:] - 0.5) * (eta[:, :, :-1] - 0.5))
    share = n_dk / np.maximum(n_dk.sum(axis=2, keepdims=True), 1)
    fitted = share[:, :, :supervised] @ eta[:, :, :supervised].transpose(0, 2, 1)
    values["eta z"] = total(fitted)
    # In Geweke's test, where targets are drawn, this shows whether coefficients and topics respond to them.
    values["eta z y"] = total(np.nan_to_num(np.tanh(targets)) * (fitted - 0.5))
    if augmentation.shape == targets.shape:
        # Its mean over all targets may be right where that given each is not.
        values["augmentation y"] = total(np.nan_to_num(np.tanh(targets)) * bounded)
        values["augmentation eta z"] = total(bounded * (fitted - 0.5))
    # Scales and coefficients trade off: neither shows by itself that they do not fit together.
    of_slopes = np.abs(eta[:, :, :slopes] - 0.5)
    for role in sorted(scales, key=lambda role: -scales[role].ndim):
        array = scales[role]
        values[f"eta {role}"] = total(of_slopes * array.reshape(array.shape + (1,) * (3 - array.ndim)))
        if array.ndim == 1:
            values[f"{role} y"] = array * total(np.nan_to_num(np.tanh(targets)))
    return values
