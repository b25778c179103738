"""Scalar quantities of one draw of a model that do not depend on the numbers of topics.

Topics may be numbered in any way, so the value of one topic has no rank among draws; what is symmetric in topics has.
Some quantities depend on the words and labels: a posterior that ignored them would pass all others (Modrák et al. 2023,
section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.response import Response
from ppl_topics.core.state import WORD_MAJOR
from ppl_topics.corpus import Corpus
from ppl_topics.engine.encode_observed import encode_above, encode_observed
from ppl_topics.engine.simulation import document_features, state_without_words
from ppl_topics.spec import Model

__all__ = ["Quantities", "Quantity"]

Quantity = Callable[[xr.Dataset, Corpus], float]
"""A quantity of the user's own: a function of the values of one draw, with the dims of a trace, and the corpus."""

MANY = {"topic", "word", "slope"}
"""Dims along which the numbers of one variable are alike."""

TOPICS = (
    "log p(w, z)",
    "log p(w | theta, phi)",
    "p(first word) in the first document",
    "sum of squares of n_k",
    "sum of squares of phi",
    "entropy of theta, mean",
    "entropy of theta, first document",
    "words included",
)
"""Quantities of assignments and topics, which several responses have in common; the last is that of sparse topics."""

APART = {"z", "theta", "phi", "eta", "included"}
"""Roles of the variables that have quantities of their own."""

SMALLEST = 1e-300
"""Probability below which logarithms are cut off."""


