"""A beta prior on the probability that a word has a place in a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.block import Block
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState

__all__ = ["Beta"]

SMALLEST, LARGEST = 1e-300, 1.0 - 2.0**-53
"""A probability that rounds to 0 or 1 would never come back."""


@block("beta")
class Beta(Block):
    """Probabilities with a beta distribution.

    Attributes
    ----------
    a, b : float
        Mean ``a / (a + b)``.
    per : {"topic", "word", None}
        What there is one probability for; None: one for all words and topics.
    """

    seams: ClassVar[frozenset[str]] = frozenset({"probability"})
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"a": 1.4, "b": 0.8}

    block: Literal["beta"] = "beta"
    a: float = pydantic.Field(gt=0)
    b: float = pydantic.Field(gt=0)
    per: Literal["topic", "word"] | None = None

    def dims(self, role: str) -> tuple[str, ...]:
        """Return (), (topic,) or (word,)."""
        return () if self.per is None else (self.per,)

    def init(self, role: str, state: ChainState) -> FloatArray:
        """Return the prior mean."""
        return np.full(self._shape(role, state), np.clip(self.a / (self.a + self.b), SMALLEST, LARGEST))

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw from the prior."""
        return np.clip(rng.beta(self.a, self.b, size=self._shape(role, state)), SMALLEST, LARGEST)

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density, summed over the elements."""
        from scipy.stats import beta

        return float(beta.logpdf(value, self.a, self.b).sum())

    def _shape(self, role: str, state: ChainState) -> list[int]:
        return [state.sizes.of(dim) for dim in self.dims(role)]
