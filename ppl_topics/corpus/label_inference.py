"""The kind of the labels that a user gives, and their numerical form."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arrays import Int32Array
from ppl_topics.corpus.names import DocIds, DocumentError, document_name, is_finite, iterate
from ppl_topics.errors import CorpusError

__all__ = ["KINDS", "LabelKind", "as_number", "check_label_kind", "infer_labels", "is_missing"]

LabelKind: TypeAlias = Literal["class", "multi_label", "real", "count"]

CELLS, CELLS_PER_LABEL = 10**8, 5_000
"""A table of documents by labels may have as many cells as the larger of these, the second times the labels given."""


class _Kind(NamedTuple):
    dtype: type[np.generic]
    n_dims: tuple[int, ...]
    wanted: str


KINDS = {
    "class": _Kind(np.int32, (1,), "a string or a whole number"),
    "multi_label": _Kind(np.int8, (2,), "a list of strings, or 0 and 1 in a table"),
    "real": _Kind(np.float64, (1, 2), "a finite number"),
    "count": _Kind(np.int64, (1, 2), "a whole number, zero or more"),
}

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


def check_label_kind(kind: object, name: str = "the label kind") -> None:
    """Raise a `CorpusError` unless this is a kind of labels."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise CorpusError(f"{name} is {kind!r}; expected one of {', '.join(map(repr, KINDS))}")


def infer_labels(values: Any, kind: LabelKind | None, doc_ids: DocIds) -> tuple[LabelKind, npt.NDArray[Any], list[str]]:
    """Return kind, values and classes of labels, see `Labels.infer`."""
    if kind is not None:
        check_label_kind(kind)
    if isinstance(values, pd.DataFrame):
        return _from_table(values.to_numpy(dtype=object), [str(c) for c in values.columns], kind, doc_ids)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        if values.ndim != 2:
            raise CorpusError(f"labels have {values.ndim} dimensions; expected one or two")
        return _from_table(values, [str(c) for c in range(values.shape[1])], kind, doc_ids)
    given = values.tolist() if isinstance(values, np.ndarray) else iterate(values, "one label per document")
    entries = [_clean(value) for value in given]
    if kind is None:
        kind = _kind_of(entries, doc_ids)
    if kind == "class":
        return kind, *_classes(entries, doc_ids)
    if kind == "multi_label":
        return kind, *_label_sets(entries, doc_ids)
    return kind, _numbers(entries, kind, doc_ids), []


def is_missing(value: Any) -> bool:
    """Return whether a label is missing: None, NaN or the empty string."""
    return _clean(value) is None


def as_number(value: Any) -> int | float | None:
    """Return a number, also from text; None if the value is not a number."""
    if isinstance(value, int | float):
        return value
    # Python would read 1_0 as ten.
    if not isinstance(value, str) or "_" in value:
        return None
    try:
        return int(value) if _INTEGER.fullmatch(value) else float(value)
    except ValueError:
        return None


