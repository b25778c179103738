"""A random walk of the coefficients of ordered categories, such as years."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.nearest import nearest
from ppl_topics.core.alpha import LogLinear
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState
from ppl_topics.errors import SpecError

__all__ = ["RandomWalk"]


@block("random_walk")
class RandomWalk(CoefficientPrior):
    """Coefficients of the concentrations of topics, of which those of one covariate's categories are a random walk.

        gamma_k,1 ~ Normal(0, variance),    gamma_k,t ~ Normal(gamma_k,t-1, step_variance),

    over the categories in their order: topics over time. All other coefficients are independent.

    Attributes
    ----------
    per : {"topic"}
        What there is one row of coefficients for.
    over : str
        The covariate; it must have categories. Those of a column of numbers, such as ``year``, are ``C(year)``, if the
        formula of the covariates is ``0 + C(year)``.
    variance : float
        Of the first category's coefficient, and of each coefficient of another covariate.
    step_variance : float
        Of the step from a category to the next.
    intercept_variance : float
    """

    handled_as: ClassVar[frozenset[str]] = frozenset()
    tiny_parameters: ClassVar[Mapping[str, Any]] = {
        "over": "x",
        "variance": 2.4,
        "step_variance": 0.7,
        "intercept_variance": 3.7,
    }

    block: Literal["random_walk"] = "random_walk"
    per: Literal["topic"] = "topic"
    over: str
    variance: float = pydantic.Field(default=1.0, gt=0)
    step_variance: float = pydantic.Field(default=0.1, gt=0)

    def check_features(self, columns: Sequence[str]) -> None:
        """Refuse features without the categories."""
        if not len(self._categories(columns)):
            if self.over in columns:
                raise SpecError(
                    f"over: {self.over!r} is a column of numbers; make categories of them with the formula "
                    f"`0 + C({self.over})` of the covariates, and over: C({self.over})"
                )
            found = sorted({name.partition("[")[0] for name in columns if name.endswith("]")})
            raise SpecError(f"over: {self.over!r} is no covariate with categories{nearest(self.over, found)}")

    def precision(self, state: ChainState) -> FloatArray:
        """Return the precision of each coefficient given those of the categories before, shape (K, P)."""
        state = self.seen(state)
        precision = np.full((state.sizes.responses, state.sizes.slopes), 1.0 / self.variance)
        precision[:, self._walk(state)[1:]] = 1.0 / self.step_variance
        return self.with_intercept(precision, state)

    def scaled(self, normals: FloatArray, state: ChainState) -> FloatArray:
        """Return draws of the prior made of standard normal variates, shape (..., K, P)."""
        walk, values = self._walk(state), super().scaled(normals, state)
        values[..., walk] = np.cumsum(values[..., walk], axis=-1)
        return values

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density of the coefficients."""
        walk, steps = self._walk(state), np.array(value, dtype=np.float64)
        steps[:, walk[1:]] -= value[:, walk[:-1]]
        return super().log_density(steps, state)

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw from the prior."""
        return self.scaled(rng.normal(size=(state.sizes.topics, state.sizes.prevalence)), state)

    def _walk(self, state: ChainState) -> IntArray:
        alpha = state.concentrations["alpha"]
        assert isinstance(alpha, LogLinear), "a state without covariates"
        return self._categories(alpha.columns)

    def _categories(self, columns: Sequence[str]) -> IntArray:
        """Return the places of the categories among the features, of which some may be interactions with others."""
        named = (i for i, name in enumerate(columns) if name.startswith(f"{self.over}[") and "]:" not in name)
        return np.fromiter(named, dtype=np.int64)
