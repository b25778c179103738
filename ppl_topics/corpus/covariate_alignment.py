"""Covariates of new documents in the columns of a training corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ppl_topics.corpus.covariates import CovariateColumn, Covariates
from ppl_topics.corpus.names import DocIds
from ppl_topics.errors import CorpusError

__all__ = ["align_covariates"]


def align_covariates(
    new: Covariates, columns: Sequence[CovariateColumn], doc_ids: DocIds = None
) -> tuple[Covariates, dict[str, int]]:
    """Encode the covariates of new documents with the columns of a training corpus; other columns are ignored.

    A category that training does not have is encoded as zeros. Returned with the covariates is the number of documents
    with such a category, by name of the column, for the columns that have any.
    """
    if new.columns == tuple(columns):
        return new, {}
    names = {column.name for column in new.columns}
    missing = [column.name for column in columns if column.name not in names]
    if missing:
        raise CorpusError(
            f"the covariates have no column {missing[0]!r}, which the model was trained with; expected "
            f"{', '.join(repr(column.name) for column in columns[:8])}{', ...' if len(columns) > 8 else ''}"
        )
    frame = _frame_of(new, {column.name for column in columns})
    unknown = {}
    for column in columns:
        if column.levels is not None:
            known = set(column.levels)
            count = sum(str(value) not in known for value in frame[column.name].tolist())
            if count:
                unknown[column.name] = count
    nothing = Covariates(np.zeros((0, sum(len(column.names) for column in columns))), tuple(columns))
    return nothing.encode(frame, allow_unknown=True, doc_ids=doc_ids), unknown


def _frame_of(covariates: Covariates, wanted: set[str]) -> pd.DataFrame:
    """Return the data frame that covariates were made from: numbers, and names of categories."""
    data: dict[str, Any] = {}
    by_column: Any = covariates.matrix
    if not isinstance(by_column, np.ndarray):
        by_column = by_column.tocsc()
    first = 0
    for column in covariates.columns:
        last = first + len(column.names)
        if column.name in wanted:
            part = by_column[:, first:last]
            if column.levels is None:
                values = part if isinstance(part, np.ndarray) else part.toarray()
                data[column.name] = [_level(value) for value in values[:, 0].tolist()]
            else:
                data[column.name] = _categories(column, part)
        first = last
    return pd.DataFrame(data, index=range(len(covariates)))


def _categories(column: CovariateColumn, part: Any) -> list[str]:
    levels = [level for level in column.levels or () if level != column.reference]
    # A row of zeros is the reference, or a category that was unknown when it was encoded.
    names = [column.reference if column.reference is not None else ""] * part.shape[0]
    for row, place in zip(*part.nonzero(), strict=True):
        names[int(row)] = levels[int(place)]
    return names


def _level(value: float) -> float | int:
    """Return a whole number as an int, so that its name is that of a category."""
    return int(value) if value.is_integer() else value
