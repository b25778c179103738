"""Each statistical test has a false-alarm rate of 1e-6 over seeds, and rejects planted bugs.

The distributions are those of the `polyagamma` package where its series converges (it does not for large shapes and
small tilts: it gives probabilities of 1e137), and elsewhere inverted from the characteristic function.
"""

import math

import numba
import numpy as np
import polyagamma
import pytest
from scipy import interpolate, stats

from ppl_topics.samplers.variates.gamma import gamma
from ppl_topics.samplers.variates.inverse_gaussian import inverse_gaussian
from ppl_topics.samplers.variates.polya_gamma import SERIES_UP_TO, hyperbolic_terms, polya_gamma
from ppl_topics.samplers.variates.polya_gamma_series import ENVELOPE, draw_by_series, series_exceeds
from ppl_topics.samplers.variates.polya_gamma_sum import TERMS, draw_by_sum, rest_sums
from ppl_topics.samplers.variates.streams import normal, open_stream

FALSE_ALARM = 1e-6
DRAWS = 100_000
SHAPES = [0.1, 0.5, 1.0, 1.5, 2.0, 3.7, 10.0, 25.0, 100.3, 1000.0]
BUGS = ["tilt not halved", "no tilt", "no rejection", "no rest of the sum", "normal"]
TILTS = [0.0, 0.7, -2.0, 5.0, 12.0, -50.0]


@numba.njit(error_model="numpy")
def fill(stream, shape, tilt, out):
    for index in range(out.size):
        out[index] = polya_gamma(stream, shape, tilt)


@numba.njit(error_model="numpy")
def fill_by_part(stream, shape, half_tilt, series, out):
    mean, excess, loss = hyperbolic_terms(half_tilt)
    for index in range(out.size):
        if series:
            out[index] = 0.25 * draw_by_series(stream, shape, mean, excess, loss)
        else:
            out[index] = 0.25 * draw_by_sum(stream, shape, half_tilt)


@numba.njit(error_model="numpy")
def fill_with_bug(stream, shape, tilt, bug, out):
    mean = hyperbolic_terms(0.5 * abs(tilt))[0]
    for index in range(out.size):
        if bug == 0:
            out[index] = polya_gamma(stream, shape, 2.0 * tilt)
        elif bug == 1:
            out[index] = polya_gamma(stream, shape, 0.0)
        elif bug == 2:
            out[index] = 0.25 * inverse_gaussian(stream, shape * mean, shape * shape)
        elif bug == 3:
            total = 0.0
            for k in range(3):
                total += 0.5 * gamma(stream, shape) / (math.pi**2 * (k + 0.5) ** 2 + 0.25 * tilt * tilt)
            out[index] = total
        else:
            spread = math.sqrt(moments(shape, tilt)[1])
            out[index] = 0.25 * shape * mean + spread * normal(stream)


@numba.njit(error_model="numpy")
def moments(shape, tilt):
    """Mean and variance of PG(b, z)."""
    z = abs(tilt)
    if z < 1e-2:
        return shape * (0.25 - z * z / 48.0), shape * (1.0 / 24.0 - z * z / 120.0)
    variance = (math.sinh(z) - z) / (2.0 * z**3 * (1.0 + math.cosh(z))) if z < 300.0 else 0.5 / z**3
    return shape * math.tanh(0.5 * z) / (2.0 * z), shape * variance


def draw(shape, tilt, seed=81, size=DRAWS):
    draws = np.empty(size)
    fill(open_stream(seed), shape, float(tilt), draws)
    return draws


def inverted(shape, tilt, points):
    """Distribution function of PG(b, z) by Fourier inversion, with a period of 60 standard deviations."""
    variance = moments(shape, tilt)[1]
    step = 2.0 * math.pi / (60.0 * math.sqrt(variance))
    t = step * np.arange(0.5, 30_000)
    root = np.sqrt(0.25 * tilt * tilt - 0.5j * t)
    half = 0.5 * abs(tilt)
    log_phi = shape * (half + np.log1p(math.exp(-2.0 * half)) - root - np.log1p(np.exp(-2.0 * root)))
    t, log_phi = t[log_phi.real > -45.0], log_phi[log_phi.real > -45.0]
    assert t.size < 29_000
    waves = np.exp(log_phi[None] - 1j * t[None] * points[:, None])
    return 0.5 - (waves.imag / t).sum(axis=1) * step / math.pi