def _clean(value: Any) -> Any:
    """Return None for a missing value, Python numbers for NumPy's, and anything else as it is."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, str) and not value):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def _is_set(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset | np.ndarray)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _type_name(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if _is_set(value):
        return "a list of labels"
    return "a number" if isinstance(value, int | float) else f"of type {type(value).__name__}"


def _kind_of(entries: list[Any], doc_ids: DocIds) -> LabelKind:
    """Infer the kind of labels, and refuse mixtures."""
    found = {i: _type_name(value) for i, value in enumerate(entries) if value is not None}
    if not found:
        raise CorpusError(
            "all labels are missing, so their kind cannot be inferred; "
            f"give {argument('label_kind')}, or leave the labels out"
        )
    first, expected = next(iter(found.items()))
    for i, other in found.items():
        if other != expected:
            raise DocumentError(
                f"the label of {document_name(i, doc_ids)} is {entries[i]!r}, {other}, "
                f"but that of {document_name(first, doc_ids)} is {expected}; give labels of one kind",
                i,
            )
    if expected == "a list of labels":
        return "multi_label"
    if expected == "text" or (expected == "a number" and all(_is_whole(entries[i]) for i in found)):
        return "class"
    if expected == "a number":
        return "real"
    raise DocumentError(
        f"the label of {document_name(first, doc_ids)} is {entries[first]!r}, {expected}; "
        "expected strings, numbers, or lists of strings",
        first,
    )


def _classes(entries: list[Any], doc_ids: DocIds) -> tuple[Int32Array, list[str]]:
    for i, value in enumerate(entries):
        if value is not None and not isinstance(value, str) and not _is_whole(value):
            _refuse("class", i, value, doc_ids)
    numeric = not any(isinstance(value, str | bool) for value in entries)
    names = [None if v is None else str(int(v)) if type(v) is float else str(v) for v in entries]
    ordered = sorted({name for name in names if name is not None}, key=int if numeric else None)
    code: dict[str | None, int] = {None: -1, **{name: i for i, name in enumerate(ordered)}}
    return np.array([code[name] for name in names], dtype=np.int32), ordered


def _label_sets(entries: list[Any], doc_ids: DocIds) -> tuple[npt.NDArray[np.int8], list[str]]:
    sets: list[set[str] | None] = []
    for i, value in enumerate(entries):
        members = [value] if isinstance(value, str) else list(value) if _is_set(value) else None
        if value is None:
            sets.append(None)
        elif members is None or not all(isinstance(m, str | int | np.integer) for m in members):
            _refuse("multi_label", i, value, doc_ids)
        else:
            sets.append({str(member) for member in members})
    names = sorted(set[str]().union(*(s for s in sets if s is not None)))
    given = sum(len(s) for s in sets if s is not None)
    if len(sets) * len(names) > max(CELLS, CELLS_PER_LABEL * given):
        raise CorpusError(
            f"there are {len(names):,} different labels for {len(sets):,} documents, too many for a table; "
            "labels of kind 'multi_label' should come from a short list that documents share"
        )
    column = {name: c for c, name in enumerate(names)}
    values = np.zeros((len(sets), len(names)), dtype=np.int8)
    for i, members_of in enumerate(sets):
        if members_of is None:
            values[i] = -1
        else:
            values[i, [column[name] for name in members_of]] = 1
    return values, names


def _numbers(entries: Iterable[Any], kind: LabelKind, doc_ids: DocIds) -> npt.NDArray[Any]:
    """Read real numbers or counts, which may be written as text."""
    numbers: list[float | int] = []
    for i, value in enumerate(entries):
        number = as_number(value)
        if value is None:
            numbers.append(math.nan if kind == "real" else -1)
        elif (
            number is None
            or not is_finite(number)
            or (kind == "count" and not (_is_whole(number) and 0 <= number < 2**63))
        ):
            _refuse(kind, i, value, doc_ids)
        else:
            numbers.append(float(number) if kind == "real" else int(number))
    return np.array(numbers, dtype=KINDS[kind].dtype)


def _from_table(
    table: npt.NDArray[Any], names: list[str], kind: LabelKind | None, doc_ids: DocIds
) -> tuple[LabelKind, npt.NDArray[Any], list[str]]:
    cells = [[_clean(value) for value in row] for row in table.tolist()]
    if len(names) == 1 and kind in (None, "class"):
        return infer_labels([row[0] for row in cells], kind, doc_ids)
    if kind is None:
        flat = [value for row in cells for value in row if value is not None]
        kind = "multi_label" if flat and all(value in (0, 1) for value in flat) else "real"
    if kind == "class":
        raise CorpusError(f"the labels have {len(names)} columns; labels of kind 'class' have one")
    if kind == "multi_label":
        for i, row in enumerate(cells):
            for value in row:
                if value not in (0, 1, None):
                    _refuse(kind, i, value, doc_ids)
        values = np.array([[-1 if value is None else int(value) for value in row] for row in cells], np.int8)
        return kind, values.reshape(len(cells), len(names)), names
    columns = [_numbers((row[c] for row in cells), kind, doc_ids) for c in range(len(names))]
    return kind, np.column_stack(columns), names


def _refuse(kind: str, index: int, value: Any, doc_ids: DocIds) -> NoReturn:
    where = document_name(index, doc_ids)
    raise DocumentError(f"the label of {where} is {value!r}; a label of kind {kind!r} is {KINDS[kind].wanted}", index)
