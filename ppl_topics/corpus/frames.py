"""Data frames of any library that speaks Arrow, as pandas has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ppl_topics.errors import CorpusError

__all__ = ["is_frame", "to_pandas"]


def is_frame(value: Any) -> bool:
    """Tell whether a value is a table with named columns, for `to_pandas`."""
    return isinstance(value, pd.DataFrame) or hasattr(value, "__arrow_c_stream__")


def to_pandas(frame: Any, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a data frame, or some columns of it, of pandas or of any library that speaks Arrow.

    Raises
    ------
    CorpusError
        If it is no data frame, a column is missing or there twice, or pyarrow is needed and not installed.
    """
    if not is_frame(frame):
        raise CorpusError(
            "expected a data frame, of pandas or one that speaks Arrow, such as of Polars or DuckDB, "
            f"got {str(frame)[:40]!r}, of type {type(frame).__name__}"
        )
    if isinstance(frame, pd.DataFrame):
        return frame if columns is None else frame[_checked(columns, list(frame.columns))]
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise CorpusError(
            f"a data frame of type {type(frame).__name__} needs pyarrow; pip install 'ppl-topics[parquet]' installs it"
        ) from None
    table = pyarrow.table(frame)
    if columns is not None:
        table = table.select(_checked(columns, table.column_names))
    made: pd.DataFrame = table.to_pandas()
    return made


def _checked(columns: Sequence[str], present: Sequence[Any]) -> list[str]:
    """Return the columns, each once, if the data frame has them once."""
    for column in columns:
        if column not in present:
            known = ", ".join(repr(str(name)) for name in present)
            raise CorpusError(f"the data frame has no column {column!r}; its columns are {known}")
        if list(present).count(column) > 1:
            raise CorpusError(f"the data frame has several columns {column!r}; rename all but one")
    return list(dict.fromkeys(columns))
