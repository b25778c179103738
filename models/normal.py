"""A normal prior of coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.number import PositiveNumber
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState

__all__ = ["Normal"]


@block("normal")
class Normal(CoefficientPrior):
    """Independent coefficients, each Normal(0, variance), and an intercept with its own variance.

    Attributes
    ----------
    per : {"response", "topic"}
        What there is one row of coefficients for: each response, or each topic whose concentration they make.
    variance : float or str
        Of each slope, or the name of a block that is its prior, in front of responses.
    intercept_variance : float
    """

    references: ClassVar[Mapping[str, str]] = {"variance": "positive"}

    tiny_parameters: ClassVar[Mapping[str, Any]] = {"variance": 2.4, "intercept_variance": 3.7}

    block: Literal["normal"] = "normal"
    per: Literal["response", "topic"] = "response"
    variance: PositiveNumber = 1.0

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        if role == "alpha" and self.numbers:
            return "the variance of the coefficients of concentrations must be a number"
        return super().check(role, topics)

    def precision(self, state: ChainState) -> FloatArray:
        """Return 1 / variance for each coefficient, that of the intercept apart."""
        state = self.seen(state)
        precision = np.empty((state.sizes.responses, state.sizes.slopes))
        precision[...] = 1.0 / np.reshape(self.at(state.arrays).variance, (-1, 1))
        return self.with_intercept(precision, state)

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw from the prior."""
        prior = self.at(values, by_role=True)
        return prior.scaled(rng.normal(size=prior.precision(state).shape), state)
