"""What can be exported, and to which files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from ppl_topics._util.nearest import nearest
from ppl_topics.errors import TraceError
from ppl_topics.results.documents import Estimate
from ppl_topics.results.export import mallet, model_json, writing
from ppl_topics.results.export.tables import document_table
from ppl_topics.results.topic_table import topic_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KINDS", "TABLES", "destination", "export", "to_frame"]

TABLES = ("topics", "theta", "eta")

KINDS = {
    **dict.fromkeys(TABLES, writing.TABLE_SUFFIXES),
    "state": mallet.SUFFIXES,
    "json": model_json.SUFFIXES,
}
"""What can be exported, with the suffixes of the files it can be written to."""


def to_frame(
    groups: Mapping[str, xr.Dataset],
    what: str,
    *,
    chain: int = 0,
    response: str | None = None,
    n_words: int | None = 20,
    probability: float = 0.9,
    estimate: Estimate = "auto",
) -> pd.DataFrame:
    """Return topics, documents or coefficients as a table.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    what : {"topics", "theta", "eta"}
        The words of topics, see `topic_table`; the shares of topics in documents, see `document_table`; or the
        coefficients of responses, see `ppl_topics.diagnostics.tables.coefficient_table`.
    chain : int
        Chains number their topics each in its own way, so they are not put together.
    response : str, optional
        Of topics and theta, whose topics, where each response has its own; of eta, whose coefficients.
    n_words : int, optional
        Words of each topic; None for all (of eta, all words make no text to read: a number is needed).
    probability : float
        Of the equal-tailed intervals of topics and eta.
    estimate : {"auto", "draws", "z_last"}
        Of theta.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    TraceError
        If there is no such table, chain or response, or the trace lacks what it needs.
    """
    if what == "topics":
        return topic_table(groups, chain=chain, response=response, n_words=n_words, probability=probability)
    if what == "theta":
        return document_table(groups, chain=chain, response=response, estimate=estimate)
    if what == "eta":
        from ppl_topics.diagnostics.tables import coefficient_table

        if n_words is None:
            raise TraceError("n_words: of coefficients, give a number of words, 1 at least")
        return coefficient_table(groups, response=response, chain=chain, probability=probability, n_words=n_words)
    raise TraceError(f"there is no table {what!r}{nearest(str(what), TABLES)}")


def destination(what: str, path: str | Path) -> tuple[Path, str]:
    """Return where something is to be written, and the suffix that tells the format.

    Raises
    ------
    PplTopicsError
        If there is no such thing to export, or it cannot be written there.
    """
    if what not in KINDS:
        raise TraceError(f"there is nothing called {what!r} to export{nearest(str(what), KINDS)}")
    return writing.check_suffix(path, KINDS[what], f"`{what}`")


def export(
    groups: Mapping[str, xr.Dataset],
    what: str,
    path: str | Path,
    *,
    chain: int = 0,
    response: str | None = None,
    n_words: int | None = 20,
    probability: float = 0.9,
    estimate: Estimate = "auto",
) -> Path:
    """Write topics, documents, coefficients or all of one chain to a file, whole or not at all.

    A file that stands there is replaced.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    what : {"topics", "theta", "eta", "state", "json"}
        Tables of `to_frame`; the last state of the chain for MALLET, see `mallet_state`; or topics and documents
        as JSON, see `topic_model`.
    path : str or pathlib.Path
        The suffix tells the format: of tables ``.csv``, ``.tsv`` (either with ``.gz``) or ``.parquet``; of a state
        ``.gz``; of JSON ``.json`` or ``.json.gz``.
    chain, response, n_words, probability, estimate
        As for `to_frame`, `mallet_state` and `topic_model`.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    TraceError
        If there is no such chain or response, or the trace lacks what is to be written.
    PplTopicsError
        If the file cannot be written, has another suffix or is a folder, or Parquet lacks pyarrow.
    """
    place, suffix = destination(what, path)
    options: dict[str, Any] = {"chain": chain, "response": response}
    if what == "state":
        mallet.write_state(groups, place, **options)
        return place
    options |= {"n_words": n_words, "probability": probability, "estimate": estimate}
    if what == "json":
        model_json.write_topic_model(groups, place, **options)
    else:
        writing.write_table(to_frame(groups, what, **options), place, suffix)
    return place
