"""The native format: a folder of plain ``.npy`` arrays, mapped into memory, and ``meta.json``.

No pickle is ever written or read. Strings are stored as UTF-8 bytes with offsets. ``meta.json`` holds the
version of the format and the SHA-256 of every array, of which the fingerprint of the corpus is made.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ppl_topics.corpus.covariates import CovariateColumn, Covariates
from ppl_topics.corpus.labels import Labels
from ppl_topics.corpus.names import DocIds, decode_strings, encode_strings
from ppl_topics.errors import CorpusError

if TYPE_CHECKING:
    from ppl_topics.corpus.core import Corpus

__all__ = ["FORMAT", "VERSION", "fingerprint", "is_corpus_folder", "load", "save"]

FORMAT = "ppl-topics-corpus"
VERSION = 1
META = "meta.json"

Arrays = dict[str, npt.NDArray[Any]]

_NOT_IN_FINGERPRINT = ("ids", "ids_data", "ids_offsets")
_BLOCK = 1 << 26


def fingerprint(corpus: Corpus) -> str:
    """Return the SHA-256, in hexadecimal, of tokens, vocabulary, labels and covariates."""
    arrays, parts = _content(corpus)
    return _fingerprint({name: _digest(array) for name, array in arrays.items()}, parts)


def is_corpus_folder(path: Path) -> bool:
    """Tell whether a corpus, of whatever version, was saved at `path`."""
    try:
        meta = json.loads((path / META).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(meta, dict) and meta.get("format") == FORMAT


def save(corpus: Corpus, path: Path) -> None:
    """Write `corpus` to the folder `path`; see `Corpus.save`."""
    path = Path(os.path.abspath(path))
    if not path.parent.is_dir():
        raise CorpusError(f"cannot save to {path}: there is no folder {path.parent}")
    _check_replaceable(path)
    arrays, parts = _content(corpus)
    ids = corpus.ids
    if ids is not None and ids.dtype == np.object_:
        arrays["ids_data"], arrays["ids_offsets"] = encode_strings(corpus.doc_ids)
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
    with _folder_in_one_step(path) as folder:
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        (folder / META).write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path, *, verify: bool) -> Corpus:
    """Open the corpus in the folder `path`; see `Corpus.load`."""
    from ppl_topics.corpus.core import Corpus, DroppedWords

    meta = _read_meta(path)
    try:
        arrays = {name: _open(path / f"{name}.npy") for name in meta["arrays"]}
        if verify:
            _verify(path, arrays, meta)
        ids: DocIds = arrays.get("ids")
        if "ids_data" in arrays:
            ids = decode_strings(arrays["ids_data"], arrays["ids_offsets"])
        corpus = Corpus(
            doc_ptr=arrays["doc_ptr"],
            words=arrays["words"],
            vocabulary=decode_strings(arrays["vocabulary_data"], arrays["vocabulary_offsets"]),
            ids=ids,
            labels=_labels(arrays, meta["parts"]),
            covariates=_covariates(arrays, meta["parts"]),
            name=meta["name"],
            dropped=DroppedWords(**meta["dropped"]),
        )
        known = meta["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, CorpusError):
            raise
        raise CorpusError(f"{path} is damaged ({error}); make the corpus anew from its source") from None
    corpus.__dict__["fingerprint"] = known  # computed when it was saved
    return corpus


def _content(corpus: Corpus) -> tuple[Arrays, dict[str, Any]]:
    """Return what a corpus says, as arrays and as JSON."""
    arrays: Arrays = {"doc_ptr": corpus.doc_ptr, "words": corpus.words}
    arrays["vocabulary_data"], arrays["vocabulary_offsets"] = encode_strings(corpus.vocabulary)
    parts: dict[str, Any] = {"labels": None, "covariates": None}
    if corpus.labels is not None:
        parts["labels"] = {"kind": corpus.labels.kind, "classes": list(corpus.labels.classes)}
        arrays["labels"] = corpus.labels.values
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


def _labels(arrays: Arrays, parts: dict[str, Any]) -> Labels | None:
    if parts["labels"] is None:
        return None
    classes = np.empty(len(parts["labels"]["classes"]), dtype=object)
    classes[:] = parts["labels"]["classes"]
    return Labels(parts["labels"]["kind"], arrays["labels"], classes)


def _covariates(arrays: Arrays, parts: dict[str, Any]) -> Covariates | None:
    described = parts["covariates"]
    if described is None:
        return None
    columns = tuple(
        CovariateColumn(name, None if levels is None else tuple(levels), reference)
        for name, levels, reference in described["columns"]
    )
    if "covariates" in arrays:
        return Covariates(arrays["covariates"], columns)
    indptr = arrays["covariates_indptr"]
    shape = (len(indptr) - 1, described["n_columns"])
    matrix = sparse.csr_array((arrays["covariates_data"], arrays["covariates_indices"], indptr), shape=shape)
    return Covariates(matrix, columns)


def _read_meta(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise CorpusError(f"there is no corpus at {path}")
    if not is_corpus_folder(path):
        raise CorpusError(f"{path} is not a corpus: it has no {META} that says so; use read_corpus for other formats")
    meta: dict[str, Any] = json.loads((path / META).read_text(encoding="utf-8"))
    if meta.get("version") != VERSION:
        raise CorpusError(
            f"{path} has version {meta.get('version')!r} of the corpus format, and this ppl-topics "
            f"reads version {VERSION}; read it with the ppl-topics that wrote it, or make the corpus anew"
        )
    return meta


def _open(file: Path) -> npt.NDArray[Any]:
    """Map an array into memory; an empty one, which cannot be mapped, is read."""
    with file.open("rb") as stream:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, _ = np.lib.format.read_array_header_1_0(stream)
        else:
            shape, _, _ = np.lib.format.read_array_header_2_0(stream)
    array: npt.NDArray[Any] = np.load(file, mmap_mode="r" if 0 not in shape else None, allow_pickle=False)
    return array.view(np.ndarray)


def _verify(path: Path, arrays: Arrays, meta: dict[str, Any]) -> None:
    digests = {name: _digest(array) for name, array in arrays.items()}
    for name, digest in digests.items():
        if digest != meta["arrays"][name]:
            raise CorpusError(
                f"{path / name}.npy has changed since it was saved (its checksum differs); "
                "make the corpus anew from its source"
            )
    if _fingerprint(digests, meta["parts"]) != meta["fingerprint"]:
        raise CorpusError(f"{path / META} has changed since it was saved; make the corpus anew from its source")


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


def _check_replaceable(path: Path) -> None:
    if not path.exists() or is_corpus_folder(path) or (path.is_dir() and not any(path.iterdir())):
        return
    raise CorpusError(f"{path} exists and is not a corpus; it is left as it is, choose another place")


@contextlib.contextmanager
def _folder_in_one_step(path: Path) -> Iterator[Path]:
    """Give a new folder beside `path` to write into, and move it there once it is complete."""
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
