"""What a run reports about itself: efficiency of every variable, and the time of each kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from ppl_topics._util.nearest import nearest
from ppl_topics.diagnostics.alignment import Alignment, align, aligned
from ppl_topics.diagnostics.alignment.renumber import OF_TOPICS
from ppl_topics.diagnostics.draws import check_sampled, holds_draws
from ppl_topics.diagnostics.efficiency import efficiency_table
from ppl_topics.diagnostics.tables import reading_summary
from ppl_topics.errors import TraceError
from ppl_topics.spec.marginals import kind_of_dim

__all__ = ["efficiency", "seconds_by_kernel", "summary"]

LOG_DENSITIES = ("lp", "log_marginal")


def efficiency(
    groups: Mapping[str, xr.Dataset], var_names: Sequence[str] | None = None, *, alignment: Alignment | None = None
) -> pd.DataFrame:
    """Summarise how well each variable of a trace, and its log posterior, were sampled.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    var_names : sequence of str, optional
        The variables to show; by default all of the posterior, with ``lp`` and ``log_marginal``.
    alignment : Alignment, optional
        From :func:`ppl_topics.diagnostics.alignment.align`, as a verdict has it; by default it is computed.

    Returns
    -------
    pandas.DataFrame
        A row for each variable; the columns are those of
        :func:`ppl_topics.diagnostics.efficiency.efficiency_table`. ``attrs`` holds ``aligned_to_chain``, the chain
        whose topic numbers are used, or None.

    Raises
    ------
    TraceError
        If a variable does not exist, or does not hold draws of numbers.

    Notes
    -----
    Chains number their topics independently, so variables of topics are aligned first, as for the verdict. If that is
    not possible, or no variable is of topics, ``aligned_to_chain`` is None; R-hat of variables of topics then compares
    different topics, and is large however well each chain mixes. For the topics as each chain numbers them, see
    :func:`ppl_topics.diagnostics.efficiency.efficiency_table`.
    """
    posterior = check_sampled(groups, empty=True)
    statistics = groups.get("sample_stats", xr.Dataset())
    densities = [name for name in LOG_DENSITIES if name in statistics]
    draws = posterior.assign({name: statistics[name] for name in densities})
    for name in var_names or ():
        if name not in draws.data_vars:
            raise TraceError(f"the trace has no variable {name!r}{nearest(name, map(str, draws.data_vars))}")
    names = var_names or [*densities, *(str(name) for name in posterior.data_vars)]
    for name in names:
        if not holds_draws(draws[name]):
            raise TraceError(
                f"variable {name!r} of the trace holds {draws[name].dtype} with dimensions {draws[name].dims}; "
                "expected numbers with the dimensions chain and draw"
            )
    alike = _numbered_alike(groups, names, alignment)
    table = efficiency_table(draws.assign(alike.data_vars), names)
    table.attrs = {"aligned_to_chain": alike.attrs.get("aligned_to_chain")}
    return table


def _numbered_alike(groups: Mapping[str, xr.Dataset], names: Sequence[str], alignment: Alignment | None) -> xr.Dataset:
    """Return variables of the posterior, those of topics with the numbers of one chain if topics can be aligned."""
    posterior = groups["posterior"]
    # By topic_share alignment tells which topics there are.
    held = posterior[[name for name in posterior.data_vars if name in {*names, "topic_share"}]]
    held = held.assign_attrs(posterior.attrs)
    of_topics = any(OF_TOPICS & set(map(kind_of_dim, held[name].dims)) for name in names if name in held)
    if not of_topics or "aligned_to_chain" in posterior.attrs:
        return held
    try:
        return aligned({"posterior": held}, align(groups) if alignment is None else alignment)["posterior"]
    except TraceError:
        return held


def seconds_by_kernel(groups: Mapping[str, xr.Dataset]) -> dict[str, float]:
    """Return the mean seconds per sweep of each step of the schedule, by ``variable:kernel``.

    If each response has its own topics, a sweep is that of all responses. Steps with the same name are added up.
    """
    statistics = groups.get("sample_stats", xr.Dataset())
    named = "step_seconds" in statistics and "kernel" in statistics["step_seconds"].indexes
    if not named or not statistics.sizes.get("draw", 0):
        return {}
    mean = statistics["step_seconds"].mean(("chain", "draw"))
    mean = mean.sum([dim for dim in mean.dims if dim != "kernel"])
    result: dict[str, float] = {}
    for kernel, seconds in zip(mean["kernel"].values.tolist(), mean.values.tolist(), strict=True):
        result[str(kernel)] = result.get(str(kernel), 0.0) + seconds
    return result


def summary(groups: Mapping[str, xr.Dataset]) -> dict[str, Any]:
    """Return the model, the corpus, the options and the results of a run as plain data; see also `reading_summary`."""
    posterior = groups["posterior"]
    attributes = posterior.attrs
    constants = groups.get("constant_data", xr.Dataset())
    statistics = groups.get("sample_stats", xr.Dataset())
    result: dict[str, Any] = {
        "model": attributes.get("model_name", ""),
        "corpus": attributes.get("corpus_name", ""),
        "documents": constants.sizes.get("doc"),
        "tokens": int(constants["doc_length"].sum()) if "doc_length" in constants else None,
        "words": constants.sizes.get("word"),
        "empty_documents": _whole(attributes, "empty_documents"),
        "dropped_tokens": _whole(attributes, "dropped_tokens"),
        "chains": posterior.sizes["chain"],
        "draws": posterior.sizes["draw"],
        "warmup": _whole(attributes, "warmup"),
        "thin": _whole(attributes, "thin"),
        "seed": _whole(attributes, "seed"),
        "exact": bool(attributes["exact"]) if "exact" in attributes else None,
        "warmup_inexact": str(attributes.get("warmup_inexact", "")),
        "stopped": bool(attributes["stopped"]) if "stopped" in attributes else None,
    }
    if "lp" in statistics:
        result["log_posterior"] = statistics["lp"].mean("draw").values.tolist()
    return {**result, **reading_summary(groups)}


def _whole(attributes: Mapping[str, Any], name: str) -> int | None:
    return int(attributes[name]) if name in attributes else None
