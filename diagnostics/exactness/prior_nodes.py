"""Nodes that the coefficients of a tiny model, and the scales of their prior, are summed over."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from scipy.special import gammaincinv, gammaln, ndtri, softmax
from scipy.stats import qmc

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.alpha import SMALLEST_ALPHA
from ppl_topics.core.number import LARGEST, SMALLEST, CutPointPrior, PositivePrior
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.state import ChainState
from ppl_topics.models.hierarchical_dirichlet import HierarchicalDirichlet

__all__ = ["NODES", "PriorNodes", "cumulated_weights", "draw_nodes", "hierarchical_nodes", "prior_nodes"]


NODES = 2**14
"""Of the Sobol sequence that coefficients are summed over: the sums err by about one part in a thousand."""

GROUPS = 2**5
"""Groups that the nodes fall into where several responses share numbers that have priors: a group has the same."""


class PriorNodes:
    """Points of the prior of each response's coefficients and scales, each of which stands for the same probability.

    ``state`` holds the scales that are given; those whose roles are in ``moved``, which the schedule updates, are
    summed over, and so are ``numbers`` of the model, given their names and priors by role. ``scales`` are these by
    role, shape (NODES, ...), for all responses the same; ``precision`` of the coefficients given the scales and
    ``eta``, the coefficients, have the shape (C, NODES, F); ``numbers`` by role the shape (NODES,), or of cut points
    (NODES, L - 2). Several responses have the same numbers, so the nodes fall into ``groups`` that follow one another,
    each with its own; of one response, each node is a group.
    """

    def __init__(
        self,
        prior: CoefficientPrior,
        state: ChainState,
        moved: AbstractSet[str],
        numbers: Mapping[str, tuple[str, PositivePrior | CutPointPrior]] = MappingProxyType({}),
    ) -> None:
        sizes = state.sizes
        roles = [role for role, _ in prior.auxiliaries().values()]
        # Without the dim of the responses, which comes first.
        shapes = {role: state.arrays[name].shape[1:] for name, (role, _) in prior.auxiliaries().items()}
        summed = [role for role in roles if role in moved]
        ends = sizes.coefficients + np.cumsum([0, *(int(np.prod(shapes[role])) for role in summed)])
        self.groups = 1 if not numbers else NODES if sizes.responses == 1 else GROUPS
        lengths = [state.arrays[name].size for name, _ in numbers.values()]
        if self.groups == NODES:
            points = _points(int(ends[-1]) + sum(lengths), NODES)
            of_numbers = points[:, ends[-1] :]
        else:
            points = _points(int(ends[-1]), NODES)
            of_numbers = _points(sum(lengths), self.groups)
        self.numbers: dict[str, FloatArray] = {}
        # What the prior's own methods find its numbers in, by name.
        given = {name: state.arrays[name] for name in prior.numbers.values()}
        starts = np.cumsum([0, *lengths])
        for (role, (name, number)), first, last in zip(numbers.items(), starts, starts[1:], strict=False):
            if isinstance(number, PositivePrior):
                values = np.clip(number.quantile(of_numbers[:, first]), SMALLEST, LARGEST)
            else:
                values = number.quantile(of_numbers[:, first:last])
            self.numbers[role] = given[name] = np.repeat(values, NODES // self.groups, axis=0)
        known = prior.at({name: given[name].reshape(-1, 1) for name in prior.numbers.values()})
        self.scales = {
            role: known.quantile(role, points[:, first:last]).reshape(NODES, *shapes[role])
            for role, first, last in zip(summed, ends[:-1], ends[1:], strict=True)
        }
        precision = []
        for c in range(sizes.responses):
            # Each node takes the place of a response.
            arrays = given | {
                name: self.scales.get(role, np.broadcast_to(state.arrays[name][c], (NODES, *shapes[role])))
                for name, (role, _) in prior.auxiliaries().items()
            }
            precision.append(prior.precision(replace(state, arrays=arrays, sizes=sizes._replace(responses=NODES))))
        self.precision = np.stack(precision)
        self.eta = ndtri(points[:, : sizes.coefficients]) / np.sqrt(self.precision)

    def weights_given(self, eta: FloatArray) -> FloatArray:
        """Return the log weights of the nodes as points of the distribution of the scales given the coefficients."""
        value: FloatArray = 0.5 * (np.log(self.precision) - self.precision * eta[:, None] ** 2).sum(axis=2)
        return value.T


def prior_nodes(
    prior: CoefficientPrior, state: ChainState, moved: AbstractSet[str], number: int
) -> dict[str, FloatArray]:
    """Return points of the prior of coefficients of concentrations, each of the same probability, by role.

    Those of ``alpha`` have the shape (number, K, P). Scales of the prior whose roles are in ``moved`` are summed over
    with them.
    """
    shape = prior.precision(state).shape
    scales = {role: state.arrays[name].shape for name, (role, _) in prior.auxiliaries().items() if role in moved}
    ends = np.cumsum([int(np.prod(shape)), *(int(np.prod(each)) for each in scales.values())])
    points = _points(int(ends[-1]), number)
    normals = ndtri(points[:, : ends[0]]).reshape(number, *shape)
    if not scales:
        return {"alpha": prior.scaled(normals, state)}
    found = {
        role: prior.quantile(role, points[:, first:last]).reshape(number, *scales[role])
        for role, first, last in zip(scales, ends, ends[1:], strict=False)
    }
    names = {name: found[role] for name, (role, _) in prior.auxiliaries().items() if role in found}
    coefficients = np.empty_like(normals)
    for node in range(number):
        arrays = {**state.arrays, **{name: values[node] for name, values in names.items()}}
        coefficients[node] = prior.scaled(normals[node], replace(state, arrays=arrays))
    return {"alpha": coefficients, **found}


def hierarchical_nodes(prior: HierarchicalDirichlet, topics: int, number: int) -> tuple[FloatArray, FloatArray]:
    """Return points of a prior of concentrations, shape (number, K), and of g with each, of the same probability."""
    points = _points(topics + 2, number)
    total = gammaincinv(prior.shape, points[:, 0]) / prior.rate
    top = gammaincinv(prior.top_shape, points[:, 1]) / prior.top_rate
    shape, probability = top[:, None] / topics, points[:, 2:]
    weights = gammaincinv(shape, probability)
    # Where it underflows, the first term of the series of the incomplete gamma function is all of it.
    log_weights = np.where(
        weights > 1e-200,
        np.log(np.maximum(weights, 1e-200)),
        (np.log(probability) + gammaln(shape + 1.0)) / shape,
    )
    shares = softmax(log_weights, axis=1)
    return np.asarray(np.maximum(total[:, None] * shares, SMALLEST_ALPHA), np.float64), np.asarray(top, np.float64)


def cumulated_weights(log_weights: FloatArray, groups: int = 1) -> FloatArray:
    """Return the cumulated probabilities of the nodes of each group for each response, shape (groups, C, nodes).

    The log weights are by node and response.
    """
    weights = log_weights.reshape(groups, -1, log_weights.shape[1])
    cumulated = np.cumsum(np.exp(weights - weights.max(axis=1, keepdims=True)), axis=1).swapaxes(1, 2)
    return np.ascontiguousarray(cumulated / cumulated[:, :, -1:])


def draw_nodes(cumulated: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw the number of a node of one group for each response."""
    return np.array([min(int(np.searchsorted(c, rng.random())), len(c) - 1) for c in cumulated])


def _points(dims: int, number: int) -> FloatArray:
    """Return points of the unit cube."""
    points = qmc.Sobol(dims, rng=np.random.default_rng(20261121)).random(number)
    return np.clip(points, 1e-12, 1 - 1e-12)
