"""What can be exported, and to which files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ppl_topics._util.nearest import nearest
from ppl_topics.diagnostics.tables.coefficients import coefficient_table
from ppl_topics.errors import TraceError
from ppl_topics.results.documents import Estimate
from ppl_topics.results.export.mallet import SUFFIXES as STATE_SUFFIXES
from ppl_topics.results.export.mallet import write_state
from ppl_topics.results.export.model_json import SUFFIXES as JSON_SUFFIXES
from ppl_topics.results.export.model_json import write_topic_model
from ppl_topics.results.export.tables import document_table
from ppl_topics.results.export.writing import TABLE_SUFFIXES, check_suffix, write_table
from ppl_topics.results.groups import Groups
from ppl_topics.results.topic_table import topic_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPORTS", "Export", "destination", "export", "to_frame"]


class Export(NamedTuple):
    """One thing that can be exported.

    Attributes
    ----------
    help : str
        What it is, for messages and ``ppl-topics export --help``.
    function : callable
        Returns the table from the groups of a trace or, if it is no table, writes the file: groups, path. Both take
        ``chain`` and ``response``.
    options : tuple of str
        Its other keywords, among ``n_words``, ``probability`` and ``estimate``; ``all_words`` where ``n_words`` may
        be None.
    suffixes : tuple of str
        Endings of the files that it can be written to.
    """

    help: str
    function: Callable[..., Any]
    options: tuple[str, ...]
    suffixes: tuple[str, ...] = TABLE_SUFFIXES

    @property
    def is_table(self) -> bool:
        """Whether it is a table rather than a file in its own format."""
        return self.suffixes == TABLE_SUFFIXES

    def keywords(self, what: str, given: dict[str, Any]) -> dict[str, Any]:
        """Return those of the given keywords that the function takes."""
        if "n_words" in self.options and "all_words" not in self.options and given["n_words"] is None:
            raise TraceError(f"n_words: {what} needs a number of words, at least 1")
        return {name: value for name, value in given.items() if name in ("chain", "response", *self.options)}


EXPORTS = {
    "topics": Export("the words of the topics, with intervals", topic_table, ("n_words", "all_words", "probability")),
    "theta": Export("the shares of topics in the training documents", document_table, ("estimate",)),
    "eta": Export("the coefficients of classes, labels or targets", coefficient_table, ("n_words", "probability")),
    "state": Export(
        "the last state of the chain, as MALLET's --output-state writes it", write_state, (), STATE_SUFFIXES
    ),
    "json": Export(
        "topics, coefficients and documents in one file",
        write_topic_model,
        ("n_words", "all_words", "probability", "estimate"),
        JSON_SUFFIXES,
    ),
}
"""What can be exported, by name."""


def to_frame(
    groups: Groups,
    what: str = "topics",
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
        A row for each topic and word, with intervals, see `topic_table`; for each document, with its shares of the
        topics, see `document_table`; or for each coefficient, see
        `ppl_topics.diagnostics.tables.coefficient_table`.
    chain : int
        Each chain numbers its topics in its own way, so chains are not combined.
    response : str, optional
        For topics and theta, whose topics, where each response has its own; for eta, whose coefficients.
    n_words : int, optional
        Words of each topic; None for all words of the topics.
    probability : float
        Probability of the equal-tailed intervals of topics and eta.
    estimate : {"auto", "draws", "z_last"}
        How theta is estimated.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    TraceError
        If there is no such table, chain or response, or the trace lacks what it needs.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_texts(["goal match goal team", "vote law vote", "law vote law"])
    >>> fit = pt.sample("lda", corpus, topics=2, draws=5, warmup=5, seed=1, progress=False)
    >>> list(fit.to_frame("topics", n_words=3).columns)
    ['topic', 'share', 'rank', 'word', 'probability', 'low', 'high']
    >>> list(fit.to_frame("theta").columns)
    ['doc', 'tokens', 'estimate', 'topic 0', 'topic 1']
    """
    kinds = {name: kind for name, kind in EXPORTS.items() if kind.is_table}
    if not isinstance(what, str) or what not in kinds:
        raise TraceError(f"there is no table {what!r}{nearest(str(what), kinds)}")
    options = {
        "chain": chain,
        "response": response,
        "n_words": n_words,
        "probability": probability,
        "estimate": estimate,
    }
    table: pd.DataFrame = kinds[what].function(groups, **kinds[what].keywords(what, options))
    return table


def destination(what: str, path: str | Path) -> tuple[Path, str]:
    """Return where something is to be written, and the suffix that tells the format.

    Raises
    ------
    PplTopicsError
        If there is no such thing to export, or it cannot be written there.
    """
    if not isinstance(what, str) or what not in EXPORTS:
        raise TraceError(f"there is nothing called {what!r} to export{nearest(str(what), EXPORTS)}")
    return check_suffix(path, EXPORTS[what].suffixes, f"`{what}`")


def export(
    groups: Groups,
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

    An existing file is replaced.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    what : {"topics", "theta", "eta", "state", "json"}
        Tables of `to_frame`; the last state of the chain for MALLET, see `mallet_state`; or topics and documents
        as JSON, see `topic_model`.
    path : str or pathlib.Path
        The suffix tells the format: for tables ``.csv``, ``.tsv`` (either with ``.gz``) or ``.parquet``; for a state
        ``.gz``; for JSON ``.json`` or ``.json.gz``.
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
    options: dict[str, Any] = {
        "chain": chain,
        "response": response,
        "n_words": n_words,
        "probability": probability,
        "estimate": estimate,
    }
    kind = EXPORTS[what]
    if kind.is_table:
        write_table(to_frame(groups, what, **options), place, suffix)
    else:
        kind.function(groups, place, **kind.keywords(what, options))
    return place
