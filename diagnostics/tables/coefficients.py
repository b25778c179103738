"""The coefficients of a supervised model as a table, with effective sample sizes."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import xarray as xr

from ppl_topics.diagnostics.efficiency import all_statistics
from ppl_topics.results.coefficient_draws import coefficient_draws
from ppl_topics.results.coefficient_summary import coefficient_summary

__all__ = ["coefficient_table"]


def coefficient_table(
    groups: Mapping[str, xr.Dataset],
    response: str | None = None,
    *,
    chain: int = 0,
    probability: float = 0.9,
    top: int | None = None,
    n_words: int = 10,
) -> pd.DataFrame:
    """Summarise the coefficients of each response, the largest first and the intercept last.

    Those of standardised targets are in standard deviations of the target.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    response : str, optional
        A class, label or target; by default all.
    chain : int
        Whose topics. Chains number their topics independently, so the coefficients of topics, and with them the
        intercept, are of one chain; those of covariates are of all chains, and so is the intercept where no topic has a
        coefficient (``supervised_topics: 0``).
    probability : float
        Probability of the equal-tailed intervals.
    top : int, optional
        Number of coefficients of each response, the largest by abs(mean), besides the intercept; by default all.
    n_words : int
        Most probable words of each topic.

    Returns
    -------
    pandas.DataFrame
        A row for each response and coefficient, with the columns ``response``, ``coefficient``, ``topic`` (its number;
        missing for covariates and the intercept), ``mean``, ``sd``, ``low`` and ``high`` (the ends of the interval),
        ``excludes_0``, ``ess`` (bulk effective sample size), ``rhat`` (of the halves of its chain, or of all),
        ``share`` (of the tokens, of the topic) and ``words``. With one draw, the interval and the standard deviation
        are NaN; with fewer than four, the effective sample size is NaN. ``attrs`` holds ``chain`` and ``probability``.

    Raises
    ------
    TraceError
        If the model has no response, its coefficients were not recorded, or there is no such response or chain.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
    >>> corpus = pt.Corpus.from_texts(texts, labels=["sport", "sport", "politics", "politics"] * 5)
    >>> fit = pt.sample("medlda", corpus, topics=2, draws=20, warmup=30, chains=1, seed=1, progress=False)
    >>> table = fit.coefficients("sport", n_words=2)
    >>> sorted(zip(table["mean"] > 0, table["words"]))
    [(False, 'vote law'), (True, 'goal match')]
    """
    coefficients = coefficient_draws(groups, chain)
    table = coefficient_summary(
        groups, coefficients, response=response, probability=probability, top=top, n_words=n_words
    )
    efficiency = all_statistics(coefficients.draws[None], ["ess_bulk", "rhat"])
    for name, of_all in all_statistics(coefficients.of_all, ["ess_bulk", "rhat"]).items():
        efficiency[name][:, coefficients.common] = of_all
    cells = (
        [coefficients.responses.index(name) for name in table["response"]],
        [coefficients.names.index(name) for name in table["coefficient"]],
    )
    place = list(table.columns).index("share")
    table.insert(place, "ess", efficiency["ess_bulk"][cells])
    table.insert(place + 1, "rhat", efficiency["rhat"][cells])
    return table
