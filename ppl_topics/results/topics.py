"""Topics of a trace as words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import is_whole
from ppl_topics.errors import TraceError
from ppl_topics.results.best_words import best_words
from ppl_topics.results.mean_topics import mean_topics
from ppl_topics.results.response_topics import check_chain
from ppl_topics.results.topic_names import with_names

__all__ = ["largest_topics", "top_words"]


def top_words(groups: Mapping[str, xr.Dataset], n_words: int = 10, chain: int = 0) -> pd.DataFrame:
    """Return each topic's share of the tokens and its most probable words, and its name if topics have names."""
    return largest_topics(groups, n_words, chain, None)


def largest_topics(groups: Mapping[str, xr.Dataset], n_words: int, chain: int, most: int | None) -> pd.DataFrame:
    """Return what `top_words` does of the largest topics, or of all; by response where each has its own."""
    chain = check_chain(chain, groups["posterior"]["chain"].values.tolist())
    phi = mean_topics(groups, chain)
    if not is_whole(n_words) or n_words < 1:
        raise TraceError(f"{argument('n_words')}: must be a whole number of at least 1, got {n_words!r}")
    if "topic_share" not in groups["posterior"]:
        raise TraceError("the trace holds no `topic_share` in `posterior`; it was not written by ppl-topics")
    share = groups["posterior"]["topic_share"].sel(chain=chain).mean("draw")
    words = phi["word"].values
    if "response" not in phi.dims:
        return with_names(_table(phi, share, words, n_words, most), groups)
    tables = {
        name: _table(phi.sel(response=name), share.sel(response=name), words, n_words, most)
        for name in phi.response.values
    }
    joined: pd.DataFrame = pd.concat(tables, names=["response"])
    return joined.reset_index("response").reset_index(drop=True)


def _table(
    topics: xr.DataArray, shares: xr.DataArray, words: NDArray[Any], n_words: int, most: int | None
) -> pd.DataFrame:
    share = shares.values
    order = np.argsort(-share, kind="stable")[:most]
    best = best_words(topics.transpose("topic", "word").values[order], n_words)
    return pd.DataFrame(
        {
            "topic": order,
            "share": share[order],
            "words": [" ".join(str(w) for w in words[row[row >= 0]]) for row in best],
        }
    )
