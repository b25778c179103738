"""The result of a run: its draws, its topics, and predictions; and fits on disk."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import xarray as xr
from numpy.typing import NDArray

from ppl_topics import prediction
from ppl_topics._util.paths import as_path
from ppl_topics.diagnostics import alignment, plots, predictive_checks, quality, summary, tables, verdict
from ppl_topics.diagnostics import report as html_report
from ppl_topics.diagnostics.report import notebook
from ppl_topics.diagnostics.tables import export
from ppl_topics.engine.recorder import LARGE_DIMS
from ppl_topics.errors import TraceError, on_one_line
from ppl_topics.prediction.serving import Predictor
from ppl_topics.results import one_response, topic_labels, topics
from ppl_topics.results.arviz_compat import from_groups
from ppl_topics.results.export import topic_model
from ppl_topics.results.groups import Groups
from ppl_topics.results.run_folder.folder import is_run_folder
from ppl_topics.results.run_folder.reading import load_run
from ppl_topics.results.store import load_groups, save_groups
from ppl_topics.results.validation import check_groups
from ppl_topics.spec import Spec, load_spec

__all__ = ["Fit", "load_fit", "trace_path"]

P = ParamSpec("P")
R = TypeVar("R")

GROUPS_ENTRY = re.compile(r"^( *)groups : .*\n(?:\1 +.*\n)*", re.MULTILINE)


def method_of(function: Callable[Concatenate[Groups, P], R]) -> Callable[Concatenate[Fit, P], R]:
    """Make a method of a fit from a function of the groups of its trace, with its documentation."""

    def method(self: Fit, /, *arguments: P.args, **options: P.kwargs) -> R:
        return function(self.groups, *arguments, **options)

    functools.update_wrapper(method, function)

    signature = inspect.signature(function)
    groups, *others = signature.parameters.values()
    own = groups.replace(name="self", annotation=inspect.Parameter.empty)
    method.__signature__ = signature.replace(parameters=[own, *others])  # type: ignore[attr-defined]
    method.__doc__ = GROUPS_ENTRY.sub("", function.__doc__ or "")
    return method


@dataclass(frozen=True)
class Fit:
    """The result of a run.

    Most methods are functions of the groups of a trace, which `ppl_topics.prediction`, `ppl_topics.diagnostics` and
    `ppl_topics.results` have under the same or a similar name. Each chain numbers its topics in its own way, so tables
    and plots of topics show one chain, the first unless another is named.

    Attributes
    ----------
    groups : dict of str to xarray.Dataset
        ``posterior``, ``sample_stats``, ``warmup_posterior``, ``warmup_sample_stats``, ``observed_data`` and
        ``constant_data``.
    """

    groups: Mapping[str, xr.Dataset]

    # New documents.
    transform = method_of(prediction.transform)
    predict = method_of(prediction.predict)
    predict_proba = method_of(prediction.predict_proba)
    decision_function = method_of(prediction.decision_function)
    predictive = method_of(prediction.predictive)
    metrics = method_of(prediction.metrics)
    score = method_of(prediction.score)
    held_out = method_of(prediction.held_out)

    # Model comparison, and replicated data.
    log_likelihood = method_of(prediction.log_likelihood)
    posterior_predictive = method_of(prediction.posterior_predictive)
    prior_predictive = method_of(prediction.prior_predictive)

    # Convergence.
    efficiency = method_of(summary.efficiency)
    verdict = method_of(verdict.verdict)
    topic_agreement = method_of(alignment.topic_agreement)
    report = method_of(html_report.write_report)

    # Topics and their quality.
    topics = method_of(topics.top_words)
    topic_quality = method_of(quality.topic_quality)
    topic_diversity = method_of(quality.topic_diversity)
    frex_words = method_of(quality.frex_words)
    relevance_terms = method_of(quality.relevance_terms)
    contrast = method_of(tables.contrast)
    topic_hierarchy = method_of(tables.topic_hierarchy)
    predictive_checks = method_of(predictive_checks.predictive_checks)

    # Topics by covariates, and in documents and groups of them.
    prevalence = method_of(prediction.prevalence)
    prevalence_over = method_of(tables.prevalence_over)
    typical_documents = method_of(tables.typical_documents)

    # Coefficients, and zeros in topics.
    coefficients = method_of(tables.coefficient_table)
    topic_relevance = method_of(tables.topic_relevance)
    signal_topics = method_of(tables.signal_topics)
    prevalence_table = method_of(tables.prevalence_table)
    effective_coefficients = method_of(tables.effective_coefficients)
    zeros_in_phi = method_of(tables.zeros_in_phi)

    # Other programs.
    to_frame = method_of(export.to_frame)
    export = method_of(export.export)
    topic_model = method_of(topic_model)
    to_pyldavis = method_of(quality.to_pyldavis)

    # Plots.
    plot_trace = method_of(plots.plot_trace)
    plot_rank = method_of(plots.plot_rank)
    plot_ess = method_of(plots.plot_ess)
    plot_topics = method_of(plots.plot_topics)
    plot_contrast = method_of(plots.plot_contrast)
    plot_hierarchy = method_of(plots.plot_hierarchy)
    plot_topic_correlations = method_of(plots.plot_topic_correlations)
    plot_topic_graph = method_of(plots.plot_topic_graph)
    plot_eta = method_of(plots.plot_eta)
    plot_document = method_of(plots.plot_document)
    plot_document_map = method_of(plots.plot_document_map)
    plot_coefficients = method_of(plots.plot_coefficients)
    plot_relevance = method_of(plots.plot_relevance)
    plot_prevalence = method_of(plots.plot_prevalence)
    plot_prevalence_over = method_of(plots.plot_prevalence_over)

    def __repr__(self) -> str:
        """Return one line: model, draws, corpus."""
        # A trace of another program may lack any of these.
        model = self.posterior.attrs.get("model_name", "model not recorded")
        chains, draws, topics = (self.posterior.sizes.get(dim, 0) for dim in ("chain", "draw", "topic"))
        names = ", ".join(map(str, self.posterior.data_vars))
        return on_one_line(f"Fit: {model}, {chains} chains of {draws} draws, {topics} topics, {names}")

    def _repr_html_(self) -> str:
        return notebook.fit_html(self.groups)

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
        """Whether all kernels of the kept draws leave the posterior invariant; those of a ``warmup`` need not."""
        return bool(self._attribute("exact"))

    @property
    def classes(self) -> list[str]:
        """Names of the classes, labels or targets, in the order of the columns of predictions."""
        return prediction.classes(self.groups)

    def _attribute(self, name: str) -> Any:
        if name not in self.posterior.attrs:
            raise TraceError(f"the trace lacks the attribute `{name}`; it was not written by ppl-topics")
        return self.posterior.attrs[name]

    @property
    def small(self) -> list[str]:
        """Names of the variables without the dims ``word``, ``doc`` and ``token``, for ``var_names`` of ArviZ.

        All variables together may be hundreds of thousands of numbers: ``az.summary(fit.idata, var_names=fit.small)``.
        """
        return [str(name) for name, draws in self.posterior.data_vars.items() if not LARGE_DIMS & set(draws.dims)]

    def labelled(self, words: int = 3, chain: int | None = 0) -> Any:
        """Return the trace for ArviZ with topics named by their most probable words, ``3: red green blue``.

        Parameters
        ----------
        words : int
            Words of each topic.
        chain : int, optional
            The chain to keep, since each numbers its topics in its own way; None keeps all, of `aligned` chains.

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            As `idata`; the coordinates ``topic``, and those of coefficients of topics, are the names.

        Raises
        ------
        TraceError
            If there is no such chain, or each response has its own topics.
        """
        return from_groups(topic_labels.labelled(self.groups, words=words, chain=chain))

    def with_groups(self, **groups: xr.Dataset) -> Fit:
        """Return the fit with more groups of ArviZ, such as ``log_likelihood``.

        Parameters
        ----------
        **groups : xarray.Dataset

        Raises
        ------
        TraceError
            If the fit has one of them already.
        """
        twice = next((name for name in groups if name in self.groups), None)
        if twice is not None:
            raise TraceError(f"the fit has a group {twice!r}; give another name")
        return Fit({**self.groups, **groups})

    def of_response(self, response: str) -> Fit:
        """Return the fit with one of several responses, which predicts, and has coefficients, as of a model of its own.

        The draws are those of the posterior given the labels of all responses, and ``lp`` is that of the whole model.

        Parameters
        ----------
        response : str
            The name of its block.

        Raises
        ------
        TraceError
            If the model has not several responses, or none of this name.
        """
        return Fit(one_response.of_response(self.groups, response))

    def aligned(self) -> Fit:
        """Return the fit with the topics of all chains numbered as in one of them, so that chains can be combined.

        See :func:`ppl_topics.diagnostics.alignment.aligned`.

        Raises
        ------
        TraceError
            If the trace has no topics, or nothing to compare them by.
        """
        return Fit(alignment.aligned(self.groups))

    def plot_drift(
        self, others: Mapping[str, Any], *, name: str = "this run", skip: float = 0.1, axes: Any = None
    ) -> NDArray[Any]:
        """Plot the path of this run beside those of others, such as AD-LDA's beside an exact kernel's.

        ``others`` are fits of the same corpus by name. Returns three axes; see
        :func:`ppl_topics.diagnostics.plots.plot_drift`.
        """
        if not isinstance(others, Mapping):
            raise TraceError(f"others: expected fits by name, such as {{'AD-LDA': fit}}, got {others!r}")
        return plots.plot_drift({name: self.groups, **others}, skip=skip, axes=axes)

    def predictor(self) -> Predictor:
        """Return what predicts new documents without the trace: in memory once, quick for few documents, small on disk.

        Raises
        ------
        TraceError
            If the trace was not written by ppl-topics.
        """
        return Predictor(self.groups)

    def save(self, path: str | Path) -> Path:
        """Write the trace: to one netCDF file where ``path`` ends in ``.nc``, else to ``trace.nc`` in a folder.

        Raises
        ------
        TraceError
        """
        return save_groups(self.groups, trace_path(path, make=True))


def trace_path(path: str | Path, make: bool = False) -> Path:
    """Return the netCDF file that the path of a run stands for; ``make`` makes the folder of the run."""
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

    The folder of a run, which may still be in progress, gives the draws that all chains had at their last checkpoints;
    they stay on disk until they are used.

    Raises
    ------
    TraceError
    """
    place = trace_path(path)
    given = Path(path)
    if os.path.isfile(given):
        return Fit(load_groups(given))
    if os.path.isdir(given) and is_run_folder(given):
        groups = load_run(given)
        check_groups(groups, given)
        return Fit(groups)
    if os.path.isdir(given) and not os.path.isfile(place):
        raise TraceError(f"{given}: no run in this folder: it has neither run.json nor trace.nc")
    return Fit(load_groups(place))
