"""The same numbers for the same topics, in all chains and draws, and which topics the chains agree on."""

from ppl_topics.diagnostics.alignment.align import Alignment, align
from ppl_topics.diagnostics.alignment.renumber import aligned
from ppl_topics.diagnostics.alignment.switches import Switch
from ppl_topics.diagnostics.alignment.table import agreement_table

__all__ = ["Alignment", "Switch", "agreement_table", "align", "aligned"]
