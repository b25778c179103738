"""Bounded statistics of samples of states, and p-values of the hypothesis that two samples have one distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, ndtr

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.alpha import Alpha, LogLinear
from ppl_topics.core.state import ChainState
from ppl_topics.diagnostics.exactness.goodness import mix, same_mean, score, total
from ppl_topics.diagnostics.exactness.tiny import TinyModel
from ppl_topics.diagnostics.exactness.tiny_indicators import indicator_statistics
from ppl_topics.diagnostics.exactness.tiny_labels import ENUMERATED, label_statistics
from ppl_topics.diagnostics.exactness.tiny_mixture import background_statistics, keyword_statistics
from ppl_topics.diagnostics.exactness.tiny_response import numbers_of, response_statistics
from ppl_topics.samplers.variates.simd import LANES

__all__ = ["FEWEST", "REFERENCE", "Sample", "compare"]


REFERENCE = 2
"""Further draws of the distribution that chains start from, for each chain: they cost a part of its sweeps."""

FEWEST = 10
"""Chains at least: of fewer, some statistic of counts has the same value in all by chance."""

SMALLEST = 1e-12
"""Probability below which logarithms are cut off."""

CELLS_AT_ONCE = 2**20
"""Counts of documents and words that are in memory at a time."""


class Sample:
    """Statistics of states that are recorded one after another.

    Recording copies the arrays and no more; statistics are computed of many states at once.
    """

    def __init__(self, tiny: TinyModel, size: int) -> None:
        sizes = tiny.bound.sizes
        self.tiny, self.size, self.recorded = tiny, size, 0
        self._at_once = max(1, CELLS_AT_ONCE // ((sizes.docs + sizes.words) * sizes.topics))
        self._copies = _Copies(tiny, min(size, self._at_once))
        self._done: list[dict[str, FloatArray]] = []

    def record(self, state: ChainState) -> None:
        """Copy a state."""
        self._copies.record(self.recorded % self._at_once, state)
        self.recorded += 1
        if self.recorded % self._at_once == 0 or self.recorded == self.size:
            self._done.append(state_statistics(self._copies))
            self._copies = _Copies(self.tiny, min(self.size - self.recorded, self._at_once))

    @property
    def statistics(self) -> dict[str, FloatArray]:
        """Each of shape (size,), once all states are recorded."""
        assert self.recorded == self.size, f"{self.recorded} of {self.size} states"
        return {name: np.concatenate([part[name] for part in self._done]) for name in self._done[0]}


class _Copies:
    """Copies of states, in arrays whose first axis is the state's number.

    Attributes
    ----------
    z, words : ndarray, shape (n, N)
    arrays : dict of str to ndarray
        Every other variable by name.
    targets : dict of str to ndarray of float64, shape (n, D, C)
        By the names of `BoundModel.by_response`; empty without labels.
    """

    def __init__(self, tiny: TinyModel, size: int) -> None:
        self.tiny, self.size = tiny, size
        self.z = np.empty((size, tiny.bound.sizes.tokens), np.int64)
        self.words = np.empty_like(self.z)
        self.arrays: dict[str, NDArray[Any]] = {}
        self.targets: dict[str, FloatArray] = {}

    def record(self, number: int, state: ChainState) -> None:
        """Copy a state."""
        self.z[number], self.words[number] = state.z, state.tokens.words
        for name, array in state.values.items():
            if name not in self.arrays:
                self.arrays[name] = np.empty((self.size, *array.shape))
            self.arrays[name][number] = array
        for response in self.tiny.bound.by_response:
            observed = self.tiny.bound.seen_by(response, state).observed
            if observed is not None:
                if response not in self.targets:
                    self.targets[response] = np.empty((self.size, *observed.targets.shape))
                self.targets[response][number] = observed.targets

    def of(self, role: str) -> FloatArray | None:
        """Return the values of a variable, or None if the chain does not hold it."""
        return self.arrays.get(self.tiny.model.names.get(role, role))

    def concentration(self, role: str) -> FloatArray:
        """Return a concentration as a vector, shape (n, 1, size), or (1, 1, size) if it is fixed.

        Where it differs from document to document, the shape is (n, D, K).
        """
        bound = self.tiny.bound
        how, held = bound.concentrations[role], self.of(role)
        if isinstance(how, Alpha):
            return how.by_doc[None]
        if isinstance(how, LogLinear):
            assert held is not None, "concentrations without coefficients"
            return how.rows(held)[:, how.row]
        size = bound.sizes.topics if role == "alpha" else bound.sizes.words
        rows = np.asarray(bound.concentrations[role])[None] if held is None else held.reshape(self.size, -1)
        return np.broadcast_to(rows, (len(rows), size))[:, None]

    @property
    def docs(self) -> IntArray:
        """Document of each token, shape (N,)."""
        return self.tiny.bound.tokens.docs

    @property
    def n_dk(self) -> IntArray:
        """Tokens of each document in each topic, shape (n, D, K)."""
        return self._counts(np.broadcast_to(self.docs, self.z.shape), self.tiny.bound.sizes.docs)

    @property
    def n_wk(self) -> IntArray:
        """Tokens of each word in each topic, shape (n, V, K)."""
        return self._counts(self.words, self.tiny.bound.sizes.words)

    def _counts(self, rows: NDArray[Any], n_rows: int) -> IntArray:
        topics = self.tiny.bound.sizes.topics
        cells = (np.arange(self.size)[:, None] * n_rows + rows) * topics + self.z
        return np.bincount(cells.ravel(), minlength=self.size * n_rows * topics).reshape(self.size, n_rows, topics)


def state_statistics(sample: _Copies) -> dict[str, FloatArray]:
    """Return statistics of the concentrations, the counts, and theta and phi if the chain holds them, shape (n,)."""
    tiny = sample.tiny
    values: dict[str, FloatArray] = {}
    for role in ("alpha", "beta"):
        prior, held = tiny.prior(role), sample.of(role)
        if prior is not None and held is not None:
            uniform = np.asarray(gammainc(prior.shape, prior.rate * held), dtype=np.float64).reshape(sample.size, -1)
            values |= {f"{role}[{i}]": column for i, column in enumerate(uniform.T)}
    values |= _coefficient_statistics(sample)
    top, held = sample.of("top_concentration"), sample.of("alpha")
    if top is not None and held is not None:
        bounded = held / (1.0 + held)
        values |= {f"alpha[{i}]": column for i, column in enumerate(bounded.T[:LANES])}
        # Each share of the concentrations with g, which they depend on.
        spread = ((held / held.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
        values |= {"sum alpha": held.sum(axis=1) / (1.0 + held.sum(axis=1)), "mix of alpha": mix(bounded)}
        values |= {"top_concentration": top / (1.0 + top), "spread of alpha": spread}
    n_dk, n_wk = sample.n_dk, sample.n_wk
    alpha, beta = sample.concentration("alpha"), sample.concentration("beta")
    values |= {"score of alpha": score(n_dk, alpha), "score of beta": score(n_wk.swapaxes(1, 2), beta)}
    values |= _count_statistics(n_dk, n_wk)
    for role, counts, weights in (("theta", n_dk, alpha), ("phi", n_wk, beta.swapaxes(1, 2))):
        array = sample.of(role)
        if array is not None:
            values[f"{role}[0, 0]"] = array[:, 0, 0]
            # The spread of all rows at once: a wrong one does not show in the means.
            values[f"sum {role}^2"] = total(array**2)
            # The mean probability that theta gives to the topics of the tokens, or phi to their words.
            values[f"{role} z"] = total(array * counts) / max(1, sample.z.shape[1])
            values[f"mix of {role}"] = mix(array)
            # What shows a wrong concentration best; probabilities may be zero.
            values[f"log {role}"] = total(weights * np.log(np.maximum(array, SMALLEST)))
    included, pi = sample.of("included"), sample.of("pi")
    if included is not None:
        values |= indicator_statistics(included, n_wk, pi)
    weight, phi = sample.of("keyword_weight"), sample.of("phi")
    if weight is not None and phi is not None:
        values |= keyword_statistics(tiny.bound.block(tiny.model.names["phi"]).cells, weight, phi, n_wk)
    background, share = sample.of("background"), sample.of("background_share")
    if background is not None and share is not None and phi is not None:
        values |= background_statistics(background, share, phi, n_wk)
    for response, targets in sample.targets.items():
        alone = tiny.bound.by_response[response]
        if alone.response is None:
            roles = tiny.model.names.keys() - ENUMERATED
            of_labels = {role: array for role in sorted(roles) if (array := sample.of(role)) is not None}
            values |= label_statistics(n_dk, targets, of_labels)
        else:
            found = response_statistics(alone, n_dk, targets, _response_variables(sample, response))
            values |= {f"{response}: {name}" if response else name: value for name, value in found.items()}
    return values


def _coefficient_statistics(sample: _Copies) -> dict[str, FloatArray]:
    """Return statistics of the coefficients of concentrations, shape (n,); none if there are none."""
    if not isinstance(sample.tiny.bound.concentrations["alpha"], LogLinear):
        return {}
    coefficients = sample.of("alpha")
    assert coefficients is not None, "concentrations without coefficients"
    # The concentrations would not have a mean: those of large coefficients are too rare.
    bounded = ndtr(coefficients)
    values = {f"alpha[{i}]": column for i, column in enumerate(bounded.reshape(sample.size, -1).T)}
    values |= {"spread of alpha": total((bounded - 0.5) ** 2), "mix of alpha": mix(bounded)}
    of_slopes = np.abs(bounded[:, :, :-1] - 0.5)
    for role in ("prevalence_lambda", "prevalence_tau"):
        held = sample.of(role)
        if held is not None:
            scale = held / (1.0 + held)
            values |= {f"{role}[0]": scale.reshape(sample.size, -1)[:, 0], f"mix of {role}": mix(scale)}
            values |= {f"sum {role}^2": total(scale**2)}
            # They trade off: neither shows by itself that they do not fit together.
            values[f"alpha {role}"] = total(of_slopes * scale.reshape(scale.shape + (1,) * (3 - scale.ndim)))
    return values


def compare(before: Sample, after: Sample, reference: Sample) -> dict[str, float]:
    """Return p-values by statistic of the hypothesis that chains leave the distribution of their starts as it is.

    ``after`` holds the states of each chain's sweeps, those of one chain next to each other; ``reference`` further
    draws of starts. First and second moments are compared, and products of neighbours, which show a wrong spread or
    dependence.
    """
    statistics = [sample.statistics for sample in (before, after, reference)]
    names = list(statistics[0])

    def p_value(*factors: str) -> float:
        start, chains, more = (np.prod([values[name] for name in factors], axis=0) for values in statistics)
        return same_mean(start, chains.reshape(len(start), -1).mean(axis=1), more)

    p_values = {name: p_value(name) for name in names}
    return p_values | {f"{a} * {b}": p_value(a, b) for i, a in enumerate(names) for b in names[i : i + 3]}


def _response_variables(sample: _Copies, response: str) -> dict[str, FloatArray]:
    """Return the coefficients, their augmentation, scales, and numbers that have priors, by role."""
    marginal, bound = sample.tiny.model.by_response[response], sample.tiny.bound.by_response[response]
    names = bound.model.names
    scales = [role for role, _ in bound.block(names["eta"]).auxiliaries().values()]
    held = {
        role: sample.arrays.get(marginal.whole_name(names.get(role, role)))
        for role in ("eta", "augmentation", *scales, *numbers_of(bound.model))
    }
    return {role: array for role, array in held.items() if array is not None}


def _count_statistics(n_dk: IntArray, n_wk: IntArray) -> dict[str, FloatArray]:
    n_k, topics = n_wk.sum(axis=1), n_wk.shape[2]
    values = {
        "n_k[0]": n_k[:, 0],
        "sum n_k^2": total(n_k**2),
        "sum n_dk^2": total(n_dk**2),
        "sum n_wk^2": total(n_wk**2),
        "n_dk[0, 0]": n_dk[:, 0, 0],
        "n_wk[0, 0]": n_wk[:, 0, 0],
    }
    if topics > LANES:
        # A part of the topics that is left out, of a row of lanes or of a list, shows in these.
        values |= {
            "n_k of the last row": total(n_k[:, (topics - 1) // LANES * LANES :]),
            "topics of documents": total(n_dk > 0),
            "topics of words": total(n_wk > 0),
            "topics of the first word": total(n_wk[:, 0] > 0),
            "mix of n_k": mix(n_k),
            "mix of n_dk": mix(n_dk),
            "mix of n_wk": mix(n_wk),
        }
    return {name: value.astype(np.float64) for name, value in values.items()}
