"""Draws of whole states that are made once for all tests that start from the same ones.

The kernels of a model are tested from the same states: drawing these takes longer than the steps that they are for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ppl_topics.core.state import ChainState

__all__ = ["SharedDraws"]


class SharedDraws:
    """States by what they are draws of, and from which random numbers; the oldest are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], tuple[list[ChainState], Any]] = OrderedDict()

    def replay(
        self, distribution: str, state: ChainState, rng: np.random.Generator, draws: Iterable[int]
    ) -> Iterator[int]:
        """Set ``state`` to one draw after another; yield their numbers.

        ``draws`` does so with numbers from ``rng``, and is gone through only if the same has not been done before.
        """
        key = distribution, repr(rng.bit_generator.state)
        if key not in self._kept:
            self._kept[key] = [state.copy() for _ in draws], rng.bit_generator.state
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        drawn, rng.bit_generator.state = self._kept[key]
        for number, one in enumerate(drawn):
            _set(state, one)
            yield number


def _set(state: ChainState, to: ChainState) -> None:
    """Copy all values into a state's own arrays, and give it the same data."""
    state.tokens, state.observed, state.observed_by = to.tokens, to.observed, to.observed_by
    state.z[:], state.n_wk[:], state.n_k[:] = to.z, to.n_wk, to.n_k
    for name, array in to.arrays.items():
        state.arrays[name][...] = array
    state.sparse_topics = None if to.sparse_topics is None else to.sparse_topics.copy()