class Quantities:
    """The quantities of a model on one corpus, of draws one after another."""

    def __init__(self, model: Model, corpus: Corpus, own: Mapping[str, Quantity]) -> None:
        self.model, self.corpus, self.own = model, corpus, own
        self.alone = {name: Quantities(each.model, corpus, {}) for name, each in model.marginals.items()}
        observed, above = encode_observed(model, corpus), encode_above(model, corpus)
        self.state = state_without_words(model, corpus.doc_ptr, corpus.n_words, observed, above)
        self.response = model.response

    def of(self, draw: xr.Dataset) -> dict[str, float]:
        """Return the quantities of one draw: the values of all variables, with the dims of a trace."""
        return self._of({str(name): array.values for name, array in draw.items()}) | self._of_own(draw)

    def of_draws(self, draws: xr.Dataset, names: Sequence[str]) -> FloatArray:
        """Return some quantities of the draws of all chains, shape (chains, draws, quantities)."""
        arrays = {str(name): array.transpose("chain", "draw", ...).values for name, array in draws.items()}
        result = np.empty((draws.sizes["chain"], draws.sizes["draw"], len(names)))
        for chain, draw in np.ndindex(result.shape[:2]):
            found = self._of({name: array[chain, draw] for name, array in arrays.items()})
            if self.own:
                found |= self._of_own(draws.isel(chain=chain, draw=draw))
            result[chain, draw] = [found[name] for name in names]
        return result

    def _of_own(self, draw: xr.Dataset) -> dict[str, float]:
        return {name: float(quantity(draw, self.corpus)) for name, quantity in self.own.items()}

    def _of(self, values: Mapping[str, NDArray[Any]]) -> dict[str, float]:
        """Return the quantities of the model, or those of each of several responses alone, under its name."""
        if not self.alone:
            return self._of_one(values)
        found: dict[str, float] = {}
        for name, quantities in self.alone.items():
            marginal = self.model.marginals[name]
            own = {n: values[w] for n in marginal.model.variables if (w := marginal.whole_name(n)) in values}
            of_one = quantities._of_one(own)
            found |= {key if key in TOPICS else f"{name}: {key}": value for key, value in of_one.items()}
        return found

    def _of_one(self, values: Mapping[str, NDArray[Any]]) -> dict[str, float]:
        by_role = {role: values[name] for role, name in self.model.names.items() if name in values}
        state = self.state
        state.z[:] = by_role["z"]
        state.arrays = {
            name: values[name].T if variable.role in WORD_MAJOR else values[name]
            for name, variable in self.model.variables.items()
            if name in values and variable.role != "z"
        }
        found = self._of_topics(by_role["theta"], by_role["phi"], by_role.get("included"))
        for name, variable in self.model.variables.items():
            if name in values and variable.role not in APART:
                found |= _of_scalars(name, variable.dims, values[name])
        log_joint = 0.0
        if self.response is not None:
            response = self.response.at(state.arrays)
            of_response, log_joint = self._of_response(response, by_role["eta"], by_role.get("augmentation"))
            found |= of_response
        elif self.model.label_block is not None and self.state.observed is not None:
            log_joint = self.model.label_block.log_density(self.state.observed.targets, state)
            found["log p(y)"] = log_joint
            if "eta" in by_role:
                found["norm of eta"] = float(np.sqrt((by_role["eta"] ** 2).sum()))
        if set(by_role) - {"z", "theta", "phi"}:
            found["log posterior"] = found["log p(w, z)"] + self._log_prior() + log_joint
        return found

    def _of_topics(self, theta: FloatArray, phi: FloatArray, included: NDArray[Any] | None) -> dict[str, float]:
        """Return quantities of the assignments, theta and phi."""
        state, words = self.state, self.corpus.words
        drawn_dk, n_kw = state.drawn_dk, np.zeros(phi.shape)
        np.add.at(n_kw, (state.z, words), 1.0)
        beta = np.broadcast_to(state.beta, phi.shape) * (1.0 if included is None else included)
        alpha = np.broadcast_to(state.document_alpha.by_doc, drawn_dk.shape)
        log_p = _log_rows(drawn_dk, alpha) + _log_rows(n_kw, beta)
        docs = state.tokens.docs
        of_words = np.einsum("ik,ki->i", theta[docs], phi[:, words].astype(np.float64))
        entropy = -xlogy(theta, theta).sum(axis=1)
        values = (
            log_p,
            np.log(np.maximum(of_words, SMALLEST)).sum(),
            theta[0] @ phi[:, 0],
            (n_kw.sum(axis=1) ** 2).sum(),
            (phi.astype(np.float64) ** 2).sum(),
            entropy.mean(),
            entropy[0],
        )
        found = dict(zip(TOPICS, values, strict=False))
        if included is not None:
            found[TOPICS[-1]] = included.sum()
        return {name: float(value) for name, value in found.items()}

    def _of_response(
        self, response: Response, eta: FloatArray, parameter: FloatArray | None
    ) -> tuple[dict[str, float], float]:
        """Return quantities of the coefficients and of the labels given them, and the log joint density of labels."""
        state, observed = self.state, self.state.observed
        assert observed is not None, "a response without labels"
        supervised = state.sizes.supervised
        scores = document_features(state.n_dk, state) @ eta.T
        known = np.ones(1) if parameter is None else parameter
        found = {"norm of eta": np.sqrt((eta[:, :supervised] ** 2).sum())} if supervised else {}
        for column, name in enumerate(observed.columns, supervised):
            found[f"eta[{observed.responses[0]}, {name}]"] = eta[0, column]
        found |= {
            "eta zbar, first document": scores[0, 0],
            "eta zbar, mean": scores.mean(),
            "log p(y)": response.log_likelihood(observed.targets, scores, known).sum(),
        }
        log_joint = response.log_joint(observed.targets, scores, known)
        return {name: float(value) for name, value in found.items()}, log_joint

    def _log_prior(self) -> float:
        """Return the log prior density of all that is not in log p(w, z)."""
        blocks = self.model.spec.blocks
        held = self.state.arrays.items()
        return sum(blocks[name].log_density(array, self.state) for name, array in held if name in blocks)


def _log_rows(counts: NDArray[Any], concentration: FloatArray) -> float:
    """Return the log probability of sequences with these counts, the rows of Dirichlet weights integrated out."""
    some = counts > 0
    cells = (gammaln(counts[some] + concentration[some]) - gammaln(concentration[some])).sum()
    total = concentration.sum(axis=1)
    return float(cells - (gammaln(counts.sum(axis=1) + total) - gammaln(total)).sum())


def _of_scalars(name: str, dims: tuple[str, ...], value: NDArray[Any]) -> dict[str, float]:
    """Return quantities of a variable: the first value, of many alike their mean log, of coefficients of topics norms.

    The norms are those of all topics, whose numbers mean nothing.
    """
    if "prevalence" in dims:
        norms = np.sqrt((value.astype(np.float64) ** 2).sum(axis=0))
        return {f"norm of {name}, column {column}": float(norm) for column, norm in enumerate(norms)}
    if MANY & set(dims):
        return {f"mean of log {name}": float(np.log(np.maximum(value, SMALLEST)).mean())}
    return {name if value.size == 1 else f"{name}, first": float(value.ravel()[0])}
