"""Responses: the quadratic form, and the augmentation's distribution, against numerical integrals.

With base(a) the density that the augmentation has beside its effect on the linear predictor s, the integral over a of
base(a) exp(b(a) s - omega(a) s^2 / 2) must be the pseudo-likelihood as a function of s. The bases below are those of
the literature and use nothing of the blocks: with u = cost (margin - y s) and xi = 1 / lambda,

    exp(-2 max(0, u)) = int_0^inf (2 pi lambda)^-1/2 exp(-(u + lambda)^2 / (2 lambda)) d lambda

(Polson, Scott 2011), and the Laplace transform of PG(b, 0) at s^2 / 2 is cosh(s / 2)^-b (Polson, Scott, Windle 2013).
Planted bugs of each block are refused by the same assertions. Tests of means are z-tests over fixed seeds, whose
false-alarm rate is below 1e-6.
"""

import numpy as np
import pytest
from homes import kinds_of
from polyagamma import polyagamma_pdf
from scipy import stats
from scipy.special import logsumexp

from ppl_topics.core.response import Potential, Response
from ppl_topics.errors import SpecError
from ppl_topics.models.epsilon_insensitive import EpsilonInsensitive
from ppl_topics.models.gaussian import Gaussian
from ppl_topics.models.hinge import Hinge
from ppl_topics.models.logistic import Logistic
from ppl_topics.models.negative_binomial import NegativeBinomial

KEYS = {"coefficients": "eta", "features": ["z"]}
SCORES = np.array([-6.13, -2.57, -1.21, -0.36, 0.0, 0.23, 0.9, 1.71, 4.13, 11.3])
"""None at a kink, where tails of the augmentation are too long for a grid."""

CLOSE, FAR = 1e-7, 1e-2
"""Deviations of log densities that count as numerical error, and that a wrong formula exceeds."""
BOUND = stats.norm.isf(1e-9)
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
    return polya_gamma_base(block.c if isinstance(block, Logistic) else y + block.dispersion)


def tilted(block, y, s):
    """Log of base(a) exp(b(a) s - omega(a) s^2 / 2) on the grid."""
    grid, log_base = base_of(block, y)
    b, omega = block.potential(np.full((len(grid), 1), y), grid)
    return grid, log_base + b[:, 0] * s - omega[:, 0] * s**2 / 2


def deviation(block, y):
    """How far the integral is from the pseudo-likelihood, in logarithms, but for a constant in s."""
    integral = np.array([logsumexp(tilted(block, y, s)[1]) for s in SCORES])
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
    *[(Logistic(**KEYS, c=c), y) for c in (0.6, 1.0, 3.0, 7.5) for y in (0.0, 1.0)],
    *[(NegativeBinomial(**KEYS, dispersion=r), y) for r in (0.7, 2.0) for y in COUNTS],
]


def label(value):
    return str(value) if isinstance(value, float) else f"{value.kind} {list(value.model_dump().values())}"


@pytest.mark.parametrize(("block", "y"), QUADRATIC, ids=label)
def test_quadratic_form(block, y):
    assert deviation(block, y) < CLOSE


@pytest.mark.parametrize("shape", [0.5, 1.0, 25.0, 256.0])
def test_quadratic_form_of_any_shape(shape):
    """By the Laplace transform, also where the density of the augmentation is too peaked for a grid."""
    for block, y in ((Logistic(**KEYS, c=shape), 1.0), (NegativeBinomial(**KEYS, dispersion=shape / 2), shape / 2)):
        b, omega = block.potential(np.array([[y]]), np.array([[1.0]]))
        assert omega == 1.0
        value = block.log_likelihood(np.full((len(SCORES), 1), y), SCORES[:, None], np.ones(1))[:, 0]
        integral = b[0, 0] * SCORES - shape * np.log(np.cosh(SCORES / 2))
        assert np.ptp(integral - value) < CLOSE * shape


