"""Fits for other programs: tables, the state of MALLET, and topics and documents as JSON."""

from ppl_topics.diagnostics.reading.topic_words import topic_table
from ppl_topics.results.export.mallet import mallet_state
from ppl_topics.results.export.methods import Exporting
from ppl_topics.results.export.model_json import SCHEMA, topic_model
from ppl_topics.results.export.tables import document_table
from ppl_topics.results.export.what import KINDS, export, to_frame

__all__ = [
    "KINDS",
    "SCHEMA",
    "Exporting",
    "document_table",
    "export",
    "mallet_state",
    "to_frame",
    "topic_model",
    "topic_table",
]
