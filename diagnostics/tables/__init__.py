"""Tables of what a trace says: which topics matter, to which response, at which covariates, in which documents."""

from ppl_topics.diagnostics.tables.coefficients import coefficient_table
from ppl_topics.diagnostics.tables.contrast import contrast
from ppl_topics.diagnostics.tables.effective_coefficients import effective_coefficients
from ppl_topics.diagnostics.tables.hierarchy import topic_hierarchy
from ppl_topics.diagnostics.tables.prevalence import prevalence_table
from ppl_topics.diagnostics.tables.prevalence_over import prevalence_over
from ppl_topics.diagnostics.tables.reading_summary import reading_summary
from ppl_topics.diagnostics.tables.relevance import signal_topics, topic_relevance
from ppl_topics.diagnostics.tables.typical_documents import typical_documents
from ppl_topics.diagnostics.tables.zeros import zeros_in_phi

__all__ = [
    "coefficient_table",
    "contrast",
    "effective_coefficients",
    "prevalence_over",
    "prevalence_table",
    "reading_summary",
    "signal_topics",
    "topic_hierarchy",
    "topic_relevance",
    "typical_documents",
    "zeros_in_phi",
]
