"""The methods of a fit that read the coefficients of its response and the zeros of its topics."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import xarray as xr

__all__ = ["Reading"]


class Reading:
    """Reading of coefficients and sparse topics, for a class that holds the groups of a trace.

    Chains number their topics each in its own way, so all tables are of one chain, and so are their intervals, which
    are equal-tailed. All of it is in `ppl_topics.diagnostics.tables` too, as functions of the groups.
    """

    groups: Mapping[str, xr.Dataset]

    def coefficients(
        self,
        response: str | None = None,
        *,
        chain: int = 0,
        probability: float = 0.9,
        top: int | None = None,
        n_words: int = 10,
    ) -> pd.DataFrame:
        """Summarise the coefficients of each response, the largest first, with the words of their topics.

        Parameters
        ----------
        response : str, optional
            A class, label or target; by default all of them.
        chain : int
        probability : float
            Of the intervals.
        top : int, optional
            Only so many of each response, beside the intercept.
        n_words : int
            Words of each topic.

        Returns
        -------
        pandas.DataFrame
            Columns ``response``, ``coefficient``, ``topic``, ``mean``, ``sd``, ``low``, ``high``, ``excludes_0``,
            ``ess``, ``rhat``, ``share`` and ``words``; see
            :func:`ppl_topics.diagnostics.tables.coefficient_table`.

        Raises
        ------
        TraceError
            If the model has no response, its coefficients were not recorded, or there is no such response or chain.

        Examples
        --------
        >>> import ppl_topics as pt
        >>> texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
        >>> corpus = pt.Corpus.from_texts(texts, labels=["sport", "sport", "politics", "politics"] * 5)
        >>> fit = pt.sample("medlda", corpus, topics=2, draws=20, warmup=30, chains=1, seed=1, progress=False)
        >>> table = fit.coefficients("sport", n_words=2)
        >>> sorted(zip(table["mean"] > 0, table["words"]))
        [(False, 'vote law'), (True, 'goal match')]
        """
        from ppl_topics.diagnostics.tables import coefficient_table

        return coefficient_table(
            self.groups, response=response, chain=chain, probability=probability, top=top, n_words=n_words
        )

    def topic_relevance(self, *, chain: int = 0, probability: float = 0.9, n_words: int = 10) -> pd.DataFrame:
        """Return how much the responses depend on each topic, r_k = sum_l abs(eta_lk), the largest first.

        Columns ``topic``, ``relevance``, ``low``, ``high``, ``share`` and ``words``; see
        :func:`ppl_topics.diagnostics.tables.topic_relevance`.
        """
        from ppl_topics.diagnostics.tables import topic_relevance

        return topic_relevance(self.groups, chain=chain, probability=probability, n_words=n_words)

    def signal_topics(self, *, chain: int = 0, probability: float = 0.9, n_words: int = 10) -> pd.DataFrame:
        """Tell the topics with a coefficient whose interval excludes 0, signal, from the others, noise.

        Columns ``topic``, ``signal``, ``responses``, ``relevance``, ``share`` and ``words``; see
        :func:`ppl_topics.diagnostics.tables.signal_topics`.
        """
        from ppl_topics.diagnostics.tables import signal_topics

        return signal_topics(self.groups, chain=chain, probability=probability, n_words=n_words)

    def effective_coefficients(
        self, response: str | None = None, *, chain: int = 0, probability: float = 0.9
    ) -> pd.DataFrame:
        """Return how many coefficients of each response the data determine, and the prior does not.

        Columns ``response``, ``coefficients``, ``effective``, ``low`` and ``high``; see
        :func:`ppl_topics.diagnostics.tables.effective_coefficients`, which states the definition.
        """
        from ppl_topics.diagnostics.tables import effective_coefficients

        return effective_coefficients(self.groups, response=response, chain=chain, probability=probability)

    def zeros_in_phi(self, *, probability: float = 0.9) -> pd.DataFrame:
        """Return the share of the cells of phi that are zero, for spike_slab topics.

        Columns ``chain``, ``zeros``, ``low`` and ``high``; see
        :func:`ppl_topics.diagnostics.tables.zeros_in_phi`.
        """
        from ppl_topics.diagnostics.tables import zeros_in_phi

        return zeros_in_phi(self.groups, probability=probability)
