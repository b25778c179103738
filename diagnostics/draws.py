"""What counts as draws in a trace, which another program may have written."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from ppl_topics.errors import TraceError

__all__ = ["check_sampled", "holds_draws"]


def holds_draws(array: xr.DataArray) -> bool:
    """Return True if an array holds numbers by chain and draw."""
    return {"chain", "draw"} <= set(array.dims) and array.dtype.kind in "biuf"


def check_sampled(groups: Mapping[str, xr.Dataset], *, run: str = "", empty: bool = False) -> xr.Dataset:
    """Return the posterior, and refuse one without chains and draws; ``empty`` allows none of them."""
    posterior, where = groups["posterior"], f"{run}: " if run else ""
    if not {"chain", "draw"} <= set(posterior.dims):
        raise TraceError(
            f"{where}the group `posterior` lacks the dimensions chain and draw, so it does not hold draws of a sampler"
        )
    if not empty and not (posterior.sizes["chain"] and posterior.sizes["draw"]):
        raise TraceError(f"{where}the trace has no draws")
    return posterior
