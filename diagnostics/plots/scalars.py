"""The scalars that a plot of chains shows, each with a title; topics are named by their words if the chains agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.nearest import nearest
from ppl_topics.diagnostics.plots.canvas import MOST_PANELS, plain, sequence_of, topic_labels
from ppl_topics.errors import TraceError
from ppl_topics.results.best_words import best_words
from ppl_topics.results.documents import mean_phi, part_of, topic_numbers
from ppl_topics.results.mean_topics import has_mean_topics
from ppl_topics.results.response_topics import own_topics
from ppl_topics.spec.marginals import kind_of_dim

__all__ = ["Scalar", "scalars"]

TITLE_WORDS, COMPARED_WORDS = 4, 10

GROUPS = ("sample_stats", "posterior")


class Scalar(NamedTuple):
    """Draws (C, M) and warm-up (C, W; W = 0 if it was not recorded) of one scalar in C named chains."""

    title: str
    chains: list[str]
    draws: FloatArray
    warmup: FloatArray


def scalars(
    groups: Mapping[str, xr.Dataset],
    var_names: str | Sequence[str] | None,
    coords: Mapping[str, Any] | None,
    default: Sequence[str],
) -> list[Scalar]:
    """Return the scalars of variables of ``sample_stats`` or ``posterior`` at the given coordinates.

    Without ``var_names``, those of the ``default`` variables that exist and vary are taken; ``log_marginal`` is left
    out if it equals ``lp``.
    """
    wanted = {dim: sequence_of(values) for dim, values in (coords or {}).items()}
    if var_names is not None:
        found = [scalar for name in sequence_of(var_names) for scalar in _of_variable(groups, name, wanted)]
        if not found:
            raise TraceError("var_names: name at least one variable, with at least one coordinate in each dimension")
        return found
    found = []
    for name in default:
        if any(name in groups.get(group, xr.Dataset()) for group in GROUPS):
            found += [scalar for scalar in _of_variable(groups, name, wanted, skip=True) if _varies(scalar, found)]
    if not found:
        raise TraceError(f"the trace has no varying {' or '.join(default)}; name variables (var_names=)")
    return found


def _varies(scalar: Scalar, before: Sequence[Scalar]) -> bool:
    """Return True if the scalar varies and is not equal to one shown before."""
    values = np.hstack([scalar.warmup, scalar.draws])
    if not np.isfinite(values).any():
        return False
    # A single draw cannot vary, but is shown.
    constant = values.size > len(values) and np.nanmin(values) == np.nanmax(values)
    return not constant and not any(np.array_equal(scalar.draws, other.draws, equal_nan=True) for other in before)


def _of_variable(
    groups: Mapping[str, xr.Dataset], name: str, wanted: Mapping[str, Sequence[Any]], skip: bool = False
) -> Iterator[Scalar]:
    """Yield the scalars of a variable; ``skip`` ignores coordinates of dimensions that it does not have."""
    group = next((group for group in GROUPS if name in groups.get(group, xr.Dataset())), None)
    if group is None:
        known = [str(each) for group in GROUPS for each in groups.get(group, xr.Dataset()).data_vars]
        raise TraceError(f"the trace has no variable {name!r}{nearest(str(name), known)}")
    array = groups[group][name]
    if not {"chain", "draw"} <= set(array.dims) or array.dtype.kind not in "biuf":
        raise TraceError(
            f"{name!r} holds {array.dtype} with dimensions {array.dims}; expected numbers by chain and draw"
        )
    if not array.sizes["draw"]:
        raise TraceError("the trace has no draws")
    warmup = _of_the_same_steps(groups.get(f"warmup_{group}", xr.Dataset()).get(name), array)
    for dim, values in wanted.items():
        if dim not in array.dims and not skip:
            raise TraceError(f"coords: {name!r} has no dimension {dim!r}; it has {', '.join(map(str, array.dims))}")
        if dim in array.dims:
            array = _selected(array, name, dim, values)
            warmup = None if warmup is None else _selected(warmup, name, dim, values)
    others = [str(dim) for dim in array.dims if dim not in ("chain", "draw")]
    number = math.prod(array.sizes[dim] for dim in others)
    if number > MOST_PANELS:
        raise TraceError(f"{name!r} has {number:,} scalars, too many for one figure; name some of them (coords=)")
    chains = array["chain"].values.tolist()
    label = _labels(groups, chains) if {"topic", "coefficient"} & set(map(kind_of_dim, others)) else str
    array = array.transpose("chain", "draw", *others)
    early = None if warmup is None or set(warmup.dims) != set(array.dims) else warmup.transpose(*array.dims)
    values = [array[dim].values.tolist() for dim in others]
    for place in np.ndindex(*array.shape[2:]):
        parts = [_coordinate(dim, each[i], label) for dim, each, i in zip(others, values, place, strict=True)]
        draws = np.asarray(array.values[:, :, *place], dtype=np.float64)
        before = np.zeros((len(draws), 0))
        if early is not None:
            before = np.asarray(early.values[:, :, *place], dtype=np.float64)
        yield Scalar(", ".join([plain(name), *parts]), [f"chain {chain}" for chain in chains], draws, before)


def _of_the_same_steps(warmup: xr.DataArray | None, array: xr.DataArray) -> xr.DataArray | None:
    """Return the warm-up of the steps that the draws have, NaN where it did not run them."""
    if warmup is None or "kernel" not in warmup.dims or "kernel" not in array.dims:
        return warmup
    steps, before = array["kernel"].values.tolist(), warmup["kernel"].values.tolist()
    if steps == before:
        return warmup
    return warmup.reindex(kernel=steps) if len(set(before)) == len(before) else None


def _selected(array: xr.DataArray, name: str, dim: str, values: Sequence[Any]) -> xr.DataArray:
    """Return the part of an array at some coordinates, and refuse those that it does not have."""
    held = array[dim].values.tolist()
    for value in values:
        if value not in held:
            hint = nearest(str(value), map(str, held)) if len(held) <= 10_000 else ""
            raise TraceError(f"coords: {name!r} has no {dim} {value!r}{hint}")
    return array.isel({dim: [held.index(value) for value in values]})


def _coordinate(dim: str, value: Any, label: Callable[[str], str]) -> str:
    """Return the part of a title that names a coordinate."""
    if dim == "topic":
        return label(f"topic {value}")
    kind = kind_of_dim(dim)
    if kind == "coefficient":
        return label(str(value))
    return plain(str(value) if kind in ("word", "kernel", "response") else f"{dim} {value}")


def _labels(groups: Mapping[str, xr.Dataset], chains: Sequence[int]) -> Callable[[str], str]:
    """Return a function from ``topic k`` to its label, with words if the topic has similar words in all chains."""
    constants = groups.get("constant_data", xr.Dataset())
    if not has_mean_topics(groups) or own_topics(groups) or not set(chains) <= set(constants["chain"].values.tolist()):
        return plain
    parts = [part_of(groups, chain) for chain in chains]
    phi = np.stack([mean_phi(groups, part) for part in parts], axis=1)
    # Fewer for a small vocabulary, of which any two topics share half.
    compared = int(np.clip(phi.shape[2] // 3, 1, COMPARED_WORDS))
    best = best_words(phi, compared, zeros=True)
    agree = [min(len(np.intersect1d(of[0], other)) for other in of) >= best.shape[2] / 2 for of in best]
    words = topic_labels(groups, parts[0], TITLE_WORDS)
    known = {
        f"topic {number}": words(number) if same else f"topic {number} (different in each chain)"
        for number, same in zip(topic_numbers(groups), agree, strict=True)
    }
    return lambda name: known.get(name, plain(name))
