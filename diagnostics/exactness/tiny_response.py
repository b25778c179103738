"""The response of a model on the tiny corpus: its law given the assignments, by quadrature over the coefficients.

Of the coefficients and the augmentation, what the schedule leaves as it is counts as given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr, ndtri
from scipy.stats import qmc

from ppl_topics.corpus.labels import Labels
from ppl_topics.errors import CorpusError
from ppl_topics.run.bind import BoundModel, observed_of
from ppl_topics.seams import Coefficients, Response
from ppl_topics.state import ChainState, Observed

__all__ = ["TinyResponse", "tiny_observed"]

Array = NDArray[np.float64]

NODES = 2**14
"""Of the Sobol sequence that coefficients are summed over: the sums err by about one part in a thousand."""

SIGNS = ((1, 0, -1), (0, 1, 0), (1, 1, 0), (0, 1, 1))
NUMBERS = ((0.7, -1.2, np.nan), (-0.4, 0.3, 1.1), (0.2, -0.6, 0.5), (1.3, 0.8, -0.9))
COUNTS = ((2, 0, -1), (0, 3, 1), (1, 1, 0), (4, 0, 2))
"""Labels of the four documents in three columns, one of them missing."""


def tiny_observed(response: Response, n_docs: int, columns: int) -> Observed:
    """Return targets of the tiny corpus, in so many columns, of the kind that the response takes."""
    for kind, table in (("multi_label", SIGNS), ("real", NUMBERS), ("count", COUNTS)):
        values = np.array(table)[:n_docs, :columns]
        names = np.array([f"y{i}" for i in range(columns)], dtype=object)
        try:
            targets, responses = response.encode(Labels(kind, values, names))  # type: ignore[arg-type]
        except CorpusError:
            continue
        fixed = ("intercept",) if response.intercept else ()
        return observed_of(targets, np.ones((n_docs, len(fixed))), responses, fixed, response.intercept)
    raise CorpusError(f"block {response.kind!r} takes neither signs, nor numbers, nor counts; nothing to verify it on")


class TinyResponse:
    """The law of the targets, the coefficients and the augmentation, given assignments.

    Parameters
    ----------
    bound : BoundModel
        Of a model with a response.
    state : ChainState
        Holds what is given.
    moved : set of str
        Roles that the schedule updates.
    """

    def __init__(self, bound: BoundModel, state: ChainState, moved: set[str]) -> None:
        # Where each response has a model of its own, the chain observes one of them.
        response, observed = bound.response, state.observed
        assert response is not None, "the model has no response"
        assert observed is not None, "the corpus has no targets"
        prior = bound.block(bound.model.names["eta"])
        assert isinstance(prior, Coefficients), "coefficients without a prior"
        self.response, self.observed, self.prior = response, observed, prior
        self.names = bound.model.names
        self.moves_eta, self.moves_augmentation = "eta" in moved, "augmentation" in moved
        size = bound.sizes.coefficients
        points = qmc.Sobol(size, rng=np.random.default_rng(20261121)).random(NODES)
        # Standard normal nodes, scaled to each response's prior.
        self._nodes = ndtri(np.clip(points, 1e-12, 1 - 1e-12))
        self._scale = 1.0 / np.sqrt(prior.precision(state))
        self._given_eta = state.arrays[self.names["eta"]].copy()
        self._given_augmentation = state.arrays[self.names["augmentation"]].copy()
        self._laws: dict[bytes, tuple[Array, Array]] = {}
        # Unless something that documents share is summed over, each has a factor of its own; few of those differ.
        self._adds_up = type(response).log_evidence is Response.log_evidence
        self._by_document: dict[tuple[int, bytes], Array] = {}

    def features(self, n_dk: NDArray[Any]) -> Array:
        """Return the features of documents, shape (D, F)."""
        shares = n_dk / np.maximum(n_dk.sum(axis=1, keepdims=True), 1)
        return np.concatenate([shares, self.observed.design], axis=1)

    def log_evidence(self, n_dk: NDArray[Any]) -> Array:
        """Return log p(targets | z) up to a constant for each state.

        Parameters
        ----------
        n_dk : ndarray of int, shape (S, D, K)
        """
        return np.array([self._law(counts)[0].sum() for counts in n_dk])

    def draw(self, n_dk: NDArray[Any], rng: np.random.Generator) -> dict[str, Array]:
        """Draw coefficients and augmentation given the assignments; by role."""
        features = self.features(n_dk)
        eta = self._given_eta
        if self.moves_eta and self.moves_augmentation:
            cumulated = self._law(n_dk)[1]
            number = [min(int(np.searchsorted(c, rng.random())), NODES - 1) for c in cumulated]
            eta = self._nodes[number] * self._scale
        elif self.moves_eta:
            eta = np.stack([rng.multivariate_normal(mean, cov) for mean, cov in self._normal(features)])
        augmentation = self._given_augmentation
        if self.moves_augmentation:
            augmentation = self.response.draw_augmentation(self.observed.targets, features @ eta.T, rng)
        return {"eta": eta, "augmentation": augmentation}

    def _law(self, n_dk: NDArray[Any]) -> tuple[Array, Array]:
        """Return each response's log evidence, shape (C,), and the cumulated weights of the nodes, shape (C, NODES)."""
        key = np.ascontiguousarray(n_dk, dtype=np.int64).tobytes()
        if key not in self._laws:
            self._laws[key] = self._compute(self.features(n_dk))
        return self._laws[key]

    def _compute(self, features: Array) -> tuple[Array, Array]:
        targets, nothing = self.observed.targets, np.zeros((0, 0))
        if not self.moves_augmentation:
            b, omega = self.response.potential(targets, self._given_augmentation)
            if not self.moves_eta:
                fitted = features @ self._given_eta.T
                return (b * fitted - omega * fitted**2 / 2.0).sum(axis=0), nothing
            value = [
                0.5 * (np.linalg.slogdet(cov)[1] + mean @ np.linalg.solve(cov, mean))
                for mean, cov in self._normal(features)
            ]
            return np.array(value), nothing
        if not self.moves_eta:
            return self.response.log_evidence(targets, features @ self._given_eta.T), nothing
        parts = [self._at_nodes(doc, row) for doc, row in enumerate(features)]
        weights = np.sum(parts, axis=0) if self._adds_up else self.response.log_evidence(targets, np.stack(parts, 1))
        total = logsumexp(weights, axis=0)
        cumulated = np.cumsum(np.exp(weights - total), axis=0).T
        return total - np.log(NODES), np.ascontiguousarray(cumulated / cumulated[:, -1:])

    def _at_nodes(self, doc: int, features: Array) -> Array:
        """Return a document's log pseudo-likelihood, or else its linear predictors, at all nodes, shape (NODES, C)."""
        key = (doc, features.tobytes())
        if key not in self._by_document:
            fitted = (self._nodes * features) @ self._scale.T
            if self._adds_up:
                fitted = self.response.log_likelihood(self.observed.targets[doc], fitted, np.ones(1))
            self._by_document[key] = fitted
        return self._by_document[key]

    def _normal(self, features: Array) -> list[tuple[Array, Array]]:
        """Return mean and covariance of each response's coefficients given the augmentation."""
        b, omega = self.response.potential(self.observed.targets, self._given_augmentation)
        result = []
        for c, scale in enumerate(self._scale):
            inverse = np.diag(scale**-2.0) + (features * omega[:, c : c + 1]).T @ features
            cov = np.asarray(np.linalg.inv(inverse), dtype=np.float64)
            result.append((cov @ (features.T @ b[:, c]), cov))
        return result


def response_statistics(names: Mapping[str, str], state: ChainState) -> dict[str, float]:
    """Return bounded statistics of coefficients and augmentation."""
    if "eta" not in names:
        return {}
    values: dict[str, float] = {}
    eta = ndtr(state.arrays[names["eta"]])
    augmentation = state.arrays[names["augmentation"]]
    bounded = augmentation / (1.0 + augmentation)
    for name, array in (("eta", eta), ("augmentation", bounded)):
        weights = np.cos(1 + 2 * np.arange(array.size)).reshape(array.shape)
        values[f"{name}[0]"] = float(array.flat[0])
        values[f"sum {name}^2"] = float((array**2).sum())
        values[f"mix of {name}"] = float((weights * array).sum())
    # Around the middle, so that a wrong spread or correlation is not lost in the spread of the sum.
    values["spread of eta"] = float(((eta - 0.5) ** 2).sum())
    values["eta with its neighbour"] = float(((eta[:, 1:] - 0.5) * (eta[:, :-1] - 0.5)).sum())
    share = state.n_dk / np.maximum(state.n_dk.sum(axis=1, keepdims=True), 1)
    values["eta z"] = float((share @ eta[:, : share.shape[1]].T).sum())
    return values
