"""The effective number of coefficients: how many are determined by the data rather than by the prior."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import sparse

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes, Tokens
from ppl_topics.errors import TraceError
from ppl_topics.prediction.trained import Part, TrainedResponse, TrainedTopics
from ppl_topics.results.coefficient_draws import CoefficientDraws, check_probability, coefficient_draws, interval

__all__ = ["effective_coefficients", "information", "mean_curvature"]

SCORED = 25
"""Maximum number of draws, evenly spaced, that the curvature is averaged over."""

STEP = 1e-4
"""Step of numerical derivatives in the linear predictor, relative to 1 + its size."""

SMALL = 1e-12
"""Variance of a linear predictor, relative to 1 + its square, that counts as zero."""


def effective_coefficients(
    groups: Mapping[str, xr.Dataset], response: str | None = None, *, chain: int = 0, probability: float = 0.9
) -> pd.DataFrame:
    """Return how many coefficients of each response the data determine; intercepts are not counted.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    response, chain, probability
        As in `coefficient_table`.

    Returns
    -------
    pandas.DataFrame
        A row for each response, with the columns ``response``, ``coefficients`` (their number), ``effective`` (the
        posterior mean of the effective number), ``low`` and ``high`` (the ends of its interval: NaN with one draw, and
        equal if the prior variances are fixed). ``attrs`` holds ``chain`` and ``probability``.

    Raises
    ------
    TraceError
        If the model has no response, its coefficients or the parameters of their prior variances were not recorded, its
        covariates were too large for the trace, or there is no such response or chain.

    Notes
    -----
    After Piironen, Vehtari (2017, Sparsity information and regularization in the horseshoe and other shrinkage priors,
    section 3), for each response::

        m_eff = sum_j (1 - kappa_j),    kappa_j = 1 / (1 + v_j p_j),
        p_j = sum_d w_d (f_dj - m_j)^2,    w_d = E[-(log psi_d)''(s_d)].

    kappa_j is the weight of the prior in the posterior of coefficient j by itself; for uncorrelated features it is
    exact, and m_eff is the trace of the hat matrix. v_j is the prior variance: tau^2 lambda_j^2 for a horseshoe, a
    constant for a normal prior. p_j is the information of the data: f_dj are the features at the last state of the
    chain, on their own scale (covariates as the model scales them), and m_j is their mean weighted by w if there is an
    intercept, else 0.

    w_d is the curvature of the log pseudo-likelihood in the linear predictor s_d, with the augmentation integrated out
    (given the augmentation, the data would seem to say more than they do): 1 / sigma2 for a gaussian response, c p (1 -
    p) for a logistic one. Its mean over draws is the slope of the regression of (log psi)' on s, by Stein's lemma if s
    is nearly normal. That is also right for losses with a kink, whose curvature is zero almost everywhere. If no score
    comes near the kink, as with a hinge whose margin is out of reach, the curvature is zero, and the prior keeps its
    variances. Numbers of the response that have priors, such as a dispersion, are taken at their means.
    """
    probability = check_probability(probability)
    coefficients = coefficient_draws(groups, chain)
    asked = coefficients.positions(response)
    trained = TrainedResponse.of(TrainedTopics(groups))
    rows = []
    for part in trained.trained.parts(coefficients.chain):
        told = information(trained, coefficients, part)
        precision = _prior_precision(trained, coefficients, part)
        share = told / (told + precision[:, :, : coefficients.n_slopes])
        number = share.sum(axis=2)
        mean, (low, high) = number.mean(axis=0), interval(number, probability)
        for place, c in enumerate(_members(coefficients, part)):
            row = {"response": coefficients.responses[c], "coefficients": coefficients.n_slopes}
            rows.append({**row, "effective": mean[place], "low": low[place], "high": high[place]})
    table = pd.DataFrame([rows[c] for c in asked])
    table.attrs = {"chain": coefficients.chain, "probability": probability}
    return table


def information(trained: TrainedResponse, coefficients: CoefficientDraws, part: Part) -> FloatArray:
    """Return the information of the data on each slope, p_j of `effective_coefficients`, shape (responses, slopes)."""
    features = _features(trained, coefficients, part)
    members = _members(coefficients, part)
    eta, targets = coefficients.draws[:, members], trained.targets[:, members]
    block = trained.mean_block(coefficients.chain, slice(None))
    kept = np.unique(np.linspace(0, len(eta) - 1, min(SCORED, len(eta))).round().astype(int))
    if "doc" in trained.block.augmentation_dims:
        ones = np.ones(1)
        curvature = mean_curvature(
            lambda scores: block.log_likelihood(targets, scores, ones), (features @ eta[m].T for m in kept)
        )
    else:
        # A parameter, such as an error variance, given which the response is already quadratic.
        scale = trained.scale(coefficients.chain)
        if scale is None:
            name = trained.block.augmentation
            raise TraceError(f"the trace does not hold {name}; run the model with record {name}: all")
        curvature = np.mean([block.potential(targets, scale[m][members]).omega for m in kept], axis=0)
    slopes = features[:, : coefficients.n_slopes]
    told: FloatArray = (slopes.multiply(slopes).T @ curvature).T
    if coefficients.intercept:
        total = curvature.sum(axis=0)[:, None]
        first: FloatArray = (slopes.T @ curvature).T
        told = told - np.divide(first**2, total, out=np.zeros_like(first), where=total > 0)
    return np.maximum(told, 0.0)


def mean_curvature(log_likelihood: Callable[[FloatArray], FloatArray], scores: Iterable[FloatArray]) -> FloatArray:
    """Return the mean of -(log psi)'' over draws of the linear predictors (D, C), of which there is at least one.

    It is -cov((log psi)'(s), s) / var(s), which equals the mean of -(log psi)''(s) for normal s (Stein's lemma). For a
    cell whose draws are all equal, it is -(log psi)'' at that value.
    """
    number = 0
    mean = slope = variance = covariance = np.zeros(())
    for s in scores:
        number += 1
        h = STEP * (1.0 + np.abs(s))
        g = (log_likelihood(s + h) - log_likelihood(s - h)) / (2.0 * h)
        before = s - mean
        mean = mean + before / number
        slope = slope + (g - slope) / number
        variance = variance + before * (s - mean)
        covariance = covariance + before * (g - slope)
    spread = variance > number * SMALL * (1.0 + mean**2)
    h = np.sqrt(STEP) * (1.0 + np.abs(mean))
    second = (log_likelihood(mean + h) - 2.0 * log_likelihood(mean) + log_likelihood(mean - h)) / h**2
    return np.asarray(np.maximum(-np.divide(covariance, variance, out=second, where=spread), 0.0))


def _members(coefficients: CoefficientDraws, part: Part) -> list[int]:
    """Return the responses that share a part's topics."""
    return list(range(len(coefficients.responses))) if part.response is None else [part.response]


