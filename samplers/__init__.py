"""The kernels; importing this package registers them."""

from ppl_topics.samplers.assignments.ad_lda import ad_lda
from ppl_topics.samplers.assignments.block_collapsed import block_collapsed
from ppl_topics.samplers.assignments.collapsed_gibbs import collapsed_gibbs
from ppl_topics.samplers.assignments.light_collapsed import light_collapsed
from ppl_topics.samplers.assignments.light_partially_collapsed import light_partially_collapsed
from ppl_topics.samplers.assignments.partially_collapsed import partially_collapsed
from ppl_topics.samplers.assignments.semi_collapsed import semi_collapsed
from ppl_topics.samplers.assignments.sparse_collapsed import sparse_collapsed
from ppl_topics.samplers.assignments.sparse_partially_collapsed import sparse_partially_collapsed
from ppl_topics.samplers.augmentation.inverse_gamma import inverse_gamma
from ppl_topics.samplers.augmentation.inverse_gaussian import inverse_gaussian
from ppl_topics.samplers.augmentation.polya_gamma import polya_gamma
from ppl_topics.samplers.coefficients.coordinate_normal import coordinate_normal
from ppl_topics.samplers.coefficients.joint_normal import joint_normal
from ppl_topics.samplers.concentration.slice_alpha import slice_alpha
from ppl_topics.samplers.concentration.slice_beta import slice_beta
from ppl_topics.samplers.topics.dirichlet_rows import dirichlet_rows, dirichlet_weights

__all__ = [
    "ad_lda",
    "block_collapsed",
    "collapsed_gibbs",
    "coordinate_normal",
    "dirichlet_rows",
    "dirichlet_weights",
    "inverse_gamma",
    "inverse_gaussian",
    "joint_normal",
    "light_collapsed",
    "light_partially_collapsed",
    "partially_collapsed",
    "polya_gamma",
    "semi_collapsed",
    "slice_alpha",
    "slice_beta",
    "sparse_collapsed",
    "sparse_partially_collapsed",
]
