"""What kernels give to proposals to build their tables from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ppl_topics._util.arrays import BoolArray, Float32Array, FloatArray
from ppl_topics.core.binding import Binding
from ppl_topics.core.proposal import TableInputs
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.responses.features import scores, without_topics
from ppl_topics.samplers.responses.response_term import new_term, side_by_side, topic_coefficients

__all__ = ["expected_response", "inputs_of"]


def inputs_of(binding: Binding, selected: BoolArray) -> Callable[[Float32Array, ChainState], TableInputs]:
    """Return a function of phi, shape (V, K), and a state, which returns what tables are built from."""
    tokens, supervised = binding.tokens, binding.response is not None or bool(binding.alone)

    def inputs(phi: Float32Array, state: ChainState) -> TableInputs:
        response = partial(expected_response, binding, state) if supervised else None
        return TableInputs(phi, state.document_alpha.typical, tokens.word_ptr, selected, tokens.chunk_ptr, response)

    return inputs


def expected_response(binding: Binding, state: ChainState) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (eta, slope, curvature) for `TableInputs.response`, which must not depend on the topics of tokens.

    The linear predictor of a document is its prior mean, sum_k alpha_k eta_ck / sum_k alpha_k, plus the part of its
    fixed features.
    """
    eta, b, omega, fitted = side_by_side([_expected(each, each.seen(state)) for each in binding.alone or (binding,)])
    term = new_term(eta, b, omega, fitted, binding.tokens.doc_lengths)
    return term.eta, term.slope, term.curvature


def _expected(binding: Binding, state: ChainState) -> tuple[FloatArray, ...]:
    """Return eta, shape (C, K), b, omega and the linear predictors, shape (D, C), of one response."""
    block, observed = binding.response, state.observed
    assert block is not None
    assert observed is not None
    coefficients = state.arrays[binding.names["eta"]]
    eta, alpha = topic_coefficients(coefficients, binding.sizes), state.document_alpha
    shares = alpha.rows / alpha.rows.sum(axis=1, keepdims=True)
    expected = np.stack([(eta * share).sum(axis=1) for share in shares])
    fitted = scores(without_topics(observed.design), coefficients) + alpha._replace(rows=expected).by_doc
    b, omega = block.at(state.arrays).potential(observed.targets, state.arrays[binding.names["augmentation"]])
    return eta, b, omega, fitted
