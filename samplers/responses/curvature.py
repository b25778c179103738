"""Curvature of responses over topics, where a document's curvatures are a multiple of what all documents share.

Where curvatures are omega_dc = u_d v_c, the sum over classes of omega_dc (eta_c . n)^2 is u_d n' G n, with one matrix
G = sum_c v_c eta_c eta_c' for all documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray
from ppl_topics._util.compiled import inlined, parallel, signed, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.responses.response_term import ResponseTerm
from ppl_topics.samplers.variates.simd_categorical import Integer

__all__ = ["Curvature", "bend", "curvature_of", "omega_of", "shared_factors"]


class Curvature(NamedTuple):
    """Curvature of the responses over topics.

    Attributes
    ----------
    gram : ndarray of float64 of shape (K, K)
        G = sum_c v_c eta_c eta_c'.
    rounded : ndarray of float32 of shape (K, K)
        The same, rounded.
    scale : ndarray of float64 of shape (D,)
        u_d / N_d^2; NaN where the curvatures of a document have no such factor.
    by_response : ndarray of float64 of shape (C', K)
        Coefficients of the topics.
    """

    gram: FloatArray
    rounded: Float32Array
    scale: FloatArray
    by_response: FloatArray


def shared_factors(omega: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split curvatures, shape (D, C), into factors u_d v_c if they are the same for all classes or all documents.

    Missing targets have none. u_d is NaN for documents whose curvatures are no multiple of v.

    Examples
    --------
    >>> u, v = shared_factors(np.array([[2.0, 3.0], [0.0, 0.0], [2.0, 0.0]]))
    >>> u, v
    (array([ 1.,  0., nan]), array([2., 3.]))
    """
    n_docs, size = omega.shape
    if size == 0 or (omega == omega[:, :1]).all():
        return np.ascontiguousarray(omega[:, 0]) if size else np.zeros(n_docs), np.ones(size)
    v = omega.max(axis=0)
    return np.where((omega == v).all(axis=1), 1.0, np.where((omega == 0.0).all(axis=1), 0.0, np.nan)), v


def curvature_of(eta: FloatArray, omega: FloatArray, lengths: IntArray) -> Curvature:
    """Return the curvature given coefficients, (K, C') with zeros beyond C, omega, (D, C), and document lengths."""
    u, v = shared_factors(omega)
    weights = np.zeros(eta.shape[1])
    weights[: len(v)] = v
    gram = np.empty((len(eta), len(eta)))
    add_up_gram(eta, weights, gram)
    scale = u / np.maximum(lengths, 1).astype(np.float64) ** 2
    return Curvature(gram, gram.astype(np.float32), scale, np.ascontiguousarray(eta.T))


@parallel
def add_up_gram(eta: FloatArray, weights: FloatArray, gram: FloatArray) -> None:
    """Compute G, parallel over its rows."""
    for row in numba.prange(eta.shape[0]):
        add_up_row(signed(row), eta, weights, gram)


@tight
def add_up_row(row: int, eta: FloatArray, weights: FloatArray, gram: FloatArray) -> None:
    """Compute one row of G, each cell in four sums that run side by side."""
    for column in range(eta.shape[0]):
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for c in range(0, eta.shape[1], 4):
            first += weights[c] * (eta[row, c] * eta[column, c])
            second += weights[c + 1] * (eta[row, c + 1] * eta[column, c + 1])
            third += weights[c + 2] * (eta[row, c + 2] * eta[column, c + 2])
            fourth += weights[c + 3] * (eta[row, c + 3] * eta[column, c + 3])
        gram[row, column] = (first + second) + (third + fourth)


@inlined
def bend(doc: Integer, topic: Integer, other: Integer, term: ResponseTerm, curvature: Curvature) -> float:
    """Return sum_c omega_dc eta_ck eta_cl / N_d^2 of two topics k and l."""
    scale = curvature.scale[doc]
    if not math.isnan(scale):
        return scale * curvature.gram[topic, other]  # type: ignore[no-any-return]
    total = 0.0
    for c in range(term.eta.shape[1]):
        total += term.curvature[doc, c] * (term.eta[topic, c] * term.eta[other, c])
    return total


def omega_of(binding: Binding) -> Callable[[ChainState], FloatArray]:
    """Return the function that gives omega in a state, shape (D, C); C = 0 for a model without a response."""
    if binding.alone:
        each = [omega_of(alone) for alone in binding.alone]
        return lambda state: np.concatenate([omega(state) for omega in each], axis=1)
    response = binding.response
    if response is None:
        return lambda state: np.zeros((binding.sizes.docs, 0))
    name = binding.names["augmentation"]

    def omega(state: ChainState) -> FloatArray:
        seen = binding.seen(state)
        assert seen.observed is not None
        return response.at(seen.arrays).potential(seen.observed.targets, seen.arrays[name]).omega

    return omega