def test_quadratic_form_of_normal_errors():
    block, y = Gaussian(**KEYS), np.array([[-0.4, 3.0]])
    for sigma2 in ([0.3, 2.0], [1e-3, 40.0]):
        b, omega = block.potential(y, np.array(sigma2))
        value = stats.norm.logpdf(y, SCORES[:, None], np.sqrt(sigma2))
        np.testing.assert_allclose(block.log_likelihood(y, SCORES[:, None], np.array(sigma2)), value, rtol=1e-12)
        assert np.ptp(b * SCORES[:, None] - omega * SCORES[:, None] ** 2 / 2 - value, axis=0) == pytest.approx(
            0, abs=1e-8
        )


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
    *[(bug(**KEYS, c=3.0), 1.0) for bug in (SignsForLabels, WeightForgotten, WeightTwice)],
    *[(bug(**KEYS, dispersion=2.0), 5.0) for bug in (CountsForExcess, DispersionAdded)],
]


@pytest.mark.parametrize(("block", "y"), BUGS, ids=lambda value: type(value).__name__)
def test_planted_bugs_of_quadratic_forms(block, y):
    assert deviation(block, y) > FAR


def log_distribution(block, arguments, grid):
    """Log density that the arguments give to the augmentation on the grid, for one cell."""
    if isinstance(block, Hinge | EpsilonInsensitive):
        value = np.zeros(len(grid))
        for side, mean in enumerate(np.ravel(arguments)):
            x = grid.reshape(len(grid), -1)[:, side]
            square = 1.0 / x if np.isinf(mean) else (x - mean) ** 2 / (mean**2 * x)
            # The Jacobian of the logarithm, in which the grid has equal steps.
            value += -0.5 * (np.log(2 * np.pi) + 3 * np.log(x) + square) + np.log(x * STEP)
        return value
    shape, tilt = (float(np.ravel(array)[0]) for array in arguments)
    return log_polya_gamma(grid, shape, tilt)


def distance(block, y, s):
    """Total variation between the distribution of the augmentation a block declares, and the normalised integrand."""
    grid, log_density = tilted(block, y, s)
    arguments = block.augmentation_arguments(np.array([[y]]), np.array([[s]]))
    expected = np.exp(log_density - logsumexp(log_density))
    return 0.5 * float(np.abs(np.exp(log_distribution(block, arguments, grid)) - expected).sum())


@pytest.mark.parametrize(("block", "y"), QUADRATIC, ids=label)
def test_distribution_of_the_augmentation(block, y):
    for s in (-2.5, 0.2, 1.7):
        assert distance(block, y, s) < 1e-6


