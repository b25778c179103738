"""The distribution of the coefficients given everything else, in any model."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.binding import Binding
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.state import ChainState
from ppl_topics.errors import RunError
from ppl_topics.samplers.responses.features import Features, features_of

__all__ = ["ConditionalNormal", "ResponseNormal", "conditional_normal"]


class ConditionalNormal(NamedTuple):
    """A normal distribution of the coefficients of each response c, of precision Q and mean Q^-1 r.

    Q = diag(precision_c) + sum_d omega_dc f_d f_d' and r = sum_d b_dc f_d.

    Attributes
    ----------
    features : Features
        f_d.
    b, omega : ndarray of float64, shape (D, C)
        Slope and curvature of the log likelihood in the linear predictor; 0 where the target is missing.
    precision : ndarray of float64, shape (C, F)
        Of the prior.
    """

    features: Features
    b: FloatArray
    omega: FloatArray
    precision: FloatArray

    def of_response(self, c: int) -> ResponseNormal:
        """Return the part of one response."""
        b, omega, precision = self.b[:, c], self.omega[:, c], self.precision[c]
        return ResponseNormal(*(np.ascontiguousarray(array) for array in (b, omega, precision)))


class ResponseNormal(NamedTuple):
    """The same of one response, as compiled functions take it.

    Attributes
    ----------
    b, omega : ndarray of float64, shape (D,)
    precision : ndarray of float64, shape (F,)
    """

    b: FloatArray
    omega: FloatArray
    precision: FloatArray


def conditional_normal(binding: Binding) -> Callable[[ChainState], ConditionalNormal]:
    """Return the function that gives the distribution of the coefficients in a state."""
    response = binding.response
    prior = binding.blocks[binding.names["eta"]]
    if response is None or not isinstance(prior, CoefficientPrior):
        raise RunError(f"{binding.target!r} is not the coefficients of a response with a normal prior")
    augmentation, n_topics = binding.names["augmentation"], binding.sizes.supervised

    def distribution(state: ChainState) -> ConditionalNormal:
        observed = state.observed
        assert observed is not None
        features = features_of(state.tokens, state.z, n_topics, observed.design)
        b, omega = response.at(state.arrays).potential(observed.targets, state.arrays[augmentation])
        return ConditionalNormal(features, b, omega, prior.precision(state))

    return distribution
