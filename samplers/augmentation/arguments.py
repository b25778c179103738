"""The parameters of the distribution of the augmentation, for the kernels that draw it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl_topics.core.binding import Binding
from ppl_topics.core.state import ChainState
from ppl_topics.errors import SpecError
from ppl_topics.samplers.responses.features import features_of, scores

__all__ = ["arguments_of"]


def arguments_of(binding: Binding) -> Callable[[ChainState], Any]:
    """Return the function that gives them in a state: the response's `augmentation_arguments` of its predictors."""
    response, eta, n_topics = binding.response, binding.names.get("eta"), binding.sizes.supervised
    if response is None or eta is None:
        raise SpecError(f"{binding.target!r} belongs to no response; add a block that observes labels to the model")

    def arguments(state: ChainState) -> Any:
        observed = state.observed
        assert observed is not None
        features = features_of(state.tokens, state.z, n_topics, observed.design)
        return response.augmentation_arguments(observed.targets, scores(features, state.arrays[eta]))

    return arguments
