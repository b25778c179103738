"""What schedules of one posterior have to show for their seconds, as tables, text and a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ppl_topics._util.notebook import preformatted
from ppl_topics.diagnostics.plots.canvas import COLOURS, bare, grid, plain

__all__ = ["MODE", "Comparison"]

MODE = "seconds to the mode"


@dataclass(frozen=True)
class Comparison:
    """What schedules of one posterior have to show for their seconds.

    Attributes
    ----------
    runs : pandas.DataFrame
        A row for each seed, schedule and quantity: ``seed``, ``schedule``, ``quantity``, ``ess`` (bulk effective draws
        of its median scalar), ``seconds`` (of the kernels, over the kept draws) and ``ess_per_second``; and in the rows
        of the quantity ``"seconds to the mode"`` the ``seconds`` from the random start until log p(w, z) is within 1%
        of the best schedule's median, NaN if it does not get there.
    table : pandas.DataFrame
        A row for each quantity and schedule: ``quantity``, ``schedule``, ``seeds`` (with a value), ``mean``, ``low``
        and ``high`` (effective draws a second, or seconds to the mode), and ``ratio``, ``ratio_low`` and ``ratio_high``
        relative to the first schedule, seed by seed. Means are geometric; intervals are those of Student's t for the
        mean logarithm over seeds, NaN with one seed.
    confidence : float
        Of the intervals.
    over : {"seeds", "chains"}
        What the intervals are over. Of fits, each chain counts as a seed.
    notes : tuple of str
        What makes fits less comparable, in sentences.
    """

    runs: pd.DataFrame
    table: pd.DataFrame
    confidence: float
    over: str = "seeds"
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the table, rounded."""
        shown = pd.DataFrame(
            {
                "quantity": self.table["quantity"],
                "schedule": self.table["schedule"],
                "seeds": self.table["seeds"],
                "mean": [_with_interval(*row) for row in self.table[["mean", "low", "high"]].to_numpy()],
                "times the first": [
                    _with_interval(*row) for row in self.table[["ratio", "ratio_low", "ratio_high"]].to_numpy()
                ],
            }
        )
        about = f"Effective draws a second, and seconds to the mode; {self.confidence:.0%} intervals over {self.over}."
        return "\n".join([about, shown.to_string(index=False), *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return preformatted(str(self))

    def plot(self, axes: Any = None) -> NDArray[Any]:
        """Plot the means with their intervals: a panel for each quantity, a row for each schedule, a dot for each seed.

        Parameters
        ----------
        axes : matplotlib.axes.Axes or array of them, optional
            Axes to draw on, one for each quantity; by default those of a new figure.

        Returns
        -------
        ndarray of matplotlib.axes.Axes

        Raises
        ------
        PplTopicsError
            If matplotlib is not installed.
        """
        quantities = list(dict.fromkeys(self.table["quantity"]))
        panels = grid(axes, len(quantities), "quantities", columns=3, panel=(4.2, 2.4))
        for panel, quantity in zip(panels, quantities, strict=True):
            rows = self.table[self.table["quantity"] == quantity]
            own = self.runs[self.runs["quantity"] == quantity]
            values = "seconds" if quantity == MODE else "ess_per_second"
            for place, (_, row) in enumerate(rows.iterrows()):
                seeds = own.loc[own["schedule"] == row["schedule"], values]
                panel.plot(seeds, np.full(len(seeds), place), ".", color=COLOURS[0], alpha=0.4)
                if np.isfinite(row["low"]):
                    panel.plot([row["low"], row["high"]], [place, place], color=COLOURS[0], linewidth=2)
                panel.plot(row["mean"], place, "o", color=COLOURS[0])
            panel.set_yticks(range(len(rows)), [plain(name) for name in rows["schedule"]])
            label = "seconds" if quantity == MODE else "effective draws a second"
            panel.set(xscale="log", title=plain(quantity), xlabel=label)
            panel.invert_yaxis()
            bare(panel)
        return panels


def _with_interval(mean: float, low: float, high: float) -> str:
    if np.isnan(mean):
        return "not reached"
    return f"{mean:.3g}" if np.isnan(low) else f"{mean:.3g} ({low:.3g} to {high:.3g})"
