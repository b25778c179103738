"""Labels, ids and covariates of the documents read so far, and the lines that they come from."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import pandas as pd

from ppl_topics.corpus.keywords import DocumentKeywords
from ppl_topics.corpus.label_inference import LabelKind, as_number, is_missing
from ppl_topics.corpus.labels import Labels
from ppl_topics.corpus.names import DocumentError
from ppl_topics.corpus.readers.lines import file_error
from ppl_topics.corpus.readers.records import Cell
from ppl_topics.errors import CorpusError

__all__ = ["Annotations"]


class Annotations:
    """Gather what is known about each document, and the file and line of each.

    If values are not typed, as they are in JSON, a column of strings that are all numbers is read as numbers. With
    ``absent_is_empty``, a document without labels among documents with several has an empty set of labels, as in
    svmlight; otherwise its labels are missing.
    """

    def __init__(
        self,
        path: object,
        covariates: tuple[str, ...] = (),
        *,
        typed: bool = True,
        absent_is_empty: bool = False,
        more_labels: Mapping[str, LabelKind | None] = MappingProxyType({}),
    ) -> None:
        self._starts, self._files = [0], [str(path)]
        self._names = covariates
        self._typed = typed
        self._absent: list[str] | None = [] if absent_is_empty else None
        self._lines = array("q")
        self._labels: list[Cell] = []
        self._doc_ids: list[str] = []
        self._covariates: list[tuple[Cell, ...]] = []
        self._more_kinds = dict(more_labels)
        self._more_labels: list[tuple[Cell, ...]] = []

    def add(
        self,
        line: int,
        label: Cell = None,
        doc_id: str | None = None,
        covariates: tuple[Cell, ...] = (),
        more_labels: tuple[Cell, ...] = (),
    ) -> None:
        """Add one document; ids are given for all documents or for none."""
        self._lines.append(line)
        self._labels.append(label)
        if doc_id is not None:
            self._doc_ids.append(doc_id)
        if self._names:
            self._covariates.append(covariates)
        if self._more_kinds:
            self._more_labels.append(more_labels)

    def __len__(self) -> int:
        return len(self._lines)

    def extend(self, other: Annotations) -> None:
        """Add the documents of the next file."""
        self._starts += [len(self) + start for start in other._starts]
        self._files += other._files
        self._lines.extend(other._lines)
        self._labels += other._labels
        self._doc_ids += other._doc_ids
        self._covariates += other._covariates
        self._more_labels += other._more_labels

    def arguments(
        self, label_kind: LabelKind | None, *, labelled: bool = False, unique_ids: bool = True
    ) -> DocumentKeywords:
        """Return what was gathered as keyword arguments.

        It is an error if all labels are missing but the caller asked for labels (``labelled``). Without ``unique_ids``,
        repeated ids are left out.
        """
        usable = unique_ids or len(set(self._doc_ids)) == len(self._doc_ids)
        columns = zip(self._names, zip(*self._covariates, strict=True), strict=True) if self._covariates else ()
        return DocumentKeywords(
            doc_ids=self._doc_ids if usable and self._doc_ids else None,
            labels=self._given_labels(self._labels, label_kind, "a label" if labelled else ""),
            label_kind=label_kind,
            covariates=pd.DataFrame({name: _column(self._values(list(c))) for name, c in columns})
            if self._names
            else None,
        )

    def more_labels(self) -> dict[str, Labels]:
        """Return the labels of other columns by their names; each has a document with a label."""
        result = {}
        for place, (name, kind) in enumerate(self._more_kinds.items()):
            values = self._given_labels([row[place] for row in self._more_labels], kind, f"a label {name!r}")
            result[name] = Labels.infer(values, kind, doc_ids=None)
        return result

    @contextmanager
    def located(self) -> Iterator[None]:
        """Add its line to an error in one of the documents."""
        try:
            yield
        except DocumentError as error:
            file = self._files[bisect_right(self._starts, error.document) - 1]
            raise file_error(file, self._lines[error.document], str(error)) from None

    def _given_labels(self, labels: list[Cell], kind: LabelKind | None, wanted: str) -> list[Any] | None:
        if all(map(is_missing, labels)):
            if labels and (wanted or kind is not None):
                raise CorpusError(f"no document has {wanted or 'a label'}, expected at least one")
            return None
        if kind == "multi_label" or (kind is None and any(isinstance(label, list) for label in labels)):
            sets = ([str(label)] if isinstance(label, str | int | float) else label for label in labels)
            return [self._absent if label is None else label for label in sets]
        return self._values(labels) if kind is None else labels

    def _values(self, values: list[Cell]) -> list[Any]:
        """Turn the strings of a column without types into numbers if all that are not missing can be."""
        numbers = [as_number(value) for value in values]
        if self._typed or any(n is None and v is not None for n, v in zip(numbers, values, strict=True)):
            return values
        return numbers


def _column(values: list[Any]) -> pd.Series[Any]:
    """Return a column of covariates; a whole number that no float can hold is left as it is, to be refused by name."""
    try:
        return pd.Series(values)
    except OverflowError:
        # pandas before 3.
        return pd.Series(values, dtype=object)
