"""Responses: the quadratic form, and the augmentation's distribution, against numerical integrals.

With base(a) the density that the augmentation has beside its effect on the linear predictor s, the integral over a of
base(a) exp(b(a) s - omega(a) s^2 / 2) must be the pseudo-likelihood as a function of s. The bases below are those of
the literature and use nothing of the blocks: with u = cost (margin - y s) and xi = 1 / lambda,

    exp(-2 max(0, u)) = int_0^inf (2 pi lambda)^-1/2 exp(-(u + lambda)^2 / (2 lambda)) d lambda

(Polson, Scott 2011), which is exp(-u - |u|); the Laplace transform of PG(b, 0) at s^2 / 2 is cosh(s / 2)^-b (Polson,
Scott, Windle 2013); and Student errors are normal with gamma weights (Lange, Little, Taylor 1989).
Planted bugs of each block are refused by the same assertions.
"""

import numpy as np
import pytest
from homes import kinds_of
from polyagamma import polyagamma_pdf
from scipy import stats
from scipy.special import logsumexp

from ppl_topics.core.response import Potential, Response
from ppl_topics.models.epsilon_insensitive import EpsilonInsensitive
from ppl_topics.models.hinge import Hinge
from ppl_topics.models.logistic import Logistic
from ppl_topics.models.negative_binomial import NegativeBinomial
from ppl_topics.models.quantile import Quantile
from ppl_topics.models.stick_breaking_logistic import StickBreakingLogistic
from ppl_topics.models.student_t import StudentT

KEYS = {"coefficients": "eta", "features": ["z"]}
SCORES = np.array([-6.13, -2.57, -1.21, -0.36, 0.0, 0.23, 0.9, 1.71, 4.13, 11.3])
"""None at a kink, where tails of the augmentation are too long for a grid."""

CLOSE, FAR = 1e-7, 1e-2
"""Deviations of log densities that count as numerical error, and that a wrong formula exceeds."""
STEP = 0.1
GRID = np.arange(-6.0, 24.0, STEP)
"""Logarithms of augmentation variables: smooth integrands that fall fast, so equal steps are exact to many digits."""


def log_hinge_base(u):
    """Log of the integrand above at each xi of the grid, for u at s = 0, with the step."""
    return -0.5 * np.log(2 * np.pi) - 1.5 * GRID - u**2 * np.exp(GRID) / 2 - u - np.exp(-GRID) / 2 + GRID + np.log(STEP)


def hinge_base(block, y):
    return np.exp(GRID)[:, None], log_hinge_base(block.cost * block.margin)


def epsilon_base(block, y):
    above = log_hinge_base(block.cost * (y - block.epsilon))
    below = log_hinge_base(block.cost * (-y - block.epsilon))
    first, second = np.meshgrid(np.exp(GRID), np.exp(GRID), indexing="ij")
    return np.stack([first.ravel(), second.ravel()], axis=1)[:, None, :], (above[:, None] + below).ravel()


def quantile_base(block, y):
    error = y / (2 * block.sigma)
    return np.exp(GRID)[:, None], log_hinge_base(error) + error - (2 * block.quantile - 1) * error


WEIGHTS = np.arange(-25.0, 6.0, STEP)
"""Logarithms of weights, which may be small."""


def student_base(block, y):
    normal = WEIGHTS / 2 - np.exp(WEIGHTS) * y**2 / (2 * block.sigma**2)
    gamma = block.df / 2 * (WEIGHTS - np.exp(WEIGHTS))
    return np.exp(WEIGHTS)[:, None], normal + gamma + np.log(STEP)


def log_polya_gamma(values, shape, tilt=0.0):
    """Log density on a grid of equal steps in the logarithm, with the step."""
    density = polyagamma_pdf(values[:, 0], h=shape, z=tilt)
    # Far out it is rounding error, of either sign.
    return np.log(np.maximum(density, 1e-300)) + np.log(values[:, 0] * np.log(values[1, 0] / values[0, 0]))


def polya_gamma_base(shape):
    values = np.exp(np.arange(-9.0, np.log(shape + 15.0), 1e-3))[:, None]
    return values, log_polya_gamma(values, shape)


def base_of(block, y):
    """The grid of the augmentation, of shape (n, 1, ...), and the log of its base at each point."""
    if isinstance(block, Hinge):
        return hinge_base(block, y)
    if isinstance(block, EpsilonInsensitive):
        return epsilon_base(block, y)
    if isinstance(block, Quantile):
        return quantile_base(block, y)
    if isinstance(block, StudentT):
        return student_base(block, y)
    return polya_gamma_base(shape_of(block, y))


