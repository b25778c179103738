"""How well the chains mixed: effective sample sizes, inefficiency factors, R-hat and standard errors.

Three layers: a compiled core over one scalar's draws, whole arrays shared between threads, and Datasets.
"""

from ppl_topics.diagnostics.efficiency.arrays import STATISTICS
from ppl_topics.diagnostics.efficiency.dataset import all_statistics, ess, inefficiency, mcse, rhat
from ppl_topics.diagnostics.efficiency.table import efficiency_table

__all__ = ["STATISTICS", "all_statistics", "efficiency_table", "ess", "inefficiency", "mcse", "rhat"]
