"""What a fit says about new documents: their topics, their classes or numbers, and how good that is."""

from ppl_topics.prediction.likelihood import held_out
from ppl_topics.prediction.pointwise import log_likelihood
from ppl_topics.prediction.predictions import (
    classes,
    decision_function,
    predict,
    predict_proba,
    predictive,
    transform,
)
from ppl_topics.prediction.prevalence import prevalence
from ppl_topics.prediction.replicated import posterior_predictive, prior_predictive
from ppl_topics.prediction.scoring import metrics, score

__all__ = [
    "classes",
    "decision_function",
    "held_out",
    "log_likelihood",
    "metrics",
    "posterior_predictive",
    "predict",
    "predict_proba",
    "predictive",
    "prevalence",
    "prior_predictive",
    "score",
    "transform",
]
