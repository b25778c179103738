"""Plots of chains, topics, documents and coefficients, as functions of a trace that return matplotlib axes.

They take the groups of a trace, a fit, an ``arviz.InferenceData`` or an ``xarray.DataTree``, and need matplotlib, which
the extra ``plots`` installs. They draw on the given axes, use pyplot only to make a new figure, and close none. A topic
is labelled by its most probable words and its number in its chain.
"""

from ppl_topics.diagnostics.plots.chains import plot_ess, plot_rank, plot_trace
from ppl_topics.diagnostics.plots.coefficients import plot_coefficients, plot_relevance
from ppl_topics.diagnostics.plots.contrast import plot_contrast
from ppl_topics.diagnostics.plots.correlations import plot_topic_correlations
from ppl_topics.diagnostics.plots.document import plot_document
from ppl_topics.diagnostics.plots.document_map import plot_document_map
from ppl_topics.diagnostics.plots.drift import plot_drift
from ppl_topics.diagnostics.plots.eta import plot_eta
from ppl_topics.diagnostics.plots.hierarchy import plot_hierarchy
from ppl_topics.diagnostics.plots.prevalence import plot_prevalence, plot_prevalence_over
from ppl_topics.diagnostics.plots.topic_graph import plot_topic_graph
from ppl_topics.diagnostics.plots.topics import plot_topics

__all__ = [
    "plot_coefficients",
    "plot_contrast",
    "plot_document",
    "plot_document_map",
    "plot_drift",
    "plot_ess",
    "plot_eta",
    "plot_hierarchy",
    "plot_prevalence",
    "plot_prevalence_over",
    "plot_rank",
    "plot_relevance",
    "plot_topic_correlations",
    "plot_topic_graph",
    "plot_topics",
    "plot_trace",
]
