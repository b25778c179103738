"""The result of a run: its draws, its topics, and predictions; and fits on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import xarray as xr

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.paths import as_path
from ppl_topics.errors import TraceError, on_one_line
from ppl_topics.exporting import Exporting
from ppl_topics.judging import Judging
from ppl_topics.plotting import Plotting
from ppl_topics.prediction import Predicting
from ppl_topics.reading import Reading
from ppl_topics.results.arviz_compat import from_groups
from ppl_topics.results.store import load_groups, save_groups
from ppl_topics.results.topics import top_words
from ppl_topics.results.validation import check_groups
from ppl_topics.spec import Spec, load_spec

if TYPE_CHECKING:
    from ppl_topics.diagnostics.verdict import Verdict

__all__ = ["Fit", "load_fit", "trace_path"]


@dataclass(frozen=True)
class Fit(Predicting, Reading, Plotting, Exporting, Judging):
    """The result of a run.

    `transform` and, if the model is supervised, `predict` and its relatives work on new documents; `coefficients`,
    `signal_topics` and their relatives tell what the response depends on. `plot_trace`, `plot_topics` and others plot;
    `to_frame` and `export` give tables and files to other programs.

    Attributes
    ----------
    groups : dict of str to xarray.Dataset
        ``posterior``, ``sample_stats``, ``warmup_posterior``, ``warmup_sample_stats``, ``observed_data`` and
        ``constant_data``.
    """

    groups: Mapping[str, xr.Dataset]

    def __repr__(self) -> str:
        """Return one line: model, draws, corpus."""
        # A trace of another program may lack any of these.
        model = self.posterior.attrs.get("model_name", "model not recorded")
        chains, draws, topics = (self.posterior.sizes.get(dim, 0) for dim in ("chain", "draw", "topic"))
        names = ", ".join(map(str, self.posterior.data_vars))
        return on_one_line(f"Fit: {model}, {chains} chains of {draws} draws, {topics} topics, {names}")

    @property
    def idata(self) -> Any:
        """The trace as ``arviz.InferenceData`` (ArviZ 0.x) or ``xarray.DataTree`` (1.x)."""
        return from_groups(self.groups)

    @property
    def posterior(self) -> xr.Dataset:
        """The posterior draws, with dims (chain, draw, ...)."""
        return self.groups["posterior"]

    @property
    def spec(self) -> Spec:
        """The model that was run, with its parameters."""
        return load_spec(self._attribute("model_yaml"))

    @property
    def exact(self) -> bool:
        """Whether all kernels of the run leave the posterior invariant."""
        return bool(self._attribute("exact"))

    def _attribute(self, name: str) -> Any:
        if name not in self.posterior.attrs:
            raise TraceError(f"the trace lacks the attribute `{name}`; it was not written by ppl-topics")
        return self.posterior.attrs[name]

    def topics(self, n_words: int = 10, chain: int = 0) -> pd.DataFrame:
        """Return each topic's share of the tokens and its most probable words.

        Parameters
        ----------
        n_words : int
        chain : int
            Chains number their topics each in its own way, so they are not averaged.

        Returns
        -------
        pandas.DataFrame
            Columns ``topic``, ``share`` and ``words``, largest share first.
        """
        for name, value in (("n_words", n_words), ("chain", chain)):
            if not is_whole(value):
                raise TraceError(f"{name}: must be a whole number, got {value!r}")
        return top_words(self.groups, n_words, chain)

    def efficiency(self) -> pd.DataFrame:
        """Return effective sample sizes, inefficiency factors and R-hat, a row for each variable."""
        from ppl_topics.diagnostics.report import efficiency

        return efficiency(self.groups)

    def aligned(self) -> Fit:
        """Return the fit with the topics of all chains under the numbers of one, so that they can be put together.

        See :func:`ppl_topics.diagnostics.alignment.aligned`.

        Raises
        ------
        TraceError
            If the trace holds no topics, or nothing to compare them by.
        """
        from ppl_topics.diagnostics.alignment import aligned

        return Fit(aligned(self.groups))

    def verdict(self) -> Verdict:
        """Say whether the run has converged, with the numbers that support it and what to do.

        See :func:`ppl_topics.diagnostics.verdict.verdict`; ``print(fit.verdict())`` prints it.
        """
        from ppl_topics.diagnostics.verdict import verdict

        return verdict(self.groups)

    def report(
        self,
        path: str | Path,
        *,
        chain: int | None = None,
        probability: float = 0.9,
        title: str | None = None,
        source: str = "",
    ) -> Path:
        """Write the run as one self-contained HTML page; see :func:`ppl_topics.diagnostics.page.write_report`.

        Raises
        ------
        TraceError
            If the file cannot be written, or there is no such chain.
        """
        from ppl_topics.diagnostics.page import write_report

        return write_report(self.groups, path, chain=chain, probability=probability, title=title, source=source)

    def save(self, path: str | Path) -> Path:
        """Write the trace: to one netCDF file where ``path`` ends in ``.nc``, else to ``trace.nc`` in a folder.

        Raises
        ------
        TraceError
        """
        return save_groups(self.groups, trace_path(path, make=True))


def trace_path(path: str | Path, make: bool = False) -> Path:
    """Return the netCDF file that a path of a run stands for, making the run's folder if asked to."""
    path = as_path(path, "a run", TraceError)
    if path.suffix == ".nc":
        return path
    # Not path.exists(), which raises where the name is too long for the file system.
    if make and not os.path.exists(path):
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise TraceError(f"{path}: cannot make the folder ({error.strerror})") from None
    return path / "trace.nc"


def load_fit(path: str | Path) -> Fit:
    """Load what :meth:`Fit.save` or ``ppl-topics run --out`` wrote: a file, or the folder of a run.

    Of a folder's run, which may still go on, it has the draws that all chains had at their last checkpoints; they are
    left on disk until they are looked at.

    Raises
    ------
    TraceError
    """
    place = trace_path(path)
    file = Path(path)
    if os.path.isdir(file):
        from ppl_topics.results.run_folder.folder import is_run_folder
        from ppl_topics.results.run_folder.reading import load_run

        if is_run_folder(file):
            groups = load_run(file)
            check_groups(groups, file)
            return Fit(groups)
        if not os.path.isfile(place):
            raise TraceError(
                f"{file}: holds no run: neither run.json, of a run in a folder, nor trace.nc; was it begun?"
            )
    return Fit(load_groups(file if os.path.isfile(file) else place))
