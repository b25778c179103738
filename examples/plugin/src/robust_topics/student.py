"""A response with an augmentation: real targets with Student errors, and the kernel of its weights.

References
----------
K. L. Lange, R. J. A. Little, J. M. G. Taylor (1989). Robust statistical modeling using the t distribution. JASA 84.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray
from scipy import stats

import ppl_topics as pt

Floats = NDArray[np.float64]


@pt.block("robust_topics_student")
class Student(pt.RealResponse):
    """Real targets y = s + error t, where t has a Student distribution, so that outliers weigh little.

    Given weights g ~ Gamma(degrees / 2, degrees / 2) errors are normal with variance error^2 / g (Lange, Little, Taylor
    1989, section 2).

    Attributes
    ----------
    coefficients, features : str, list of str
        Names of the blocks of coefficients and of assignments.
    degrees : float
        Of freedom.
    error : float
        Scale of the errors, of a standardised target.
    """

    augmentation: ClassVar[str] = "weight"
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"degrees": 3.0, "error": 1.3}

    block: Literal["robust_topics_student"] = "robust_topics_student"
    observed: Literal["labels"] = "labels"
    degrees: float = pydantic.Field(default=4.0, gt=0)
    error: float = pydantic.Field(default=1.0, gt=0)

    def encode(self, labels: pt.Labels) -> tuple[Floats, list[str]]:
        """Return the targets as they are."""
        return pt.encode_numbers(labels)

    def potential(self, targets: Floats, augmentation: Floats) -> pt.Potential:
        """Return b = omega y and omega = g / error^2."""
        known = ~np.isnan(targets)
        omega = np.where(known, augmentation / self.error**2, 0.0)
        return pt.Potential(omega * np.where(known, targets, 0.0), omega)

    def augmentation_arguments(self, targets: Floats, scores: Floats) -> tuple[float, Floats]:
        """Return shape and rate of the gamma distribution of each weight."""
        return (self.degrees + 1.0) / 2.0, (self.degrees + ((targets - scores) / self.error) ** 2) / 2.0

    def draw_augmentation(self, targets: Floats, scores: Floats, rng: np.random.Generator) -> Floats:
        """Draw the weights given the linear predictors; 1 where the target is missing."""
        shape, rate = self.augmentation_arguments(targets, scores)
        return np.where(np.isnan(rate), 1.0, rng.gamma(shape, size=rate.shape) / rate)

    def log_likelihood(self, targets: Floats, scores: Floats, augmentation: Floats) -> Floats:
        """Return the log density of each target, 0 where it is missing."""
        density = stats.t.logpdf(targets - scores, self.degrees, scale=self.error)
        return np.where(np.isnan(targets), 0.0, density)

    def expectation(self, scores: Floats) -> Floats:
        """Return the mean of the targets, or their median if there is no mean."""
        return scores

    def draw_targets(self, scores: Floats, augmentation: Floats, rng: np.random.Generator) -> Floats:
        """Draw targets."""
        return np.asarray(scores + self.error * rng.standard_t(self.degrees, size=scores.shape))


@pt.kernel(
    "robust_topics_weight",
    updates="augmentation",
    reads=("z", "eta"),
    handles="robust_topics_student",
    exact=True,
    full_conditional=True,
    automatic=True,
    cost="4 * N + 60 * D + 60 * D * C",
    reference="Lange, Little, Taylor 1989, section 2",
)
def weight(binding: pt.Binding) -> pt.KernelFunctions:
    """Draw the weights of the targets given z and eta, from their gamma distributions."""
    name, response, predictors = binding.names["augmentation"], binding.response, pt.linear_predictors(binding)

    def step(state: pt.ChainState, memory: None, key: pt.Key) -> None:
        assert response is not None
        assert state.observed is not None
        state.arrays[name][...] = response.draw_augmentation(state.observed.targets, predictors(state), key.generator())

    return pt.KernelFunctions(step)
