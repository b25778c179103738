"""Errors of estimated log likelihoods, by the spread of independent replicates.

References
----------
J. Berard, P. Del Moral, A. Doucet (2014). A lognormal central limit theorem for particle approximations of normalizing
constants. Electronic Journal of Probability 19(94).
"""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import BoolArray, FloatArray, IntArray
from ppl_topics.samplers.held_out.replicates import REPLICATES

__all__ = ["of_replicates", "of_tokens", "ratio_error"]


def of_replicates(replicates: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the logarithm of the mean of each row, given by logarithms, its error and its bias.

    The error is the jackknife's. The logarithm of an estimate by sequential Monte Carlo is near normal, its mean below
    that of its expectation by half of its variance (Berard, Del Moral, Doucet 2014): so the mean of a row and half its
    variance are together unbiased for the logarithm of the likelihood, and tell the bias.
    """
    # A document that no draw makes possible has minus infinity, without error.
    possible: BoolArray = np.asarray(np.isfinite(replicates).all(axis=1))
    finite = np.where(possible[:, None], replicates, 0.0)
    values: FloatArray = _log_mean(finite)
    without = np.stack([_log_mean(np.delete(finite, place, axis=1)) for place in range(REPLICATES)], axis=1)
    errors = np.sqrt((REPLICATES - 1) * without.var(axis=1))
    biases = values - (finite.mean(axis=1) + 0.5 * finite.var(axis=1, ddof=1))
    return np.where(possible, values, -np.inf), errors, biases


def _log_mean(logarithms: FloatArray) -> FloatArray:
    found: FloatArray = np.logaddexp.reduce(logarithms, axis=1) - np.log(logarithms.shape[1])
    return found


def of_tokens(replicates: FloatArray, docs: IntArray, n_docs: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the sum over the tokens of a document of the logarithm of the mean of a column, its error and its bias."""
    mean = replicates.mean(axis=0)
    with np.errstate(divide="ignore"):
        values: FloatArray = np.bincount(docs, np.log(mean), n_docs).astype(np.float64)
    square, by_token = np.zeros(n_docs), np.zeros(n_docs)
    for replicate in replicates:
        change = np.divide(replicate, mean, out=np.ones_like(mean), where=mean > 0.0) - 1.0
        square += np.bincount(docs, change, n_docs) ** 2
        by_token += np.bincount(docs, change**2, n_docs)
    number = REPLICATES * (REPLICATES - 1)
    errors: FloatArray = np.sqrt(square / number)
    return values, errors, -0.5 * by_token / number


def ratio_error(values: FloatArray, tokens: IntArray) -> float:
    """Return the standard error of sum(values) / sum(tokens) over documents, as a ratio estimate; NaN for one."""
    total, number = int(tokens.sum()), int(np.count_nonzero(tokens))
    if number < 2:
        return float("nan")
    residuals = values - tokens * (values.sum() / total)
    return float(np.sqrt(number / (number - 1) * np.sum(residuals**2)) / total)
