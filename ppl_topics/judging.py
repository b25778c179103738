"""The methods of a fit that tell whether its topics are any good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import xarray as xr

if TYPE_CHECKING:
    from ppl_topics.diagnostics.quality.coherence import Convention
    from ppl_topics.diagnostics.quality.reference import ReferenceLike

__all__ = ["Judging"]


class Judging:
    """Quality of topics, for a class that holds the groups of a trace.

    Chains number their topics each in its own way, so all of it is of one chain. It is in
    `ppl_topics.diagnostics.quality` and `ppl_topics.diagnostics.predictive_checks` too, as functions of the groups.
    """

    groups: Mapping[str, xr.Dataset]

    def topic_quality(
        self,
        *,
        corpus: ReferenceLike | None = None,
        n_words: int = 10,
        chain: int = 0,
        measures: Sequence[str] | None = None,
        window: int | None = None,
        convention: Convention = "paper",
        probability: float | None = None,
    ) -> pd.DataFrame:
        """Measure how good each topic is: coherence, spread over documents and words, exclusivity.

        Parameters
        ----------
        corpus : Corpus, list of str, or list of lists of str, optional
            The documents that coherence is measured on; by default those of training. Texts, or lists of words, keep
            the order of words, so that windows slide over them; in a corpus each document is one window.
        n_words : int
            Top words of each topic.
        chain : int
        measures : sequence of str, optional
            Out of ``umass``, ``npmi``, ``c_v``, ``entropy``, ``exclusivity``, ``effective_words`` and ``frex``; by
            default all but the last.
        window : int, optional
            Tokens of the windows of ``npmi`` and ``c_v``; by default 10 and 110.
        convention : {"paper", "gensim"}
            Whether coherences are those of their papers, or as gensim 4 computes them.
        probability : float, optional
            Of intervals over the recorded draws, which are added where it is given.

        Returns
        -------
        pandas.DataFrame
            A row for each topic, the largest share of tokens first, with the columns ``topic``, ``share``, the
            measures, and ``words``; see :func:`ppl_topics.diagnostics.quality.topic_quality`.

        Raises
        ------
        TraceError
            If there is no such chain or measure, or the trace lacks what a measure that was asked for needs.
        CorpusError
            If the documents are not what was expected.
        """
        from ppl_topics.diagnostics.quality import topic_quality

        return topic_quality(
            self.groups,
            corpus=corpus,
            n_words=n_words,
            chain=chain,
            measures=measures,
            window=window,
            convention=convention,
            probability=probability,
        )

    def frex_words(self, *, n_words: int = 10, weight: float = 0.5, chain: int = 0) -> pd.DataFrame:
        """Return the words of each topic that are both frequent in it and its own.

        Columns ``topic``, ``share`` and ``words``; see :func:`ppl_topics.diagnostics.quality.frex_words`.
        """
        from ppl_topics.diagnostics.quality import frex_words

        return frex_words(self.groups, n_words=n_words, weight=weight, chain=chain)

    def topic_diversity(self, *, n_words: int = 25, chain: int = 0) -> float:
        """Return the share of distinct words among the top words of all topics.

        See :func:`ppl_topics.diagnostics.quality.topic_diversity`.
        """
        from ppl_topics.diagnostics.quality import topic_diversity

        return topic_diversity(self.groups, n_words=n_words, chain=chain)

    def relevance_terms(self, *, n_words: int = 30, weight: float = 0.6, chain: int = 0) -> pd.DataFrame:
        """Return the most relevant words of each topic (Sievert and Shirley 2014).

        Columns ``topic``, ``word``, ``relevance``, ``probability`` and ``lift``; see
        :func:`ppl_topics.diagnostics.quality.relevance_terms`.
        """
        from ppl_topics.diagnostics.quality import relevance_terms

        return relevance_terms(self.groups, n_words=n_words, weight=weight, chain=chain)

    def predictive_checks(
        self,
        *,
        by: Literal["topic", "word"] = "topic",
        chain: int = 0,
        replications: int = 100,
        draws: int = 1,
        n_words: int = 10,
        replicate: Literal["predictive", "permutation"] | None = None,
        seed: int | None = None,
    ) -> pd.DataFrame:
        """Check whether the words of each topic depend on the document more than the model says (Mimno, Blei 2011).

        Columns ``topic``, ``share``, ``tokens``, ``information``, ``replicated``, ``sd``, ``deviation``, ``p_value``
        and ``words``; by word, ``word`` in place of ``share`` and ``words``. See
        :func:`ppl_topics.diagnostics.predictive_checks.predictive_checks`.
        """
        from ppl_topics.diagnostics.predictive_checks import predictive_checks

        return predictive_checks(
            self.groups,
            by=by,
            chain=chain,
            replications=replications,
            draws=draws,
            n_words=n_words,
            replicate=replicate,
            seed=seed,
        )

    def to_pyldavis(self, chain: int = 0, *, response: str | None = None) -> dict[str, Any]:
        """Return the arguments of ``pyLDAvis.prepare``; see :func:`ppl_topics.diagnostics.quality.to_pyldavis`."""
        from ppl_topics.diagnostics.quality import to_pyldavis

        return to_pyldavis(self.groups, chain, response=response)
