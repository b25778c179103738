"""The topic browser: a map, words by relevance, and documents, as markup and as data for the page's script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.diagnostics.quality import topic_map
from ppl_topics.diagnostics.report.formats import percent
from ppl_topics.diagnostics.report.relevant_words import STEPS, relevant_words
from ppl_topics.diagnostics.report.sections import Groups, Section, attempt, sentence
from ppl_topics.diagnostics.report.svg import circle_map
from ppl_topics.diagnostics.report.top_documents import Documents
from ppl_topics.errors import TraceError
from ppl_topics.results.mean_topics import has_mean_topics, mean_topics

__all__ = ["TopicView", "topic_views", "topics_section"]


N_WORDS = 30
"""Words of a topic that are shown at each position of the slider."""

LABEL_WORDS = 6
N_DOCUMENTS = 6
"""Documents of each topic for up to 200 topics; fewer if there are more topics, to keep the page small."""

ALL_DOCUMENTS = 200 * N_DOCUMENTS

MOST_TOPICS = 600
"""Topics over all responses, to keep the page small; the first response is always shown."""


@dataclass(frozen=True)
class TopicView:
    """The K topics of a chain or, if each response has its own topics, of one response."""

    response: str  # empty if all responses share the topics
    place: int | None  # position of the response
    phi: FloatArray  # posterior mean, (K, V)
    share: FloatArray  # posterior mean share of the tokens, (K,); NaN if it was not recorded
    low: FloatArray  # ends of the 90% intervals of the shares
    high: FloatArray


def topic_views(groups: Groups, chain: int) -> tuple[list[TopicView], NDArray[Any]]:
    """Return the topics of a chain, one view for each response if each has its own topics, and the words."""
    mean, posterior = _mean_phi(groups, chain), groups["posterior"]
    if not mean.sizes["word"] or not mean.sizes["topic"]:
        raise TraceError("the trace holds topics without words")
    words = np.array([str(word) for word in mean["word"].values.tolist()], dtype=object)
    share = posterior["topic_share"].sel(chain=chain) if "topic_share" in posterior else None
    names: list[tuple[int | None, str]] = [(None, "")]
    if "response" in mean.dims:
        names = [(place, str(name)) for place, name in enumerate(mean["response"].values.tolist())]
    views = []
    for place, name in names:
        phi = mean if place is None else mean.isel(response=place)
        each = share if share is None or place is None else share.isel(response=place)
        statistics = _share_statistics(each, phi.sizes["topic"])
        values = np.asarray(phi.transpose("topic", "word").values, dtype=np.float64)
        if not np.isfinite(values).all():
            raise TraceError("the trace holds topics with probabilities that are not finite")
        views.append(TopicView(name, place, values, *statistics))
    return views, words


def _mean_phi(groups: Groups, chain: int) -> xr.DataArray:
    """Return the mean topics of a chain, as stored or from the draws of another program."""
    if has_mean_topics(groups):
        return mean_topics(groups, chain)
    for array in groups["posterior"].data_vars.values():
        if set(array.dims) - {"response"} == {"chain", "draw", "topic", "word"} and array.dtype.kind == "f":
            if not array.sizes["draw"]:
                break
            return array.sel(chain=chain).mean("draw", dtype=np.float64)
    raise TraceError("the trace holds no topics: neither mean topics nor draws with the dimensions topic and word")


def _share_statistics(share: xr.DataArray | None, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean shares of topics and their 90% intervals, which need two draws."""
    missing = np.full(k, np.nan)
    if share is None or not share.sizes["draw"]:
        return missing, missing, missing
    draws = share.transpose("draw", "topic").values.astype(np.float64)
    if len(draws) < 2:
        return draws.mean(axis=0), missing, missing
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    return draws.mean(axis=0), low, high


