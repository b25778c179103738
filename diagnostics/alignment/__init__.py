"""The same numbers for the same topics, in all chains and draws, and which topics the chains agree on or share."""

from ppl_topics.diagnostics.alignment.agreement import agreement_table, topic_agreement
from ppl_topics.diagnostics.alignment.align import Alignment, align
from ppl_topics.diagnostics.alignment.label_switching import Switch
from ppl_topics.diagnostics.alignment.renumber import aligned

__all__ = ["Alignment", "Switch", "agreement_table", "align", "aligned", "topic_agreement"]
