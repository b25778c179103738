"""A normal prior of coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics.registry import block
from ppl_topics.seams import Coefficients, Matrix
from ppl_topics.state import ChainState

__all__ = ["Normal"]


@block("normal")
class Normal(Coefficients):
    """Independent coefficients, each Normal(0, variance).

    Attributes
    ----------
    per : {"response"}
        What there is one row of coefficients for.
    variance : float
    """

    block: Literal["normal"] = "normal"
    per: Literal["response"] = "response"
    variance: float = pydantic.Field(default=1.0, gt=0)

    def precision(self, state: ChainState) -> Matrix:
        """Return 1 / variance for each coefficient."""
        return np.full((state.sizes.responses, state.sizes.coefficients), 1.0 / self.variance)

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> Matrix:
        """Draw from the prior."""
        size = (state.sizes.responses, state.sizes.coefficients)
        return rng.normal(0.0, np.sqrt(self.variance), size=size)

    def log_density(self, value: NDArray[Any]) -> float:
        """Return the log density, summed over the coefficients."""
        return float(-0.5 * (value.size * np.log(2.0 * np.pi * self.variance) + (value**2).sum() / self.variance))
