"""Dirichlet variates as normalised gamma variates, in log space where these could all underflow."""

from __future__ import annotations

import math

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.gamma import gamma, gamma_above_one, gamma_below_one, log_gamma
from ppl_topics.samplers.variates.small_gammas import Proposals, accepted, propose
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["dirichlet", "dirichlet_in_log_space", "dirichlet_of_counts"]


SAFE_SUM = 1.0


@compiled
def dirichlet(stream: Stream, shape: FloatArray, out: FloatArray) -> None:
    """Draw a probability vector from the Dirichlet distribution; it is never zero and never NaN.

    The sum of the gamma variates is itself gamma with the sum of the shapes, so it is far above the
    smallest float64 unless that sum is small: then the variates are drawn in log space.

    The concentrations in `shape` are at least 1e-300; `out` may be the same array.
    """
    concentration = 0.0
    for index in range(shape.size):
        concentration += shape[index]
    if concentration < SAFE_SUM:
        dirichlet_in_log_space(stream, shape, out)
        return
    total = 0.0
    for index in range(shape.size):
        value = gamma(stream, shape[index])
        out[index] = value
        total += value
    for index in range(shape.size):
        out[index] /= total


@compiled
def dirichlet_of_counts(
    stream: Stream, prior: FloatArray, counts: FloatArray, mass: float, proposals: Proposals, out: FloatArray
) -> None:
    """Draw as `dirichlet` does, of concentrations ``prior + counts`` that sum to `mass`, most counts being zero.

    The shapes of the proposals are the prior, of width 1.
    """
    if mass < SAFE_SUM:
        for index in range(prior.size):
            out[index] = prior[index] + counts[index]
        dirichlet_in_log_space(stream, out, out)
        return
    propose(stream, prior.size, proposals)
    total = 0.0
    for index in range(prior.size):
        shape = prior[index] + counts[index]
        if shape < 1.0:
            value = accepted(stream, index, shape, 1.0, proposals)
            if value == 0.0:
                value = gamma_below_one(stream, shape)
        else:
            value = gamma_above_one(stream, shape)
        out[index] = value
        total += value
    for index in range(prior.size):
        out[index] /= total


@compiled
def dirichlet_in_log_space(stream: Stream, shape: FloatArray, out: FloatArray) -> None:
    """Draw as `dirichlet` does, from log gamma variates less their maximum: for any concentrations."""
    largest = -np.inf
    for index in range(shape.size):
        value = log_gamma(stream, shape[index])
        out[index] = value
        largest = max(largest, value)
    total = 0.0
    for index in range(shape.size):
        value = math.exp(out[index] - largest)
        out[index] = value
        total += value
    for index in range(shape.size):
        out[index] /= total
