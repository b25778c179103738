"""Exports of a fit to other programs: tables, MALLET's state, and topics and documents as JSON."""

from ppl_topics.results.export.mallet import mallet_state
from ppl_topics.results.export.model_json import SCHEMA, topic_model
from ppl_topics.results.export.tables import document_table
from ppl_topics.results.topic_table import topic_table

__all__ = [
    "SCHEMA",
    "document_table",
    "mallet_state",
    "topic_model",
    "topic_table",
]
