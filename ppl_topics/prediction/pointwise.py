"""The log likelihood of each training document in each draw, for ``az.loo`` and ``az.compare``."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
import xarray as xr

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import check_choice
from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.threads import using_threads
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.errors import TraceError
from ppl_topics.prediction.likelihood import MOVES, HeldOutOptions, components
from ppl_topics.prediction.likelihood_errors import of_replicates
from ppl_topics.prediction.trained import TrainedTopics
from ppl_topics.results.groups import Groups
from ppl_topics.samplers.held_out.left_to_right import estimate_left_to_right

__all__ = ["Pointwise", "log_likelihood"]

Pointwise: TypeAlias = Literal["words"]

PARTICLES = 8
"""Of each document in each draw by default: over the draws their errors average out."""


def log_likelihood(
    groups: Groups,
    of: Pointwise = "words",
    *,
    draws: int | None = None,
    particles: int = PARTICLES,
    moves: int = MOVES,
    seed: int = 0,
    threads: int | None = None,
) -> xr.Dataset:
    """Return the log likelihood of each training document in each draw: log p(w_d | phi, alpha).

    theta_d and z_d are integrated out, by the left-to-right estimator. A density given a z_d that has seen w_d would
    make importance sampling fail: leaving out document d must change little but what all documents share.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace that holds all of phi in each draw, ``record={"phi": "all"}``.
    of : {"words"}
        What is left out at a time: the words of a document.
    draws : int, optional
        Draws of each chain at most, evenly spread; by default all.
    particles : int
        Of each document in each draw; a multiple of 4.
    moves : int
        Earlier tokens, at most, whose topics are drawn again before each token.
    seed : int
        The same seed gives the same numbers at any number of threads.
    threads : int, optional
        All cores by default.

    Returns
    -------
    xarray.Dataset
        The group ``log_likelihood`` of a trace: ``words`` with dims (chain, draw, doc), natural logarithms. Documents
        without tokens are left out. Attributes: ``error``, the Monte Carlo standard error of a value, as root mean
        square, and ``bias``, what a value is off by on average, since it is the logarithm of a noisy estimate.

    Raises
    ------
    TraceError
        If the trace does not hold all of phi, or lacks the words of the documents, or each response has its own topics.
    PplTopicsError
        If an option is wrong.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_texts(["goal match goal team", "team match goal", "vote law vote"] * 5)
    >>> how = {"draws": 20, "warmup": 30, "chains": 2, "seed": 1, "progress": False, "record": {"phi": "all"}}
    >>> fit = pt.sample("lda", corpus, topics=2, **how)
    >>> found = fit.log_likelihood()
    >>> dict(found["words"].sizes)
    {'chain': 2, 'draw': 20, 'doc': 15}
    """
    check_choice(argument("of"), of, get_args(Pointwise))
    trained = TrainedTopics(groups)
    most = groups["posterior"].sizes["draw"] if draws is None else draws
    options = HeldOutOptions("left_to_right", particles, "draws", most, moves, seed, threads)
    constants, observed = groups["constant_data"], groups.get("observed_data", xr.Dataset())
    if "words" not in observed or "doc_length" not in constants:
        raise TraceError("the trace lacks `words` or `doc_length`, the training documents; it cannot score them")
    if trained.apart:
        raise TraceError("each response has its own topics; the words have a likelihood in each, and no common one")
    doc_ptr = np.concatenate([[0], np.cumsum(constants["doc_length"].values)]).astype(np.int64)
    words = np.ascontiguousarray(observed["words"].values, dtype=np.uint32)
    filled = np.flatnonzero(np.diff(doc_ptr))
    values, errors, biases = list[FloatArray](), list[FloatArray](), list[FloatArray]()
    places = list[int]()
    with using_threads(options.threads):
        for phi, alpha, chain, draw in components(trained, options, 0):
            key = Key(seed, chain, draw).reserved(Reserved.LEFT_TO_RIGHT)
            found = estimate_left_to_right(doc_ptr, words, phi, alpha, options.in_replicate, moves, key)[filled]
            for kept, each in zip((values, errors, biases), of_replicates(found), strict=True):
                kept.append(each)
            places.append(draw)
    chains = trained.chains
    array = np.stack(values).reshape(len(chains), -1, len(filled))
    coords = {
        "chain": chains,
        "draw": groups["posterior"]["draw"].values[places[: array.shape[1]]],
        "doc": constants["doc"].values[filled],
    }
    attributes = {"error": float(np.sqrt(np.mean(np.square(errors)))), "bias": float(np.mean(biases))}
    return xr.Dataset({"words": (("chain", "draw", "doc"), array)}, coords, attributes)
