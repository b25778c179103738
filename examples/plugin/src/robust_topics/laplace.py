"""A prior of coefficients: the Laplace distribution, as in the Bayesian lasso, and the kernel of its scales.

References
----------
T. Park, G. Casella (2008). The Bayesian lasso. JASA 103.
J. R. Michael, W. R. Schucany, R. W. Haas (1976). Generating random variates using transformations with multiple roots.
The American Statistician 30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray

import ppl_topics as pt

Floats = NDArray[np.float64]

SMALLEST = 1e-50
"""Local scales are cut here, so that their inverse squares are finite; no run ever sees the difference."""


@pt.block("robust_topics_laplace")
class Laplace(pt.CoefficientPrior):
    """Slopes of density exp(-|eta| / scale) / (2 scale): most are near zero, some as large as the data ask for.

    It is a mixture of normal distributions, eta ~ Normal(0, s^2) with s^2 ~ Exponential(1 / (2 scale^2)), that is,
    s ~ Rayleigh(scale) (Park, Casella 2008, equation 4). The variable ``local_scale`` holds s. An intercept is
    Normal(0, intercept_variance).

    Attributes
    ----------
    per : {"response"}
        What there is one row of coefficients for.
    scale : float
        Mean of |eta|.
    intercept_variance : float
    """

    tiny_parameters: ClassVar[Mapping[str, Any]] = {"scale": 0.8, "intercept_variance": 3.7}

    block: Literal["robust_topics_laplace"] = "robust_topics_laplace"
    per: Literal["response"] = "response"
    scale: float = pydantic.Field(default=1.0, ge=1e-20, le=1e20)

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the local scales, with their role and dims."""
        return {"local_scale": ("local_scale", ("response", "slope"))}

    def precision(self, state: pt.ChainState) -> Floats:
        """Return 1 / s^2 for each slope, and that of the intercept."""
        return self.with_intercept(state.arrays["local_scale"] ** -2.0, state)

    def quantile(self, role: str, probability: Floats) -> Floats:
        """Return quantiles of the Rayleigh distribution of s."""
        return np.maximum(self.scale * np.sqrt(-2.0 * np.log1p(-probability)), SMALLEST)

    def init(self, role: str, state: pt.ChainState) -> Floats:
        """Return the scale of the prior for all s, zeros for the coefficients."""
        if role == "local_scale":
            return np.full((state.sizes.responses, state.sizes.slopes), self.scale)
        return super().init(role, state)

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: pt.ChainState, rng: np.random.Generator
    ) -> Floats:
        """Draw s, or coefficients given the s in ``values``, from the prior."""
        if role == "local_scale":
            return self.quantile(role, rng.random((state.sizes.responses, state.sizes.slopes)))
        precision = self.with_intercept(values["local_scale"] ** -2.0, state)
        return rng.normal(size=precision.shape) / np.sqrt(precision)

    def log_density(self, value: NDArray[Any], state: pt.ChainState) -> float:
        """Return the log density of the coefficients and of their s together."""
        ratio = state.arrays["local_scale"] / self.scale
        return super().log_density(value, state) + float((np.log(ratio / self.scale) - ratio**2 / 2.0).sum())


def draw_local_scales(slopes: Floats, scale: float, rng: np.random.Generator) -> Floats:
    """Draw s given the slopes: 1 / s^2 ~ InvGauss(mean 1 / (scale |eta|), shape 1 / scale^2).

    That is Park, Casella 2008, section 2, without the variance of the errors. By Michael, Schucany, Haas 1976 it is one
    of two numbers whose product is mean^2. ``larger`` is the inverse of the smaller one, a sum of positive terms, so no
    digit is lost where eta is near zero.
    """
    inverse_mean, half = scale * np.abs(slopes), scale**2 * rng.chisquare(1.0, slopes.shape) / 2.0
    larger = inverse_mean + half + np.sqrt(half * (2.0 * inverse_mean + half))
    takes = rng.random(slopes.shape) * (larger + inverse_mean) <= larger
    return np.maximum(np.sqrt(np.where(takes, larger, inverse_mean**2 / larger)), SMALLEST)


@pt.kernel(
    "robust_topics_local_scale",
    updates="local_scale",
    reads="eta",
    handles="robust_topics_laplace",
    exact=True,
    full_conditional=True,
    automatic=True,
    distributes="central",
    cost="20000 + 100 * C * F",
    reference="Park, Casella 2008, section 2",
)
def local_scale(binding: pt.Binding) -> pt.KernelFunctions:
    """Draw the local scales of a Laplace prior given the coefficients."""
    eta, name = binding.names["eta"], binding.names["local_scale"]
    prior = binding.blocks[eta]

    def step(state: pt.ChainState, memory: None, key: pt.Key) -> None:
        assert isinstance(prior, Laplace)
        slopes = state.arrays[eta][:, : state.sizes.slopes]
        state.arrays[name][...] = draw_local_scales(slopes, prior.scale, key.generator())

    return pt.KernelFunctions(step)
