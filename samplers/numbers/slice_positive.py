"""Slice sampling, on the log scale, of one positive number that some block takes.

References
----------
R. M. Neal (2003). Slice sampling. Annals of Statistics 31(3), sections 4.1 and 4.2, figures 3 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ppl_topics.core.binding import Binding
from ppl_topics.core.keys import Key
from ppl_topics.core.number import LARGEST, SMALLEST, PositivePrior
from ppl_topics.core.state import ChainState
from ppl_topics.errors import RunError
from ppl_topics.samplers.variates.slice import slice_sample
from ppl_topics.samplers.variates.streams import open_stream

__all__ = ["slice_positive"]

WIDTH = 1.0
"""Of a slice, about: the logarithm of a number is known to a factor of 2 or 3 where little tells of it."""


def slice_positive(
    binding: Binding, role: str, *, smallest: float = SMALLEST, largest: float = LARGEST
) -> Callable[[ChainState, Key, Callable[[float], float]], None]:
    """Return the function that updates a positive number with any prior, for the step of a kernel.

    Parameters
    ----------
    binding : Binding
    role : str
        Of the number: the key of the block that takes it.
    smallest, largest : float
        Where its prior is cut.

    Returns
    -------
    callable
        ``update(state, key, log_likelihood)`` sets the number to the next state of a chain that leaves its distribution
        invariant, in proportion to its prior and ``exp(log_likelihood(value))``.

    Raises
    ------
    RunError
        If the model has no such number, or its prior is no :class:`PositivePrior`.
    """
    name = binding.names.get(role, "")
    prior = binding.blocks.get(name)
    if not isinstance(prior, PositivePrior):
        raise RunError(f"{binding.target!r}: the model has no {role} with a prior of a positive number")

    def update(state: ChainState, key: Key, log_likelihood: Callable[[float], float]) -> None:
        def log_density(x: float) -> float:
            value = math.exp(x)
            # The last term is the Jacobian of the logarithm.
            return log_likelihood(value) + prior.log_prior(value) + x

        held, bounds = state.arrays[name], (math.log(smallest), math.log(largest))
        drawn = slice_sample(log_density, math.log(held), WIDTH, open_stream(*key), lower=bounds[0], upper=bounds[1])
        held[...] = math.exp(drawn)

    return update
