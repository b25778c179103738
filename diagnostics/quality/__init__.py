"""Whether the topics are any good: coherence, spread, exclusivity, relevance of words, and a map of topics."""

from ppl_topics.diagnostics.quality.coherence import cv_coherence, npmi_coherence, umass_coherence
from ppl_topics.diagnostics.quality.entropy import document_entropy, effective_words, entropy_of_assignments
from ppl_topics.diagnostics.quality.exclusivity import exclusivity, frex, frex_words, topic_diversity
from ppl_topics.diagnostics.quality.pyldavis import to_pyldavis
from ppl_topics.diagnostics.quality.reference import Reference
from ppl_topics.diagnostics.quality.relevance import relevance, relevance_terms
from ppl_topics.diagnostics.quality.table import MEASURES, topic_quality
from ppl_topics.diagnostics.quality.topic_map import jensen_shannon, topic_map

__all__ = [
    "MEASURES",
    "Reference",
    "cv_coherence",
    "document_entropy",
    "effective_words",
    "entropy_of_assignments",
    "exclusivity",
    "frex",
    "frex_words",
    "jensen_shannon",
    "npmi_coherence",
    "relevance",
    "relevance_terms",
    "to_pyldavis",
    "topic_diversity",
    "topic_map",
    "topic_quality",
    "umass_coherence",
]