def _features(trained: TrainedResponse, coefficients: CoefficientDraws, part: Part) -> Any:
    """Return the features of the documents at the last state of a chain, a sparse array of shape (D, F)."""
    constants = trained.trained.groups["constant_data"]
    for name in ("doc_length", "z_last"):
        if name not in constants:
            raise TraceError(f"the trace holds no `{name}` in `constant_data`; it was not written by ppl-topics")
    lengths = constants["doc_length"].values
    topics = part.of(constants["z_last"]).values.astype(np.int64)
    docs = np.repeat(np.arange(len(lengths)), lengths)
    cells = sparse.coo_array((1.0 / lengths[docs], (docs, topics)), shape=(len(lengths), trained.trained.topics))
    shares = sparse.csr_array(cells)[:, : coefficients.n_topics]
    columns = [shares]
    if coefficients.n_topics < coefficients.n_slopes:
        if "covariates" not in constants:
            raise TraceError(
                "the trace does not hold the covariates, since they are too large; they are only in the corpus"
            )
        columns.append(sparse.csr_array(trained.trained.scaling.apply(constants["covariates"].values)))
    if coefficients.intercept:
        columns.append(sparse.csr_array(np.ones((len(lengths), 1))))
    return sparse.csr_array(sparse.hstack(columns))


def _prior_precision(trained: TrainedResponse, coefficients: CoefficientDraws, part: Part) -> FloatArray:
    """Return the prior precision of each coefficient in each draw, shape (M, responses, F)."""
    model = trained.trained.model
    prior = model.spec.blocks[model.names["eta"]]
    assert isinstance(prior, CoefficientPrior), "a response's coefficients are of this type"
    posterior = trained.trained.groups["posterior"]
    n_draws, n_responses = len(coefficients.draws), len(_members(coefficients, part))
    arrays: dict[str, NDArray[Any]] = {}
    for name in (*prior.auxiliaries(), *prior.numbers.values()):
        if name not in posterior:
            raise TraceError(f"the trace does not hold {name}; run the model with record {name}: all")
        drawn = part.of(posterior[name]).transpose("draw", ...).values
        if name in prior.numbers.values():
            # All responses have the same.
            arrays[name] = np.repeat(drawn, n_responses)
            continue
        shape = drawn.shape[1:] if part.response is not None else drawn.shape[2:]
        arrays[name] = drawn.reshape(n_draws * n_responses, *shape)
    # Each response in each draw takes the place of a response.
    sizes = Sizes(
        docs=0,
        words=0,
        topics=trained.trained.topics,
        tokens=0,
        responses=n_draws * n_responses,
        coefficients=len(coefficients.names),
        slopes=coefficients.n_slopes,
        supervised=coefficients.n_topics,
    )
    return prior.precision(_state(sizes, arrays)).reshape(n_draws, n_responses, -1)


def _state(sizes: Sizes, arrays: dict[str, NDArray[Any]]) -> ChainState:
    """Return a state without tokens that holds the parameters of the coefficients' prior."""
    ends = np.zeros(1, np.int64)
    tokens = Tokens(ends, np.zeros(0, np.uint32), ends, ends, lambda words, _: words, ends)
    nothing = np.zeros((0, sizes.topics), np.int32)
    return ChainState(tokens, sizes, np.zeros(0, np.uint8), nothing, np.zeros(sizes.topics, np.int64), arrays)
