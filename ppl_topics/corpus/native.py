"""The native format: a folder of plain ``.npy`` arrays, mapped into memory, and ``meta.json``.

No pickle is ever written or read. Strings are stored as UTF-8 bytes with offsets. ``meta.json`` has the
version of the format and the SHA-256 of every array, from which the fingerprint of the corpus is computed.

The checksums detect damage, not malice: whoever writes a folder writes them too. So everything that is read is checked,
because compiled code trusts a corpus.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ppl_topics.corpus.covariates import CovariateColumn, Covariates
from ppl_topics.corpus.labels import Labels
from ppl_topics.corpus.names import (
    NAME,
    StrArray,
    as_doc_ids,
    as_names,
    decode_strings,
    encode_strings,
    storage_problem,
)
from ppl_topics.corpus.parts import CorpusParts, DroppedWords
from ppl_topics.corpus.token_arrays import document_chunks
from ppl_topics.corpus.untrusted_files import open_array, read_json
from ppl_topics.errors import CorpusError

__all__ = [
    "FORMAT",
    "VERSION",
    "check_target",
    "fingerprint",
    "is_corpus_folder",
    "load",
    "new_folder",
    "save",
    "write",
]

FORMAT = "ppl-topics-corpus"
VERSION = 1
META = "meta.json"

Arrays = dict[str, npt.NDArray[Any]]

_ARRAYS = {
    "doc_ptr": (np.int64, 1),
    "words": (np.uint32, 1),
    "vocabulary_data": (np.uint8, 1),
    "vocabulary_offsets": (np.int64, 1),
    "ids": (np.int64, 1),
    "ids_data": (np.uint8, 1),
    "ids_offsets": (np.int64, 1),
    "labels": (None, None),
    "covariates": (np.float64, 2),
    "covariates_data": (np.float64, 1),
    "covariates_indices": (np.int64, 1),
    "covariates_indptr": (np.int64, 1),
}
"""Type and number of dimensions of each file; those of the labels follow from their kind."""

_MORE_LABELS = re.compile("labels_(0|[1-9][0-9]{0,2})")
_NOT_IN_FINGERPRINT = ("ids", "ids_data", "ids_offsets")
_BLOCK = 1 << 26


def fingerprint(corpus: CorpusParts) -> str:
    """Return the SHA-256, in hexadecimal, of tokens, vocabulary, labels and covariates."""
    arrays, parts = _content(corpus)
    return _fingerprint({name: _digest(array) for name, array in arrays.items()}, parts)


def is_corpus_folder(path: Path) -> bool:
    """Return whether a corpus, of any version, was saved at `path`."""
    try:
        meta = read_json(path / META)
    except (OSError, ValueError):
        return False
    return isinstance(meta, dict) and meta.get("format") == FORMAT


def save(corpus: CorpusParts, path: Path) -> None:
    """Write `corpus` to the folder `path`; see `Corpus.save`."""
    with new_folder(path) as folder:
        write(corpus, folder)


def check_target(path: Path) -> None:
    """Refuse a folder that cannot be made, or would replace something else than a corpus."""
    if not path.parent.is_dir():
        raise CorpusError(f"cannot save to {path}: the folder {path.parent} does not exist")
    if path.exists() and not is_corpus_folder(path) and not (path.is_dir() and not any(path.iterdir())):
        raise CorpusError(f"{path} exists and is not a corpus, so it is not replaced; choose another path")


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`, which takes its place in the end, also that of a corpus that is there."""
    path = Path(os.path.abspath(path))
    check_target(path)
    with _folder_in_one_step(path) as folder:
        yield folder