def topics_section(groups: Groups, chain: int) -> Section:
    """Return the topic browser."""
    section = Section("topics", "Topics")
    found, section.absent = attempt(lambda: topic_views(groups, chain))
    if found is None:
        return section
    views, words = found
    shown = views[: max(1, MOST_TOPICS // len(views[0].phi))]
    if len(shown) < len(views):
        section.notes.append(
            f"Each of {len(views):,} responses has its own topics; to keep the page small, only those of the first "
            f"{len(shown):,} are shown."
        )
    counts, n_tokens = _word_counts(groups, words, shown)
    p = counts / (n_tokens or 1)
    collected = _Words(words, counts)
    n_documents = min(N_DOCUMENTS, max(1, ALL_DOCUMENTS // sum(len(view.phi) for view in shown)))
    data = [_view_data(groups, chain, view, collected, p, n_documents, section) for view in shown]
    section.parts |= {
        "maps": [_map(view, each, section) for view, each in zip(shown, data, strict=True)],
        "views": data,
        "data": {
            "chain": chain,
            "n_words": N_WORDS,
            "steps": STEPS,
            "tokens": n_tokens,
            "words": collected.texts,
            "counts": collected.counts,
            "views": [{key: value for key, value in view.items() if key != "order"} for view in data],
        },
        "many": len(shown) > 1,
        "lambda": 0.6,
    }
    section.notes[:] = list(dict.fromkeys(section.notes))
    return section


class _Words:
    """The words that the page holds, each once."""

    def __init__(self, vocabulary: NDArray[Any], counts: FloatArray) -> None:
        self.vocabulary, self.all_counts = vocabulary, counts
        self.places: dict[int, int] = {}

    def place(self, word: int) -> int:
        return self.places.setdefault(word, len(self.places))

    @property
    def texts(self) -> list[str]:
        return [str(self.vocabulary[word]) for word in self.places]

    @property
    def counts(self) -> list[float]:
        return [_short(float(self.all_counts[word])) for word in self.places]


def _short(value: float) -> float | int:
    """Return a number with few characters."""
    rounded = float(f"{value:.5g}")
    return int(rounded) if rounded.is_integer() else rounded


def _word_counts(groups: Groups, words: NDArray[Any], views: list[TopicView]) -> tuple[FloatArray, int | None]:
    """Return how often each word occurs and the number of tokens, or else the topics' expected counts for one token."""
    constants, observed = groups.get("constant_data", xr.Dataset()), groups.get("observed_data", xr.Dataset())
    counts = None
    if "word" in constants.coords:
        if "word_count" in constants:
            counts = constants["word_count"].values.astype(np.float64)
        elif "words" in observed:
            counts = np.bincount(observed["words"].values, minlength=constants.sizes["word"]).astype(np.float64)
    if counts is not None and counts.sum() > 0:
        # Draws of phi may cover only some words, in a different order.
        known = dict(zip(map(str, constants["word"].values.tolist()), counts.tolist(), strict=True))
        if all(word in known for word in words):
            return np.array([known[word] for word in words]), int(counts.sum())
    first = views[0]
    share = np.where(np.isfinite(first.share), first.share, 1.0 / len(first.phi))
    return share @ first.phi, None


def _view_data(
    groups: Groups, chain: int, view: TopicView, collected: _Words, p: FloatArray, n_documents: int, section: Section
) -> dict[str, Any]:
    documents, why = attempt(lambda: Documents(groups, chain, view.place, len(view.phi)))
    if why:
        section.notes.append(f"Documents by topic are not available: {why}.")
    topics: list[dict[str, Any]] = []
    labels = []
    for k, phi in enumerate(view.phi):
        best = relevant_words(phi, p, N_WORDS)
        labels.append(" ".join(str(collected.vocabulary[word]) for word in best[:LABEL_WORDS]))
        topics.append(
            {
                "share": None if np.isnan(view.share[k]) else _short(float(view.share[k])),
                "low": None if np.isnan(view.low[k]) else _short(float(view.low[k])),
                "high": None if np.isnan(view.high[k]) else _short(float(view.high[k])),
                "words": [collected.place(word) for word in best.tolist()],
                "phi": [_short(float(value)) for value in phi[best]],
                "documents": documents.of_topic(k, n_documents) if documents else [],
            }
        )
    order = np.argsort(-np.nan_to_num(view.share), kind="stable").tolist()
    listed = [
        {"topic": k, "share": "" if np.isnan(view.share[k]) else percent(float(view.share[k])), "words": labels[k]}
        for k in order
    ]
    return {
        "response": view.response,
        "topics": topics,
        "order": listed,
        "basis": documents.basis if documents else "",
    }


def _map(view: TopicView, data: dict[str, Any], section: Section) -> str:
    places, why = attempt(lambda: np.asarray(topic_map(view.phi), dtype=np.float64))
    if places is None:
        section.notes.append(sentence(f"the map of topics is not available: {why}"))
        return ""
    texts = {each["topic"]: each["words"] for each in data["order"]}
    return circle_map(places, view.share, [texts[k] for k in range(len(texts))], view.place or 0)
