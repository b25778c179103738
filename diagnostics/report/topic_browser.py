"""What the topic browser shows: topics by share, words by relevance, a map of topics, and documents."""

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
from ppl_topics.results.coefficient_draws import interval
from ppl_topics.results.mean_topics import has_mean_topics, mean_topics
from ppl_topics.results.topic_names import named, topic_names

__all__ = ["topics_section"]

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
    low: FloatArray  # ends of the 90% intervals of the shares; NaN with fewer than two draws
    high: FloatArray


def topics_section(groups: Groups, chain: int) -> Section:
    """Return the topic browser."""
    section = Section("topics", "Topics")
    found, section.absent = attempt(lambda: _topic_views(groups, chain))
    if found is None:
        return section
    views, words = found
    shown = views[: max(1, MOST_TOPICS // len(views[0].phi))]
    if len(shown) < len(views):
        section.notes.append(
            f"Each of {len(views):,} responses has its own topics; to keep the page small, only those of the first "
            f"{len(shown):,} are shown."
        )
    names = topic_names(groups)
    counts, n_tokens = _word_counts(groups, words, shown[0])
    p = counts / (n_tokens or 1)
    n_documents = min(N_DOCUMENTS, max(1, ALL_DOCUMENTS // sum(len(view.phi) for view in shown)))
    # The page holds each word once, in the order of this mapping from positions in the vocabulary.
    held: dict[int, int] = {}
    section.parts |= {"maps": [], "views": [], "many": len(shown) > 1, "lambda": 0.6}
    data = []
    for view in shown:
        best = [relevant_words(phi, p, N_WORDS) for phi in view.phi]
        labels = [named(names, k, " ".join(words[row[:LABEL_WORDS]])) for k, row in enumerate(best)]
        for word in np.concatenate(best).tolist():
            held.setdefault(word, len(held))
        documents = _documents(groups, chain, view, section)
        topics = [
            {
                "name": names[k] if names else "",
                "share": _short(view.share[k]),
                "low": _short(view.low[k]),
                "high": _short(view.high[k]),
                "words": [held[word] for word in best[k].tolist()],
                "phi": [_short(value) for value in view.phi[k, best[k]]],
                "documents": documents.of_topic(k, n_documents) if documents else [],
            }
            for k in range(len(best))
        ]
        data.append({"response": view.response, "topics": topics, "basis": documents.basis if documents else ""})
        section.parts["maps"].append(_map(view, labels, section))
        section.parts["views"].append({"response": view.response, "order": _by_share(view, labels)})
    section.parts["data"] = {
        "chain": chain,
        "n_words": N_WORDS,
        "steps": STEPS,
        "tokens": n_tokens,
        "words": words[list(held)].tolist(),
        "counts": [_short(count) for count in counts[list(held)]],
        "views": data,
    }
    section.notes[:] = list(dict.fromkeys(section.notes))
    return section


def _topic_views(groups: Groups, chain: int) -> tuple[list[TopicView], NDArray[Any]]:
    """Return the topics of a chain, one view for each response if each has its own topics, and the words."""
    mean, posterior = _mean_phi(groups, chain), groups["posterior"]
    if not mean.sizes["word"] or not mean.sizes["topic"]:
        raise TraceError("the trace holds topics without words")
    if not np.isfinite(mean.values).all():
        raise TraceError("the trace holds topics with probabilities that are not finite")
    words = np.array([str(word) for word in mean["word"].values.tolist()], dtype=object)
    share = posterior["topic_share"].sel(chain=chain) if "topic_share" in posterior else None
    apart = "response" in mean.dims
    views = []
    for place, name in enumerate(mean["response"].values.tolist() if apart else [""]):
        phi = mean.isel(response=place) if apart else mean
        values = np.asarray(phi.transpose("topic", "word").values, dtype=np.float64)
        missing = np.full(len(values), np.nan)
        statistics = (missing, missing, missing)
        if share is not None and share.sizes["draw"]:
            own = share.isel(response=place) if apart else share
            draws = own.transpose("draw", "topic").values.astype(np.float64)
            statistics = (draws.mean(axis=0), *interval(draws, 0.9))
        views.append(TopicView(str(name), place if apart else None, values, *statistics))
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


def _word_counts(groups: Groups, words: NDArray[Any], view: TopicView) -> tuple[FloatArray, int | None]:
    """Return how often each word occurs and the number of tokens, or else the topics' expected counts for one token."""
    constants, observed = groups.get("constant_data", xr.Dataset()), groups.get("observed_data", xr.Dataset())
    counts = np.zeros(0)
    if "word" in constants.coords and "word_count" in constants:
        counts = constants["word_count"].values.astype(np.float64)
    elif "word" in constants.coords and "words" in observed:
        counts = np.bincount(observed["words"].values, minlength=constants.sizes["word"]).astype(np.float64)
    if counts.sum() > 0:
        # Draws of phi may cover only some words, in a different order.
        known = dict(zip(map(str, constants["word"].values.tolist()), counts.tolist(), strict=True))
        if all(word in known for word in words):
            return np.array([known[word] for word in words]), int(counts.sum())
    share = np.where(np.isfinite(view.share), view.share, 1.0 / len(view.phi))
    return share @ view.phi, None


def _short(value: float) -> float | int | None:
    """Return a number with few characters, and None for NaN."""
    if np.isnan(value):
        return None
    rounded = float(f"{value:.5g}")
    return int(rounded) if rounded.is_integer() else rounded


def _by_share(view: TopicView, labels: list[str]) -> list[dict[str, Any]]:
    """Return the list of topics, the largest first."""
    order = np.argsort(-np.nan_to_num(view.share), kind="stable").tolist()
    shares = ["" if np.isnan(share) else percent(float(share)) for share in view.share]
    return [{"topic": k, "share": shares[k], "words": labels[k]} for k in order]


def _documents(groups: Groups, chain: int, view: TopicView, section: Section) -> Documents | None:
    """Return the documents by topic, or add a note on why there are none."""
    documents, why = attempt(lambda: Documents(groups, chain, view.response or None))
    if why:
        section.notes.append(f"Documents by topic are not available: {why}.")
    return documents


def _map(view: TopicView, labels: list[str], section: Section) -> str:
    """Return the map of topics, or add a note on why there is none."""
    places, why = attempt(lambda: topic_map(view.phi))
    if places is None:
        section.notes.append(sentence(f"the map of topics is not available: {why}"))
        return ""
    return circle_map(places, view.share, labels, view.place or 0)