def write(corpus: CorpusParts, folder: Path, *, there: Collection[str] = ()) -> None:
    """Write the arrays of `corpus`, but those that are ``there`` already, and in the end its description."""
    arrays, parts = _content(corpus)
    ids = corpus.ids
    if ids is not None and ids.dtype == np.object_:
        arrays["ids_data"], arrays["ids_offsets"] = encode_strings(cast(StrArray, ids))
    elif ids is not None:
        arrays["ids"] = ids
    digests = {name: _digest(array) for name, array in arrays.items()}
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "name": corpus.name,
        "n_docs": corpus.n_docs,
        "n_words": corpus.n_words,
        "n_tokens": corpus.n_tokens,
        "dropped": vars(corpus.dropped),
        "parts": parts,
        "arrays": digests,
        "fingerprint": _fingerprint(digests, parts),
    }
    for name in arrays.keys() - set(there):
        np.save(folder / f"{name}.npy", arrays[name], allow_pickle=False)
    (folder / META).write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path, *, verify: bool) -> tuple[CorpusParts, str]:
    """Open the corpus in the folder `path`, see `Corpus.load`; return its parts and its fingerprint."""
    meta = _read_meta(path)
    try:
        arrays = {name: _open(path, name) for name in meta["arrays"]}
        if verify:
            _verify(path, arrays, meta)
        vocabulary = as_names(_strings(arrays, "vocabulary"), "word")
        _check_tokens(arrays["doc_ptr"], arrays["words"], len(vocabulary), verify)
        ids = arrays.get("ids")
        if "ids_data" in arrays and ids is None:
            ids = _strings(arrays, "ids")
        name = meta["name"]
        if not isinstance(name, str) or storage_problem(name):
            raise ValueError("its name is not valid text")
        corpus = CorpusParts(
            doc_ptr=arrays["doc_ptr"],
            words=arrays["words"],
            vocabulary=vocabulary,
            ids=as_doc_ids(ids, len(arrays["doc_ptr"]) - 1),
            labels=_labels(arrays, meta["parts"]["labels"], "labels"),
            covariates=_covariates(arrays, meta["parts"]),
            name=name,
            dropped=DroppedWords(**{what: _count(value) for what, value in meta["dropped"].items()}),
            more_labels=_more_labels(arrays, meta["parts"]),
        )
        fingerprint = meta["fingerprint"]
        written, parts = _content(corpus)
        # Otherwise the fingerprint would cover more than the corpus, and equal corpora would have different ones.
        if json.loads(json.dumps(parts)) != meta["parts"] or set(written) != set(arrays) - set(_NOT_IN_FINGERPRINT):
            raise ValueError(f"{META} describes another corpus")
    except Exception as error:
        if isinstance(error, CorpusError) and str(error).startswith(str(path)):
            raise
        # A folder that `save` did not write may make NumPy and SciPy raise anything.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise CorpusError(f"{path} is damaged ({reason}); make the corpus again from its source") from None
    return corpus, fingerprint


def _content(corpus: CorpusParts) -> tuple[Arrays, dict[str, Any]]:
    """Return the content of a corpus, as arrays and as JSON."""
    arrays: Arrays = {"doc_ptr": corpus.doc_ptr, "words": corpus.words}
    arrays["vocabulary_data"], arrays["vocabulary_offsets"] = encode_strings(corpus.vocabulary)
    parts: dict[str, Any] = {"labels": None, "covariates": None}
    if corpus.labels is not None:
        parts["labels"] = {"kind": corpus.labels.kind, "classes": list(corpus.labels.classes)}
        arrays["labels"] = corpus.labels.values
    if corpus.more_labels:
        # A list, so that their order is kept; nothing where there are none, as in folders of earlier versions.
        parts["more_labels"] = [
            [name, {"kind": each.kind, "classes": list(each.classes)}] for name, each in corpus.more_labels.items()
        ]
        arrays |= {f"labels_{i}": each.values for i, each in enumerate(corpus.more_labels.values())}
    if corpus.covariates is not None:
        matrix = corpus.covariates.matrix
        columns = [[column.name, column.levels, column.reference] for column in corpus.covariates.columns]
        parts["covariates"] = {"columns": columns, "n_columns": corpus.covariates.n_columns}
        if isinstance(matrix, np.ndarray):
            arrays["covariates"] = np.ascontiguousarray(matrix)
        else:
            arrays["covariates_data"] = matrix.data
            arrays["covariates_indices"] = matrix.indices.astype(np.int64)
            arrays["covariates_indptr"] = matrix.indptr.astype(np.int64)
    return arrays, parts


def _open(path: Path, name: str) -> npt.NDArray[Any]:
    """Open an array, which must have one of the names that `save` gives."""
    known = "labels" if _MORE_LABELS.fullmatch(name) else name
    if known not in _ARRAYS:
        raise ValueError(f"a corpus has no array {name!r}")
    array = open_array(path / f"{name}.npy")
    dtype, n_dims = _ARRAYS[known]
    if dtype is not None and (array.dtype != dtype or array.ndim != n_dims):
        raise ValueError(f"{name}.npy has {array.ndim} dimensions of {array.dtype}")
    return array


def _strings(arrays: Arrays, name: str) -> StrArray:
    data, offsets = arrays[f"{name}_data"], arrays[f"{name}_offsets"]
    _check_pointer(offsets, len(data), f"{name}_offsets")
    return decode_strings(data, offsets)


def _check_pointer(pointer: npt.NDArray[Any], end: int, name: str) -> None:
    """Refuse offsets that do not increase from 0 to `end`."""
    if not len(pointer) or pointer[0] != 0 or pointer[-1] != end or np.any(pointer[1:] < pointer[:-1]):
        raise ValueError(f"{name}.npy does not increase from 0 to {end:,}")