def cdf(shape, tilt, draws):
    """Distribution function, interpolated between 400 points among the draws."""
    points = np.unique(np.quantile(draws, np.linspace(0.0, 1.0, 400)))
    if shape * hyperbolic_terms(0.5 * abs(tilt))[2] < 8.0:
        values = polyagamma.polyagamma_cdf(points, h=shape, z=abs(tilt))
    else:
        values = inverted(shape, tilt, points)
    assert (np.diff(values) > -1e-9).all()
    return interpolate.PchipInterpolator(points, np.maximum.accumulate(values))


def p_value(draws, shape, tilt):
    return stats.kstest(draws, cdf(shape, tilt, draws)).pvalue


@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_distribution(shape, tilt):
    draws = draw(shape, tilt)
    assert draws.min() > 0.0
    assert p_value(draws, shape, tilt) > FALSE_ALARM


@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize("shape", [0.02, *SHAPES, 16.2, 1e6])
def test_mean_and_variance(shape, tilt):
    draws = draw(shape, tilt, seed=82)
    mean, variance = moments(shape, tilt)
    bound = stats.norm.isf(FALSE_ALARM / 2)
    assert abs(draws.mean() - mean) < bound * math.sqrt(variance / DRAWS)
    fourth = ((draws - mean) ** 4).mean() / variance**2
    # For smaller shapes, the mean of the squares is not normal yet.
    if shape >= 0.5:
        spread = math.sqrt((fourth - 1.0) / DRAWS)
        assert abs(((draws - mean) ** 2).mean() / variance - 1.0) < bound * spread


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize(("shape", "tilt"), [(0.5, 2.0), (1.0, 2.0), (25.0, 1.5), (100.3, 0.7)])
def test_planted_bugs(shape, tilt, bug):
    draws = np.empty(DRAWS)
    fill_with_bug(open_stream(83), shape, tilt, BUGS.index(bug), draws)
    assert p_value(draws, shape, tilt) < FALSE_ALARM


@pytest.mark.parametrize(("shape", "tilt"), [(10.0, 0.7), (25.0, 5.0), (1000.0, -50.0)])
def test_both_references_agree(shape, tilt):
    mean, variance = moments(shape, tilt)
    points = mean + math.sqrt(variance) * np.linspace(-3.0, 6.0, 50)
    package = polyagamma.polyagamma_cdf(points, h=shape, z=abs(tilt))
    assert np.allclose(inverted(shape, tilt, points), package, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [3.0, 8.0, 16.0])
def test_both_samplers_agree_where_both_serve(shape):
    """On the smallest shapes on which the sum is close enough, and the largest that the series serves."""
    series, total = np.empty(DRAWS), np.empty(DRAWS)
    fill_by_part(open_stream(84), shape, 0.3, True, series)
    fill_by_part(open_stream(85), shape, 0.3, False, total)
    assert stats.ks_2samp(series, total).pvalue > FALSE_ALARM


@pytest.mark.parametrize("half_tilt", [1e-5, 0.999e-3, 1.001e-3, 0.1, 1.0, 8.0])
def test_hyperbolic_terms(half_tilt):
    v = np.longdouble(half_tilt)
    expected = np.tanh(v) / v, v**2 / (2 * np.sinh(v) ** 2), v / np.tanh(v) - np.log(2 * np.cosh(v))
    assert hyperbolic_terms(half_tilt) == pytest.approx([float(value) for value in expected], rel=2e-12)


def log_series(shape, x):
    """Log S(x), summed exactly from rounded terms."""
    n = np.arange(120.0)
    log_ratio = np.log((n + shape) / (n + 1.0)) - 2.0 * (2.0 * n + 1.0 + shape) / x
    log_terms = np.concatenate([[0.0], np.cumsum(log_ratio)]) + np.log((2.0 * np.arange(121.0) + shape) / shape)
    return math.log(math.fsum(np.exp(log_terms) * (-1.0) ** np.arange(121)))


