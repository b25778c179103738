"""Topic weights of documents whose labels say which topics they may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.alpha import SMALLEST_ALPHA, Alpha
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState
from ppl_topics.corpus.labels import Labels
from ppl_topics.errors import SpecError
from ppl_topics.models.dirichlet import FixedConcentration, concentration_vector, draw_rows_of
from ppl_topics.models.document_weights import DocumentWeights

__all__ = ["Labelled"]


@block("labelled")
class Labelled(DocumentWeights):
    """Dirichlet weights over the topics that a document's labels name, and over background topics (Ramage et al. 2009).

    Topic k is the k-th label, in the order of the corpus, and the last topics are the background. A document without
    labels may have all topics. As the ``prior`` of assignments.

    Attributes
    ----------
    over : {"topic"}
        What a row sums over.
    per : {"doc"}
        What there is one row for.
    concentration : float, {sum: float} or list of float
        Of each topic that a document may have; of any other it is 1e-100.
    background : int
        Topics of all documents: the last ones.
    observed : str
        Which labels of the corpus are observed: ``labels``, or the name of others, see `Corpus.with_labels`.
    integrate_out : bool
        Whether theta is never held: kernels must marginalise it.

    References
    ----------
    D. Ramage, D. Hall, R. Nallapati, C. D. Manning (2009). Labeled LDA: a supervised topic model for credit attribution
    in multi-labeled corpora. EMNLP 2009, section 2.
    """

    tiny_parameters: ClassVar[Mapping[str, Any]] = {"concentration": [0.6, 0.3, 1.0], "background": 1}

    block: Literal["labelled"] = "labelled"
    concentration: FixedConcentration
    background: int = pydantic.Field(default=0, ge=0)
    observed: str = "labels"

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong in the given role, or None."""
        if self.background > topics:
            return f"background: there are {topics} topics, got {self.background}"
        return super().check(role, topics)

    @property
    def labels_above(self) -> str:
        """What the corpus calls the labels."""
        return self.observed

    def document_alpha(self, labels: Labels, topics: int) -> Alpha:
        """Return the concentrations of documents with these labels."""
        if labels.kind not in ("class", "multi_label"):
            raise SpecError(f"topics are named by classes or labels; those of the corpus are of kind {labels.kind!r}")
        number = len(labels.classes)
        if number + self.background != topics:
            raise SpecError(
                f"the corpus has {number} labels, each a topic, and the model {self.background} topics of the "
                f"background; set topics to {number + self.background}, got {topics}"
            )
        holds = labels.values == 1 if labels.kind == "multi_label" else labels.values[:, None] == np.arange(number)
        allowed = np.hstack([holds, np.ones((len(holds), self.background), dtype=bool)])
        # Without a label, and with a document of none of them and no background topic.
        allowed[labels.missing.reshape(len(holds), -1).all(axis=1) | ~allowed.any(axis=1)] = True
        sets, row = np.unique(allowed, axis=0, return_inverse=True)
        own = concentration_vector(self.concentration, self.over, topics)
        return Alpha(np.where(sets, own, SMALLEST_ALPHA), row.reshape(-1).astype(np.int64), own)

    def simulated_labels(self, documents: int, topics: int, rng: np.random.Generator) -> Labels:
        """Return a label for each document, and for every other one more."""
        number = topics - self.background
        if number < 1:
            raise SpecError(f"background: all {topics} topics are, which leaves none for labels; set more topics")
        first, second = rng.integers(number, size=(2, documents, 1))
        second = np.where(np.arange(documents)[:, None] % 2, second, first)
        holds = (np.arange(number) == first) | (np.arange(number) == second)
        return Labels("multi_label", holds, np.array([f"l{i}" for i in range(number)], dtype=object))

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray:
        """Draw rows from the prior."""
        return draw_rows_of(state.document_alpha.by_doc, rng)
