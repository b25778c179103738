"""Augmentation variables, drawn in plain NumPy: what tests compare the compiled kernels with."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from ppl_topics._util.arrays import FloatArray

__all__ = [
    "simulate_inverse_gaussian",
    "simulate_normal_between",
    "simulate_polya_gamma",
    "simulate_truncated_normal",
]


TERMS = 100
"""Of the series of a Polya-Gamma variate; the mean of the rest, a share of about 1 / (5 TERMS), is added.

Its variance is left out, a share of 2e-8, and of 5e-5 at a tilt of 30.
"""

LARGEST_MEAN = 1e8
"""Of an inverse Gaussian distribution that NumPy draws from without losing digits."""


def simulate_inverse_gaussian(mean: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw from InvGauss(mean, 1); ones where the mean is not a number, as where a target is missing."""
    known = ~np.isnan(mean)
    drawn = rng.wald(np.where(known, np.minimum(mean, LARGEST_MEAN), 1.0), 1.0)
    return np.where(known, drawn, 1.0)


def simulate_normal_between(
    mean: FloatArray, lower: FloatArray, upper: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw from Normal(mean, 1) between bounds, by inversion of the logarithm; ones where these are not numbers."""
    known = ~np.isnan(lower)
    low, high = np.where(known, lower - mean, -np.inf), np.where(known, upper - mean, np.inf)
    # On the side where the distribution function is small.
    sign = np.where(low > -high, -1.0, 1.0)
    low, high = np.where(sign < 0.0, -high, low), np.where(sign < 0.0, -low, high)
    larger, ratio = log_ndtr(high), np.expm1(log_ndtr(low) - log_ndtr(high))
    x = ndtri_exp(larger + np.log1p(rng.uniform(1e-300, 1.0, np.shape(mean)) * ratio))
    return np.where(known, np.clip(mean + sign * x, lower, upper), 1.0)


def simulate_polya_gamma(shape: FloatArray, tilt: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw from PG(shape, tilt) by its series (Polson, Scott, Windle 2013, equation 2); ones where the shape is 0."""
    known = shape > 0
    terms = (np.arange(TERMS) + 0.5) ** 2
    rates = 2.0 * np.pi**2 * (terms + (tilt[..., None] / (2.0 * np.pi)) ** 2)
    gammas = rng.gamma(np.where(known, shape, 1.0)[..., None], size=rates.shape)
    half = np.abs(tilt) / 2.0
    mean = np.where(half > 1e-6, shape * np.tanh(half) / np.maximum(4.0 * half, 1e-300), shape / 4.0)
    rest = mean - shape * (1.0 / rates).sum(axis=-1)
    return np.where(known, (gammas / rates).sum(axis=-1) + rest, 1.0)


def simulate_truncated_normal(sign: FloatArray, mean: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw from Normal(mean, 1) given its sign, by inversion of the logarithm; ones where the sign is 0."""
    inside = sign * mean
    distance = inside - ndtri_exp(np.log(rng.uniform(1e-300, 1.0, np.shape(inside))) + log_ndtr(inside))
    return np.where(sign == 0.0, 1.0, sign * np.maximum(distance, np.finfo(float).tiny))