def test_distribution_of_the_augmentation_at_the_kink():
    """There the mean is infinite: the Levy distribution."""
    for block, y, s in ((Hinge(**KEYS, margin=2.0), -1.0, -2.0), (EpsilonInsensitive(**KEYS, epsilon=0.5), 1.0, 0.5)):
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
        *[(bug(**KEYS, c=3.0), 1.0) for bug in (NoTilt, HalfTilt, ShapeOne)],
        (ShapeOfTheCount(**KEYS, dispersion=2.0), 5.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_planted_bugs_of_the_distribution_of_the_augmentation(block, y):
    assert max(distance(block, y, s) for s in (-2.5, 0.2, 1.7)) > FAR


TARGETS = np.array([[0.4, np.nan], [-1.0, np.nan], [np.nan, 7.0], [2.5, np.nan]])
FITTED = np.array([[0.1, 0.0], [-0.2, 1.0], [3.0, 6.0], [2.0, 0.0]])


def variance_distribution(block):
    """Shape and rate on a fine grid of log sigma2: prior times likelihood, and its log integral, for each response."""
    grid = np.linspace(-12.0, 40.0, 20_001)
    step, values = grid[1] - grid[0], np.exp(grid)
    distributions = []
    for c in range(2):
        known = ~np.isnan(TARGETS[:, c])
        log_density = stats.invgamma.logpdf(values, block.shape, scale=block.rate) + grid + np.log(step)
        gaps = (TARGETS[known, c] - FITTED[known, c])[:, None]
        log_density += stats.norm.logpdf(gaps, scale=np.sqrt(values)).sum(axis=0)
        distributions.append((values, log_density - grid - np.log(step), logsumexp(log_density)))
    return distributions


class HalvedShape(Gaussian):
    def augmentation_arguments(self, targets, scores):
        shape, rate = super().augmentation_arguments(targets, scores)
        return shape + 0.5, rate


class SquaresNotHalved(Gaussian):
    def augmentation_arguments(self, targets, scores):
        shape, rate = super().augmentation_arguments(targets, scores)
        return shape, 2 * rate - self.rate


class MissingCounted(Gaussian):
    def augmentation_arguments(self, targets, scores):
        _, rate = super().augmentation_arguments(targets, scores)
        return np.full(rate.shape, self.shape + len(targets) / 2), rate


@pytest.mark.parametrize("shape_rate", [(1.0, 1.0), (2.3, 0.4)])
@pytest.mark.parametrize("kind", [Gaussian, HalvedShape, SquaresNotHalved, MissingCounted])
def test_distribution_of_the_error_variance(kind, shape_rate):
    block = kind(**KEYS, shape=shape_rate[0], rate=shape_rate[1])
    shape, rate = block.augmentation_arguments(TARGETS, FITTED)
    worst = 0.0
    for c, (values, log_density, total) in enumerate(variance_distribution(block)):
        distribution = stats.invgamma.logpdf(values, shape[c], scale=rate[c])
        likely = log_density - total > -40
        worst = max(worst, np.abs(distribution - log_density + total)[likely].max())
    assert worst < 1e-6 if kind is Gaussian else worst > FAR


@pytest.mark.parametrize("shape_rate", [(1.0, 1.0), (2.3, 0.4)])
def test_evidence_of_normal_targets(shape_rate):
    """The error variance summed over, with its constants; a scale of scores of any shape before (D, C)."""
    block = Gaussian(**KEYS, shape=shape_rate[0], rate=shape_rate[1])
    expected = [total for _, _, total in variance_distribution(block)]
    np.testing.assert_allclose(block.log_evidence(TARGETS, FITTED), expected, rtol=1e-7)
    several = block.log_evidence(TARGETS, np.stack([FITTED, FITTED + 1.0, FITTED])[:, None])
    assert several.shape == (3, 1, 2)
    np.testing.assert_allclose(several[::2, 0], [expected] * 2, rtol=1e-7)
    assert (np.abs(several[1, 0] - expected) > FAR).all()


def test_joint_density_of_normal_targets():
    block, sigma2 = Gaussian(**KEYS, shape=2.3, rate=0.4), np.array([0.7, 1.9])
    prior = stats.invgamma.logpdf(sigma2, 2.3, scale=0.4).sum()
    total = np.nansum(stats.norm.logpdf(TARGETS, FITTED, np.sqrt(sigma2)))
    assert block.log_joint(TARGETS, FITTED, sigma2) == pytest.approx(prior + total, rel=1e-12)


def test_evidence_of_other_responses():
    """The sum over documents; missing targets add nothing."""
    for block in (Hinge(**KEYS), Logistic(**KEYS), EpsilonInsensitive(**KEYS), NegativeBinomial(**KEYS)):
        y = np.array([[1.0, np.nan], [0.0 if block.kind != "hinge" else -1.0, 1.0]])
        cells = block.log_likelihood(y, FITTED[:2], np.ones(1))
        assert cells[0, 1] == 0.0
        assert block.log_joint(y, FITTED[:2], np.ones(y.shape)) == pytest.approx(cells.sum())
        np.testing.assert_allclose(block.log_evidence(y, FITTED[None, :2]), cells.sum(axis=0)[None])


def test_likelihoods_are_distributions():
    s = SCORES[:, None]
    for block in (Logistic(**KEYS), NegativeBinomial(**KEYS, dispersion=2.5)):
        size = 2 if block.kind == "logistic" else 3000
        counts = np.arange(size, dtype=float)
        likely = (size == 2) | (SCORES < 3)
        distribution = np.exp(block.log_likelihood(counts, s, np.ones(1)))[likely]
        np.testing.assert_allclose(distribution.sum(axis=1), 1, rtol=1e-9)
        np.testing.assert_allclose(distribution @ counts, block.expectation(s)[likely, 0], rtol=1e-6)
    np.testing.assert_array_equal(Gaussian(**KEYS).expectation(s), s)
    for block in (Hinge(**KEYS), EpsilonInsensitive(**KEYS)):
        assert not block.probabilistic
        with pytest.raises(
            SpecError, match="is a loss, not a distribution of the labels, so it gives no probabilities"
        ):
            block.expectation(s)


ALL = [Hinge(**KEYS, cost=0.7, margin=2.0), EpsilonInsensitive(**KEYS, cost=0.7, epsilon=0.4), Logistic(**KEYS, c=2.5),
       NegativeBinomial(**KEYS, dispersion=1.5), Gaussian(**KEYS, shape=3.0)]  # fmt: skip


REGISTERED = [block(**KEYS, **block.tiny_parameters) for block in kinds_of(Response).values()]


@pytest.mark.parametrize("block", REGISTERED, ids=lambda block: block.kind)
def test_missing_targets(block):
    y = np.array([[np.nan, 1.0], [1.0, np.nan]])
    held = np.ones([2 for _ in block.augmentation_dims])
    for part in block.potential(y, 3.0 * held):
        assert part.shape == y.shape
        assert (part[np.isnan(y)] == 0).all()
        assert (part[~np.isnan(y)] != 0).all()
    np.testing.assert_array_equal(block.log_likelihood(y, np.full((2, 2), -9.0), held) == 0, np.isnan(y))
    if "doc" in block.augmentation_dims:
        drawn = block.draw_augmentation(y, np.full((2, 2), 0.3), np.random.default_rng(1))
        assert drawn.shape == held.shape
        np.testing.assert_array_equal((drawn == 1).reshape(2, 2, -1).all(axis=2), np.isnan(y))
    assert np.isnan(block.loss(np.full((2, 2), np.nan), y))
    assert np.isfinite(block.loss(y, np.ones((2, 2))))


@pytest.mark.parametrize("block", ALL, ids=label)
def test_draws_have_the_right_means(block):
    size, s = 20_000, 0.9
    y = np.ones((size, 1))
    rng, scores = np.random.default_rng(4), np.full((size, 1), s)
    if block.kind == "gaussian":
        draws = np.array([block.draw_augmentation(y[:40], scores[:40], rng) for _ in range(4000)])
        distribution = stats.invgamma(23.0, scale=1.0 + 40 * 0.1**2 / 2)
        mean, deviation = np.array([distribution.mean()]), distribution.std()
    elif block.kind in ("hinge", "epsilon_insensitive"):
        draws = block.draw_augmentation(y, scores, rng).reshape(size, -1)
        gaps = [2.0 - s] if block.kind == "hinge" else [1 - s - 0.4, s - 1 - 0.4]
        mean = 1 / (0.7 * np.abs(gaps))
        deviation = mean**1.5
    else:
        draws = block.draw_augmentation(y, scores, rng)
        shape = 2.5
        mean = np.array([shape * np.tanh(s / 2) / (2 * s)])
        deviation = np.sqrt(shape * (np.sinh(s) - s) / (4 * s**3 * np.cosh(s / 2) ** 2))

    def agrees(sample):
        return bool((np.abs(sample.mean(axis=0) - mean) < BOUND * deviation / np.sqrt(len(sample))).all())

    assert agrees(draws)
    assert not agrees(1.1 * draws)


GENERATIVE = [block(**KEYS, **block.generative_parameters) for block in kinds_of(Response).values()]


@pytest.mark.parametrize("block", [b for b in GENERATIVE if b.generative], ids=lambda block: block.kind)
def test_drawn_targets_have_the_expectation(block):
    # Five standard errors: false alarms below 1e-6 each.
    scores = np.array([-1.0, 0.3, 1.2])
    sigma2 = np.array([0.5, 1.0, 2.0])
    drawn = block.draw_targets(np.broadcast_to(scores, (40_000, 3)), sigma2, np.random.default_rng(1))
    error = drawn.std(axis=0) / 200
    # Labels of -1 and 1 have the expectation 2 p - 1.
    signs = drawn.min() < 0.0 and set(np.unique(drawn)) == {-1.0, 1.0}
    mean = (drawn.mean(axis=0) + 1.0) / 2.0 if signs else drawn.mean(axis=0)
    assert (np.abs(mean - block.expectation(scores)) < 5 * error).all()
    assert (np.abs(mean - block.expectation(scores + 0.1)) > 5 * error).any()
    if block.kind == "gaussian":
        assert np.allclose(drawn.var(axis=0), sigma2, rtol=0.05)


def test_a_loss_draws_no_targets():
    block = Hinge(coefficients="eta", features=["z"])
    with pytest.raises(SpecError, match="is a loss, not a distribution"):
        block.draw_targets(np.zeros(1), np.ones(1), np.random.default_rng(1))
