"""CSV and TSV files with named columns."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator

from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.lines import file_error, numbered_lines
from ppl_topics.corpus.readers.records import Cell, Columns, Record, check_columns

__all__ = ["read_delimited"]


def read_delimited(path: File, columns: Columns, delimiter: str, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the documents of a CSV or TSV file, whose first row names the columns.

    An empty label or covariate is missing; blank rows are skipped.
    """
    rows = _rows(path, delimiter, encoding)
    line, header = next(rows, (0, []))
    if not header:
        return
    for name in header:
        if name in columns.wanted() and header.count(name) > 1:
            raise file_error(path, line, f"the header has {header.count(name)} columns '{name}', expected one")
    check_columns(path, line, columns.wanted(), header, "the header")
    text_at = header.index(columns.text)
    label_at = None if columns.label is None else header.index(columns.label)
    id_at = None if columns.id is None else header.index(columns.id)
    covariates_at, more_at = ([header.index(n) for n in names] for names in (columns.covariates, columns.more_labels))
    for line, row in rows:
        if len(row) != len(header):
            raise file_error(
                path,
                line,
                f"the row has {len(row)} fields, expected {len(header)} as in the header; "
                "put a field that contains the separator in double quotes",
            )
        yield Record(
            line,
            row[text_at],
            _cell(row[label_at]) if label_at is not None else None,
            row[id_at] if id_at is not None else None,
            tuple(_cell(row[at]) for at in covariates_at),
            tuple(_cell(row[at]) for at in more_at),
        )


def _cell(field: str) -> Cell:
    return field.strip() or None


def _rows(path: File, delimiter: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the line on which it starts."""
    columns = 0
    lines = (text for _, text in numbered_lines(path, encoding, keep_ends=True))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        # The limit applies to the whole process: lift it for this call, since texts may be long.
        limit = csv.field_size_limit(sys.maxsize)
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise file_error(
                path,
                start,
                f"the row that starts here is malformed: {error}; a double quote inside a quoted field must be doubled",
            ) from None
        finally:
            csv.field_size_limit(limit)
        if row is None:
            return
        # White space alone is a blank row if there are several columns; in a single one, it may be a text.
        if len(row) > 1 or "".join(row).strip() or (row and columns == 1):
            yield start, row
        columns = columns or len(row)