def shape_of(block, y):
    """Shape of the Polya-Gamma distribution."""
    return block.c if isinstance(block, Logistic) else y + block.dispersion if block.numeric else 1.0


def log_integrand(block, y, s):
    """Log of base(a) exp(b(a) s - omega(a) s^2 / 2) on the grid."""
    grid, log_base = base_of(block, y)
    b, omega = block.potential(np.full((len(grid), 1), y), grid)
    return grid, log_base + b[:, 0] * s - omega[:, 0] * s**2 / 2


def deviation(block, y):
    """How far the integral is from the pseudo-likelihood, in logarithms, but for a constant in s."""
    integral = np.array([logsumexp(log_integrand(block, y, s)[1]) for s in SCORES])
    value = block.log_likelihood(np.full((len(SCORES), 1), y), SCORES[:, None], np.ones(1))[:, 0]
    return float(np.ptp(integral - value))


SIGNS, REALS, COUNTS = (-1.0, 1.0), (-0.7, 2.0), (0.0, 1.0, 5.0)
QUADRATIC = [
    *[
        (Hinge(**KEYS, cost=cost, margin=margin), y)
        for cost, margin in ((1.0, 1.0), (0.3, 4.0), (1.6, 0.5))
        for y in SIGNS
    ],
    *[(EpsilonInsensitive(**KEYS, cost=cost, epsilon=e), y) for cost, e in ((1.0, 0.0), (0.4, 1.3)) for y in REALS],
    *[(Quantile(**KEYS, quantile=q, sigma=v), y) for q, v in ((0.5, 1.0), (0.8, 0.4), (0.1, 1.7)) for y in REALS],
    *[(StudentT(**KEYS, df=df, sigma=v), y) for df, v in ((4.0, 1.0), (1.0, 0.4), (12.5, 1.7)) for y in REALS],
    *[(Logistic(**KEYS, c=c), y) for c in (0.6, 1.0, 3.0, 7.5) for y in (0.0, 1.0)],
    *[(StickBreakingLogistic(**KEYS), y) for y in (0.0, 1.0)],
    *[(NegativeBinomial(**KEYS, dispersion=r), y) for r in (0.7, 2.0) for y in COUNTS],
]


def label(value):
    return str(value) if isinstance(value, float) else f"{value.kind} {list(value.model_dump().values())}"


@pytest.mark.parametrize(("block", "y"), QUADRATIC, ids=label)
def test_quadratic_form(block, y):
    assert deviation(block, y) < CLOSE


def test_every_response_is_covered():
    """Those whose augmentation is a parameter, or that have one curvature, have test files of their own."""
    elsewhere = {"gaussian", "ordinal_probit", "probit_do"}
    assert {block.kind for block, _ in QUADRATIC} | elsewhere == set(kinds_of(Response))


@pytest.mark.parametrize("shape", [0.5, 1.0, 25.0, 256.0])
@pytest.mark.parametrize("kind", [Logistic, NegativeBinomial])
def test_quadratic_form_of_any_shape(kind, shape):
    """By the Laplace transform, also where the density of the augmentation is too peaked for a grid."""
    y, parameters = (1.0, {"c": shape}) if kind is Logistic else (shape / 2, {"dispersion": shape / 2})
    block = kind(**KEYS, **parameters)
    b, omega = block.potential(np.array([[y]]), np.array([[1.0]]))
    assert omega == 1.0
    value = block.log_likelihood(np.full((len(SCORES), 1), y), SCORES[:, None], np.ones(1))[:, 0]
    integral = b[0, 0] * SCORES - shape * np.log(np.cosh(SCORES / 2))
    assert np.ptp(integral - value) < CLOSE * shape


class WrongSign(Hinge):
    def potential(self, targets, augmentation):
        b, omega = super().potential(targets, augmentation)
        return Potential(-b, omega)


class NoMargin(Hinge):
    def potential(self, targets, augmentation):
        return Potential(self.cost * targets * (1 + self.cost * augmentation), self.cost**2 * augmentation)


class OnlyTheMargin(Hinge):
    def potential(self, targets, augmentation):
        return Potential(self.cost**2 * self.margin * targets * augmentation, self.cost**2 * augmentation)


class CostNotSquared(Hinge):
    def potential(self, targets, augmentation):
        b, _ = super().potential(targets, augmentation)
        return Potential(b, self.cost * augmentation)


