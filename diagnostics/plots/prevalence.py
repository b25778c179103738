"""Shares of topics at values of a covariate, in a model whose topics depend on it, and in groups of documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from ppl_topics.diagnostics.plots.canvas import groups_of
from ppl_topics.diagnostics.plots.shares import draw_shares
from ppl_topics.diagnostics.tables.prevalence_over import OverEstimate, prevalence_over
from ppl_topics.prediction.prevalence import prevalence
from ppl_topics.results.documents import part_of

__all__ = ["plot_prevalence", "plot_prevalence_over"]


def plot_prevalence(
    groups: Any,
    covariate: str,
    topics: int | Sequence[int] | None = None,
    *,
    values: Sequence[Any] | None = None,
    chain: int = 0,
    probability: float = 0.9,
    top: int = 5,
    n_words: int = 4,
    ax: Any = None,
) -> Any:
    """Plot the expected shares of topics at values of a covariate, with intervals; see `prevalence`.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace of a model whose topics depend on covariates.
    covariate : str
    topics : int or sequence of int, optional
        Which topics; by default those whose shares change most.
    values : sequence, optional
        As for `prevalence`.
    chain : int
        Whose topics.
    probability : float
        Probability of the equal-tailed intervals.
    top : int
        Number of topics, if none are named.
    n_words : int
        Words in a topic's label.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TraceError
        If no topic depends on the covariate, or there is no such topic or chain.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    part = part_of(groups, chain)
    shares = prevalence(groups, covariate, values).sel(chain=part.chain)
    return draw_shares(
        groups,
        part,
        shares,
        topics,
        meaning="expected share",
        probability=probability,
        top=top,
        n_words=n_words,
        ax=ax,
    )


def plot_prevalence_over(
    groups: Any,
    by: str | npt.ArrayLike,
    topics: int | Sequence[int] | None = None,
    *,
    bins: int | Sequence[float] | None = None,
    response: str | None = None,
    estimate: OverEstimate = "draws",
    chain: int = 0,
    probability: float = 0.9,
    top: int = 5,
    n_words: int = 4,
    ax: Any = None,
) -> Any:
    """Plot the mean shares of topics in groups of the training documents, for any model; see `prevalence_over`.

    Numbers have lines with bands, categories points with intervals.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    by : str or array_like, shape (D,)
        A covariate, labels or a value for each document, as for `prevalence_over`; so are `bins`, `response` and
        `estimate`.
    topics : int or sequence of int, optional
        Which topics; by default those whose shares change most.
    bins : int or sequence of float, optional
    response : str, optional
    estimate : {"draws", "z_last"}
        The last state has no intervals.
    chain : int
        Whose topics.
    probability : float
        Probability of the equal-tailed intervals.
    top : int
        Number of topics, if none are named.
    n_words : int
        Words in a topic's label.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TraceError
        As `prevalence_over`, or if there is no such topic or chain.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    part = part_of(groups, chain, response)
    shares = prevalence_over(groups, by, bins=bins, response=response, estimate=estimate).sel(chain=part.chain)
    return draw_shares(
        groups,
        part,
        shares,
        topics,
        meaning="mean share" if estimate == "draws" else "mean share, last state",
        probability=probability,
        top=top,
        n_words=n_words,
        ax=ax,
    )
