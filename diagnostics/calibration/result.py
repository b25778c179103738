"""The result of simulation-based calibration: ranks, what is read from them, and their plot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.files import replaced
from ppl_topics._util.paths import as_path, check_replaceable
from ppl_topics.diagnostics.calibration.uniformity import points, simultaneous_band, uniform_p_value
from ppl_topics.diagnostics.plots.canvas import GREY, SURE, bare, grid, plain
from ppl_topics.errors import TraceError
from ppl_topics.results.netcdf import read_group
from ppl_topics.results.opening import probe

__all__ = ["GROUP", "Calibration", "load_calibration"]

GROUP = "calibration"
"""Group of the netCDF file."""

LEVELS = (0.5, 0.9)
"""Of the central intervals whose coverage is shown."""

FEW = 20
"""Independent draws below which ranks say little."""

REFUSED = "#ee6677"

NEEDED = {"rank", "kept", "pit", "ess", "truth"}


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """Ranks of true values among posterior draws, of corpora simulated from the model.

    Attributes
    ----------
    values : xarray.Dataset
        With the dims ``replicate`` and ``quantity``: ``truth``; ``rank``, how many of the ``kept`` draws are below it,
        ties broken at random, from 0 to ``kept``; ``pit``, (rank + a uniform number) / (kept + 1), uniform on (0, 1) if
        truth and draws are exchangeable; ``ess``, the effective sample size of all draws, which ``kept`` are thinned
        to. Attributes say what was run: ``model_yaml``, ``schedules``, ``seed``, ``false_alarm``, ...
    """

    values: xr.Dataset

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else f"refused by {len(self.refused)} quantities"
        return f"Calibration of {self.values.attrs['model_name']}: {self.replicates:,} replicates, {verdict}"

    def __str__(self) -> str:
        """Return what was run, the table, and the verdict."""
        about, table = self.values.attrs, self.table()
        text = table.drop(columns="reading").map(_number).to_string()
        lines = [
            f"model {about['model_name']}: {self.replicates:,} replicates of {about['documents']:,} documents, "
            f"{about['chains']:,} x {about['draws']:,} draws after {about['warmup']:,} sweeps, thin {about['thin']:,}",
            *text.splitlines(),
        ]
        if about["stopped"]:
            lines.append(f"stopped after {self.replicates:,} of {about['replicates']:,} replicates")
        few = table.index[table["kept"] < FEW].tolist()
        if few:
            lines.append(
                f"fewer than {FEW} independent draws of {few[0]}{f' and {len(few) - 1} more' if few[1:] else ''}: such "
                "ranks see large errors only; take more draws, or a larger thin"
            )
        if not about["exact"]:
            lines.append(
                f"NOT exact: {about['inexact']} does not leave the posterior invariant; the table shows how far off "
                "the draws are here, and a pass would not make them exact"
            )
        rate = f"false alarms: at most {about['false_alarm']:g} over all {len(table)} quantities"
        if self.passed:
            lines.append(f"passed: nothing is off ({rate})")
        else:
            readings = [f"{name} ({table['reading'][name]}, p = {table['p'][name]:.2g})" for name in self.refused]
            lines.append(f"refused: {', '.join(readings)} ({rate})")
        return "\n".join(lines)

    @property
    def replicates(self) -> int:
        """How many replicates there are."""
        return int(self.values.sizes["replicate"])

    @property
    def passed(self) -> bool:
        """Whether no quantity is refused."""
        return not self.refused

    @property
    def refused(self) -> list[str]:
        """Names of the quantities whose ranks are not uniform, the level being shared between all quantities."""
        return [name for name, p in self._p_values.items() if p <= self._level]

    @property
    def _level(self) -> float:
        return float(self.values.attrs["false_alarm"]) / self.values.sizes["quantity"]

    def _pit(self) -> dict[str, FloatArray]:
        pit = self.values["pit"].transpose("quantity", "replicate").values
        return {str(name): row for name, row in zip(self.values["quantity"].values, pit, strict=True)}

    @cached_property
    def _p_values(self) -> dict[str, float]:
        return {name: uniform_p_value(pit) for name, pit in self._pit().items()}

    def table(self) -> pd.DataFrame:
        """Return a row for each quantity.

        Returns
        -------
        pandas.DataFrame
            ``p``, of the hypothesis that its ranks are uniform (Säilynoja, Bürkner, Vehtari 2022); ``coverage_50`` and
            ``coverage_90``, the shares of central intervals that hold the truth; ``mean``, of the ranks on a scale from
            0 to 1; ``kept``, the median of the independent draws; ``reading``, what the ranks say where they are not
            uniform, else empty.
        """
        rows = {}
        kept = self.values["kept"].median("replicate")
        for (name, pit), p in zip(self._pit().items(), self._p_values.values(), strict=True):
            coverage = {f"coverage_{level:.0%}"[:-1]: float((np.abs(pit - 0.5) < level / 2).mean()) for level in LEVELS}
            rows[name] = {
                "p": p,
                **coverage,
                "mean": float(pit.mean()),
                "kept": float(kept.sel(quantity=name)),
                "reading": _reading(pit) if p <= self._level else "",
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes, the verdict and the table as plain data."""
        rows = {str(name): dict(row) for name, row in self.table().to_dict("index").items()}
        return {**self.values.attrs, "passed": self.passed, "refused": self.refused, "quantities": rows}

    def plot(self, axes: Any = None) -> NDArray[Any]:
        """Plot how far the distribution function of the ranks of each quantity is from a uniform one, and its band.

        A curve that leaves the band anywhere is refused; in all panels together this happens to right programs with the
        stated rate of false alarms. A curve below 0 to the left and above it to the right means draws that are too wide
        (and the reverse too narrow); one that is below 0 everywhere, draws that are too small.

        Parameters
        ----------
        axes : matplotlib.axes.Axes or array of them, optional
            Axes to draw on, one for each quantity; by default those of a new figure.

        Returns
        -------
        ndarray of matplotlib.axes.Axes, shape (number of quantities,)

        Raises
        ------
        TraceError
            If there are more than 50 quantities, or another number of axes.
        PplTopicsError
            If matplotlib is not installed.

        References
        ----------
        T. Säilynoja, P.-C. Bürkner, A. Vehtari (2022). Graphical test for discrete uniformity and its applications in
        goodness-of-fit evaluation and multiple sample comparison. Statistics and Computing 32.
        """
        pit, refused, z = self._pit(), set(self.refused), points(self.replicates)
        low, high = simultaneous_band(self.replicates, self._level)
        ends = np.concatenate([[0.0], z, [1.0]])
        panels = grid(axes, len(pit), "quantities", columns=3, panel=(3.6, 2.2))
        for panel, (name, values) in zip(panels, pit.items(), strict=True):
            share = np.searchsorted(np.sort(values), ends, side="right") / len(values)
            panel.fill_between(ends, [0.0, *(low - z), 0.0], [0.0, *(high - z), 0.0], color=GREY, linewidth=0)
            panel.plot(ends, share - ends, color=REFUSED if name in refused else SURE, linewidth=1.2)
            panel.axhline(0.0, color="black", linewidth=0.5)
            panel.set_title(plain(name), fontsize="small")
            panel.set_xlabel("rank, from 0 to 1", fontsize="small")
            panel.set_xlim(0.0, 1.0)
            bare(panel)
        panels[0].set_ylabel("share below, less uniform", fontsize="small")
        return panels

    def save(self, path: str | Path) -> Path:
        """Write one netCDF file, whole or not at all.

        Raises
        ------
        TraceError
            If it cannot be written.
        """
        place = as_path(path, "a netCDF file", TraceError)
        check_replaceable(place, TraceError)
        try:
            with replaced(place) as work:
                self.values.to_netcdf(work, group=GROUP, engine="h5netcdf")
        except (OSError, ValueError) as error:
            raise TraceError(f"{place}: cannot be written ({getattr(error, 'strerror', None) or error})") from None
        return place


