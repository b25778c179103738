"""A kernel of z: Gibbs sampling given phi, from the full conditional with any response, in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import ppl_topics as pt

Floats = NDArray[np.float64]


class ResponseTerm(NamedTuple):
    """The log density of the responses, b s - omega s^2 / 2 for each document and response.

    Attributes
    ----------
    b, omega : ndarray of float64, shape (D, C)
    s : ndarray of float64, shape (D, C)
        Linear predictors.
    slopes : ndarray of float64, shape (C, K)
        What they grow by with a topic's share; 0 for topics without coefficients.
    """

    b: Floats
    omega: Floats
    s: Floats
    slopes: Floats


def response_term(binding: pt.Binding) -> Callable[[pt.ChainState], ResponseTerm]:
    """Return the function that gives the term in a state; without a response, C is 0."""
    response, sizes = binding.response, binding.sizes
    if response is None:
        nothing = np.zeros((sizes.docs, 0))
        return lambda state: ResponseTerm(nothing, nothing, nothing.copy(), np.zeros((0, sizes.topics)))
    eta, augmentation, predictors = binding.names["eta"], binding.names["augmentation"], pt.linear_predictors(binding)

    def term(state: pt.ChainState) -> ResponseTerm:
        assert state.observed is not None
        b, omega = response.at(state.arrays).potential(state.observed.targets, state.arrays[augmentation])
        slopes = np.zeros((sizes.responses, sizes.topics))
        slopes[:, : sizes.supervised] = state.arrays[eta][:, : sizes.supervised]
        return ResponseTerm(b, omega, predictors(state), slopes)

    return term


@pt.kernel(
    "robust_topics_gibbs",
    updates="z",
    integrates_out="theta",
    reads=("alpha", "phi", "eta", "augmentation"),
    handles=("dirichlet", "assignments", "words", "quadratic_response"),
    exact=True,
    cost="N * (40 * K + K * C)",
    memory="16 * D * (2 * K + 4 * C)",
    reference="Zheng, Yu, Xing 2015, equation 15, given phi",
)
def gibbs(binding: pt.Binding) -> pt.KernelFunctions:
    """Draw the first token of all documents, then the second of all that have one, and so on.

    Given phi documents are independent, so that tokens of different documents can be drawn at the same time.
    """
    tokens, phi, response = binding.tokens, binding.names["phi"], response_term(binding)
    first, lengths = tokens.doc_ptr[:-1], tokens.doc_lengths

    def step(state: pt.ChainState, memory: None, key: pt.Key) -> None:
        rng, z, n_dk, alpha = key.generator(), state.z.copy(), state.n_dk, state.alpha
        b, omega, s, slopes = response(state)
        with np.errstate(divide="ignore"):
            log_phi = np.log(state.arrays[phi], dtype=np.float64)
        for position in range(lengths.max(initial=0)):
            docs = np.flatnonzero(lengths > position)
            token, share = first[docs] + position, 1.0 / lengths[docs, None]
            # Without the token; in topic k it adds b a - omega (s a + a^2 / 2), where a = share slopes_k.
            n_dk[docs, z[token]] -= 1
            s[docs] -= share * slopes[:, z[token]].T
            gain = (share * (b[docs] - omega[docs] * s[docs])) @ slopes - (share**2 * omega[docs] / 2.0) @ slopes**2
            log_weights = np.log(n_dk[docs] + alpha) + log_phi[tokens.words[token]] + gain
            cumulated = np.exp(log_weights - log_weights.max(axis=1, keepdims=True)).cumsum(axis=1)
            z[token] = (cumulated <= rng.random((len(docs), 1)) * cumulated[:, -1:]).sum(axis=1)
            n_dk[docs, z[token]] += 1
            s[docs] += share * slopes[:, z[token]].T
        state.set_z(z)

    return pt.KernelFunctions(step)
