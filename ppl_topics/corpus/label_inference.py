"""What kind of labels the user's values are, and their numerical form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from ppl_topics._util.arrays import Int32Array, IntArray
from ppl_topics.corpus.names import DocIds, StrArray, document_name
from ppl_topics.corpus.names import entries as entries_of
from ppl_topics.errors import CorpusError

if TYPE_CHECKING:
    from ppl_topics.corpus.labels import LabelKind, Labels

__all__ = ["align_values", "infer_labels", "is_finite"]

CELLS, CELLS_PER_LABEL = 10**8, 5_000
"""Of the table of several labels: so many always, and so many for each label that a document has."""

_WANTED = {
    "class": "a string or a whole number",
    "multi_label": "a list of strings, or 0 and 1 in a table",
    "real": "a finite number",
    "count": "a whole number, zero or more",
}


def infer_labels(values: Any, kind: LabelKind | None, doc_ids: DocIds) -> tuple[LabelKind, npt.NDArray[Any], list[str]]:
    """Do the work of `Labels.infer`: return kind, values and classes."""
    from ppl_topics.corpus.labels import LabelKind

    if kind is not None and kind not in get_args(LabelKind):
        known = ", ".join(repr(k) for k in get_args(LabelKind))
        raise CorpusError(f"the label kind is {kind!r}; expected one of {known}")
    if isinstance(values, str | bytes):
        raise CorpusError(f"expected one label per document, got the single string {values[:40]!r}")
    if isinstance(values, pd.DataFrame):
        return _from_table(values.to_numpy(dtype=object), [str(c) for c in values.columns], kind, doc_ids)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        if values.ndim != 2:
            raise CorpusError(f"labels have {values.ndim} dimensions; expected one or two")
        return _from_table(values, [str(c) for c in range(values.shape[1])], kind, doc_ids)
    given = values.tolist() if isinstance(values, np.ndarray) else entries_of(values, "one label per document")
    entries = [_clean(value) for value in given]
    if kind is None:
        kind = _kind_of(entries, doc_ids)
    if kind == "class":
        return kind, *_classes(entries, doc_ids)
    if kind == "multi_label":
        return kind, *_label_sets(entries, doc_ids)
    return kind, _numbers(entries, kind, doc_ids), []


def align_values(
    labels: Labels,
    target: StrArray,
    unknown: Literal["error", "missing"],
    doc_ids: DocIds | Sequence[str],
) -> npt.NDArray[Any]:
    """Do the work of `Labels.align`: return the values in terms of the classes `target`."""
    position = {name: i for i, name in enumerate(target)}
    new = np.array([position.get(name, -1) for name in labels.classes], dtype=np.int64)
    if labels.kind == "class":
        codes: IntArray = np.append(new, -1)[labels.values]
        lost = (codes < 0) & (labels.values >= 0)
        if unknown == "error" and lost.any():
            index = int(np.argmax(lost))
            name = labels.classes[labels.values[index]]
            raise CorpusError(
                f"{document_name(index, doc_ids)} is of class {name!r}, which the training corpus lacks; "
                f"its classes are {_some(target)}"
            )
        return codes
    if unknown == "error" and np.any(new < 0):
        name = labels.classes[int(np.argmax(new < 0))]
        raise CorpusError(f"label {name!r} is not among those of the training corpus, which are {_some(target)}")
    fill = np.nan if labels.kind == "real" else -1
    values = np.full((len(labels), len(target)), fill, dtype=labels.values.dtype)
    if labels.kind == "multi_label":
        values[~labels.missing.all(axis=1)] = 0
    values[:, new[new >= 0]] = labels.values[:, new >= 0]
    return values


def _clean(value: Any) -> Any:
    """Return None for a missing value, Python numbers for NumPy's, and anything else as it is."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, str) and not value):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def is_finite(value: float) -> bool:
    """Tell whether a number is finite as a float too: an int may be beyond the largest."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_set(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset | np.ndarray)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _sort(value: Any) -> str:
    """Return which of four sorts of entries this is, for telling the kind and refusing mixtures."""
    if isinstance(value, str):
        return "text"
    if _is_set(value):
        return "a list of labels"
    if isinstance(value, int | float):
        return "a number"
    return f"of type {type(value).__name__}"


def _kind_of(entries: list[Any], doc_ids: DocIds) -> LabelKind:
    present = [i for i, value in enumerate(entries) if value is not None]
    if not present:
        raise CorpusError("all labels are missing, so their kind cannot be told; give label_kind, or leave them out")
    first = present[0]
    sort = _sort(entries[first])
    for i in present:
        if _sort(entries[i]) != sort:
            raise CorpusError(
                f"the label of {document_name(i, doc_ids)} is {entries[i]!r}, {_sort(entries[i])}, "
                f"but that of {document_name(first, doc_ids)} is {sort}; give labels of one kind"
            )
    if sort == "text":
        return "class"
    if sort == "a list of labels":
        return "multi_label"
    if sort == "a number":
        return "class" if all(_is_whole(entries[i]) for i in present) else "real"
    raise CorpusError(
        f"the label of {document_name(first, doc_ids)} is {entries[first]!r}, {sort}; "
        "expected strings, numbers, or lists of strings"
    )


def _classes(entries: list[Any], doc_ids: DocIds) -> tuple[Int32Array, list[str]]:
    numeric = True
    for i, value in enumerate(entries):
        if value is None or isinstance(value, str | bool):
            numeric &= value is None
        elif not _is_whole(value):
            _refuse("class", i, value, doc_ids)
    names = [None if v is None else str(int(v)) if type(v) is float else str(v) for v in entries]
    found = {name for name in names if name is not None}
    ordered = sorted(found, key=int) if numeric else sorted(found)
    code: dict[str | None, int] = {name: i for i, name in enumerate(ordered)}
    code[None] = -1
    return np.array([code[name] for name in names], dtype=np.int32), ordered


def _label_sets(entries: list[Any], doc_ids: DocIds) -> tuple[npt.NDArray[np.int8], list[str]]:
    sets: list[set[str] | None] = []
    for i, value in enumerate(entries):
        if value is None:
            sets.append(None)
            continue
        members = [value] if isinstance(value, str) else list(value) if _is_set(value) else None
        if members is None or not all(isinstance(m, str | int | np.integer) for m in members):
            _refuse("multi_label", i, value, doc_ids)
        sets.append({str(member) for member in members})
    names = sorted(set[str]().union(*(s for s in sets if s is not None)))
    given = sum(len(s) for s in sets if s is not None)
    if len(sets) * len(names) > max(CELLS, CELLS_PER_LABEL * given):
        raise CorpusError(
            f"there are {len(names):,} different labels for {len(sets):,} documents, too many for a table of them; "
            "labels of kind 'multi_label' come from a list that documents share"
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
    """Read real numbers or counts, also those written as text."""
    numbers: list[float | int] = []
    for i, value in enumerate(entries):
        number = value
        if isinstance(value, str):
            try:
                number = float(value)
            except ValueError:
                _refuse(kind, i, value, doc_ids)
        if number is None:
            numbers.append(math.nan if kind == "real" else -1)
        elif not isinstance(number, int | float) or not is_finite(number):
            _refuse(kind, i, value, doc_ids)
        elif kind == "real":
            numbers.append(float(number))
        elif number < 0 or not _is_whole(number) or number >= 2**63:
            _refuse(kind, i, value, doc_ids)
        else:
            numbers.append(int(number))
    return np.array(numbers, dtype=np.float64 if kind == "real" else np.int64)


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
    raise CorpusError(
        f"the label of {document_name(index, doc_ids)} is {value!r}; a label of kind {kind!r} is {_WANTED[kind]}"
    )


def _some(names: StrArray) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
