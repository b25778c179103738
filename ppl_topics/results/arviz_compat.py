"""The one module that knows which ArviZ is installed.

ArviZ 0.x (Python 3.11) holds draws in ``InferenceData``, 1.x in xarray's ``DataTree``. Everything else in
ppl-topics hands plain Datasets to ArviZ functions, which both take.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import xarray as xr

__all__ = ["ARVIZ_MAJOR", "from_groups", "to_groups"]

ARVIZ_MAJOR = int(version("arviz").split(".")[0])


def from_groups(groups: Mapping[str, xr.Dataset]) -> Any:
    """Return the groups as ``arviz.InferenceData`` (0.x) or ``xarray.DataTree`` (1.x)."""
    attributes = groups["posterior"].attrs if "posterior" in groups else {}
    if ARVIZ_MAJOR >= 1:
        return xr.DataTree.from_dict({"/": xr.Dataset(attrs=attributes), **groups})
    import arviz

    return arviz.InferenceData(attrs=attributes, **groups)


def to_groups(idata: Any) -> dict[str, xr.Dataset]:
    """Return the groups of a trace as Datasets."""
    if isinstance(idata, xr.DataTree):
        return {name: node.to_dataset() for name, node in idata.children.items()}
    held = getattr(idata, "groups", None)
    if callable(held):
        return {name: idata[name] for name in held()}
    # A fit holds a mapping; xarray's own Dataset is one too, of variables.
    groups = idata if held is None else held
    if isinstance(groups, Mapping) and all(isinstance(group, xr.Dataset) for group in groups.values()):
        return dict(groups)
    raise TypeError(
        "expected the groups of a trace, a fit, an arviz.InferenceData or an xarray.DataTree, "
        f"got {type(idata).__name__}"
    )