@pytest.mark.parametrize("shape", [1e-6, 0.01, 0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 3.7, 7.0, 16.2, 25.0, 300.0, 1e5])
def test_envelope(shape):
    """The bound on the acceptance ratio holds, wherever the series serves; at b = 0 and v = 0 it is attained."""
    attained = []
    for half_tilt in [0.0, 1e-3, 0.05, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 6.5, 8.0]:
        mean, excess, loss = hyperbolic_terms(half_tilt)
        if shape * loss > SERIES_UP_TO:
            continue
        center, spread = shape * mean, 4.0 * math.sqrt(moments(shape, 2.0 * half_tilt)[1])
        points = np.linspace(max(0.05, center - 6.0 * spread), center + 6.0 * spread + 3.0, 150)
        ratio = [log_series(shape, x) + excess * x - shape * loss for x in points]
        assert max(ratio) <= ENVELOPE * excess
        attained.append(max(ratio) / excess)
    assert max(attained) == attained[0] > 0.0
    if shape < 1e-3:
        assert attained[0] > 0.9995 * ENVELOPE


@pytest.mark.parametrize(("shape", "x"), [(0.2, 0.5), (1.0, 0.7), (1.0, 9.0), (2.5, 2.0), (10.0, 8.0), (16.0, 20.0)])
def test_series_decides_by_its_limit(shape, x):
    value = math.exp(log_series(shape, x))
    assert series_exceeds(value * (1.0 - 1e-7), shape, x)
    assert not series_exceeds(value * (1.0 + 1e-7), shape, x)


def slow_rest_sums(half_tilt):
    """Sums of (r_k + v^2 / 2)^-j over k > TERMS, at j = 1 to 4."""
    rates = 0.5 * math.pi**2 * (np.arange(TERMS, 200_000) + 0.5) ** 2 + 0.5 * half_tilt**2
    sums = [np.nan] + [math.fsum(rates ** -float(j)) for j in range(1, 5)]
    sums[1] += 2.0 / math.pi**2 / 200_000
    return sums


@pytest.mark.parametrize("half_tilt", [0.0, 1e-4, 0.3, 1.0, 1.99, 2.0, 2.01, 3.0, 6.0, 15.0])
def test_sums_over_the_rest(half_tilt):
    assert rest_sums(half_tilt) == pytest.approx(slow_rest_sums(half_tilt)[1:4], rel=1e-8)


@pytest.mark.parametrize("shape", [16.3, 20.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 1e6])
def test_error_of_the_sum(shape):
    """The leading Edgeworth term of the difference of distribution functions, wherever the sum serves."""
    for half_tilt in [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.3, 3.6, 4.0, 5.0, 6.0, 7.0]:
        if shape * hyperbolic_terms(half_tilt)[2] <= SERIES_UP_TO:
            continue
        _, _, second, third, fourth = slow_rest_sums(half_tilt)
        # Fourth cumulants: b 3! S_4, and of a gamma variate 3 / 2 of the square of the third over the second.
        missed = shape * (6.0 * fourth - 6.0 * third**2 / second)
        variance = 16.0 * moments(shape, 2.0 * half_tilt)[1]
        assert 0.0 <= missed / variance**2 / 24.0 * 0.551 < 1e-9


@pytest.mark.parametrize("shape", [1e-100, 1e-10, 0.3, 1.0, 16.2, 16.4, 1e3, 1e9, 1e100])
@pytest.mark.parametrize("tilt", [0.0, 1e-300, 1e-8, 1.99e-3, 2.01e-3, 30.0, 700.0, -1e6, 1e6, 1e100])
def test_extreme_arguments(shape, tilt):
    draws = draw(shape, tilt, size=5000)
    assert np.isfinite(draws).all()
    assert draws.min() > 0.0
    assert np.array_equal(draws, draw(shape, -tilt, size=5000))
    if shape > 1e8:
        assert np.allclose(draws, moments(shape, tilt)[0], rtol=1e-3)


@pytest.mark.parametrize(
    ("shape", "tilt"), [(0.0, 1.0), (-1.0, 1.0), (math.inf, 1.0), (1.0, math.inf), (1.0, math.nan)]
)
def test_what_is_no_distribution_gives_not_a_number(shape, tilt):
    assert math.isnan(polya_gamma(open_stream(86), shape, tilt))


@pytest.mark.parametrize("shape", [1.0, 40.0])
def test_same_draws_from_python_and_from_compiled_code(shape):
    stream = open_stream(87)
    assert draw(shape, 1.0, seed=87)[:50].tolist() == [polya_gamma(stream, shape, 1.0) for _ in range(50)]
