"""Labels, ids and covariates of the documents read so far, and the lines that they come from."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from ppl_topics.corpus.keywords import DocumentKeywords
from ppl_topics.corpus.labels import LabelKind
from ppl_topics.corpus.names import first_repeat, is_finite
from ppl_topics.corpus.readers.lines import file_error
from ppl_topics.corpus.readers.records import Cell

__all__ = ["Annotations"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


class Annotations:
    """Gather what is known about each document, and check it while its line is still known.

    If values are not typed, as they are in JSON, a column of strings that are all numbers is read as numbers. With
    ``absent_is_empty``, a document without labels among documents with several has an empty set of labels, as in
    svmlight; otherwise its labels are missing.
    """

    def __init__(
        self,
        path: Path,
        covariates: tuple[str, ...] = (),
        *,
        typed: bool = True,
        absent_is_empty: bool = False,
    ) -> None:
        self._path = path
        self._names = covariates
        self._typed = typed
        self._absent: list[str] | None = [] if absent_is_empty else None
        self._lines = array("q")
        self._labels: list[Cell] = []
        self._doc_ids: list[str] = []
        self._covariates: list[tuple[Cell, ...]] = []

    def add(self, line: int, label: Cell = None, doc_id: str | None = None, covariates: tuple[Cell, ...] = ()) -> None:
        """Add one document; ids are given for all documents or for none."""
        self._lines.append(line)
        self._labels.append(label)
        if doc_id is not None:
            self._doc_ids.append(doc_id)
        if self._names:
            self._covariates.append(covariates)

    def arguments(
        self, label_kind: LabelKind | None, *, labelled: bool = False, unique_ids: bool = True
    ) -> DocumentKeywords:
        """Return what was gathered as keyword arguments, having checked it.

        It is an error if all labels are missing but the caller asked for labels (``labelled``), or if ids are repeated;
        without ``unique_ids``, repeated ids are left out.
        """
        return DocumentKeywords(
            doc_ids=self._checked_ids(unique_ids),
            labels=self._checked_labels(label_kind, labelled),
            label_kind=label_kind,
            covariates=self._frame(),
        )

    def _checked_ids(self, unique: bool) -> list[str] | None:
        if not self._doc_ids or len(set(self._doc_ids)) == len(self._doc_ids):
            return self._doc_ids or None
        if not unique:
            return None
        first, second = first_repeat(self._doc_ids)
        message = f"the document id '{self._doc_ids[second]}' is also on line {self._lines[first]}; ids must differ"
        raise file_error(self._path, self._lines[second], message)

    def _checked_labels(self, kind: LabelKind | None, labelled: bool) -> list[Any] | None:
        labels = self._labels
        if all(label is None for label in labels):
            if labels and (labelled or kind is not None):
                raise file_error(self._path, 0, "no document has a label, expected at least one")
            return None
        several = any(isinstance(label, list) for label in labels)
        if kind == "multi_label" or (several and kind is None):
            sets = ([str(label)] if isinstance(label, str | int | float) else label for label in labels)
            return [self._absent if label is None else label for label in sets]
        if kind in ("real", "count"):
            numbers = [self._number(line, label) for line, label in self._numbered(labels)]
            if kind == "count":
                self._refuse(lambda n: n < 0 or n != int(n), numbers, "a count, zero or more")
            return numbers
        if several:
            line, label = next(item for item in self._numbered(labels) if isinstance(item[1], list))
            raise file_error(self._path, line, f"found the labels {label}, expected a single label of kind '{kind}'")
        if all(_is_missing(label) for label in labels):
            if labelled or kind is not None:
                raise file_error(self._path, 0, "no document has a label, expected at least one")
            return None
        if kind is None and not self._typed:
            return _as_numbers(labels)
        self._refuse_mixture(labels)
        if kind == "class":
            fractions = [label if isinstance(label, float) and math.isfinite(label) else None for label in labels]
            self._refuse(lambda n: n != int(n), fractions, "a class, a string or a whole number")
        return labels

    def _refuse_mixture(self, labels: list[Cell]) -> None:
        given = [item for item in self._numbered(labels) if item[1] is not None]
        first_line, first = given[0]
        for line, label in given:
            if isinstance(label, str) != isinstance(first, str):
                raise file_error(
                    self._path,
                    line,
                    f"the label is {label!r}, but {first!r} on line {first_line}; expected only "
                    "strings or only numbers",
                )

    def _refuse(self, wrong: Callable[[float], bool], labels: Iterable[float | None], wanted: str) -> None:
        for line, label in zip(self._lines, labels, strict=True):
            if label is not None and wrong(label):
                raise file_error(self._path, line, f"the label is {label!r}, expected {wanted}")

    def _number(self, line: int, value: Cell) -> float | None:
        if value is None:
            return None
        number = _to_number(value)
        if number is None or not is_finite(number):
            raise file_error(self._path, line, f"the label is {value!r}, expected a finite number")
        return number

    def _frame(self) -> pd.DataFrame | None:
        if not self._names:
            return None
        columns: dict[str, list[Any]] = {}
        for at, name in enumerate(self._names):
            values = [row[at] for row in self._covariates]
            for line, value in self._numbered(values):
                if value is None or (isinstance(value, float) and math.isnan(value)):
                    raise file_error(
                        self._path, line, f"the covariate '{name}' is missing, expected a value for every document"
                    )
            columns[name] = values if self._typed else _as_numbers(values)
        return pd.DataFrame(columns)

    def _numbered(self, values: list[Cell]) -> list[tuple[int, Cell]]:
        return list(zip(self._lines, values, strict=True))


def _is_missing(label: Cell) -> bool:
    return label is None or label == "" or (isinstance(label, float) and math.isnan(label))


def _as_numbers(values: list[Cell]) -> list[Any]:
    """Turn strings into numbers if all that are not missing can be."""
    numbers = [_to_number(value) for value in values]
    if any(number is None and value is not None for number, value in zip(numbers, values, strict=True)):
        return values
    return numbers


def _to_number(value: Cell) -> int | float | None:
    if isinstance(value, bool | int | float):
        return value
    if not isinstance(value, str) or "_" in value:
        return None
    try:
        return int(value) if _INTEGER.fullmatch(value) else float(value)
    except ValueError:
        return None
