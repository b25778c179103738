"""The groups of a trace with all chains' topics under the numbers of one chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import IntArray
from ppl_topics.diagnostics.alignment.align import Alignment, align, chain_topics, stretches_of
from ppl_topics.diagnostics.alignment.label_switching import base_numbers
from ppl_topics.diagnostics.alignment.topics import chains_of
from ppl_topics.errors import TraceError
from ppl_topics.results.documents import checked_topics
from ppl_topics.results.groups import GROUPS
from ppl_topics.results.mean_topics import CHAIN, TOPIC
from ppl_topics.spec.marginals import kind_of_dim

__all__ = ["aligned"]

OF_TOPICS = {"topic", "coefficient", "slope"}
"""Dims with entries that are of topics."""

Pieces: TypeAlias = list[tuple[int, int, IntArray]]
"""Runs of draws, first and end (-1 for all), and the number that each topic has in them."""

Lookups: TypeAlias = Mapping[tuple[int, ...], Pieces]
"""Those of each chain and response, by position."""


def aligned(groups: Mapping[str, xr.Dataset], alignment: Alignment | None = None) -> dict[str, xr.Dataset]:
    """Renumber the topics of all chains like those of one chain, and undo label switching within chains.

    Every variable with the dimensions ``topic`` and ``chain`` is renumbered, and so are coefficients and slopes named
    "topic k" and the values of ``z`` and ``z_last``. The topics of the reference chain keep their numbers. Means over
    chains, R-hat and ArviZ's functions then compare the same topics.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    alignment : Alignment, optional
        From `align`; by default it is computed with its defaults.

    Returns
    -------
    dict of str to xarray.Dataset
        The same groups, with the reference chain in the attribute ``aligned_to_chain``. Unchanged arrays are shared
        with ``groups``, not copied.

    Raises
    ------
    TraceError
        If the topics cannot be aligned, or the alignment belongs to another trace.

    Notes
    -----
    For topics that switch within a chain, ``phi_mean`` is the mean of the recorded draws; words without recorded draws
    keep the mean of the number that the topic had in most draws. Warm-up draws are renumbered like the first draw.
    """
    if alignment is None:
        alignment = align(groups)
    topics = alignment.permutation.shape[-1]
    if alignment.chains != chains_of(groups) or topics != len(alignment.exchangeable):
        raise TraceError("the alignment belongs to another trace: its chains or topics differ")
    permutation, apart = alignment.by_response(alignment.permutation), alignment.responses is not None
    draws = groups["posterior"]["draw"].values
    switched = stretches_of(groups, alignment.switches, topics)
    own: dict[tuple[int, ...], Pieces] = {}
    for place in np.ndindex(*permutation.shape[:2]):
        chosen = permutation[place]
        pieces = [(0, len(draws), chosen)]
        if place in switched:
            # For each of the chain's own numbers, the topic's number in the first draw.
            topic = np.argsort(base_numbers(switched[place]))[chosen]
            pieces = [(start, stop, numbers[topic]) for start, stop, numbers in switched[place]]
        own[place] = pieces
    first: Lookups = {place: [(0, -1, pieces[0][2])] for place, pieces in own.items()}
    last: Lookups = {place: [(0, -1, pieces[-1][2])] for place, pieces in own.items()}
    whole: Lookups = {place: [(0, -1, permutation[place])] for place in own}
    by_group = {"posterior": own, "sample_stats": own, "constant_data": whole}
    result = {}
    for name, dataset in groups.items():
        if name not in GROUPS:
            # A group of another program may have other chains and draws.
            result[name] = dataset
            continue
        changed = {
            str(key): _renumbered(array, by_group.get(name, first), topics, apart)
            for key, array in dataset.data_vars.items()
            if "chain" in array.dims and OF_TOPICS & set(map(kind_of_dim, array.dims))
        }
        for key, array in dataset.data_vars.items():
            if {"chain", "token"} <= set(array.dims) and array.dtype.kind in "iu":
                changed[str(key)] = _reassigned(array, own if "draw" in array.dims else last, topics, apart)
        if TOPIC in dataset:
            changed[TOPIC] = _reassigned_cells(dataset, permutation)
        result[name] = dataset.assign(changed).assign_attrs(aligned_to_chain=alignment.reference)
    if alignment.switches and "phi_mean" in groups.get("constant_data", xr.Dataset()):
        result["constant_data"] = _with_means(result["constant_data"], groups, alignment, permutation)
    return result


def _with_means(
    constants: xr.Dataset, groups: Mapping[str, xr.Dataset], alignment: Alignment, permutation: IntArray
) -> xr.Dataset:
    """Replace the mean topics of chains with switches, whose numbers stand for several topics, by those of topics."""
    means = chain_topics(groups, alignment.switches)
    means = np.take_along_axis(means, permutation[..., None], axis=2)
    old = constants["phi_mean"]
    ordered = old.transpose("chain", ..., "topic", "word")
    new = ordered.copy(data=means.reshape(ordered.shape).astype(old.dtype))
    return constants.assign(phi_mean=new.transpose(*old.dims))


def _renumbered(array: xr.DataArray, lookups: Lookups, topics: int, apart: bool) -> xr.DataArray:
    """Take the entries along the dims of topics and coefficients in another order."""
    for dim in [str(dim) for dim in array.dims if kind_of_dim(dim) in OF_TOPICS]:
        at = np.arange(topics)
        if dim != "topic":
            names = [str(name) for name in array[dim].values]
            # Coefficients of topics come first; only the first topics may have some.
            at = at[: sum(name == f"topic {k}" for k, name in enumerate(names))]
        order = {
            place: [(start, stop, _order(numbers[: len(at)], array.sizes[dim])) for start, stop, numbers in pieces]
            for place, pieces in lookups.items()
        }
        array = _over(array, order, dim, apart, lambda values, places: values[..., places])
    return array


def _order(numbers: IntArray, size: int) -> IntArray:
    """Return the positions to take: those of topics in another order, the rest as they are."""
    return np.concatenate([numbers, np.arange(len(numbers), size)])


def _reassigned(array: xr.DataArray, lookups: Lookups, topics: int, apart: bool) -> xr.DataArray:
    """Give each token the new number of its topic."""
    inverse = {
        place: [(start, stop, np.argsort(numbers).astype(array.dtype)) for start, stop, numbers in pieces]
        for place, pieces in lookups.items()
    }
    return _over(array, inverse, "token", apart, lambda values, number: number[checked_topics(values, topics)])


def _reassigned_cells(constants: xr.Dataset, permutation: IntArray) -> xr.DataArray:
    """Give the cells of mean topics that are kept as lists the new numbers of their topics."""
    inverse = np.argsort(permutation, axis=-1).reshape(-1, permutation.shape[-1])
    topics = constants[TOPIC]
    return topics.copy(data=inverse[constants[CHAIN].values, topics.values].astype(topics.dtype))


def _over(
    array: xr.DataArray,
    lookups: Lookups,
    dim: str,
    apart: bool,
    change: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]],
) -> xr.DataArray:
    """Apply a change along a dim to each chain, response and stretch of draws."""
    if all((lookup == np.arange(len(lookup))).all() for pieces in lookups.values() for _, _, lookup in pieces):
        return array
    split = apart and "response" in array.dims
    drawn = "draw" in array.dims
    leading = ["chain", *(["response"] if split else []), *(["draw"] if drawn else [])]
    others = [name for name in array.dims if name not in (*leading, dim)]
    ordered = array.transpose(*leading, *others, dim)
    values = ordered.values.copy()
    for (c, r), pieces in lookups.items():
        if r and not split:
            continue
        block = values[(c, r) if split else c]
        for start, stop, lookup in pieces:
            part = block[start : None if stop < 0 else stop] if drawn else block
            part[...] = change(part, lookup)
    return ordered.copy(data=values).transpose(*array.dims)
