"""The blocks that models are made of, and the shipped models (YAML)."""

from __future__ import annotations

from ppl_topics.models.assignments import Assignments
from ppl_topics.models.beta import Beta
from ppl_topics.models.covariates import Covariates
from ppl_topics.models.dirichlet import Dirichlet
from ppl_topics.models.epsilon_insensitive import EpsilonInsensitive
from ppl_topics.models.gamma import Gamma
from ppl_topics.models.gaussian import Gaussian
from ppl_topics.models.hinge import Hinge
from ppl_topics.models.horseshoe import Horseshoe
from ppl_topics.models.logistic import Logistic
from ppl_topics.models.negative_binomial import NegativeBinomial
from ppl_topics.models.normal import Normal
from ppl_topics.models.probit_do import ProbitDo
from ppl_topics.models.regularised_horseshoe import RegularisedHorseshoe
from ppl_topics.models.spike_slab import SpikeSlab
from ppl_topics.models.words import Words

__all__ = [
    "Assignments",
    "Beta",
    "Covariates",
    "Dirichlet",
    "EpsilonInsensitive",
    "Gamma",
    "Gaussian",
    "Hinge",
    "Horseshoe",
    "Logistic",
    "NegativeBinomial",
    "Normal",
    "ProbitDo",
    "RegularisedHorseshoe",
    "SpikeSlab",
    "Words",
]
