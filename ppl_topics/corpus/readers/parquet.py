"""Parquet files, and partitions of data frames: tables of typed columns, which Arrow reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.lines import file_error, opened
from ppl_topics.corpus.readers.records import Columns, Record, check_columns, typed_record
from ppl_topics.errors import CorpusError

__all__ = ["Partition", "read_parquet", "read_partition"]

_ROWS = 1024
"""Rows that are turned into documents at once."""


@dataclass(frozen=True)
class Partition:
    """A part of a Dask data frame, which is computed when it is read."""

    number: int
    delayed: Any

    def __str__(self) -> str:
        return f"partition {self.number}"


def read_parquet(path: File, columns: Columns) -> Iterator[Record]:
    """Yield the documents of a Parquet file, one row group after another; the line of a document is its row, from 1."""
    arrow, parquet = _arrow(path)
    with opened(path) as raw:
        try:
            file = parquet.ParquetFile(raw)
        except (arrow.ArrowException, OSError) as error:
            raise _damaged(path, error) from None
        names = file.schema_arrow.names
        check_columns(path, 0, columns.wanted(), names, "the file")
        for row, entry in enumerate(_rows(path, file, _distinct(columns), arrow.ArrowException), 1):
            yield typed_record(path, row, columns, entry)


def read_partition(partition: Partition, columns: Columns) -> Iterator[Record]:
    """Yield the documents of a partition, like `read_parquet`."""
    arrow, _ = _arrow(partition)
    try:
        frame = partition.delayed.compute(scheduler="sync")
    except Exception as error:
        raise file_error(partition, 0, f"it cannot be computed: {type(error).__name__}: {error}") from error
    try:
        table = arrow.Table.from_pandas(frame[_distinct(columns)], preserve_index=False)
    except arrow.ArrowException as error:
        raise file_error(partition, 0, f"a column has values of several types ({error})") from None
    entries = (entry for batch in table.to_batches(_ROWS) for entry in batch.to_pylist())
    for row, entry in enumerate(entries, 1):
        yield typed_record(partition, row, columns, entry)


def _arrow(source: object) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise CorpusError(f"{source}: Parquet needs pyarrow; pip install 'ppl-topics[parquet]' installs it") from None
    return pyarrow, pyarrow.parquet


def _distinct(columns: Columns) -> list[str]:
    return list(dict.fromkeys(columns.wanted()))


def _rows(path: File, file: Any, names: list[str], arrow_error: type[Exception]) -> Iterator[dict[str, Any]]:
    try:
        for batch in file.iter_batches(_ROWS, columns=names):
            yield from batch.to_pylist()
    except (arrow_error, OSError, ValueError, OverflowError) as error:
        raise _damaged(path, error) from None


def _damaged(path: File, error: Exception) -> CorpusError:
    return file_error(path, 0, f"this is not a Parquet file, or it is damaged ({error}); fetch or write it again")
