"""Whether the variables of a stored trace have the dims that its model gives them.

Where each response has its own topics (one-vs-all), whatever belongs to topics has the dim ``response`` too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import xarray as xr

from ppl_topics.errors import PplTopicsError
from ppl_topics.results.response_topics import own_topics

__all__ = ["STATISTICS", "wrong_dims"]

OF_TOPICS = {
    "z_last": ("chain", "token"),
    "sweeps": ("chain",),
    "phi_mean": ("chain", "topic", "word"),
    "phi_mean_rest": ("chain", "topic"),
}
"""Variables of ``constant_data`` that there is one of for each set of topics."""

SHARE = ("chain", "draw", "topic")

STATISTICS = {"lp": ("chain", "draw"), "step_seconds": ("chain", "draw", "kernel")}
"""Variables of ``sample_stats`` that every trace of ours has; the others have the dims of one of these."""

SCALING = ("covariate_columns", "covariate_mean", "covariate_scale")


def wrong_dims(groups: Mapping[str, xr.Dataset]) -> str:
    """Say what is wrong with the dims of a trace; nothing where they are right.

    A variable that the model does not know is let be, and so are all that it draws where there is no model, or one of
    blocks that are not installed; and statistics that another library gave a name.
    """
    apart = bool(own_topics(groups))
    for name, group, variable, dims in _expected(groups):
        right, found = _split(dims) if apart else dims, group[variable].dims
        if found != right:
            return f"{name}/{variable} has the dims {found}, expected {right}"
    constants, posterior = groups.get("constant_data", xr.Dataset()), groups["posterior"]
    held = [name for name in SCALING if name in constants]
    if held and len(held) < len(SCALING):
        return f"constant_data lacks some of {', '.join(SCALING)}"
    if not apart:
        return ""
    named = [group for group in (constants, posterior) if "response" in group.dims]
    for group in named:
        # What is not named is numbered, and is not found by its name.
        if group["response"].dtype.kind not in "OU":
            return "the responses, each with its own topics, have no names"
    if any(group["response"].values.tolist() != named[0]["response"].values.tolist() for group in named):
        return "constant_data and posterior do not have the same responses"
    return ""


def _expected(groups: Mapping[str, xr.Dataset]) -> Iterator[tuple[str, xr.Dataset, str, tuple[str, ...]]]:
    """Yield the variables of which the dims are known, with those where all responses share the topics."""
    constants = groups.get("constant_data", xr.Dataset())
    for variable, dims in OF_TOPICS.items():
        if variable in constants:
            yield "constant_data", constants, variable, dims
    known = {"topic_share": SHARE, **_of_model(groups["posterior"])}
    for name in ("posterior", "warmup_posterior"):
        group = groups.get(name, xr.Dataset())
        for variable, dims in known.items():
            if variable in group:
                yield name, group, variable, dims
    for name in ("sample_stats", "warmup_sample_stats"):
        group = groups.get(name, xr.Dataset())
        ours = group.attrs.get("inference_library") == "ppl-topics"
        for variable in map(str, group.data_vars):
            like = "step_seconds" if "kernel" in group[variable].dims else "lp"
            if ours or variable in STATISTICS:
                yield name, group, variable, STATISTICS.get(variable, STATISTICS[like])


def _of_model(posterior: xr.Dataset) -> dict[str, tuple[str, ...]]:
    from ppl_topics.spec import Model, load_spec

    if "model_yaml" not in posterior.attrs:
        return {}
    try:
        model = Model.of(load_spec(posterior.attrs["model_yaml"]))
    except PplTopicsError:
        # Whoever needs the model says so.
        return {}
    return {name: ("chain", "draw", *variable.dims) for name, variable in model.variables.items()}


def _split(dims: tuple[str, ...]) -> tuple[str, ...]:
    """Return the dims where each response has its own chains."""
    rest = tuple(dim for dim in dims if dim not in ("chain", "draw", "response"))
    return (*(dim for dim in ("chain", "draw") if dim in dims), "response", *rest)
