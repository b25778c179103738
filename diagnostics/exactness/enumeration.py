"""The exact posterior of all assignments of a tiny corpus, by enumeration.

Theta is integrated out, phi too or given; concentrations that have a prior are integrated out by
Gauss-Legendre quadrature on their prior's quantiles.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from scipy.stats import gamma

from ppl_topics._util.arrays import FloatArray, IntArray, RealArray, UInt8Array, UInt32Array
from ppl_topics.core.state import ChainState
from ppl_topics.models.gamma import Gamma

__all__ = ["ExactPosterior", "dirichlet_multinomial", "enumerate_posterior"]

MAX_STATES = 200_000
NODES = {1: 200, 2: 48, 3: 20}
"""Quadrature nodes of each concentration, by how many there are."""


@dataclass(frozen=True)
class ExactPosterior:
    """The distribution of z given the words, and of the concentrations given z."""

    states: UInt8Array  # (S, N): all assignments that are possible
    probability: FloatArray  # (S,)
    alpha_nodes: FloatArray  # (J, size): values of the concentration; one row if it is fixed; (J, D, size) by document
    beta_nodes: FloatArray
    alpha_given: FloatArray  # (S, J): probability of each node given each state
    beta_given: FloatArray

    def index(self, z: NDArray[Any], topics: int) -> int:
        """Return the number of a state."""
        return int(np.ravel_multi_index(tuple(z), (topics,) * len(z)))


def enumerate_posterior(
    state: ChainState,
    alpha_prior: Gamma | None = None,
    beta_prior: Gamma | None = None,
    phi: RealArray | None = None,
    log_response: Callable[[NDArray[Any]], FloatArray] | None = None,
    log_topics: Callable[[NDArray[Any]], FloatArray] | None = None,
    document_alpha: FloatArray | None = None,
) -> ExactPosterior:
    """Compute the exact posterior of z; ``document_alpha``, shape (J, D, K), has equally probable concentrations."""
    tokens, topics = state.tokens, state.sizes.topics
    drawn = int(tokens.drawn_ptr[-1])
    if topics**drawn > MAX_STATES:
        raise ValueError(
            f"{topics} topics and {drawn} draws of them make {topics**drawn:,} states; use a smaller corpus"
        )
    states = np.array(list(itertools.product(range(topics), repeat=drawn)), dtype=np.uint8)
    states = tokens.spread(states)
    one_hot = np.eye(topics)[states]
    n_dk = np.stack([one_hot[:, state.tokens.docs == d].sum(axis=1) for d in range(state.sizes.docs)], axis=1)
    if document_alpha is None:
        alpha_nodes, alpha_weights = _nodes(state.alpha, alpha_prior)
    else:
        alpha_nodes, alpha_weights = document_alpha, np.full(len(document_alpha), 1.0 / len(document_alpha))
    drawn_dk = tokens.drawn_counts(n_dk)
    theta_parts = [dirichlet_multinomial(drawn_dk, node) for node in alpha_nodes]
    theta_part = np.stack(theta_parts, axis=1) + np.log(alpha_weights)
    if phi is None:
        words = state.tokens.words
        n_kw = np.stack([one_hot[:, words == w].sum(axis=1) for w in range(state.sizes.words)], axis=2)
        beta_nodes, beta_weights = _nodes(state.beta, beta_prior)
        phi_parts = (
            [dirichlet_multinomial(n_kw, node) for node in beta_nodes] if log_topics is None else [log_topics(n_kw)]
        )
        phi_part = np.stack(phi_parts, axis=1) + np.log(beta_weights)
    else:
        beta_nodes = state.beta[None, :]
        with np.errstate(divide="ignore"):
            phi_part = np.log(phi[state.tokens.words, states]).sum(axis=1)[:, None]
    theta_total, phi_total = logsumexp(theta_part, axis=1), logsumexp(phi_part, axis=1)
    log_joint = theta_total + phi_total + (0.0 if log_response is None else log_response(n_dk))
    return ExactPosterior(
        states=states,
        probability=np.exp(log_joint - logsumexp(log_joint)),
        alpha_nodes=alpha_nodes,
        beta_nodes=beta_nodes,
        alpha_given=np.exp(theta_part - theta_total[:, None]),
        # Impossible states have no such distribution; it is never used.
        beta_given=np.exp(phi_part - np.where(np.isfinite(phi_total), phi_total, 0.0)[:, None]),
    )


def dirichlet_multinomial(counts: NDArray[Any], concentration: FloatArray) -> FloatArray:
    """Log probability of sequences with the given counts, shape (S, rows, size), summed over rows.

    All rows have the same concentration, shape (size,), or each its own, shape (rows, size).
    """
    total = concentration.sum(axis=-1)
    cells = (gammaln(counts + concentration) - gammaln(concentration)).sum(axis=(1, 2))
    rows = (gammaln(total) - gammaln(counts.sum(axis=2) + total)).sum(axis=1)
    result: FloatArray = cells + rows
    return result


def _nodes(fixed: FloatArray, prior: Gamma | None) -> tuple[FloatArray, FloatArray]:
    """Return the nodes of a concentration, each a vector over its row, and their prior weights."""
    if prior is None:
        return fixed[None, :], np.ones(1)
    size = 1 if prior.per is None else len(fixed)
    points, weights = np.polynomial.legendre.leggauss(NODES[size])
    values = gamma.ppf((points + 1) / 2, prior.shape, scale=1 / prior.rate)
    nodes = np.array(list(itertools.product(values, repeat=size)))
    node_weights = np.array([np.prod(w) for w in itertools.product(weights / 2, repeat=size)])
    return np.broadcast_to(nodes, (len(nodes), len(fixed))) if size == 1 else nodes, node_weights


def token_counts(documents: Sequence[Sequence[int]]) -> tuple[IntArray, UInt32Array]:
    """Return (doc_ptr, words) of documents that are lists of word ids."""
    lengths = [len(document) for document in documents]
    doc_ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return doc_ptr, np.array([w for document in documents for w in document], dtype=np.uint32)
