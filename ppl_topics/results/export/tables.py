"""Topic shares of documents as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from ppl_topics.results.documents import Estimate, document_topics
from ppl_topics.results.response_topics import own_topics

__all__ = ["document_table"]


def document_table(
    groups: Mapping[str, xr.Dataset],
    *,
    chain: int = 0,
    response: str | None = None,
    estimate: Estimate = "auto",
) -> pd.DataFrame:
    """Return the topic shares of the training documents, with a row for each document.

    Parameters
    ----------
    groups, chain, response
        As for `topic_table`.
    estimate : {"auto", "draws", "z_last"}
        As for `ppl_topics.results.documents.document_topics`.

    Returns
    -------
    pandas.DataFrame
        Columns ``doc`` (its id), ``tokens``, ``estimate`` (``draws`` or ``z_last``, the same in all rows), and
        ``topic 0``, ``topic 1``, ..., which sum to 1. If each response has its own topics, ``response`` is the first
        column. ``attrs`` holds ``chain`` and ``estimate``.

    Raises
    ------
    TraceError
        If there is no such chain or response, or the trace lacks what the estimate needs.
    """
    apart = own_topics(groups)
    names: list[str | None] = [response] if response is not None or not apart else [*apart]
    tables = []
    for name in names:
        found = document_topics(groups, chain, name, estimate)
        tokens = pd.array(found.lengths, dtype="Int64")
        tokens[found.lengths < 0] = pd.NA
        columns: dict[str, Any] = {"response": name} if apart else {}
        columns |= {"doc": found.docs.astype(str).astype(object), "tokens": tokens, "estimate": found.estimate}
        shares = pd.DataFrame(found.theta, columns=[f"topic {number}" for number in found.topics])
        tables.append(pd.concat([pd.DataFrame(columns), shares], axis=1))
    table = pd.concat(tables, ignore_index=True)
    table.attrs = {"chain": int(chain), "estimate": found.estimate}
    return table
