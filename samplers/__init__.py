"""The kernels; importing this package registers them."""

from ppl_topics.samplers.assignments.ad_lda import ad_lda
from ppl_topics.samplers.assignments.block_collapsed import block_collapsed
from ppl_topics.samplers.assignments.collapsed_gibbs import collapsed_gibbs
from ppl_topics.samplers.assignments.gram_partially_collapsed import gram_partially_collapsed
from ppl_topics.samplers.assignments.light_collapsed import light_collapsed
from ppl_topics.samplers.assignments.light_partially_collapsed import light_partially_collapsed
from ppl_topics.samplers.assignments.listed_partially_collapsed import listed_partially_collapsed
from ppl_topics.samplers.assignments.partially_collapsed import partially_collapsed
from ppl_topics.samplers.assignments.semi_collapsed import semi_collapsed
from ppl_topics.samplers.assignments.sparse_collapsed import sparse_collapsed
from ppl_topics.samplers.assignments.sparse_partially_collapsed import sparse_partially_collapsed
from ppl_topics.samplers.augmentation.inverse_gamma import inverse_gamma
from ppl_topics.samplers.augmentation.inverse_gaussian import inverse_gaussian
from ppl_topics.samplers.augmentation.polya_gamma import polya_gamma
from ppl_topics.samplers.augmentation.truncated_normal import truncated_normal
from ppl_topics.samplers.coefficients.coordinate_normal import coordinate_normal
from ppl_topics.samplers.coefficients.joint_normal import joint_normal
from ppl_topics.samplers.coefficients.low_rank_normal import low_rank_normal
from ppl_topics.samplers.concentration.slice_alpha import slice_alpha
from ppl_topics.samplers.concentration.slice_beta import slice_beta
from ppl_topics.samplers.shrinkage.inverse_gamma_lambda import inverse_gamma_lambda
from ppl_topics.samplers.shrinkage.inverse_gamma_tau import inverse_gamma_tau
from ppl_topics.samplers.shrinkage.slice_lambda import slice_lambda
from ppl_topics.samplers.shrinkage.slice_regularised_lambda import slice_regularised_lambda
from ppl_topics.samplers.shrinkage.slice_regularised_tau import slice_regularised_tau
from ppl_topics.samplers.shrinkage.slice_slab import slice_slab
from ppl_topics.samplers.shrinkage.slice_tau import slice_tau
from ppl_topics.samplers.topics.beta_inclusion import beta_inclusion
from ppl_topics.samplers.topics.dirichlet_rows import dirichlet_rows, dirichlet_weights
from ppl_topics.samplers.topics.included_rows import included_rows
from ppl_topics.samplers.topics.indicator_scan import indicator_scan
from ppl_topics.samplers.topics.sparse_rows import listed_rows
from ppl_topics.samplers.topics.sparse_scan import listed_scan

__all__ = [
    "ad_lda",
    "beta_inclusion",
    "block_collapsed",
    "collapsed_gibbs",
    "coordinate_normal",
    "dirichlet_rows",
    "dirichlet_weights",
    "gram_partially_collapsed",
    "included_rows",
    "indicator_scan",
    "inverse_gamma",
    "inverse_gamma_lambda",
    "inverse_gamma_tau",
    "inverse_gaussian",
    "joint_normal",
    "light_collapsed",
    "light_partially_collapsed",
    "listed_partially_collapsed",
    "listed_rows",
    "listed_scan",
    "low_rank_normal",
    "partially_collapsed",
    "polya_gamma",
    "semi_collapsed",
    "slice_alpha",
    "slice_beta",
    "slice_lambda",
    "slice_regularised_lambda",
    "slice_regularised_tau",
    "slice_slab",
    "slice_tau",
    "sparse_collapsed",
    "sparse_partially_collapsed",
    "truncated_normal",
]
