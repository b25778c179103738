"""How much there is of each topic in groups of the training documents, whatever the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy import sparse

from ppl_topics._util.argument_names import recording
from ppl_topics._util.arrays import FloatArray
from ppl_topics.errors import TraceError
from ppl_topics.results.document_groups import document_groups
from ppl_topics.results.documents import document_topics, name_of, recorded, topic_numbers
from ppl_topics.results.response_topics import chosen_response

__all__ = ["OverEstimate", "prevalence_over"]

OverEstimate: TypeAlias = Literal["draws", "z_last"]

BYTES = 2**26
"""Of draws of theta that are read at a time."""

MOST_GROUPS = 500

OWN_DIMS = {"chain", "draw", "topic", "documents"}


def prevalence_over(
    groups: Mapping[str, xr.Dataset],
    by: str | npt.ArrayLike,
    *,
    bins: int | Sequence[float] | None = None,
    response: str | None = None,
    estimate: OverEstimate = "draws",
) -> xr.DataArray:
    """Return draws of the mean share of each topic in groups of the training documents, for any model.

    In each draw the share of topic k in a group is the mean of theta_dk over its documents. So each document counts
    the same, as in `prevalence`; shares of the group's tokens would be those of its longest documents. Documents
    without tokens are left out. Differences between groups, draw by draw, are draws of the contrast.

    This describes the documents that were seen, after the fit; `prevalence` is the effect of a covariate in a model
    whose topics depend on it. There all documents are given a value and keep their other covariates; here groups
    differ in everything that they differ in. And here intervals are about the topics of these documents, not about
    others like them: the more tokens the group has, the narrower they are, even if its documents differ a lot. Shares
    of short documents are drawn towards the concentrations of the model, and with them differences between groups
    towards 0, unless the topics of the model depend on the covariate.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    by : str or array_like, shape (D,)
        A covariate of the corpus by its name, ``labels``, one of several responses by its name, or a value for each
        training document, in the order of the corpus. Numbers, such as years, are groups in increasing order, text
        and pandas categories are groups in the order of the categories; a document of several labels is in several.
        Missing values are in no group.
    bins : int or sequence of float, optional
        Of numbers: so many groups of about equally many documents, or the ends of intervals, the lower of which is in
        each, and the upper in the last. A group's value is then the mean of its documents'.
    response : str, optional
        Whose topics; required if each response has its own topics (one-vs-all), and not allowed otherwise.
    estimate : {"draws", "z_last"}
        ``draws`` needs draws of theta of all documents: of corpora of more than 1,000, record them with
        ``record={"theta": "all"}``. ``z_last`` is the mean of E[theta_d | z, alpha] at the last state of each chain,
        which every trace holds: one number, without an interval.

    Returns
    -------
    xarray.DataArray
        Of float64, with the dims (chain, draw, the name of `by` or ``group``, topic), without ``draw`` for ``z_last``;
        the shares of all topics sum to 1. The coordinate ``documents`` is the number of documents of each group. Each
        chain numbers its topics in its own way.

    Raises
    ------
    TraceError
        If the trace holds nothing of this name, the values are not one for each document, there are more than 500
        groups, or theta was not recorded for all documents.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> texts = ["goal match goal team", "vote law vote"] * 10
    >>> corpus = pt.Corpus.from_texts(texts, labels=["sport", "politics"] * 10)
    >>> fit = pt.sample("lda", corpus, topics=2, draws=50, warmup=50, chains=1, seed=1, progress=False)
    >>> shares = fit.prevalence_over("labels")
    >>> shares.dims
    ('chain', 'draw', 'labels', 'topic')
    >>> difference = shares.sel(labels="sport") - shares.sel(labels="politics")
    >>> bool((difference.quantile(0.05, "draw") > 0).any())
    True
    """
    if not isinstance(estimate, str) or estimate not in get_args(OverEstimate):
        raise TraceError(f"estimate: expected draws or z_last, got {str(estimate)[:40]!r}")
    made = document_groups(groups, by, bins)
    if len(made.values) > MOST_GROUPS:
        advice = "join some with bins=" if made.ordered else "join some"
        raise TraceError(f"{made.name!r}: there are {len(made.values):,} groups, more than {MOST_GROUPS}; {advice}")
    response = chosen_response(groups, response)
    theta = None if estimate == "z_last" else _draws(groups, made.member.shape[1])
    chains, numbers = groups["posterior"]["chain"].values, topic_numbers(groups)
    weights = sparse.diags_array(1.0 / made.documents) @ made.member
    if theta is None:
        means = [weights @ document_topics(groups, chain, response, "z_last").theta for chain in chains.tolist()]
        shares = np.stack(means)
    else:
        theta = theta if response is None else theta.sel(response=response)
        shares = np.empty((len(chains), theta.sizes["draw"], len(made.values), len(numbers)))
        for place, chain in enumerate(chains.tolist()):
            for draw, values in enumerate(_each(theta.sel(chain=chain))):
                shares[place, draw] = weights @ values
    # Rounding of draws, which are float32.
    shares /= shares.sum(axis=-1, keepdims=True)
    dim = f"{made.name}_" if made.name in OWN_DIMS else made.name
    coords: dict[str, Any] = {"chain": chains, dim: made.values, "topic": numbers, "documents": (dim, made.documents)}
    if theta is None:
        return xr.DataArray(shares, coords, ("chain", dim, "topic"), name="prevalence_over")
    coords["draw"] = theta["draw"].values
    return xr.DataArray(shares, coords, ("chain", "draw", dim, "topic"), name="prevalence_over")


def _draws(groups: Mapping[str, xr.Dataset], n_docs: int) -> xr.DataArray:
    """Return the draws of theta, and refuse those of some documents only."""
    theta, name = recorded(groups, "theta"), name_of(groups, "theta")
    if theta is not None and theta.sizes["doc"] == n_docs and theta.sizes["draw"]:
        return theta
    held = 0 if theta is None or not theta.sizes["draw"] else theta.sizes["doc"]
    raise TraceError(
        f"the trace holds draws of {name} of {held:,} of {n_docs:,} documents; run the model with "
        f"{recording({name: 'all'})}, or take estimate='z_last', the last state, without intervals"
    )


def _each(theta: xr.DataArray) -> Iterator[FloatArray]:
    """Yield the draws of one chain, shape (D, K); few are in memory at a time."""
    ordered = theta.transpose("draw", "doc", "topic")
    at_once = max(1, BYTES // max(1, 8 * int(np.prod(ordered.shape[1:]))))
    for first in range(0, len(ordered), at_once):
        yield from ordered.isel(draw=slice(first, first + at_once)).values.astype(np.float64)
