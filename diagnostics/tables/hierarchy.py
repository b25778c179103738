"""Which topics are near each other, as a tree, and how many draws agree.

References
----------
J. P. Huelsenbeck, F. Ronquist (2001). MRBAYES: Bayesian inference of phylogenetic trees. Bioinformatics 17(8).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from ppl_topics._util.arrays import Float32Array, FloatArray
from ppl_topics.diagnostics.quality.topic_set import as_topics
from ppl_topics.errors import TraceError
from ppl_topics.results.documents import mean_phi, part_of, recorded, recorded_words, topic_numbers

__all__ = ["QUICKLY_ORDERED", "topic_hierarchy"]

QUICKLY_ORDERED = 150
"""Maximum number of leaves for their optimal order."""


def topic_hierarchy(groups: Mapping[str, xr.Dataset], *, response: str | None = None, chain: int = 0) -> pd.DataFrame:
    """Return the topics of a chain merged one after another, the nearest first, with the share of draws that agree.

    The distance of two topics is Hellinger's, the root of 1 - sum_w sqrt(phi_kw phi_jw): from 0 to 1, where they share
    no word. That of two groups of topics is the mean over their pairs (average linkage). The tree is that of the mean
    distances over the recorded draws of phi. The distances of the mean of phi would make a tree that hardly any draw
    has, since a small topic is farther from all others in the draws than in the mean. The support of a merge is the
    share of the draws whose own tree has a node with the same topics under it, as for the clades of phylogenies
    (Huelsenbeck, Ronquist 2001).

    If phi was recorded for some words only (by default the 1,000 most frequent), all other words count as one word.
    Distances are then smaller than over all words. Without at least two recorded draws of phi, the tree is that of the
    mean of phi, over all words, and has no support.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    response : str, optional
        Whose topics; required if each response has its own topics (one-vs-all), and not allowed otherwise.
    chain : int
        Chains number their topics independently, so they are not combined.

    Returns
    -------
    pandas.DataFrame
        A row for each of the K - 1 merges, the smallest distance first, with the columns ``left`` and ``right`` (tuples
        of the numbers of the topics that are merged, ordered so that similar topics are side by side), ``distance`` and
        ``support`` (from 0 to 1; that of the last merge, of all topics, is always 1; missing without draws). ``attrs``
        holds ``chain``, ``draws`` (the number used), ``words`` (the number of words that are compared one by one) and
        ``vocabulary`` (the number of all).

    Raises
    ------
    TraceError
        If there is no such chain or response, the trace holds no mean topics, or it has one topic.
    """
    part = part_of(groups, chain, response)
    phi, numbers = mean_phi(groups, part), topic_numbers(groups)
    n_topics, n_words = phi.shape
    if n_topics < 2:
        raise TraceError("the trace has one topic, and a hierarchy needs at least two")
    draws = recorded(groups, "phi")
    if draws is not None and draws.sizes["draw"] > 1:
        compared = int((recorded_words(groups, draws) >= 0).sum())
        distance, of_draws = _drawn(part.of(draws), n_words)
    else:
        compared, distance, of_draws = n_words, _distances(phi, n_words), []
    tree = _tree(distance, optimal=n_topics <= QUICKLY_ORDERED)
    support = [np.mean([clade in own for own in of_draws]) if of_draws else np.nan for clade in _clades(tree)]
    nodes: list[tuple[int, ...]] = [(number,) for number in numbers]
    sides = []
    for left, right in tree[:, :2].astype(np.int64).tolist():
        sides.append((nodes[left], nodes[right]))
        nodes.append(nodes[left] + nodes[right])
    table = pd.DataFrame(
        {
            "left": [left for left, _ in sides],
            "right": [right for _, right in sides],
            "distance": tree[:, 2],
            "support": support,
        }
    )
    table.attrs = {"chain": part.chain, "draws": len(of_draws), "words": compared, "vocabulary": n_words}
    return table


def _drawn(draws: xr.DataArray, n_words: int) -> tuple[FloatArray, list[set[int]]]:
    """Return the mean distances over draws, and the clades of each draw's own tree."""
    total, trees = np.zeros((draws.sizes["topic"],) * 2), []
    # One draw at a time, since they may be on disk.
    for draw in range(draws.sizes["draw"]):
        distance = _distances(draws.isel(draw=draw).transpose("topic", "word").values, n_words)
        total += distance
        trees.append(set(_clades(_tree(distance))))
    return total / len(trees), trees


def _distances(phi: Float32Array, n_words: int) -> FloatArray:
    """Return Hellinger's distances (K, K) of topics; all words that phi lacks of the vocabulary count as one."""
    topics = phi.astype(np.float64)
    if topics.shape[1] < n_words:
        topics = np.column_stack([topics, np.maximum(1.0 - topics.sum(axis=1), 0.0)])
    roots = np.sqrt(as_topics(topics))
    result = np.sqrt(np.clip(1.0 - roots @ roots.T, 0.0, 1.0))
    # The rounding of a topic's distance from itself.
    np.fill_diagonal(result, 0.0)
    return np.asarray(result)


def _tree(distance: FloatArray, optimal: bool = False) -> FloatArray:
    """Return the merges of topics, as scipy has them, by average linkage."""
    return np.asarray(linkage(squareform(distance, checks=False), "average", optimal_ordering=optimal))


def _clades(tree: FloatArray) -> list[int]:
    """Return the topics under each merge, as the bits of a whole number."""
    clades = [1 << topic for topic in range(len(tree) + 1)]
    for left, right in tree[:, :2].astype(np.int64).tolist():
        clades.append(clades[left] | clades[right])
    return clades[len(tree) + 1 :]
