"""Covariates of new documents in the columns of a training corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ppl_topics.corpus.covariates import CovariateColumn, Covariates, level_name
from ppl_topics.corpus.names import DocIds, listed
from ppl_topics.errors import CorpusError

__all__ = ["align_covariates"]


def align_covariates(
    new: Covariates, columns: Sequence[CovariateColumn], doc_ids: DocIds = None
) -> tuple[Covariates, dict[str, int]]:
    """Encode the covariates of new documents with the columns of a training corpus; other columns are ignored.

    An unknown category is encoded as zeros. Returned with the covariates is the number of documents
    with an unknown category in each column that has any.
    """
    if new.columns == tuple(columns):
        return new, {}
    present = {column.name for column in new.columns}
    missing = [column.name for column in columns if column.name not in present]
    if missing:
        raise CorpusError(
            f"the covariates have no column {missing[0]!r}, which the model was trained with; expected "
            f"{listed([column.name for column in columns])}"
        )
    frame = _decoded(new, {column.name for column in columns})
    unknown = {
        column.name: int((~frame[column.name].map(level_name).isin(column.levels)).sum())
        for column in columns
        if column.levels is not None
    }
    nothing = Covariates(np.zeros((0, sum(len(column.names) for column in columns))), tuple(columns))
    encoded = nothing.encode(frame, allow_unknown=True, doc_ids=doc_ids)
    return encoded, {name: count for name, count in unknown.items() if count}


def _decoded(covariates: Covariates, wanted: set[str]) -> pd.DataFrame:
    """Return the data frame that covariates were made from: numbers, and names of categories."""
    matrix: Any = sparse.csc_array(covariates.matrix)
    data: dict[str, list[Any]] = {}
    first = 0
    for column in covariates.columns:
        part = matrix[:, first : first + len(column.names)]
        first += len(column.names)
        if column.name not in wanted:
            continue
        if column.levels is None:
            # A whole number becomes an int, so that its name is that of a category.
            values = part.toarray()[:, 0].tolist()
            data[column.name] = [int(value) if value.is_integer() else value for value in values]
        else:
            levels = [level for level in column.levels if level != column.reference]
            # A row of zeros is the reference, or a category that was unknown when it was encoded.
            data[column.name] = [column.reference or ""] * len(covariates)
            for row, place in zip(*part.nonzero(), strict=True):
                data[column.name][row] = levels[place]
    return pd.DataFrame(data, index=range(len(covariates)))
