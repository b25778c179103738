"""The kernels; importing this package registers them."""

from ppl_topics.samplers.assignments.collapsed_gibbs import collapsed_gibbs
from ppl_topics.samplers.assignments.partially_collapsed import partially_collapsed
from ppl_topics.samplers.assignments.sparse_partially_collapsed import sparse_partially_collapsed
from ppl_topics.samplers.concentration.slice_alpha import slice_alpha
from ppl_topics.samplers.concentration.slice_beta import slice_beta
from ppl_topics.samplers.topics.dirichlet_rows import dirichlet_rows, dirichlet_weights

__all__ = [
    "collapsed_gibbs",
    "dirichlet_rows",
    "dirichlet_weights",
    "partially_collapsed",
    "slice_alpha",
    "slice_beta",
    "sparse_partially_collapsed",
]
