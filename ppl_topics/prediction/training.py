"""The training documents of a fit, and their topics given the topics of each draw and their words alone.

What a document's labels, or another document like it, are in a draw must not depend on a z that its own labels moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray
from ppl_topics.core.keys import Reserved
from ppl_topics.core.tokens import Tokens
from ppl_topics.corpus import Corpus, Covariates
from ppl_topics.corpus.covariates import CovariateColumn
from ppl_topics.errors import TraceError
from ppl_topics.prediction.infer import WARMUP, NewTopics
from ppl_topics.prediction.predictor import AFTER_PHI, design_of
from ppl_topics.prediction.trained import TrainedResponse, TrainedTopics, word_major
from ppl_topics.results.documents import document_lengths, words_of_tokens
from ppl_topics.samplers.responses.features import scores

__all__ = ["GivenDraw", "LabelScores", "given_draws", "training_corpus", "training_covariates", "training_response"]


def training_corpus(trained: TrainedTopics) -> Corpus:
    """Return the training documents, without labels, and with covariates only if their topics depend on these."""
    doc_ptr = np.concatenate([[0], np.cumsum(document_lengths(trained.groups))]).astype(np.int64)
    words = words_of_tokens(trained.groups).astype(np.uint32)
    ids = trained.groups["constant_data"]["doc"].values
    covariates = training_covariates(trained, trained.covariates) if trained.depends_on_covariates else None
    return Corpus(doc_ptr, words, trained.vocabulary, ids=ids, covariates=covariates)


def training_response(trained: TrainedTopics) -> TrainedResponse:
    """Return the response of a fit, and refuse one that is no distribution of the labels."""
    response = TrainedResponse.of(trained)
    if not response.block.probabilistic:
        raise TraceError(
            f"block {response.block.kind!r} is a loss, not a distribution of the labels; use words alone, or a model "
            "with a logistic response"
        )
    return response


class GivenDraw(NamedTuple):
    """A draw of a chain, by its place, and topics of the training documents given it.

    Attributes
    ----------
    draw : int
    phi : list of ndarray of float32, shape (V, K)
        By part: each response, if each has its own topics.
    topics : list of list of NewTopics
        Independent chains, by replicate and by part.
    """

    draw: int
    phi: list[Float32Array]
    topics: list[list[NewTopics]]


def given_draws(
    trained: TrainedTopics,
    corpus: Corpus,
    tokens: Tokens,
    chain: int,
    draws: Sequence[int],
    seed: int,
    purpose: Reserved,
    replicates: int = 1,
) -> Iterator[GivenDraw]:
    """Yield draws of one chain with topics of the documents given each; these go on from one draw to the next."""
    parts = trained.parts(chain)
    phis = [trained.phi_draws(part) for part in parts]
    alphas = [trained.alpha_draws(part, corpus, trained.topic_labels) for part in parts]
    topics = [
        [
            NewTopics(tokens, alpha(0), seed, part.stream * replicates + replicate, purpose=purpose)
            for part, alpha in zip(parts, alphas, strict=True)
        ]
        for replicate in range(replicates)
    ]
    for number, draw in enumerate(draws):
        given = [word_major(phi[draw]) for phi in phis]
        for place, (phi, alpha) in enumerate(zip(given, alphas, strict=True)):
            for replicate in topics:
                replicate[place].given(phi, alpha(draw))
                replicate[place].sweep(AFTER_PHI if number else WARMUP)
        yield GivenDraw(draw, given, topics)


class LabelScores:
    """Linear predictors of the training documents by draws of one chain, which are asked for in their order.

    ``scale`` has the draws of the response's parameter, shape (M, C); ``blocks`` the block with its numbers by draw.
    """

    def __init__(self, response: TrainedResponse, corpus: Corpus, chain: int) -> None:
        self.response, self.scale, self.blocks = response, response.recorded_scale(chain), response.blocks(chain)
        self.design = design_of(
            response, corpus.with_covariates(training_covariates(response.trained, response.covariates))
        )
        self._parts = [enumerate(response.eta(part)) for part in response.trained.parts(chain)]
        self._eta: list[FloatArray] = []
        self._draw = -1

    def at(self, draw: int, topics: Sequence[NewTopics]) -> FloatArray:
        """Return them by the coefficients of a draw and the current topics, shape (D, C)."""
        while self._draw < draw:
            self._eta = []
            for part in self._parts:
                self._draw, eta = next(part)
                self._eta.append(eta)
        columns = []
        for eta, each in zip(self._eta, topics, strict=True):
            features = each.features(self.response.supervised)._replace(design=self.design)
            columns.append(scores(features, eta))
        return np.hstack(columns)


def training_covariates(trained: TrainedTopics, columns: tuple[CovariateColumn, ...]) -> Covariates | None:
    """Return some covariates of the training documents, if there are any."""
    if not columns:
        return None
    constants = trained.groups["constant_data"]
    if "covariates" not in constants:
        raise TraceError("the trace does not hold the covariates of the training documents, for they were too many")
    return Covariates(constants["covariates"].transpose("doc", "covariate").values, columns)
