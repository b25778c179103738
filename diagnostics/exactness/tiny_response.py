"""The response of a model on the tiny corpus: its distribution given z, by quadrature over the coefficients.

Coefficients, the scales of their prior, and the augmentation are given if the schedule does not change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

from ppl_topics._util.arrays import FloatArray, IntArray
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
from ppl_topics.errors import CorpusError

__all__ = ["TinyResponse", "response_statistics", "tiny_observed"]


SIGNS = ((1, 0, -1), (0, 1, 0), (1, 1, 0), (0, 1, 1))
NUMBERS = ((0.7, -1.2, np.nan), (-0.4, 0.3, 1.1), (0.2, -0.6, 0.5), (1.3, 0.8, -0.9))
COUNTS = ((2, 0, -1), (0, 3, 1), (1, 1, 0), (4, 0, 2))
"""Labels of the four documents in three columns, one of them missing; more documents have them over again."""

CLASSES = (3, 0, -1, 3)
"""Of the four documents, for responses that take nothing else; one is missing. The evidence depends on the topics more
than with most others."""

COVARIATES = ((0.8, 1.0), (-0.5, 0.0), (0.3, 1.0), (-0.9, 0.0))
"""Of the four documents: a number, and a category."""


def tiny_observed(response: Response, n_docs: int, columns: int, covariates: bool = False) -> Observed:
    """Return targets of the tiny corpus in a number of columns, of the kind that the response takes, and covariates."""
    rows = np.arange(n_docs) % len(NUMBERS)
    for kind, table in (("multi_label", SIGNS), ("class", CLASSES), ("real", NUMBERS), ("count", COUNTS)):
        by_class = kind == "class"
        values = np.minimum(table, columns)[rows] if by_class else np.array(table)[rows, :columns]
        names = np.array([f"y{i}" for i in range(columns + by_class)], dtype=object)
        try:
            targets, responses = response.encode(Labels(kind, values, names))  # type: ignore[arg-type]
        except CorpusError:
            continue
        names_of_columns = (("x0", "x1") if covariates else ()) + (("intercept",) if response.intercept else ())
        fixed = np.hstack([np.array(COVARIATES)[rows], np.ones((n_docs, 1))])
        wanted = fixed[:, 0 if covariates else 2 : 3 if response.intercept else 2]
        return observed_of(targets, Design.of(wanted), responses, names_of_columns, response.intercept)
    raise CorpusError(
        f"block {response.kind!r} accepts neither classes, numbers nor counts, so `verify` cannot test it"
    )


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
        self.nodes = PriorNodes(prior, state, moved)
        self._precision = prior.precision(state)
        self._given_eta = state.arrays[self.names["eta"]].copy()
        self._given_augmentation = state.arrays[self.names["augmentation"]].copy()
        self._given_scales = cumulated_weights(self.nodes.weights_given(self._given_eta))
        self._distributions: dict[bytes, tuple[FloatArray, FloatArray]] = {}
        # Each document has its own factor unless something that they share is summed over; few factors differ.
        self._adds_up = type(response).log_evidence is Response.log_evidence or not self.moves_augmentation
        self._by_document: dict[tuple[int, bytes], FloatArray] = {}

    def features(self, n_dk: NDArray[Any]) -> FloatArray:
        """Return the features of documents, shape (D, F)."""
        return document_features(n_dk, self._state)

    def log_evidence(self, n_dk: NDArray[Any]) -> FloatArray:
        """Return log p(targets | z) up to a constant for each state."""
        return np.array([self._distribution(counts)[0].sum() for counts in n_dk])

    def draw(self, n_dk: NDArray[Any], rng: np.random.Generator) -> dict[str, FloatArray]:
        """Draw coefficients, the scales that are not given, and augmentation given the assignments; by role."""
        features = self.features(n_dk)
        eta, scales = self._given_eta, {}
        if self._is_normal:
            eta = np.stack([rng.multivariate_normal(mean, cov) for mean, cov in self._normal(features)])
        else:
            number = draw_nodes(self._distribution(n_dk)[1] if self.moves_eta else self._given_scales, rng)
            scales = {role: values[number] for role, values in self.nodes.scales.items()}
            if self.moves_eta:
                eta = self.nodes.eta[np.arange(len(number)), number]
        augmentation = self._given_augmentation
        if self.moves_augmentation:
            augmentation = self.response.draw_augmentation(self.observed.targets, features @ eta.T, rng)
        return {"eta": eta, "augmentation": augmentation, **scales}

    @property
    def _is_normal(self) -> bool:
        """Whether the distribution of the coefficients is normal: only they are summed over."""
        return self.moves_eta and not self.moves_augmentation and not self.nodes.scales

    def _distribution(self, n_dk: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        """Return each response's log evidence, shape (C,), and the cumulated weights of the nodes, shape (C, NODES)."""
        key = np.ascontiguousarray(n_dk, dtype=np.int64).tobytes()
        if key not in self._distributions:
            self._distributions[key] = self._compute(self.features(n_dk))
        return self._distributions[key]

    def _compute(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        targets, nothing = self.observed.targets, np.zeros((0, 0))
        if not self.moves_eta:
            fitted = features @ self._given_eta.T
            if self.moves_augmentation:
                return self.response.log_evidence(targets, fitted), nothing
            return self._quadratic(fitted).sum(axis=0), nothing
        if self._is_normal:
            value = [
                0.5 * (np.linalg.slogdet(cov)[1] + mean @ np.linalg.solve(cov, mean))
                for mean, cov in self._normal(features)
            ]
            return np.array(value), nothing
        parts = [self._at_nodes(doc, row) for doc, row in enumerate(features)]
        weights = np.sum(parts, axis=0) if self._adds_up else self.response.log_evidence(targets, np.stack(parts, 1))
        return logsumexp(weights, axis=0) - np.log(NODES), cumulated_weights(weights)

    def _at_nodes(self, doc: int, features: FloatArray) -> FloatArray:
        """Return a document's log pseudo-likelihood, or else its linear predictors, at all nodes, shape (NODES, C)."""
        key = (doc, features.tobytes())
        if key not in self._by_document:
            fitted = (self.nodes.eta @ features).T
            if not self.moves_augmentation:
                fitted = self._quadratic(fitted, doc)
            elif self._adds_up:
                fitted = self.response.log_likelihood(self.observed.targets[doc], fitted, np.ones(1))
            self._by_document[key] = fitted
        return self._by_document[key]

    def _quadratic(self, fitted: FloatArray, doc: int | slice = slice(None)) -> FloatArray:
        """Return the log pseudo-likelihood given the augmentation, up to a constant."""
        b, omega = self.response.potential(self.observed.targets, self._given_augmentation)
        return b[doc] * fitted - omega[doc] * fitted**2 / 2.0

    def _normal(self, features: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return mean and covariance of each response's coefficients given the augmentation."""
        b, omega = self.response.potential(self.observed.targets, self._given_augmentation)
        result = []
        for c, precision in enumerate(self._precision):
            inverse = np.diag(precision) + (features * omega[:, c : c + 1]).T @ features
            cov = np.asarray(np.linalg.inv(inverse), dtype=np.float64)
            result.append((cov @ (features.T @ b[:, c]), cov))
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
    scales = {role: array / (1.0 + array) for role, array in variables.items() if role not in ("eta", "augmentation")}
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
        values[f"eta {role}"] = total(of_slopes * scales[role].reshape(n_states, eta.shape[1], -1))
    return values
