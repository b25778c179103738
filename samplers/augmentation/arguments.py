"""The parameters of the distribution of the augmentation, for the kernels that draw it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl_topics.core.binding import Binding
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.responses.features import linear_predictors

__all__ = ["arguments_of"]


def arguments_of(binding: Binding) -> Callable[[ChainState], Any]:
    """Return the function that gives them in a state: the response's `augmentation_arguments` of its predictors."""
    predictors, response = linear_predictors(binding), binding.response

    def arguments(state: ChainState) -> Any:
        observed = state.observed
        assert observed is not None
        assert response is not None
        return response.at(state.arrays).augmentation_arguments(observed.targets, predictors(state))

    return arguments
