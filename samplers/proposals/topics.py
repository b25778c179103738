"""What kernels hand to proposals for their tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ppl_topics._util.arrays import BoolArray, Float32Array, FloatArray
from ppl_topics.core.binding import Binding
from ppl_topics.core.observed import Observed
from ppl_topics.core.proposal import Topics
from ppl_topics.core.response import Response
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.responses.features import scores, without_topics
from ppl_topics.samplers.responses.response_term import new_term, topic_coefficients

__all__ = ["expected_response", "topics_of"]


def topics_of(binding: Binding, selected: BoolArray) -> Callable[[Float32Array, ChainState], Topics]:
    """Return what makes the `Topics` of given phi, shape (V, K), and a state.

    Parameters
    ----------
    binding : Binding
    selected : ndarray of bool, shape (V,)
        Words whose tokens will be moved.
    """
    tokens, block = binding.tokens, binding.response

    def topics(phi: Float32Array, state: ChainState) -> Topics:
        response = None
        if block is not None and state.observed is not None:
            response = partial(expected_response, binding, block, state.observed, state)
        return Topics(phi, state.alpha, tokens.word_ptr, selected, tokens.chunk_ptr, response)

    return topics


def expected_response(
    binding: Binding, block: Response, observed: Observed, state: ChainState
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (eta, slope, curvature) as `Topics.response` does, without a look at the topics of tokens.

    The linear predictor of a document is taken to be sum_k alpha_k eta_ck / sum_k alpha_k, the prior mean, and what its
    fixed features add.
    """
    eta = topic_coefficients(state.arrays[binding.names["eta"]], binding.sizes)
    share = state.alpha / state.alpha.sum()
    fitted = scores(without_topics(observed.design), state.arrays[binding.names["eta"]]) + (eta * share).sum(axis=1)
    b, omega = block.potential(observed.targets, state.arrays[binding.names["augmentation"]])
    term = new_term(eta, b, omega, fitted, binding.tokens.doc_lengths)
    return term.eta, term.slope, term.curvature
