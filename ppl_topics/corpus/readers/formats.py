"""Which format a file has, from its name."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, get_args

from ppl_topics._util.argument_names import argument
from ppl_topics._util.nearest import did_you_mean
from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.lines import COMPRESSED_SUFFIXES
from ppl_topics.errors import CorpusError

__all__ = ["COUNT_FORMATS", "TEXT_FORMATS", "Format", "format_of"]

Format: TypeAlias = Literal[
    "svmlight", "jsonl", "csv", "tsv", "parquet", "ldac", "uci", "mallet", "matrix_market", "native"
]
"""Names of the formats that `read_corpus` reads."""

COUNT_FORMATS = frozenset({"svmlight", "ldac", "uci", "matrix_market"})
TEXT_FORMATS = ("jsonl", "csv", "tsv", "mallet", "parquet")

_SUFFIXES: dict[str, Format] = {
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".svm": "svmlight",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".ldac": "ldac",
    ".lda-c": "ldac",
    ".docword.txt": "uci",
    ".uci": "uci",
    ".mallet": "mallet",
    ".mm": "matrix_market",
    ".mtx": "matrix_market",
}


def format_of(path: File, given: str | None) -> Format:
    """Return the format of a file: the one given, by name or by suffix, or else that of the file name.

    ``.gz`` and ``.zst`` at the end of the name are ignored. A folder is in the native format.
    """
    if given is not None:
        if not isinstance(given, str):
            raise CorpusError(f"format is {given!r}, expected one of {', '.join(get_args(Format))}")
        if given in get_args(Format):
            return given  # type: ignore[return-value]
        by_suffix = _SUFFIXES.get("." + given.lower().lstrip("."))
        if by_suffix is None:
            names = get_args(Format)
            hint = did_you_mean(given, names)
            raise CorpusError(f"format '{given}' is unknown, expected one of {', '.join(names)}{hint}")
        return by_suffix
    if isinstance(path, Path) and path.is_dir():
        return "native"
    name = path.name.lower()
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    # The UCI repository itself names its files docword.nips.txt.
    if name.startswith("docword.") and name.endswith(".txt"):
        return "uci"
    for suffix, kind in _SUFFIXES.items():
        if name.endswith(suffix):
            return kind
    raise CorpusError(
        f"{path}: the name does not tell the format, expected it to end in {', '.join(_SUFFIXES)} "
        f"(and perhaps .gz or .zst), or a folder that Corpus.save wrote; otherwise give {argument('format')}"
    )
