"""The documents with the largest share of a topic, with their words and labels, as the page shows them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import IntArray
from ppl_topics.corpus.labels import Labels
from ppl_topics.diagnostics.report.sections import Groups
from ppl_topics.diagnostics.tables.typical_documents import most_about
from ppl_topics.results.document_groups import stored_labels
from ppl_topics.results.documents import DocumentTopics, document_topics

__all__ = ["Documents"]

OF_TOPIC, OTHERS = 16, 12
"""Words of a document that are shown, in the topic and in others."""

BASIS = {
    "draws": "Shares are posterior means.",
    "z_last": "Shares are expected values given the assignments of the last draw.",
}


class Documents:
    """The documents of a trace, ranked by topic, for one chain and one response if each has its own topics.

    ``basis`` says where the shares are from, in words.
    """

    def __init__(self, groups: Groups, chain: int, response: str | None) -> None:
        self.shares = document_topics(groups, chain, response)
        self.basis = BASIS[self.shares.estimate]
        self.words, self.z = _tokens(groups, self.shares)
        self.vocabulary = None if self.words is None else groups["constant_data"]["word"].values
        self.starts = np.concatenate([[0], np.cumsum(self.shares.lengths)])
        labels = stored_labels(groups)
        self.labels = None if labels is None or len(labels) < len(self.shares.lengths) else _label_texts(labels)

    def of_topic(self, topic: int, n: int) -> list[dict[str, Any]]:
        """Return the documents with the largest share of a topic, as plain data."""
        return [self._document(d, topic) for d in most_about(self.shares, topic, n).tolist()]

    def _document(self, d: int, topic: int) -> dict[str, Any]:
        found: dict[str, Any] = {"id": str(self.shares.docs[d]), "share": float(f"{self.shares.theta[d, topic]:.4g}")}
        if self.labels is not None and self.labels[d]:
            found["label"] = self.labels[d]
        if self.shares.lengths[d] >= 0:
            found["n"] = int(self.shares.lengths[d])
        if self.words is not None and self.vocabulary is not None:
            span = slice(self.starts[d], self.starts[d + 1])
            ours = self.z[span] == topic
            found["topic_words"] = _counted(self.vocabulary[self.words[span][ours]], OF_TOPIC)
            found["other_words"] = _counted(self.vocabulary[self.words[span][~ours]], OTHERS)
        return found


def _label_texts(labels: Labels) -> list[str]:
    """Return the label of each document as text, empty if it has none."""
    if labels.kind == "class":
        names = [*labels.classes, ""]
        return [names[code] for code in labels.values.tolist()]
    if labels.kind == "multi_label":
        return [", ".join(labels.classes[row > 0]) for row in labels.values]
    numbers = np.where(labels.missing, np.nan, labels.values.astype(np.float64)).reshape(len(labels), -1).tolist()
    return [", ".join(f"{value:g}" for value in row if value == value) for row in numbers]


def _tokens(groups: Groups, shares: DocumentTopics) -> tuple[IntArray | None, IntArray]:
    """Return the word of each token, if the trace holds them, and its topic in the last state, -1 if unknown."""
    constants, observed = groups.get("constant_data", xr.Dataset()), groups.get("observed_data", xr.Dataset())
    none = np.zeros(0, dtype=np.int64)
    if (shares.lengths < 0).any() or "words" not in observed or "word" not in constants.coords:
        return None, none
    words = observed["words"].values.astype(np.int64)
    if "z_last" in constants:
        z = shares.part.of(constants["z_last"]).values.astype(np.int64)
    else:
        z = np.full(len(words), -1)
    return (words, z) if len(words) == len(z) == shares.lengths.sum() else (None, none)


def _counted(words: NDArray[Any], n: int) -> list[list[Any]]:
    """Return the most frequent of some words, with their counts; of equals, that which comes first."""
    counts = Counter(words.tolist())
    return [[str(word), count] for word, count in counts.most_common(n)]
