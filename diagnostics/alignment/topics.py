"""What alignment reads of a trace: the topics of each chain, and which of them are exchangeable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray, RealArray
from ppl_topics.core.response import Response
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.results import mean_topics as trace_means
from ppl_topics.results.mean_topics import has_mean_topics
from ppl_topics.spec import Model, load_spec

__all__ = [
    "TOPIC_DIMS",
    "by_response",
    "chains_of",
    "check_comparable",
    "exchangeable",
    "mean_topics",
    "topics_of_chain",
    "word_names",
]

TOPIC_DIMS = {"chain", "topic", "word"}


def chains_of(groups: Mapping[str, xr.Dataset]) -> list[int]:
    """Return the numbers of the chains.

    Raises
    ------
    TraceError
        If the posterior has no chains, draws or topics.
    """
    posterior = groups["posterior"]
    if not {"chain", "draw"} <= set(posterior.dims):
        raise TraceError("the group `posterior` lacks the dims chain and draw; it is no trace of a sampler")
    if n_topics(groups) == 0:
        raise TraceError("the trace has no dim `topic`; it has no topics to align")
    if not posterior.sizes["chain"] or not posterior.sizes["draw"]:
        raise TraceError("the trace has no draws")
    return [int(chain) for chain in posterior["chain"].values]


def n_topics(groups: Mapping[str, xr.Dataset]) -> int:
    """Return the number of topics, 0 where the trace has none."""
    sizes = (groups[name].sizes.get("topic", 0) for name in ("posterior", "constant_data") if name in groups)
    return max(sizes, default=0)


def exchangeable(groups: Mapping[str, xr.Dataset]) -> IntArray:
    """Return the class of each topic, shape (K,): topics of one class may change their numbers without loss.

    The posterior is the same under every renumbering within a class. Topics are of one class where their fixed
    concentrations in alpha are equal, and where both or neither have coefficients (`supervised_topics`).
    """
    topics = n_topics(groups)
    keys = np.zeros((topics, 2))
    constants = groups.get("constant_data", xr.Dataset())
    if "alpha" in constants and constants["alpha"].dims == ("topic",):
        keys[:, 0] = constants["alpha"].values
    keys[: _supervised(groups, topics), 1] = 1.0
    _, classes = np.unique(keys, axis=0, return_inverse=True)
    return np.asarray(classes, dtype=np.int64).reshape(topics)


def _supervised(groups: Mapping[str, xr.Dataset], topics: int) -> int:
    """Return how many topics, the first ones, have coefficients; all where none have."""
    posterior = groups["posterior"]
    if "coefficient" in posterior.coords:
        return sum(str(name) == f"topic {i}" for i, name in enumerate(posterior["coefficient"].values))
    if "model_yaml" not in posterior.attrs:
        return topics
    try:
        model = Model.of(load_spec(posterior.attrs["model_yaml"]))
    except PplTopicsError:
        # A model of blocks that are not installed here; it has no coefficients in the trace.
        return topics
    response = model.spec.blocks.get(model.names.get("y", ""))
    return response.supervised(topics) if isinstance(response, Response) else topics


def mean_topics(groups: Mapping[str, xr.Dataset], by: str) -> RealArray:
    """Return the topics of each chain, shape (C, R, K, V); R is 1 where responses share topics.

    Means are as precise as the trace holds them, which is single precision; counts are in double precision.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
    by : {"phi", "counts"}
        ``phi_mean``, or where it lacks the mean of the draws of phi; or the words' counts in ``z_last``.

    Raises
    ------
    TraceError
        If the trace holds neither.
    """
    if by not in ("phi", "counts"):
        raise TraceError(f"by: expected 'phi' or 'counts', got {by!r}")
    return _counts(groups) if by == "counts" else _means(groups)


def topics_of_chain(groups: Mapping[str, xr.Dataset], chain: int) -> RealArray:
    """Return the topics of one chain, by its number, shape (R, K, V); see `mean_topics` by phi.

    Raises
    ------
    TraceError
        If the trace holds none.
    """
    return _means(groups, chain)


def _means(groups: Mapping[str, xr.Dataset], chain: int | None = None) -> RealArray:
    posterior = groups["posterior"]
    if has_mean_topics(groups):
        mean = trace_means.mean_topics(groups, chain)
    elif "phi" in posterior and set(posterior["phi"].dims) >= TOPIC_DIMS:
        draws = posterior["phi"]
        mean = (draws if chain is None else draws.sel(chain=chain)).mean("draw")
    else:
        raise TraceError(
            "topics cannot be aligned: the trace holds neither `phi_mean` in `constant_data` nor draws of `phi`"
        )
    return by_response(mean, (*(["chain"] if chain is None else []), "response", "topic", "word"))


def _counts(groups: Mapping[str, xr.Dataset]) -> FloatArray:
    constants, observed = groups.get("constant_data", xr.Dataset()), groups.get("observed_data", xr.Dataset())
    if "z_last" not in constants or "words" not in observed:
        raise TraceError(
            "topics cannot be aligned by counts: the trace lacks `z_last` in `constant_data` or `words` in "
            "`observed_data`; it was not written by ppl-topics"
        )
    words, topics = observed["words"].values.astype(np.int64), n_topics(groups)
    z = by_response(constants["z_last"], ("chain", "response", "token")).astype(np.int64)
    size = max(int(constants.sizes.get("word", 0)), int(words.max(initial=-1)) + 1)
    counts = np.zeros((*z.shape[:2], topics, size))
    for place in np.ndindex(*z.shape[:2]):
        flat = np.bincount(z[place] * size + words, minlength=topics * size)
        counts[place] = flat.reshape(topics, size)
    return counts


def by_response(array: xr.DataArray, dims: tuple[str, ...]) -> NDArray[Any]:
    """Return the values in the order of ``dims``, with one ``response`` where the array has none."""
    if "response" not in array.dims:
        array = array.expand_dims("response")
    return np.asarray(array.transpose(*dims).values)


def word_names(groups: Mapping[str, xr.Dataset]) -> NDArray[Any]:
    """Return the words of `mean_topics` by phi."""
    source = groups["constant_data"] if has_mean_topics(groups) else groups["posterior"]
    return np.asarray(source["word"].values)


def check_comparable(similarity: FloatArray) -> None:
    """Refuse similarities of topics that are not finite, and so are like none.

    Raises
    ------
    TraceError
    """
    if not np.isfinite(similarity).all():
        raise TraceError("the topics cannot be compared: the trace holds draws that are not finite")