class LossNotTwice(Hinge):
    def log_likelihood(self, targets, scores, augmentation):
        return super().log_likelihood(targets, scores, augmentation) / 2


class SidesSwapped(EpsilonInsensitive):
    def potential(self, targets, augmentation):
        return super().potential(targets, augmentation[..., ::-1])


class OneSide(EpsilonInsensitive):
    def potential(self, targets, augmentation):
        return super().potential(targets, augmentation * np.array([1.0, 0.0]))


class EpsilonForgotten(EpsilonInsensitive):
    def potential(self, targets, augmentation):
        total = self.cost**2 * augmentation.sum(axis=-1)
        return Potential(total * targets, total)


class TiltForgotten(Quantile):
    def potential(self, targets, augmentation):
        _, omega = super().potential(targets, augmentation)
        return Potential(omega * targets, omega)


class SigmaNotSquared(Quantile):
    def potential(self, targets, augmentation):
        b, omega = super().potential(targets, augmentation)
        return Potential(b, self.sigma * omega)


class QuantilesSwapped(Quantile):
    def log_likelihood(self, targets, scores, augmentation):
        return super().log_likelihood(-targets, -scores, augmentation)


class DeviationForVariance(StudentT):
    def potential(self, targets, augmentation):
        return Potential(targets * augmentation / self.sigma, augmentation / self.sigma)


class WeightInverted(StudentT):
    def potential(self, targets, augmentation):
        return super().potential(targets, 1.0 / augmentation)


class SignsForLabels(Logistic):
    def potential(self, targets, augmentation):
        return Potential(self.c * (2 * targets - 1), augmentation)


class WeightForgotten(Logistic):
    def potential(self, targets, augmentation):
        return Potential(targets - 0.5, augmentation)


class WeightTwice(Logistic):
    def potential(self, targets, augmentation):
        b, omega = super().potential(targets, augmentation)
        return Potential(b, self.c * omega)


class StopsForPasses(StickBreakingLogistic):
    def potential(self, targets, augmentation):
        b, omega = super().potential(targets, augmentation)
        return Potential(-b, omega)


class HalfForgotten(StickBreakingLogistic):
    def potential(self, targets, augmentation):
        return Potential(targets, augmentation)


class CountsForExcess(NegativeBinomial):
    def potential(self, targets, augmentation):
        return Potential(targets / 2, augmentation)


class DispersionAdded(NegativeBinomial):
    def potential(self, targets, augmentation):
        return Potential((targets + self.dispersion) / 2, augmentation)


HINGE_BUGS = (WrongSign, NoMargin, OnlyTheMargin, CostNotSquared, LossNotTwice)
BUGS = [
    *[(bug(**KEYS, cost=1.6, margin=0.5), 1.0) for bug in HINGE_BUGS],
    *[(bug(**KEYS, cost=0.4, epsilon=1.3), 2.0) for bug in (SidesSwapped, OneSide, EpsilonForgotten)],
    *[(bug(**KEYS, quantile=0.8, sigma=0.4), 2.0) for bug in (TiltForgotten, SigmaNotSquared, QuantilesSwapped)],
    *[(bug(**KEYS, df=4.0, sigma=0.4), 2.0) for bug in (DeviationForVariance, WeightInverted)],
    *[(bug(**KEYS, c=3.0), 1.0) for bug in (SignsForLabels, WeightForgotten, WeightTwice)],
    *[(bug(**KEYS), 1.0) for bug in (StopsForPasses, HalfForgotten)],
    *[(bug(**KEYS, dispersion=2.0), 5.0) for bug in (CountsForExcess, DispersionAdded)],
]


@pytest.mark.parametrize(("block", "y"), BUGS, ids=lambda value: type(value).__name__)
def test_planted_bugs_of_quadratic_forms(block, y):
    assert deviation(block, y) > FAR


def log_distribution(block, arguments, grid):
    """Log density that the arguments give to the augmentation on the grid, for one cell."""
    if isinstance(block, Hinge | EpsilonInsensitive | Quantile):
        value = np.zeros(len(grid))
        for side, mean in enumerate(np.ravel(arguments)):
            x = grid.reshape(len(grid), -1)[:, side]
            square = 1.0 / x if np.isinf(mean) else (x - mean) ** 2 / (mean**2 * x)
            # The Jacobian of the logarithm, in which the grid has equal steps.
            value += -0.5 * (np.log(2 * np.pi) + 3 * np.log(x) + square) + np.log(x * STEP)
        return value
    shape, tilt = (float(np.ravel(array)[0]) for array in arguments)
    if isinstance(block, StudentT):
        return stats.gamma.logpdf(grid[:, 0], shape, scale=1.0 / tilt) + np.log(grid[:, 0] * STEP)
    return log_polya_gamma(grid, shape, tilt)


