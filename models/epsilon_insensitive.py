"""The epsilon-insensitive loss: max-margin regression, as in Gibbs MedLDA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.registry import block
from ppl_topics.core.response import Potential, RealResponse
from ppl_topics.corpus.labels import Labels
from ppl_topics.models.augmentation import simulate_inverse_gaussian
from ppl_topics.models.targets import encode_numbers

__all__ = ["EpsilonInsensitive"]


@block("epsilon_insensitive")
class EpsilonInsensitive(RealResponse):
    """Real targets with pseudo-likelihood exp(-2 cost max(0, |y - s| - epsilon)): a loss, not a distribution.

    It is the product of two hinges, each with its own inverse Gaussian augmentation: xi+ ~ InvGauss(1 / (cost
    |y - s - epsilon|), 1) and xi- ~ InvGauss(1 / (cost |s - y - epsilon|), 1) (Zheng, Yu, Xing 2015, section 4.2).

    Attributes
    ----------
    coefficients, features : str, list of str
        Names of the blocks of coefficients and of assignments.
    cost : float
        Weight of the loss, in standard deviations of the target; at 0 the model is a plain topic model.
    epsilon : float
        Errors up to it, in standard deviations of the target, cost nothing.
    intercept : bool
        Whether a coefficient of a constant feature is added.
    standardise : bool
        Whether each target is given mean 0 and standard deviation 1 over the training documents.
    """

    augmentation: ClassVar[str] = "xi"
    augmentation_dims: ClassVar[tuple[str, ...]] = ("doc", "response", "side")
    probabilistic: ClassVar[bool] = False
    tiny_parameters: ClassVar[Mapping[str, Any]] = {"cost": 1.4, "epsilon": 0.3}

    block: Literal["epsilon_insensitive"] = "epsilon_insensitive"
    cost: float = pydantic.Field(default=1.0, ge=0)
    epsilon: float = pydantic.Field(default=0.1, ge=0)

    def encode(self, labels: Labels) -> tuple[FloatArray, list[str]]:
        """Return the targets as they are."""
        return encode_numbers(labels)

    def potential(self, targets: FloatArray, augmentation: FloatArray) -> Potential:
        """Return b = cost^2 (xi+ (y - epsilon) + xi- (y + epsilon)) and omega = cost^2 (xi+ + xi-)."""
        known, y = ~np.isnan(targets), np.nan_to_num(targets, nan=0.0)
        above, below = augmentation[..., 0], augmentation[..., 1]
        b = self.cost**2 * np.where(known, above * (y - self.epsilon) + below * (y + self.epsilon), 0.0)
        return Potential(b, self.cost**2 * np.where(known, above + below, 0.0))

    def augmentation_arguments(self, targets: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the means of xi+ and xi-, shape (D, C, 2); infinite where the loss has a kink."""
        gap = np.stack([targets - scores - self.epsilon, scores - targets - self.epsilon], axis=-1)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / (self.cost * np.abs(gap)))

    def draw_augmentation(self, targets: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw xi given the linear predictors."""
        return simulate_inverse_gaussian(self.augmentation_arguments(targets, scores), rng)

    def log_likelihood(self, targets: FloatArray, scores: FloatArray, augmentation: FloatArray) -> FloatArray:
        """Return -2 cost max(0, |y - s| - epsilon)."""
        excess = np.maximum(0.0, np.abs(targets - scores) - self.epsilon)
        return np.where(np.isnan(targets), 0.0, -2.0 * self.cost * excess)
