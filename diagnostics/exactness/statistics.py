"""Bounded statistics of a state, and p-values of the hypothesis that two samples of states have one distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.state import ChainState
from ppl_topics.diagnostics.exactness.goodness import mix, paired_mean, score
from ppl_topics.diagnostics.exactness.tiny import TinyModel
from ppl_topics.diagnostics.exactness.tiny_indicators import indicator_statistics
from ppl_topics.diagnostics.exactness.tiny_response import response_statistics

SMALLEST = 1e-12
"""Probability below which logarithms are cut off."""

__all__ = ["paired_p_values", "state_statistics"]


def state_statistics(tiny: TinyModel, state: ChainState) -> dict[str, float]:
    """Return statistics of the concentrations, the counts, and theta and phi if the chain holds them."""
    values: dict[str, float] = {}
    for role in ("alpha", "beta"):
        prior = tiny.prior(role)
        if prior is not None:
            uniform = gammainc(prior.shape, prior.rate * state.arrays[tiny.model.names[role]])
            values |= {f"{role}[{i}]": float(u) for i, u in enumerate(np.atleast_1d(uniform))}
    values |= _count_statistics(state)
    held = state.values
    for role in ("theta", "phi"):
        array = held.get(tiny.model.names[role])
        if array is not None:
            values[f"{role}[0, 0]"] = float(array[0, 0])
            # The spread of all rows at once: a wrong one does not show in the means.
            values[f"sum {role}^2"] = float((array**2).sum())
            values[f"{role} z"] = _mean_probability(array, state, role)
            values[f"mix of {role}"] = mix(array)
            concentration = state.alpha if role == "theta" else state.beta[:, None]
            # What shows a wrong concentration best; probabilities may be zero.
            values[f"log {role}"] = float((concentration * np.log(np.maximum(array, SMALLEST))).sum())
    values |= indicator_statistics(tiny.model.names, state)
    return values | response_statistics(tiny.bound, state)


def paired_p_values(before: Sequence[Mapping[str, float]], after: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return p-values by statistic, for statistics of independent pairs of states.

    First and second moments are compared, and products of neighbours, which show a wrong spread or dependence.
    """
    names = list(before[0])
    columns = {name: (_column(before, name), _column(after, name)) for name in names}
    products = {
        f"{a} * {b}": (columns[a][0] * columns[b][0], columns[a][1] * columns[b][1])
        for i, a in enumerate(names)
        for b in names[i : i + 3]
    }
    return {name: paired_mean(*pair) for name, pair in {**columns, **products}.items()}


def _column(rows: Sequence[Mapping[str, float]], name: str) -> FloatArray:
    return np.array([row[name] for row in rows])


def _count_statistics(state: ChainState) -> dict[str, float]:
    n_dk, n_wk = state.n_dk, state.counts_by_word
    return {
        "score of alpha": float(score(n_dk, state.alpha)),
        "score of beta": float(score(n_wk.T, state.beta)),
        "n_k[0]": float(state.n_k[0]),
        "sum n_k^2": float((state.n_k**2).sum()),
        "sum n_dk^2": float((n_dk**2).sum()),
        "sum n_wk^2": float((n_wk**2).sum()),
        "n_dk[0, 0]": float(n_dk[0, 0]),
        "n_wk[0, 0]": float(n_wk[0, 0]),
    }


def _mean_probability(array: NDArray[Any], state: ChainState, role: str) -> float:
    """Return the mean probability that theta gives to the topics of the tokens, or phi to their words."""
    rows = state.tokens.docs if role == "theta" else state.tokens.words
    return float(array[rows, state.z].mean())
