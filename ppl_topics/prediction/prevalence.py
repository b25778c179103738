"""How much documents are about each topic at values of a covariate, where the topics depend on covariates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import softmax

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.nearest import nearest
from ppl_topics.core.alpha import LogLinear
from ppl_topics.corpus.covariates import CovariateColumn, Covariates
from ppl_topics.engine.encode_observed import design_of
from ppl_topics.errors import TraceError
from ppl_topics.prediction.trained import TrainedTopics
from ppl_topics.prediction.training import training_covariates
from ppl_topics.results.groups import Groups

__all__ = ["prevalence"]

VALUES = 9
"""Values of a number that are looked at, from the smallest to the largest of training; all, if there are no more."""


def prevalence(groups: Groups, covariate: str, values: Sequence[Any] | None = None) -> xr.DataArray:
    """Return draws of the expected share of each topic in documents with given values of a covariate.

    In each draw the share of topic k in a document with covariates x is the mean of theta under the prior,
    ``exp(x . gamma_k) / sum_j exp(x . gamma_j)``. It is averaged over the training documents, all of which are given
    the value and keep their other covariates. So the difference between two values is what the covariate makes in the
    same documents; its draws are those of the posterior.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace, of a model whose topics depend on covariates, such as ``dmr``.
    covariate : str
        A column of the covariates, as the corpus names it.
    values : sequence, optional
        Numbers, or categories. By default all categories; of numbers all, or 9 from the smallest to the
        largest.

    Returns
    -------
    xarray.DataArray
        Of float64, with the dims (chain, draw, the covariate, topic); the shares of all topics sum to 1. Each chain
        numbers its topics in its own way.

    Raises
    ------
    TraceError
        If no topic depends on the covariate, a value is none of its categories, or the trace lacks what is needed.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> texts = ["goal match goal team", "vote law vote"] * 10
    >>> corpus = pt.Corpus.from_texts(texts, covariates=[{"page": "sport"}, {"page": "politics"}] * 10)
    >>> fit = pt.sample("dmr", corpus, topics=2, draws=50, warmup=50, chains=1, seed=1, progress=False)
    >>> shares = fit.prevalence("page")
    >>> shares.dims
    ('chain', 'draw', 'page', 'topic')
    >>> difference = shares.sel(page="sport") - shares.sel(page="politics")
    >>> bool(abs(difference.mean("draw")).max() > 0.5)
    True
    """
    trained = TrainedTopics(groups)
    if not trained.depends_on_covariates:
        raise TraceError(
            f"the topics of model {trained.model.spec.name!r} do not depend on covariates; run one whose topics do, "
            "such as dmr"
        )
    if trained.apart:
        raise TraceError("each response has its own topics, so there are no shares of common ones")
    names = [column.name for column in trained.covariates]
    formula = trained.scaling.formula
    known = names if formula is None else [name for name in names if name in formula.covariates]
    if covariate not in known:
        raise TraceError(f"{covariate!r} is no covariate of the model{nearest(str(covariate), known)}")
    found = training_covariates(trained, trained.covariates)
    assert found is not None, "topics that depend on no covariate"
    place = names.index(covariate)
    first = sum(len(column.names) for column in trained.covariates[:place])
    column, matrix = trained.covariates[place], found.toarray().copy()
    chosen = _values(column, matrix[:, first], values)
    coefficients = groups["posterior"][trained.model.names["alpha"]].transpose("chain", "draw", "topic", "prevalence")
    shares = np.empty((*coefficients.shape[:2], len(chosen), trained.topics))
    for number, value in enumerate(chosen):
        matrix[:, first : first + len(column.names)] = _encoded(column, value)
        design = design_of(len(matrix), Covariates(matrix, trained.covariates), trained.scaling, intercept=True)
        features = LogLinear.on("", design)
        of_row = np.bincount(features.row) / len(matrix)
        for chain, draw in np.ndindex(shares.shape[:2]):
            # In logarithms: far from the data, concentrations overflow.
            log_rows = np.einsum("rp,kp->rk", features.features, coefficients.values[chain, draw])
            shares[chain, draw, number] = of_row @ softmax(log_rows, axis=1)
    dim = f"{covariate}_" if covariate in coefficients.dims else covariate
    coords = {name: coefficients[name].values for name in ("chain", "draw", "topic")} | {dim: chosen}
    return xr.DataArray(shares, coords, ("chain", "draw", dim, "topic"), name="prevalence")


def _values(column: CovariateColumn, present: FloatArray, values: Sequence[Any] | None) -> list[Any]:
    """Return the values that are asked for, having checked them, or those that are looked at by default."""
    if values is not None and (isinstance(values, str) or not len(values)):
        raise TraceError(f"{argument('values')}: expected a list of values of {column.name!r}, got {values!r}")
    if column.levels is None:
        if values is None:
            distinct = np.unique(present)
            if len(distinct) > VALUES:
                distinct = np.unique(np.linspace(present.min(), present.max(), VALUES))
            return [float(value) for value in distinct]
        try:
            numbers = [float(value) for value in values]
        except (TypeError, ValueError):
            raise TraceError(f"values: {column.name!r} has numbers, got {values!r}") from None
        if not np.isfinite(numbers).all():
            raise TraceError(f"values: {column.name!r} has finite numbers, got {values!r}")
        return numbers
    chosen = list(column.levels) if values is None else [str(value) for value in values]
    unknown = next((value for value in chosen if value not in column.levels), None)
    if unknown is not None:
        raise TraceError(f"values: {unknown!r} is no category of {column.name!r}{nearest(unknown, column.levels)}")
    return chosen


def _encoded(column: CovariateColumn, value: Any) -> list[float]:
    """Return the columns of the matrix that a value becomes."""
    if column.levels is None:
        return [value]
    return [float(level == value) for level in column.levels if level != column.reference]