def load_calibration(path: str | Path) -> Calibration:
    """Load what :meth:`Calibration.save` or ``ppl-topics calibrate --out`` wrote.

    Raises
    ------
    TraceError
        If it is no such file.
    """
    place = as_path(path, "a netCDF file", TraceError)
    if not place.is_file():
        raise TraceError(f"{place}: no such file; `ppl-topics calibrate MODEL --out {place}` writes one")
    try:
        names = probe(place)
        with h5py.File(place, "r") as file:
            values = read_group(file[GROUP]) if GROUP in names else xr.Dataset()
    except Exception as error:
        # Whatever is wrong with a file, HDF5 may raise any exception.
        raise TraceError(f"{place}: cannot be read as a calibration ({' '.join(str(error).split())[:300]})") from None
    lacking = NEEDED - set(values)
    if lacking or "false_alarm" not in values.attrs:
        raise TraceError(f"{place}: not a calibration; expected what `ppl-topics calibrate --out` writes")
    return Calibration(values)


def _reading(pit: FloatArray) -> str:
    """Say how draws differ from the truth: in place or, if that is clearer, in spread."""
    # In standard errors, up to the root of the number. A uniform number has the variance 1/12, and its squared distance
    # from the mean the variance 1/180.
    place, spread = (pit.mean() - 0.5) * np.sqrt(12.0), (pit.var() - 1.0 / 12.0) * np.sqrt(180.0)
    if abs(place) >= abs(spread):
        return "draws too small" if place > 0 else "draws too large"
    return "draws too narrow" if spread > 0 else "draws too wide"


def _number(value: float) -> str:
    return f"{value:.3g}"
