"""Tables in files, in the format of their suffix."""

from __future__ import annotations

import csv
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ppl_topics._util.output_files import written, written_text
from ppl_topics._util.paths import as_path
from ppl_topics.errors import PplTopicsError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TABLE_SUFFIXES", "check_suffix", "suffix_of", "write_table"]

TABLE_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")

DIGITS = "%.9g"
"""Format of numbers in text: enough digits to distinguish any two single-precision numbers."""


def suffix_of(path: Path, suffixes: tuple[str, ...]) -> str | None:
    """Return the longest of the given suffixes that a path has, or None."""
    name = path.name.lower()
    fitting = [suffix for suffix in suffixes if name.endswith(suffix) and len(name) > len(suffix)]
    return max(fitting, key=len, default=None)


def check_suffix(path: str | Path, suffixes: tuple[str, ...], what: str) -> tuple[Path, str]:
    """Return a path that a file can be written to, and its suffix; ``what`` is to be written, for messages."""
    place = as_path(path, "a file to write", PplTopicsError)
    if os.path.isdir(place):
        raise PplTopicsError(f"{place}: this is a folder; name a file to write {what} to")
    suffix = suffix_of(place, suffixes)
    if suffix is None:
        raise PplTopicsError(f"{place}: {what} can be written to a file that ends in {', '.join(suffixes)}")
    if not os.path.isdir(place.parent):
        raise PplTopicsError(f"{place}: the folder {place.parent} does not exist; create it first")
    return place, suffix


def write_table(table: pd.DataFrame, path: Path, suffix: str) -> None:
    """Write a table as CSV or TSV, quoted where needed (RFC 4180), or as Parquet, which also keeps its ``attrs``.

    Missing values are empty cells of text, and null in Parquet.
    """
    if suffix == ".parquet":
        if find_spec("pyarrow") is None:
            raise PplTopicsError(
                f"{path}: Parquet needs pyarrow, which is not installed; pip install 'ppl-topics[parquet]', or write "
                "to a file that ends in .csv"
            )
        with written(path) as raw:
            table.to_parquet(raw, index=False, engine="pyarrow")
        return
    separator = "\t" if suffix.startswith(".tsv") else ","
    # Python 3.11 does not quote a lone carriage return, which readers take for the end of a row.
    returns = any("\r" in str(cell) for name in table.select_dtypes(["object", "string"]) for cell in table[name])
    quoting: Literal[0, 1] = csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    with written_text(path) as text:
        table.to_csv(text, sep=separator, index=False, float_format=DIGITS, lineterminator="\n", quoting=quoting)
