"""Arrays of strings: vocabularies, document ids and class names, in memory and as UTF-8 bytes."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ppl_topics._util.arrays import IntArray, UInt8Array
from ppl_topics.errors import CorpusError

__all__ = [
    "NAME",
    "DocIds",
    "DocumentError",
    "StrArray",
    "as_doc_ids",
    "as_names",
    "decode_strings",
    "document_name",
    "encode_strings",
    "is_finite",
    "iterate",
    "listed",
    "number_names",
    "storage_problem",
    "word_problem",
]

NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
"""Of variables of models, and of labels that they observe."""

StrArray: TypeAlias = npt.NDArray[np.object_]
"""An object array whose entries are all ``str``."""

DocIds: TypeAlias = StrArray | IntArray | None
"""Document ids: strings; or integers that stand for their decimal strings; or None, for "0", "1", ..."""


class DocumentError(CorpusError):
    """An error in the labels, id or covariates of a document; the readers of files add its line."""

    def __init__(self, message: str, document: int = -1) -> None:
        super().__init__(message)
        self.document = document


def document_name(index: int, doc_ids: DocIds | Sequence[str | int] = None, before: int = 0) -> str:
    """Name a document in a message: by its position, after a number of others, and by its id if it has one."""
    if doc_ids is None or index >= len(doc_ids):
        return f"document {before + index}"
    return f"document {before + index} (id {str(doc_ids[index])!r})"


def number_names(n: int, first: int = 0) -> StrArray:
    """Return the names "0", "1", ..., or those from another first number, as a read-only array of shape (n,)."""
    return _frozen([str(i) for i in range(first, first + n)])


def iterate(values: Any, wanted: str) -> Iterator[Any]:
    """Iterate over values, unless that would give letters, keys or column names: `wanted` says what was expected."""
    if not isinstance(values, str | bytes | Mapping | pd.DataFrame):
        # An array without dimensions has __iter__, and fails in it.
        with contextlib.suppress(TypeError):
            return iter(values)
    if isinstance(values, str | bytes):
        raise CorpusError(f"expected {wanted}, got the single string {values[:40]!r}")
    raise CorpusError(f"expected {wanted}, got {str(values)[:40]!r}, of type {type(values).__name__}")


def column_names(columns: Any, what: str) -> tuple[str, ...]:
    """Return names of columns, none for None, and refuse a single string, whose letters would be taken for names."""
    if isinstance(columns, str):
        raise CorpusError(f"{what} must be a list of columns, such as ['{columns}']")
    return () if columns is None else tuple(iterate(columns, f"a list of columns as {what}"))


def listed(names: Sequence[str] | StrArray) -> str:
    """Return the first eight names for a message, and how many there are."""
    return ", ".join(map(repr, names[:8])) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


def storage_problem(text: str) -> str:
    r"""Return why a file of draws could not store a string, or the empty string if it could.

    Examples
    --------
    >>> storage_problem("caf\u00e9"), storage_problem("a\0")
    ('', 'contains a NUL character')
    """
    if "\0" in text:
        return "contains a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "contains half a surrogate pair, as from text that was not UTF-8"
    return ""


def word_problem(word: str) -> str:
    """Return why a string cannot be a word, or the empty string if it can."""
    return storage_problem(word) if word else "is empty"


def is_finite(value: float) -> bool:
    """Return whether a number is finite as a float; an int may be beyond the largest float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def as_names(values: Iterable[Any], what: str) -> StrArray:
    """Return names as a read-only object array of shape (n,); messages call one of them `what`, such as "word"."""
    # scikit-learn's vocabularies are mappings from words to ids.
    names = list(values if isinstance(values, Mapping) else iterate(values, f"a list of {what} names"))
    for position, name in enumerate(names):
        if not isinstance(name, str):
            raise CorpusError(f"{what} {position} is {name!r}, of type {type(name).__name__}; expected a string")
        if problem := word_problem(name):
            raise CorpusError(f"{what} {position}, {name!r}, {problem}; expected a name")
    if len(set(names)) < len(names):
        first, second = _first_repeat(names)
        raise CorpusError(
            f"{what} {names[second]!r} occurs twice, at positions {first} and {second}; each {what} must occur once"
        )
    # str(...) also turns np.str_ and other subclasses into plain strings
    return _frozen([str(name) for name in names])


def as_doc_ids(values: Iterable[Any] | None, n_docs: int) -> DocIds:
    """Return document ids, one for each document, distinct, strings or integers; raise a `CorpusError` otherwise."""
    if values is None:
        return None
    if not isinstance(values, np.ndarray):
        values = np.array(list(iterate(values, "one id per document")), dtype=object)
    ids = values
    if ids.ndim != 1 or len(ids) != n_docs:
        raise CorpusError(f"there are {len(ids)} document ids for {n_docs} documents; give one per document")
    if ids.dtype.kind in "iu" and np.can_cast(ids.dtype, np.int64):
        numbers = ids.astype(np.int64)
        numbers.flags.writeable = False
        if len(np.unique(numbers)) == len(numbers):
            return numbers
    strings = [_as_id(i, value) for i, value in enumerate(ids.tolist())]
    if len(set(strings)) < len(strings):
        first, second = _first_repeat(strings)
        raise DocumentError(
            f"document id {strings[second]!r} is used twice, by documents {first} and {second}; "
            "give each document a different id",
            second,
        )
    return _frozen(strings)


def encode_strings(values: StrArray) -> tuple[UInt8Array, IntArray]:
    """Encode strings as UTF-8 bytes, one after another, with the offsets (n + 1,) at which they start."""
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(value) for value in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def decode_strings(data: UInt8Array, offsets: IntArray) -> StrArray:
    """Undo `encode_strings`."""
    raw = data.tobytes()
    bounds = offsets.tolist()
    return _frozen([raw[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(bounds)])


def _as_id(index: int, value: object) -> str:
    if isinstance(value, str) and (problem := storage_problem(value)):
        raise DocumentError(f"the id of document {index}, {value!r}, {problem}; give another", index)
    if isinstance(value, str) or (isinstance(value, int | np.integer) and not isinstance(value, bool)):
        return str(value)
    raise DocumentError(f"the id of document {index} is {value!r}; expected a string or an integer", index)


def _first_repeat(names: list[str]) -> tuple[int, int]:
    """Return the positions of the first name that is repeated, and of its repetition."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in seen:
            return seen[name], position
        seen[name] = position
    raise AssertionError("no name is repeated")


def _frozen(strings: list[str]) -> StrArray:
    array = np.empty(len(strings), dtype=object)
    array[:] = strings
    array.flags.writeable = False
    return array
