"""Whether the variables of a stored trace have the dims that its model gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import xarray as xr

from ppl_topics.errors import PplTopicsError
from ppl_topics.results.response_topics import own_topics

__all__ = ["CONSTANT_DIMS", "STATISTICS", "dims_problems"]

CONSTANT_DIMS: dict[str, tuple[str, ...]] = {
    "doc_length": ("doc",),
    "word_count": ("word",),
    "z_last": ("chain", "token"),
    "sweeps": ("chain",),
    "phi_mean": ("chain", "topic", "word"),
    "phi_mean_rest": ("chain", "topic"),
    "phi_mean_value": ("cell",),
    "phi_mean_topic": ("cell",),
    "phi_mean_word": ("cell",),
    "phi_mean_chain": ("cell",),
    "alpha": ("topic",),
    "beta": ("word",),
    "covariates": ("doc", "covariate"),
    "covariate_columns": (),
    "covariate_mean": ("covariate",),
    "covariate_scale": ("covariate",),
    "covariate_formula": (),
    "feature_mean": ("feature",),
    "feature_scale": ("feature",),
    "target_mean": ("response",),
    "target_scale": ("response",),
}
"""Dims of the variables of ``constant_data``."""

STATISTICS = {"lp": ("chain", "draw"), "step_seconds": ("chain", "draw", "kernel")}
"""Variables of ``sample_stats`` that every trace of ours has; the others have the dims of one of these."""


def dims_problems(groups: Mapping[str, xr.Dataset]) -> Iterator[str]:
    """Yield what is wrong with the dims of the variables of a trace.

    Not checked are variables that the model does not know, all variables of the posterior where there is no model or
    one of blocks that are not installed, and statistics that another library named. Where each response has its own
    topics (one-vs-all), whatever belongs to a chain has the dim ``response`` too.
    """
    apart = bool(own_topics(groups))
    for name, variable, dims in _expected(groups):
        expected, found = _with_response(dims) if apart else dims, groups[name][variable].dims
        if found != expected:
            yield f"{name}/{variable} has the dims {found}, expected {expected}"
    if apart:
        named = [groups[name] for name in ("constant_data", "posterior") if "response" in groups[name].dims]
        # Responses without names are numbered, and nothing finds them by name.
        if any(group["response"].dtype.kind not in "OU" for group in named):
            yield "the responses, each with its own topics, have no names"
        if any(group["response"].values.tolist() != named[0]["response"].values.tolist() for group in named):
            yield "constant_data and posterior do not have the same responses"


def _expected(groups: Mapping[str, xr.Dataset]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield group, name and dims of the variables with known dims, as they are if all responses share the topics."""
    draws = {"topic_share": ("chain", "draw", "topic"), **_of_model(groups["posterior"])}
    for name, known in (("constant_data", CONSTANT_DIMS), ("posterior", draws), ("warmup_posterior", draws)):
        yield from ((name, variable, dims) for variable, dims in known.items() if variable in groups.get(name, ()))
    for name in ("sample_stats", "warmup_sample_stats"):
        group = groups.get(name, xr.Dataset())
        ours = group.attrs.get("inference_library") == "ppl-topics"
        for variable in map(str, group.data_vars):
            like = "step_seconds" if "kernel" in group[variable].dims else "lp"
            if ours or variable in STATISTICS:
                yield name, variable, STATISTICS.get(variable, STATISTICS[like])


def _of_model(posterior: xr.Dataset) -> dict[str, tuple[str, ...]]:
    from ppl_topics.spec import Model, load_spec

    if "model_yaml" not in posterior.attrs:
        return {}
    try:
        model = Model.of(load_spec(posterior.attrs["model_yaml"]))
    except PplTopicsError:
        # Whoever needs the model raises this error.
        return {}
    return {name: ("chain", "draw", *variable.dims) for name, variable in model.variables.items()}


def _with_response(dims: tuple[str, ...]) -> tuple[str, ...]:
    """Return the dims of a variable if each response has its own chains."""
    if "chain" not in dims:
        return dims
    rest = tuple(dim for dim in dims if dim not in ("chain", "draw", "response"))
    return (*(dim for dim in ("chain", "draw") if dim in dims), "response", *rest)
