"""What alignment reads from a trace: the topics of each chain, and which topics are exchangeable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray, RealArray
from ppl_topics.diagnostics.draws import check_sampled
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.results import mean_topics as trace_means
from ppl_topics.results.mean_topics import has_mean_topics
from ppl_topics.results.topic_names import topic_names
from ppl_topics.spec import Model, load_spec
from ppl_topics.spec.marginals import kind_of_dim

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
    """Return the chain numbers, and refuse a trace without chains, draws or topics."""
    posterior = check_sampled(groups)
    if n_topics(groups) == 0:
        raise TraceError("the trace has no dimension `topic`, so there are no topics to align")
    return [int(chain) for chain in posterior["chain"].values]


def n_topics(groups: Mapping[str, xr.Dataset]) -> int:
    """Return the number of topics, 0 where the trace has none."""
    sizes = (groups[name].sizes.get("topic", 0) for name in ("posterior", "constant_data") if name in groups)
    return max(sizes, default=0)


def exchangeable(groups: Mapping[str, xr.Dataset]) -> IntArray:
    """Return the class of each topic, shape (K,): renumbering topics within a class leaves the posterior unchanged.

    Topics are in the same class if their fixed concentrations in alpha are equal, both or neither have coefficients
    (`supervised_topics`), and neither has a name, as those of keywords or labels do.
    """
    topics = n_topics(groups)
    supervised = _supervised(groups, topics)
    keys = np.zeros((topics, 2 + len(supervised)))
    constants = groups.get("constant_data", xr.Dataset())
    if "alpha" in constants and constants["alpha"].dims == ("topic",):
        keys[:, 0] = constants["alpha"].values
    for column, number in enumerate(supervised, 1):
        keys[:number, column] = 1.0
    for topic, name in enumerate(topic_names(groups)):
        keys[topic, -1] = 1.0 + topic if name else 0.0
    _, classes = np.unique(keys, axis=0, return_inverse=True)
    return np.asarray(classes, dtype=np.int64).reshape(topics)


def _supervised(groups: Mapping[str, xr.Dataset], topics: int) -> list[int]:
    """Return how many topics, always the first ones, have coefficients of each of several responses, or of one."""
    posterior = groups["posterior"]
    named = [posterior[dim].values for dim in posterior.coords if kind_of_dim(dim) == "coefficient"]
    if named:
        return [sum(str(name) == f"topic {i}" for i, name in enumerate(names)) for names in named]
    if "model_yaml" not in posterior.attrs:
        return []
    try:
        model = Model.of(load_spec(posterior.attrs["model_yaml"]))
    except PplTopicsError:
        # The model uses blocks that are not installed here, and the trace has no coefficients.
        return []
    responses = [alone.model.response for alone in model.by_response.values()]
    return [each.supervised(topics) for each in responses if each is not None]


def mean_topics(groups: Mapping[str, xr.Dataset], by: str) -> RealArray:
    """Return the topics of each chain, shape (C, R, K, V); R is 1 if the responses share topics.

    ``by`` is "phi", for ``phi_mean`` or else the mean of the draws of phi (single precision), or "counts", for the word
    counts of ``z_last`` (double precision).
    """
    if by not in ("phi", "counts"):
        raise TraceError(f"by: expected 'phi' or 'counts', got {by!r}")
    return _counts(groups) if by == "counts" else topics_of_chain(groups, None)


def topics_of_chain(groups: Mapping[str, xr.Dataset], chain: int | None) -> RealArray:
    """Return the mean topics of one chain, shape (R, K, V), or of all, shape (C, R, K, V)."""
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
    """Return the values with dimensions ``dims``; an array without responses gets one."""
    if "response" not in array.dims:
        array = array.expand_dims("response")
    return np.asarray(array.transpose(*dims).values)


def word_names(groups: Mapping[str, xr.Dataset]) -> NDArray[Any]:
    """Return the words of `mean_topics` by phi."""
    source = groups["constant_data"] if has_mean_topics(groups) else groups["posterior"]
    return np.asarray(source["word"].values)


def check_comparable(similarity: FloatArray) -> None:
    """Refuse similarities that are not finite."""
    if not np.isfinite(similarity).all():
        raise TraceError("the topics cannot be compared: the trace holds draws that are not finite")
