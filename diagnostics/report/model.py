"""The section on the model: its factor graph, with the kernels of the run."""

from __future__ import annotations

import xarray as xr

from ppl_topics.diagnostics.graph import Graph
from ppl_topics.diagnostics.report.sections import Groups, Section
from ppl_topics.spec import Model, load_spec

__all__ = ["model_section"]


def model_section(groups: Groups) -> Section | None:
    """Return the factor graph, or None where the trace does not hold the model."""
    if "model_yaml" not in groups["posterior"].attrs:
        return None
    section = Section("model", "Model")
    section.add("graph", lambda: _graph(groups).to_svg(), without="The factor graph is not available")
    return section


def _graph(groups: Groups) -> Graph:
    model = Model.of(load_spec(groups["posterior"].attrs["model_yaml"]))
    statistics = groups.get("sample_stats", xr.Dataset())
    labels = map(str, statistics["kernel"].values) if "kernel" in statistics else []
    return Graph.of(model, [(variable, kernel) for variable, _, kernel in (label.partition(":") for label in labels)])