def _check_tokens(doc_ptr: npt.NDArray[Any], words: npt.NDArray[Any], n_words: int, verify: bool) -> None:
    """Check what kernels rely on; the tokens only if `verify`, because all of them must be read for it."""
    _check_pointer(doc_ptr, len(words), "doc_ptr")
    if not verify:
        return
    for start, stop in document_chunks(doc_ptr):
        first, last = int(doc_ptr[start]), int(doc_ptr[stop])
        piece = words[first:last]
        if len(piece) and int(piece.max()) >= n_words:
            raise ValueError(f"words.npy has word id {int(piece.max())}, but there are {n_words:,} words")
        back = np.flatnonzero(piece[1:] < piece[:-1]) + first + 1
        if not np.isin(back, doc_ptr[start:stop]).all():
            raise ValueError("words.npy is not sorted within documents")


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"{META} has {str(value)[:40]!r}, expected a count")
    return value


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(v, str) and not storage_problem(v) for v in values):
        raise ValueError(f"{META} has {str(values)[:40]!r}, expected a list of names")
    return values


def _labels(arrays: Arrays, described: dict[str, Any] | None, name: str) -> Labels | None:
    if described is None:
        return None
    classes = np.array(_texts(described["classes"]), dtype=object)
    made = Labels(described["kind"], arrays[name], classes)
    if made.values.dtype != arrays[name].dtype:
        raise ValueError(f"{name}.npy has {arrays[name].dtype}, expected {made.values.dtype}")
    return made


def _more_labels(arrays: Arrays, parts: dict[str, Any]) -> dict[str, Labels]:
    made = {}
    for number, (name, described) in enumerate(parts.get("more_labels", [])):
        labels = _labels(arrays, described, f"labels_{number}")
        if labels is None or not isinstance(name, str) or not NAME.match(name):
            raise ValueError(f"{META} has labels {str(name)[:40]!r} without a description, or with another name")
        made[name] = labels
    return made


def _covariates(arrays: Arrays, parts: dict[str, Any]) -> Covariates | None:
    described = parts["covariates"]
    if described is None:
        return None
    columns = tuple(_column(*entry) for entry in described["columns"])
    if "covariates" in arrays:
        matrix: Any = arrays["covariates"]
        values = matrix
    else:
        values, indices = arrays["covariates_data"], arrays["covariates_indices"]
        indptr, n_columns = arrays["covariates_indptr"], _count(described["n_columns"])
        _check_pointer(indptr, len(values), "covariates_indptr")
        if len(indices) != len(values) or (len(indices) and not 0 <= indices.min() <= indices.max() < n_columns):
            raise ValueError(f"covariates_indices.npy goes beyond {n_columns:,} columns")
        matrix = sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, n_columns))
    if not np.isfinite(values).all():
        raise ValueError("a covariate is not finite")
    return Covariates(matrix, columns)


def _column(name: Any, levels: Any, reference: Any) -> CovariateColumn:
    _texts([name, *([] if reference is None else [reference])])
    return CovariateColumn(name, None if levels is None else tuple(_texts(levels)), reference)


def _read_meta(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise CorpusError(f"there is no corpus at {path}")
    if not is_corpus_folder(path):
        raise CorpusError(f"{path} is not a corpus: it has no valid {META}; use read_corpus for other formats")
    meta: dict[str, Any] = read_json(path / META)
    spelled = repr(meta.get("version"))[:40]
    if spelled != repr(VERSION):
        raise CorpusError(
            f"{path} has version {spelled} of the corpus format, but this ppl-topics "
            f"reads version {VERSION}; use the ppl-topics that wrote it, or make the corpus again"
        )
    return meta


def _verify(path: Path, arrays: Arrays, meta: dict[str, Any]) -> None:
    digests = {name: _digest(array) for name, array in arrays.items()}
    for name, digest in digests.items():
        if digest != meta["arrays"][name]:
            raise CorpusError(
                f"{path / name}.npy has changed since it was saved (its checksum differs); "
                "make the corpus again from its source"
            )
    if _fingerprint(digests, meta["parts"]) != meta["fingerprint"]:
        raise CorpusError(f"{path / META} has changed since it was saved; make the corpus again from its source")


def _digest(array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array's type, shape and contents."""
    state = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    for start in range(0, len(data), _BLOCK):
        state.update(data[start : start + _BLOCK].data)
    return state.hexdigest()


def _fingerprint(digests: dict[str, str], parts: dict[str, Any]) -> str:
    content = {name: digest for name, digest in digests.items() if name not in _NOT_IN_FINGERPRINT}
    return hashlib.sha256(json.dumps([content, parts], sort_keys=True).encode()).hexdigest()


@contextlib.contextmanager
def _folder_in_one_step(path: Path) -> Iterator[Path]:
    """Yield a new folder beside `path` to write into, and move it to `path` once it is complete."""
    work = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    work.mkdir()
    try:
        yield work
        old = path.with_name(f".{path.name}.{uuid.uuid4().hex}.old")
        if path.exists():
            path.rename(old)
        try:
            work.rename(path)
        except OSError:
            if old.exists():
                old.rename(path)
            raise
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
