"""The methods of a fit that plot it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr
from numpy.typing import NDArray

__all__ = ["Plotting"]


class Plotting:
    """Plots, for a class that holds the groups of a trace.

    All return matplotlib axes, of a new figure unless axes are given, and need the extra ``plots``. They are in
    `ppl_topics.diagnostics.plots` too, as functions of groups, an ``arviz.InferenceData`` or an ``xarray.DataTree``,
    which document each parameter.
    """

    groups: Mapping[str, xr.Dataset]

    def plot_trace(
        self,
        var_names: str | Sequence[str] | None = None,
        *,
        coords: Mapping[str, Any] | None = None,
        warmup: bool = True,
        axes: Any = None,
    ) -> NDArray[Any]:
        """Plot the path of each chain: lp, log p(w, z), training loss, acceptance rates, or what is named.

        Returns an array of axes, one for each scalar; see :func:`ppl_topics.diagnostics.plots.plot_trace`.
        """
        from ppl_topics.diagnostics.plots import plot_trace

        return plot_trace(self.groups, var_names, coords=coords, warmup=warmup, axes=axes)

    def plot_rank(
        self, var_names: str | Sequence[str] | None = None, *, coords: Mapping[str, Any] | None = None, axes: Any = None
    ) -> NDArray[Any]:
        """Plot how the ranks of each chain's draws among all draws are spread: evenly, if the chains agree.

        Returns an array of axes, one for each scalar; see :func:`ppl_topics.diagnostics.plots.plot_rank`.
        """
        from ppl_topics.diagnostics.plots import plot_rank

        return plot_rank(self.groups, var_names, coords=coords, axes=axes)

    def plot_ess(
        self, var_names: str | Sequence[str] | None = None, *, coords: Mapping[str, Any] | None = None, axes: Any = None
    ) -> NDArray[Any]:
        """Plot how the effective sample sizes grow with the draws.

        Returns an array of axes, one for each scalar; see :func:`ppl_topics.diagnostics.plots.plot_ess`.
        """
        from ppl_topics.diagnostics.plots import plot_ess

        return plot_ess(self.groups, var_names, coords=coords, axes=axes)

    def plot_topics(
        self,
        topics: int | Sequence[int] | None = None,
        *,
        response: str | None = None,
        chain: int = 0,
        n_words: int = 10,
        probability: float = 0.9,
        axes: Any = None,
    ) -> NDArray[Any]:
        """Plot the most probable words of topics as bars, with intervals where phi was recorded.

        Returns an array of axes, one for each topic; see :func:`ppl_topics.diagnostics.plots.plot_topics`.
        """
        from ppl_topics.diagnostics.plots import plot_topics

        return plot_topics(
            self.groups, topics, response=response, chain=chain, n_words=n_words, probability=probability, axes=axes
        )

    def plot_topic_correlations(
        self,
        *,
        response: str | None = None,
        chain: int = 0,
        estimate: Any = "auto",
        n_words: int = 4,
        ax: Any = None,
    ) -> Any:
        """Plot the correlations of the shares of topics over documents, like topics side by side.

        Returns axes; see :func:`ppl_topics.diagnostics.plots.plot_topic_correlations`.
        """
        from ppl_topics.diagnostics.plots import plot_topic_correlations

        return plot_topic_correlations(
            self.groups, response=response, chain=chain, estimate=estimate, n_words=n_words, ax=ax
        )

    def plot_eta(
        self,
        response: str | Sequence[str] | None = None,
        *,
        chain: int = 0,
        probability: float = 0.9,
        top: int | None = 40,
        n_words: int = 4,
        ax: Any = None,
    ) -> Any:
        """Plot the coefficients of topics as a heat map, topics by responses.

        Returns axes; see :func:`ppl_topics.diagnostics.plots.plot_eta`.
        """
        from ppl_topics.diagnostics.plots import plot_eta

        return plot_eta(
            self.groups, response=response, chain=chain, probability=probability, top=top, n_words=n_words, ax=ax
        )

    def plot_document(
        self,
        doc: int | str,
        *,
        response: str | None = None,
        chain: int = 0,
        probability: float = 0.9,
        top: int = 8,
        n_words: int = 4,
        max_tokens: int = 300,
        axes: Any = None,
    ) -> NDArray[Any]:
        """Plot the topics of a training document, and its words in the colours of their topics.

        Returns two axes; see :func:`ppl_topics.diagnostics.plots.plot_document`.
        """
        from ppl_topics.diagnostics.plots import plot_document

        return plot_document(
            self.groups,
            doc,
            response=response,
            chain=chain,
            probability=probability,
            top=top,
            n_words=n_words,
            max_tokens=max_tokens,
            axes=axes,
        )

    def plot_drift(
        self, others: Mapping[str, Any], *, name: str = "this run", skip: float = 0.1, axes: Any = None
    ) -> NDArray[Any]:
        """Plot this run's path beside those of others, such as AD-LDA's beside an exact kernel's.

        ``others`` are fits of the same corpus by name. Returns three axes; see
        :func:`ppl_topics.diagnostics.plots.plot_drift`.
        """
        from ppl_topics.diagnostics.plots import plot_drift

        return plot_drift({name: self.groups, **others}, skip=skip, axes=axes)

    def plot_coefficients(
        self,
        response: str | Sequence[str] | None = None,
        *,
        chain: int = 0,
        probability: float = 0.9,
        top: int | None = 20,
        n_words: int = 5,
        axes: Any = None,
    ) -> NDArray[Any]:
        """Plot the coefficients of each response as a forest, with the words of topics as labels.

        Returns an array of matplotlib axes, one for each response; see
        :func:`ppl_topics.diagnostics.plots.plot_coefficients`.
        """
        from ppl_topics.diagnostics.plots import plot_coefficients

        return plot_coefficients(
            self.groups, response=response, chain=chain, probability=probability, top=top, n_words=n_words, axes=axes
        )

    def plot_relevance(
        self,
        response: str | None = None,
        *,
        chain: int = 0,
        probability: float = 0.9,
        top: int | None = 20,
        n_words: int = 5,
        ax: Any = None,
    ) -> Any:
        """Plot how much the responses depend on each topic, r_k, the largest at the top.

        Returns matplotlib axes; see :func:`ppl_topics.diagnostics.plots.plot_relevance`.
        """
        from ppl_topics.diagnostics.plots import plot_relevance

        return plot_relevance(
            self.groups, response=response, chain=chain, probability=probability, top=top, n_words=n_words, ax=ax
        )
