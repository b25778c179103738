"""Labels: classes, sets of labels, real numbers and counts, any of them possibly missing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ppl_topics._util.arrays import BoolArray, FloatArray, IntArray
from ppl_topics.corpus.label_inference import KINDS, LabelKind, check_label_kind, infer_labels
from ppl_topics.corpus.names import DocIds, StrArray, as_names, document_name, listed
from ppl_topics.errors import CorpusError

__all__ = ["LabelKind", "Labels"]


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """What is to be predicted of each document.

    Make one with `Labels.infer`, or from `values` in the form below.

    Parameters
    ----------
    kind : {"class", "multi_label", "real", "count"}
        One of several classes; any number of labels; real numbers; or counts.
    values : ndarray, read-only
        By kind: ``"class"``, int32 codes of shape (D,), -1 where missing; ``"multi_label"``, int8 of shape
        (D, C), 1 where the label applies, 0 where not, -1 where missing; ``"real"``, float64 of shape (D,) or
        (D, R), NaN where missing; ``"count"``, int64 of shape (D,) or (D, R), -1 where missing.
    classes : ndarray of shape (C,), dtype object of str
        Names of the classes, of the labels, or of the R responses; empty where `values` has shape (D,) and
        is real or a count.

    Raises
    ------
    CorpusError
        If values and kind do not fit together.

    Examples
    --------
    >>> labels = Labels.infer(["spam", "ham", None, "spam"])
    >>> labels
    Labels: 4 documents, 2 classes, 1 missing
    >>> labels.values
    array([ 1,  0, -1,  1], dtype=int32)
    >>> list(labels.classes)
    ['ham', 'spam']
    """

    kind: LabelKind
    values: npt.NDArray[Any]
    classes: StrArray = dataclasses.field(default_factory=lambda: np.empty(0, dtype=object))

    def __post_init__(self) -> None:
        check_label_kind(self.kind)
        values = np.asarray(self.values, dtype=KINDS[self.kind].dtype).view()
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "classes", as_names(self.classes, "class"))
        n_classes = len(self.classes)
        if values.ndim not in KINDS[self.kind].n_dims:
            raise CorpusError(f"labels of kind {self.kind!r} cannot have {values.ndim} dimensions")
        n_columns = values.shape[1] if values.ndim == 2 else n_classes if self.kind == "class" else 0
        if n_columns != n_classes:
            raise CorpusError(f"the labels have {n_columns} columns and {n_classes} names; give one for each")
        if self.kind == "real":
            if np.isinf(values).any():
                raise CorpusError("a real label is infinite; expected finite numbers, NaN where missing")
            return
        high = {"class": n_classes - 1, "multi_label": 1}.get(self.kind, np.iinfo(np.int64).max)
        if values.size and (values.min() < -1 or values.max() > high):
            raise CorpusError(
                f"labels of kind {self.kind!r} run from {values.min()} to {values.max()}; "
                f"expected values from -1 (missing) to {high}"
            )

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Labels: {len(self):,} documents, {self.summary}"

    @property
    def summary(self) -> str:
        """Kind, number of classes and of missing labels, in a few words."""
        n = self.n_responses
        text = {
            "class": f"{n:,} classes",
            "multi_label": f"{n:,} labels",
            "real": "real labels" if n == 1 else f"{n:,} real responses",
            "count": "count labels" if n == 1 else f"{n:,} count responses",
        }[self.kind]
        n_missing = int(np.count_nonzero(self.missing))
        return f"{text}, {n_missing:,} missing" if n_missing else text

    @property
    def n_responses(self) -> int:
        """Number of classes, labels or responses: C or R, and 1 for real labels or counts of shape (D,)."""
        return len(self.classes) if self.kind == "class" or self.values.ndim == 2 else 1

    @property
    def missing(self) -> BoolArray:
        """Which values are missing, an array of the shape of `values`."""
        found: BoolArray = np.isnan(self.values) if self.kind == "real" else self.values < 0
        return found

    @classmethod
    def infer(cls, values: Any, kind: LabelKind | None = None, *, doc_ids: DocIds = None) -> Labels:
        """Make labels from what the user has, one entry per document.

        None, NaN, and the empty string are missing. Where `kind` is not given:

        - strings, booleans and whole numbers (3 or 3.0) are classes, in alphabetical or numerical order;
        - numbers, some of them with a fraction, are real labels;
        - lists, tuples or sets of strings are multi-label: an empty one means that no label applies;
        - a table (two-dimensional array or data frame) of only 0 and 1 is multi-label, one column per
          label; any other table of numbers has several real responses.

        Parameters
        ----------
        values : Labels, sequence, pandas Series or DataFrame, or ndarray
            The labels.
        kind : {"class", "multi_label", "real", "count"}, optional
            Their kind, where it should not be inferred.
        doc_ids : array of str, optional
            Ids, to name documents in messages.

        Returns
        -------
        Labels

        Raises
        ------
        CorpusError
            If a label is not of that kind (the message names the document), or `kind` is left out and all
            labels are missing.
        """
        if isinstance(values, Labels):
            return values if kind is None else values.to_kind(kind, doc_ids=doc_ids)
        found, array, classes = infer_labels(values, kind, doc_ids)
        return cls(found, array, np.array(classes, dtype=object))

    def to_kind(self, kind: LabelKind, *, doc_ids: DocIds = None) -> Labels:
        """Read the same labels as another kind: classes named "1" to "5", for example, as real numbers or counts.

        Raises
        ------
        CorpusError
            If a label is not of that kind.
        """
        if kind == self.kind:
            return self
        if self.values.ndim == 2:
            table: FloatArray = np.where(self.missing, np.nan, self.values.astype(np.float64))
            again = Labels.infer(table, kind, doc_ids=doc_ids)
            return Labels(kind, again.values, self.classes)
        if self.kind == "class":
            names: list[str | None] = [*self.classes, None]
            return Labels.infer([names[code] for code in self.values.tolist()], kind, doc_ids=doc_ids)
        numbers = [None if gone else v for gone, v in zip(self.missing, self.values.tolist(), strict=True)]
        return Labels.infer(numbers, kind, doc_ids=doc_ids)

    def select(self, index: IntArray) -> Labels:
        """Return the labels of the documents at these positions."""
        return Labels(self.kind, self.values[index], self.classes)

    def align(
        self,
        classes: Labels | Iterable[str],
        *,
        unknown: Literal["error", "missing"] = "error",
        doc_ids: DocIds | Sequence[str] = None,
    ) -> Labels:
        """Return the same labels with the classes of a training corpus, in their order.

        Parameters
        ----------
        classes : Labels or iterable of str
            The classes (labels, responses) to use. A class that these labels lack is added; so is a label
            (column), as one that no document with labels has.
        unknown : {"error", "missing"}
            What to do with a class, label or response that is not in `classes`: refuse it, or treat it
            as missing.
        doc_ids : array of str, optional
            Ids, to name documents in messages.

        Returns
        -------
        Labels

        Raises
        ------
        CorpusError
            If one is not in `classes` and `unknown` is "error", or the kind differs from that of `classes`.
        """
        if isinstance(classes, Labels):
            if classes.kind != self.kind:
                raise CorpusError(
                    f"the labels are of kind {self.kind!r}, expected {classes.kind!r}; "
                    f"use Labels.to_kind({classes.kind!r})"
                )
            classes = classes.classes
        target = as_names(classes, "class")
        if self.kind != "class" and self.values.ndim == 1:
            return self
        return Labels(self.kind, _aligned_values(self, target, unknown, doc_ids), target)


def _aligned_values(
    labels: Labels,
    target: StrArray,
    unknown: Literal["error", "missing"],
    doc_ids: DocIds | Sequence[str],
) -> npt.NDArray[Any]:
    """Return the values in terms of the classes `target`."""
    position = {name: i for i, name in enumerate(target)}
    new = np.array([position.get(name, -1) for name in labels.classes], dtype=np.int64)
    if labels.kind == "class":
        codes: IntArray = np.append(new, -1)[labels.values]
        lost = (codes < 0) & (labels.values >= 0)
        if unknown == "error" and lost.any():
            index = int(np.argmax(lost))
            name = labels.classes[labels.values[index]]
            raise CorpusError(
                f"{document_name(index, doc_ids)} is of class {name!r}, which the training corpus does not have; "
                f"its classes are {listed(target)}"
            )
        return codes
    if unknown == "error" and np.any(new < 0):
        name = labels.classes[int(np.argmax(new < 0))]
        raise CorpusError(f"label {name!r} is not one of the labels of the training corpus, which are {listed(target)}")
    fill = np.nan if labels.kind == "real" else -1
    values = np.full((len(labels), len(target)), fill, dtype=labels.values.dtype)
    if labels.kind == "multi_label":
        values[~labels.missing.all(axis=1)] = 0
    values[:, new[new >= 0]] = labels.values[:, new >= 0]
    return values
