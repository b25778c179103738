"""The groups of a trace, and their variables for the ends of its chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics.results.mean_topics import store_means

__all__ = ["GROUPS", "Groups", "by_response", "ends"]

Groups: TypeAlias = Mapping[str, xr.Dataset]
"""The groups of a trace, by name."""

GROUPS = (
    "posterior",
    "sample_stats",
    "warmup_posterior",
    "warmup_sample_stats",
    "observed_data",
    "constant_data",
)


def ends(
    chains: NDArray[Any],
    responses: NDArray[Any] | None,
    means: Sequence[Any],
    z: Sequence[NDArray[Any]],
    sweeps: Sequence[int],
) -> xr.Dataset:
    """Build the constants that belong to the ends of chains: mean topics, last assignments, sweeps."""
    parts = 1 if responses is None else len(responses)
    data: dict[str, Any] = {
        name: by_response(*held, parts) if "chain" in held[0] else held for name, held in store_means(means).items()
    }
    data["z_last"] = by_response(("chain", "token"), np.stack(z), parts)
    data["sweeps"] = by_response(("chain",), np.array(sweeps), parts)
    return xr.Dataset(data, {"chain": chains, **({} if responses is None else {"response": responses})})


def by_response(dims: tuple[str, ...], values: NDArray[Any], parts: int) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Give values a dim ``response`` after ``chain`` and ``draw``, if each of several responses has its own chains."""
    if parts == 1:
        return dims, values
    if "response" in dims:
        values, dims = values.squeeze(dims.index("response")), tuple(dim for dim in dims if dim != "response")
    values = values.reshape(-1, parts, *values.shape[1:])
    place = 2 if "draw" in dims else 1
    return (*dims[:place], "response", *dims[place:]), np.moveaxis(values, 1, place)