PREDICTORS = (-2.5, 0.2, 1.7)


def distance(block, y, s):
    """Total variation between the distribution of the augmentation a block declares, and the normalised integrand."""
    grid, log_density = log_integrand(block, y, s)
    arguments = block.augmentation_arguments(np.array([[y]]), np.array([[s]]))
    expected = np.exp(log_density - logsumexp(log_density))
    return 0.5 * float(np.abs(np.exp(log_distribution(block, arguments, grid)) - expected).sum())


@pytest.mark.parametrize("s", PREDICTORS)
@pytest.mark.parametrize(("block", "y"), QUADRATIC, ids=label)
def test_distribution_of_the_augmentation(block, y, s):
    assert distance(block, y, s) < 1e-6


@pytest.mark.parametrize(
    ("block", "y", "s"),
    [
        (Hinge(**KEYS, margin=2.0), -1.0, -2.0),
        (EpsilonInsensitive(**KEYS, epsilon=0.5), 1.0, 0.5),
        (Quantile(**KEYS), 1.0, 1.0),
    ],
    ids=label,
)
def test_distribution_of_the_augmentation_at_the_kink(block, y, s):
    """There the mean is infinite: the Levy distribution."""
    assert np.isinf(block.augmentation_arguments(np.array([[y]]), np.array([[s]]))).any()
    assert distance(block, y, s) < 1e-4


class MeanInverted(Hinge):
    def augmentation_arguments(self, targets, scores):
        return 1.0 / super().augmentation_arguments(targets, scores)


class CostOutside(Hinge):
    def augmentation_arguments(self, targets, scores):
        return self.cost**2 * super().augmentation_arguments(targets, scores)


class MeanWithoutTheMargin(Hinge):
    def augmentation_arguments(self, targets, scores):
        return 1.0 / (self.cost * np.abs(targets * scores))


class MeansSwapped(EpsilonInsensitive):
    def augmentation_arguments(self, targets, scores):
        return super().augmentation_arguments(targets, scores)[..., ::-1]


class MeanHalved(Quantile):
    def augmentation_arguments(self, targets, scores):
        return super().augmentation_arguments(targets, scores) / 2.0


class ErrorForgotten(StudentT):
    def augmentation_arguments(self, targets, scores):
        return super().augmentation_arguments(targets, targets)


class ShapeOfThePrior(StudentT):
    def augmentation_arguments(self, targets, scores):
        shape, rate = super().augmentation_arguments(targets, scores)
        return shape - 0.5, rate


class NoTilt(Logistic):
    def augmentation_arguments(self, targets, scores):
        shape, tilt = super().augmentation_arguments(targets, scores)
        return shape, 0.0 * tilt


class HalfTilt(Logistic):
    def augmentation_arguments(self, targets, scores):
        shape, tilt = super().augmentation_arguments(targets, scores)
        return shape, 0.5 * tilt


class ShapeOne(Logistic):
    def augmentation_arguments(self, targets, scores):
        shape, tilt = super().augmentation_arguments(targets, scores)
        return np.ones_like(shape), tilt


class ShapeOfTheCount(NegativeBinomial):
    def augmentation_arguments(self, targets, scores):
        return targets, scores


@pytest.mark.parametrize(
    ("block", "y"),
    [
        *[(bug(**KEYS, cost=1.6, margin=0.5), 1.0) for bug in (MeanInverted, CostOutside, MeanWithoutTheMargin)],
        (MeansSwapped(**KEYS, cost=0.4, epsilon=1.3), 2.0),
        (MeanHalved(**KEYS, quantile=0.8, sigma=0.4), 2.0),
        *[(bug(**KEYS, df=4.0, sigma=0.4), 2.0) for bug in (ErrorForgotten, ShapeOfThePrior)],
        *[(bug(**KEYS, c=3.0), 1.0) for bug in (NoTilt, HalfTilt, ShapeOne)],
        (ShapeOfTheCount(**KEYS, dispersion=2.0), 5.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_planted_bugs_of_the_distribution_of_the_augmentation(block, y):
    assert max(distance(block, y, s) for s in PREDICTORS) > FAR
