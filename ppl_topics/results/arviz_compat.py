"""The only module that depends on which ArviZ is installed.

ArviZ 0.x (Python 3.11) holds draws in ``InferenceData``, 1.x in xarray's ``DataTree``. Everything else in
ppl-topics hands plain Datasets to ArviZ functions, which both take.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr

from ppl_topics._util.arrays import FloatArray

__all__ = ["ARVIZ_MAJOR", "ess_plot", "from_groups", "rank_plot", "to_groups"]

ARVIZ_MAJOR = int(version("arviz").split(".")[0])


def from_groups(groups: Mapping[str, xr.Dataset]) -> Any:
    """Return the groups as ``arviz.InferenceData`` (0.x) or ``xarray.DataTree`` (1.x)."""
    attributes = groups["posterior"].attrs if "posterior" in groups else {}
    if ARVIZ_MAJOR >= 1:
        return xr.DataTree.from_dict({"/": xr.Dataset(attrs=attributes), **groups})
    return _arviz().InferenceData(attrs=attributes, **groups)


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


def rank_plot(draws: FloatArray, chains: Sequence[str], panel: Any) -> None:
    """Draw ArviZ's rank plot of one scalar, shape (chains, draws), on matplotlib axes.

    ArviZ 0.x draws a histogram of ranks for each chain, 1.x how far each chain's distribution of ranks is from uniform.
    """
    arviz, dataset = _arviz(), _one_scalar(draws)
    if ARVIZ_MAJOR >= 1:
        arviz.plot_rank(dataset, plot_collection=_on_axes(dataset, panel, color=["chain"], overlay=["chain"]))
        panel.legend(panel.get_lines()[-len(chains) :], chains, fontsize="small", frameon=False)
    else:
        arviz.plot_rank(dataset, ax=panel, show=False)
        panel.set_yticks(panel.get_yticks(), chains)
        panel.set_ylabel("")


def ess_plot(draws: FloatArray, min_ess: float, n_points: int, panel: Any) -> None:
    """Draw ArviZ's plot of bulk and tail effective sample sizes by the number of draws, of one scalar as above."""
    arviz, dataset = _arviz(), _one_scalar(draws)
    options: dict[str, Any] = {"n_points": n_points, "min_ess": min_ess}
    if ARVIZ_MAJOR >= 1:
        tails = {"ess_tail": {"prob": (0.05, 0.95)}}
        arviz.plot_ess_evolution(dataset, plot_collection=_on_axes(dataset, panel), stats=tails, **options)
        bulk, tail, _ = panel.get_lines()[-3:]
        panel.legend([bulk, tail], ["bulk", "tail"], fontsize="small", frameon=False)
    else:
        with warnings.catch_warnings():
            # ArviZ 0.23 calls a helper of matplotlib in a way that matplotlib 3.11 deprecates.
            warnings.filterwarnings("ignore", "Passing a dict or None as alias_mapping")
            arviz.plot_ess(dataset, kind="evolution", ax=panel, show=False, **options)


def _arviz() -> Any:
    """Import ArviZ, without the notice that 0.23 gives once a day of changes that this module is there to follow."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\s*ArviZ is undergoing", FutureWarning)
        import arviz
    return arviz


def _one_scalar(draws: FloatArray) -> xr.Dataset:
    coords = {"chain": np.arange(draws.shape[0]), "draw": np.arange(draws.shape[1])}
    return xr.Dataset({"x": (("chain", "draw"), draws)}, coords)


def _on_axes(dataset: xr.Dataset, panel: Any, **aesthetics: Any) -> Any:
    """Return ArviZ 1.x's collection of one plot, on given axes."""

    def held(value: Any) -> xr.DataArray:
        array = np.empty((), dtype=object)
        array[()] = value
        return xr.DataArray(array)

    places = {"plot": panel, "row_index": 0, "col_index": 0}
    children = {name: xr.DataTree(xr.Dataset({"x": held(value)})) for name, value in places.items()}
    tree = xr.DataTree(xr.Dataset({"figure": held(panel.figure)}), children=children)
    return _arviz().PlotCollection(dataset, tree, backend="matplotlib", aes=aesthetics)
