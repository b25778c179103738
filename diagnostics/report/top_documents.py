"""The documents with the largest share of a topic, with their words."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.diagnostics.report.sections import Groups
from ppl_topics.errors import TraceError

__all__ = ["Documents"]

OF_TOPIC, OTHERS = 16, 12
"""Words of a document that are shown, in the topic and in others."""


class Documents:
    """The documents of a trace, ranked by topic, for one chain and one response if each has its own topics.

    The share of a topic in a document is its posterior mean if theta of all documents was recorded; otherwise E[theta |
    z] at the last draw of the chain. ``basis`` says which, in words.
    """

    def __init__(self, groups: Groups, chain: int, response: int | None, n_topics: int) -> None:
        constants, observed = groups.get("constant_data", xr.Dataset()), groups.get("observed_data", xr.Dataset())
        self.groups, self.chain, self.response, self.n_topics = groups, chain, response, n_topics
        self.lengths = constants["doc_length"].values.astype(np.int64) if "doc_length" in constants else None
        self.words = observed["words"].values.astype(np.int64) if "words" in observed else None
        self.vocabulary = constants["word"].values if "word" in constants.coords else None
        if self.lengths is None or self.words is None or len(self.words) != self.lengths.sum():
            self.words = None
        self.starts = None if self.lengths is None else np.concatenate([[0], np.cumsum(self.lengths)])
        z = self._part(constants["z_last"]) if "z_last" in constants and self.starts is not None else None
        self.z = None if z is None else z.values.astype(np.int64)
        self.share, self.basis = self._shares()
        self.names = self._names()
        self.labels = self._labels()

    def of_topic(self, topic: int, n: int) -> list[dict[str, Any]]:
        """Return the documents with the largest share of a topic, as plain data."""
        share = self.share[:, topic]
        best = np.argsort(-share, kind="stable")[:n]
        return [self._document(int(d), topic, float(share[d])) for d in best if share[d] > 0]

    def _document(self, d: int, topic: int, share: float) -> dict[str, Any]:
        found: dict[str, Any] = {"id": self.names[d], "share": float(f"{share:.4g}")}
        if self.labels is not None and self.labels[d]:
            found["label"] = self.labels[d]
        if self.lengths is not None:
            found["n"] = int(self.lengths[d])
        if self.starts is not None and self.words is not None and self.vocabulary is not None:
            span = slice(self.starts[d], self.starts[d + 1])
            ours = self.z[span] == topic if self.z is not None else np.zeros(span.stop - span.start, dtype=bool)
            found["topic_words"] = _counted(self.words[span][ours], OF_TOPIC, self.vocabulary)
            found["other_words"] = _counted(self.words[span][~ours], OTHERS, self.vocabulary)
        return found

    def _part(self, array: xr.DataArray) -> xr.DataArray:
        part = array.sel(chain=self.chain)
        return part.isel(response=self.response) if self.response is not None and "response" in part.dims else part

    def _shares(self) -> tuple[FloatArray, str]:
        theta = self._recorded_theta()
        n_docs = None if self.lengths is None else len(self.lengths)
        if theta is not None and (n_docs is None or len(theta) == n_docs):
            return theta, "Shares are posterior means."
        if self.z is not None and self.starts is not None and n_docs:
            docs = np.repeat(np.arange(n_docs), np.diff(self.starts))
            flat = np.bincount(docs * self.n_topics + self.z, minlength=n_docs * self.n_topics)
            counts = flat.reshape(n_docs, self.n_topics).astype(np.float64)
            alpha = self._alpha()
            if alpha is not None:
                total = counts.sum(axis=1, keepdims=True) + alpha.sum()
                return (counts + alpha) / total, "Shares are expected values given the assignments of the last draw."
            # Without a concentration, a document with one word would have a share of 1.
            total = counts.sum(axis=1, keepdims=True) + 1.0
            return counts / total, "Shares are n / (N + 1) at the last draw, since alpha was not recorded."
        if theta is not None:
            return theta, f"Shares are posterior means, recorded for the first {len(theta):,} documents."
        raise TraceError("the trace holds neither theta nor the last assignments of its tokens")

    def _recorded_theta(self) -> FloatArray | None:
        for array in self.groups["posterior"].data_vars.values():
            dims = set(array.dims) - {"response"}
            if dims == {"chain", "draw", "doc", "topic"} and array.size and array.dtype.kind == "f":
                part = self._part(array).mean("draw", dtype=np.float64)
                return np.asarray(part.transpose("doc", "topic").values, dtype=np.float64)
        return None

    def _alpha(self) -> FloatArray | None:
        """Return the concentration of each topic in documents, or its posterior mean."""
        constants, posterior = self.groups.get("constant_data", xr.Dataset()), self.groups["posterior"]
        if "alpha" in constants:
            values = constants["alpha"].values
        elif "alpha" in posterior and posterior.sizes["draw"]:
            values = self._part(posterior["alpha"]).mean("draw").values
        else:
            return None
        return np.broadcast_to(np.asarray(values, dtype=np.float64), (self.n_topics,))

    def _names(self) -> list[str]:
        for name in ("constant_data", "posterior"):
            dataset = self.groups.get(name, xr.Dataset())
            if "doc" in dataset.coords and len(dataset["doc"]) == len(self.share):
                return [str(value) for value in dataset["doc"].values.tolist()]
        return [str(d) for d in range(len(self.share))]

    def _labels(self) -> list[str] | None:
        """Return the label of each document as text, empty if it has none."""
        observed = self.groups.get("observed_data", xr.Dataset())
        if "labels" not in observed or len(observed["labels"]) < len(self.share):
            return None
        labels = observed["labels"]
        values = labels.values
        if labels.attrs.get("kind") == "class" and "class" in observed.coords:
            classes = [str(name) for name in observed["class"].values.tolist()]
            return [classes[code] if 0 <= code < len(classes) else "" for code in values.tolist()]
        if labels.attrs.get("kind") == "multi_label":
            names = [str(name) for name in observed["response"].values.tolist()]
            return [", ".join(n for n, held in zip(names, row, strict=True) if held > 0) for row in values.tolist()]
        missing = np.isnan(values) if values.dtype.kind == "f" else values < 0
        numbers = np.where(missing, np.nan, values.astype(np.float64)).reshape(len(values), -1).tolist()
        return [", ".join(f"{value:g}" for value in row if value == value) for row in numbers]


def _counted(words: IntArray, n: int, vocabulary: Any) -> list[list[Any]]:
    """Return the most frequent of some words, with their counts."""
    found, counts = np.unique(words, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:n]
    return [[str(vocabulary[found[i]]), int(counts[i])] for i in order.tolist()]
