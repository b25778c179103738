"""Labels of a tiny corpus whose block is no response: drawn by the block itself, whatever their density.

Nothing is summed over. Given the words alone, assignments have the enumerated distribution of the plain topic model;
coefficients, all else that labels depend on, and labels are drawn given these. Kernels that leave the posterior given
the labels invariant also leave this joint distribution as it is (Geweke 2004).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray, read_only
from ppl_topics.core.state import ChainState
from ppl_topics.diagnostics.exactness.goodness import mix, total
from ppl_topics.diagnostics.exactness.tiny import TinyModel
from ppl_topics.engine.simulation import draw_labels, drawing_order

__all__ = ["ENUMERATED", "draw_parents", "label_statistics", "redraw_targets", "set_labels"]

ENUMERATED = frozenset(
    {"z", "w", "theta", "phi", "alpha", "beta", "included", "pi", "keyword_weight", "background", "background_share"}
    | {"top_concentration"}
)
"""Roles of a plain topic model, which other draws set."""


def draw_parents(
    tiny: TinyModel, state: ChainState, values: Mapping[str, NDArray[Any]], rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Draw from the prior what is no part of the topic model, such as coefficients; return all values by role."""
    drawn = dict(values)
    for role, name in drawing_order(tiny.model):
        if role not in ENUMERATED:
            value = tiny.model.spec.blocks[name].simulate(role, drawn, state, rng)
            assert value is not None, f"{role} is not drawn from its prior"
            drawn[role] = value
    return drawn


def set_labels(
    tiny: TinyModel,
    state: ChainState,
    values: Mapping[str, NDArray[Any]],
    rng: np.random.Generator,
    given: Mapping[str, NDArray[Any]] = MappingProxyType({}),
) -> FloatArray:
    """Draw labels and what their block brings along into a state; return the targets. Missing ones stay missing."""
    block, observed = tiny.model.label_block, state.observed
    assert block is not None, "a model without labels"
    assert observed is not None, "the corpus has no targets"
    drawn, others = draw_labels(block, values, state, rng, given)
    tiny.set_values(state, others)
    targets = read_only(np.where(np.isnan(observed.targets), np.nan, drawn), np.float64)
    state.observed = replace(observed, targets=targets)
    return targets


def redraw_targets(tiny: TinyModel, state: ChainState, rng: np.random.Generator) -> None:
    """Draw the labels again, given all that a state holds."""
    block, held = tiny.model.label_block, {**state.values, tiny.model.names["z"]: state.z}
    assert block is not None, "a model without labels"
    values = {role: held[name] for role, name in tiny.model.names.items() if name in held}
    set_labels(tiny, state, values, rng, {role: values[role] for role, _ in block.auxiliaries().values()})


def label_statistics(n_dk: IntArray, targets: FloatArray, variables: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return bounded statistics of labels, of what they depend on, and of both with the topics, shape (n,).

    The variables come by role, of shapes (n, ...); counts of topics have the shape (n, D, K), targets (n, D, C).
    """
    size = len(n_dk)
    share = n_dk / np.maximum(n_dk.sum(axis=2, keepdims=True), 1)
    bounded = np.nan_to_num(targets / (1.0 + np.abs(targets)))
    of_topics = share.transpose(0, 2, 1) @ bounded
    values = {"sum y": total(bounded), "sum y^2": total(bounded**2), "mix of y": mix(bounded), "y z": mix(of_topics)}
    for role, array in variables.items():
        array = array / (1.0 + np.abs(array))
        values[f"{role}[0]"] = array.reshape(size, -1)[:, 0]
        values[f"sum {role}"], values[f"sum {role}^2"] = total(array), total(array**2)
        values[f"mix of {role}"] = mix(array)
        if array.shape[1:2] == targets.shape[2:] and array.ndim == 3 and array.shape[2] >= n_dk.shape[2]:
            # Coefficients: whether they and the topics fit together, and respond to the labels.
            slopes = array[:, :, : n_dk.shape[2]].transpose(0, 2, 1)
            values[f"{role} with its neighbour"] = total(array[:, :, 1:] * array[:, :, :-1])
            values[f"{role} z"], values[f"{role} z y"] = total(share @ slopes), total(of_topics * slopes)
        if array.shape == targets.shape:
            values[f"{role} y"] = total(array * bounded)
    return values
