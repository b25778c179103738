"""The methods of a fit that give it to pandas and other programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Exporting"]


class Exporting:
    """Tables and files for other programs, for a class that holds the groups of a trace."""

    groups: Mapping[str, xr.Dataset]

    def to_frame(self, what: str = "topics", *, chain: int = 0, **options: Any) -> pd.DataFrame:
        """Return topics, documents or coefficients as a table.

        Parameters
        ----------
        what : {"topics", "theta", "eta"}
            A row for each topic and word, with intervals; for each document, with its shares of the topics; or for each
            coefficient.
        chain : int
            Chains number their topics each in its own way, so they are not put together.
        **options
            ``response``, ``n_words``, ``probability`` and ``estimate`` of
            :func:`ppl_topics.diagnostics.tables.export.to_frame`.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        TraceError
            If there is no such table or chain, or the trace lacks what it needs.

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
        from ppl_topics.diagnostics.tables.export import to_frame

        return to_frame(self.groups, what, chain=chain, **options)

    def export(self, what: str, path: str | Path, *, chain: int = 0, **options: Any) -> Path:
        """Write topics, theta or eta as a table, the state of a chain for MALLET, or topics and documents as JSON.

        Parameters
        ----------
        what : {"topics", "theta", "eta", "state", "json"}
        path : str or pathlib.Path
            The suffix tells the format: of tables ``.csv``, ``.tsv`` (either with ``.gz``) or ``.parquet``; of a state
            ``.gz``; of JSON ``.json`` or ``.json.gz``. A file that stands there is replaced.
        chain : int
        **options
            ``response``, ``n_words``, ``probability`` and ``estimate`` of
            :func:`ppl_topics.diagnostics.tables.export.export`.

        Returns
        -------
        pathlib.Path

        Raises
        ------
        PplTopicsError
            If the trace lacks what is to be written, or the file cannot be written.
        """
        from ppl_topics.diagnostics.tables.export import export

        return export(self.groups, what, path, chain=chain, **options)

    def topic_model(self, *, chain: int = 0, **options: Any) -> dict[str, Any]:
        """Return topics, coefficients and documents as plain data for JSON.

        See :func:`ppl_topics.results.export.topic_model`, which tells the options; the schema is
        `ppl_topics.results.export.SCHEMA`.
        """
        from ppl_topics.results.export.model_json import topic_model

        return topic_model(self.groups, chain=chain, **options)
