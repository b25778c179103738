"""Posterior predictive checks of topics, of whether their words depend on the document beyond the model.

References
----------
D. Mimno, D. Blei (2011). Bayesian checking for topic models. EMNLP 2011.
X.-L. Meng (1994). Posterior predictive p-values. Annals of Statistics 22(3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arguments import MAX_SEED, check_whole
from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.diagnostics.quality.intervals import evenly
from ppl_topics.diagnostics.quality.topic_set import TopicSet, check_words, texts_of, topic_sets
from ppl_topics.diagnostics.word_information import Information, TokensByTopic, replicate_information
from ppl_topics.errors import TraceError
from ppl_topics.models.dirichlet import Dirichlet
from ppl_topics.results.best_words import best_words
from ppl_topics.results.documents import Part, checked_topics, concentration, recorded
from ppl_topics.spec import Model, load_spec

__all__ = ["predictive_checks"]

TIE = 1e-9
"""Information values that differ by less, relative to 1 + their size, are equal."""


def predictive_checks(
    groups: Mapping[str, xr.Dataset],
    *,
    by: Literal["topic", "word"] = "topic",
    chain: int = 0,
    replications: int = 100,
    draws: int = 1,
    n_words: int = 10,
    replicate: Literal["predictive", "permutation"] | None = None,
    seed: int | None = None,
) -> pd.DataFrame:
    """Check if the words of each topic depend on the document more than the model implies (Mimno, Blei 2011).

    Under the model, words depend on documents only through topics: given the topic of a token, its word is drawn from
    phi whatever the document. A topic does not fit if its words tell more about their document than replicated words
    do, for example because some words come in bursts, or because the topic mixes two themes.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    by : {"topic", "word"}
        Check topics, or the top words of each topic.
    chain : int
        Chains number their topics independently, so they are not combined.
    replications : int
        Number of replications for each draw of z.
    draws : int
        1 for the last z of the chain; more for this many recorded draws of z, evenly spaced.
    n_words : int
        Number of top words, the most probable ones of each topic's mean phi.
    replicate : {"predictive", "permutation"}, optional
        How the words of tokens are replicated, with z fixed. "predictive": from phi drawn given the data, which needs
        Dirichlet topics. "permutation": the words of each topic are shuffled among its tokens, which works for any
        prior of phi. By default predictive if possible.
    seed : int, optional
        By default that of the run. The replications do not depend on the number of threads.

    Returns
    -------
    pandas.DataFrame
        By topic: a row for each, the largest share of tokens first, with the columns ``topic``, ``share``, ``tokens``
        (their number), ``information`` (mutual information of word and document given the topic, in nats),
        ``replicated`` and ``sd`` (its mean and standard deviation over replications), ``deviation`` ((information -
        replicated) / sd), ``p_value`` (share of replications that are at least as large, counting the data as one) and
        ``words``. By word: the columns ``topic``, ``word``, ``tokens`` (of the word in the topic), and ``information``
        to ``p_value`` for the word's instantaneous information; within a topic, the largest deviation comes first. If
        each response has its own topics, ``response`` is the first column. ``attrs`` holds ``chain``, ``replications``,
        ``draws``, ``replicate`` and ``seed``.

    Raises
    ------
    TraceError
        If the trace lacks the training documents or z, or phi cannot be replicated as requested.
    PplTopicsError
        If a number is invalid.

    Notes
    -----
    With N(w, d, k) the tokens of word w in document d and topic k, and sums over omitted arguments::

        MI(W, D | k) = sum_wd N(w,d,k)/N(k) log(N(w,d,k) N(k) / (N(d,k) N(w,k)))
        IMI(w, D | k) = H(D | k) - H(D | w, k),   H(D | w, k) = -sum_d N(w,d,k)/N(w,k) log(N(w,d,k)/N(w,k)).

    A word without tokens has H(D | w, k) = 0. A topic without tokens, or whose replications cannot differ, has
    deviation 0 and p-value 1.

    If the data come from the model and z is a draw from the posterior, the p-values of permutations are uniform on
    1/(R+1), ..., 1 (larger with ties): p <= 0.01 has probability 0.01 for each topic. Each predictive replication draws
    its own phi from its Dirichlet distribution given z and the words; these p-values have mean 1/2 but vary less, so p
    <= 0.01 has probability at most 0.02 (Meng 1994). The same holds for means over several draws of z. Permutations
    keep N(w, k), and so separate bursts from a wrong phi.
    """
    if by not in ("topic", "word"):
        raise TraceError(f"by: must be 'topic' or 'word', got {by!r}")
    check_words(n_words)
    check_whole("replications", replications, 1)
    check_whole("draws", draws, 1)
    sets = topic_sets(groups, chain)
    seed = int(groups["posterior"].attrs.get("seed", 0)) if seed is None else seed
    check_whole("seed", seed, 0, MAX_SEED)
    kind = _kind(groups, replicate)
    tables = []
    for number, part in enumerate(sets):
        best = best_words(part.phi, n_words)
        states = _states(part, draws, kind)
        stream = sets[0].chain * len(sets) + number
        keys = [Key(seed, stream, i * replications).reserved(Reserved.PREDICTIVE_CHECKS) for i in range(len(states))]
        found = [_check(part, state, best, replications, key) for state, key in zip(states, keys, strict=True)]
        tables.append(_by_topic(part, states, found, best) if by == "topic" else _by_word(part, found, best))
    table = pd.concat(tables, ignore_index=True)
    table.attrs = {
        "chain": sets[0].chain,
        "replications": int(replications),
        "draws": int(draws),
        "replicate": kind,
        "seed": int(seed),
    }
    return table


class _State(NamedTuple):
    """A draw: the topic of each token, and the concentration of each word (empty for permutations)."""

    z: NDArray[Any]
    beta: FloatArray


def _kind(groups: Mapping[str, xr.Dataset], asked: str | None) -> str:
    """Return how words are replicated, and refuse "predictive" for topics that do not allow it."""
    if asked not in (None, "predictive", "permutation"):
        raise TraceError(f"replicate: must be 'predictive' or 'permutation', got {asked!r}")
    if asked == "permutation":
        return asked
    posterior = groups["posterior"]
    if "model_yaml" not in posterior.attrs:
        why = "the trace does not name its model"
    else:
        model = Model.of(load_spec(posterior.attrs["model_yaml"]))
        if not isinstance(model.spec.blocks[model.names["phi"]], Dirichlet):
            why = f"the topics {model.names['phi']} have no Dirichlet prior"
        elif "beta" in groups["constant_data"] or recorded(groups, "beta") is not None:
            return "predictive"
        else:
            why = f"the trace does not hold {model.names.get('beta', 'beta')}"
    if asked is None:
        return "permutation"
    raise TraceError(f"{why}, so phi cannot be drawn given the data; use replicate='permutation'")


def _states(part: TopicSet, draws: int, kind: str) -> list[_State]:
    """Return the draws of z to check, with their beta if it is needed."""

    def beta(draw: int) -> FloatArray:
        if kind == "permutation":
            return np.zeros(0)
        return concentration(part.groups, "beta", Part(part.chain, part.response), draw)

    if draws == 1:
        z_last = part.z_last
        if z_last is None:
            raise TraceError("the trace holds no `z_last` in `constant_data`, the topic of each token")
        return [_State(z_last, beta(-1))]
    z = part.recorded("token")
    if z is None:
        raise TraceError(
            f"draws: {draws} draws of z must be recorded; run the model with record={{'z': 'all'}}, or omit draws="
        )
    if draws > z.sizes["draw"]:
        raise TraceError(f"draws: only {z.sizes['draw']} draws of z were recorded, fewer than {draws}")
    return [
        _State(checked_topics(z.isel(draw=draw).values, len(part.phi)), beta(draw))
        for draw in evenly(z.sizes["draw"], draws)
    ]


def _check(part: TopicSet, state: _State, best: IntArray, replications: int, key: Key) -> Information:
    """Measure the data and their replications at one draw."""
    constants, observed = part.groups["constant_data"], part.groups.get("observed_data", xr.Dataset())
    if "words" not in observed or "doc_length" not in constants:
        raise TraceError(
            "the trace holds no training documents (`words` in observed_data, `doc_length` in constant_data)"
        )
    lengths = constants["doc_length"].values.astype(np.int64)
    topics, width = best.shape
    order = np.argsort(state.z, kind="stable")
    words = observed["words"].values.astype(np.int32)[order]
    docs = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)[order]
    ends = np.cumsum(np.bincount(state.z, minlength=topics))
    tokens = TokensByTopic(np.concatenate([[0], ends]).astype(np.int64), words, docs, best)
    found = Information.empty(replications, topics, width)
    permute = not state.beta.size
    replicate_information(tokens, len(part.vocabulary), np.cumsum(state.beta), permute, key, found)
    return found


def _by_topic(part: TopicSet, states: list[_State], found: list[Information], best: IntArray) -> pd.DataFrame:
    """Return the table with a row for each topic."""
    tokens = _mean([np.bincount(state.z, minlength=len(part.phi)) for state in states])
    compared = _compare([each.topics for each in found])
    return part.table({"share": part.share, "tokens": tokens, **compared, "words": texts_of(best, part.vocabulary)})


def _by_word(part: TopicSet, found: list[Information], best: IntArray) -> pd.DataFrame:
    """Return the table with a row for each top word of each topic."""
    columns = {"tokens": _mean([each.tokens for each in found]), **_compare([each.words for each in found])}
    rows = []
    for topic in np.argsort(-part.share, kind="stable"):
        places = np.flatnonzero(best[topic] >= 0)
        words = {"topic": int(topic), "word": part.vocabulary[best[topic, places]]}
        table = pd.DataFrame({**words, **{name: values[topic, places] for name, values in columns.items()}})
        rows.append(table.sort_values("deviation", ascending=False, kind="stable"))
    joined = pd.concat(rows, ignore_index=True)
    if part.response is not None:
        joined.insert(0, "response", part.response)
    return joined


def _mean(counts: list[IntArray]) -> NDArray[Any]:
    """Return the mean over draws; the counts themselves, as whole numbers, for one draw."""
    return counts[0] if len(counts) == 1 else np.mean(counts, axis=0)


def _compare(information: list[FloatArray]) -> dict[str, FloatArray]:
    """Compare the data, the first row at each draw, with their replications, the other rows."""
    deviations, sds, at_least = [], [], []
    for each in information:
        real, others = each[0], each[1:]
        tie = TIE * (1.0 + np.abs(real))
        sd = others.std(axis=0)
        sd[sd <= tie] = 0.0
        apart = np.where(np.abs(real - others.mean(axis=0)) > tie, real - others.mean(axis=0), 0.0)
        deviations.append(np.divide(apart, sd, out=np.zeros_like(sd), where=sd > 0.0))
        sds.append(sd)
        at_least.append((others >= real - tie).sum(axis=0))
    number = sum(len(each) - 1 for each in information)
    return {
        "information": np.mean([each[0] for each in information], axis=0),
        "replicated": np.mean([each[1:].mean(axis=0) for each in information], axis=0),
        "sd": np.mean(sds, axis=0),
        "deviation": np.mean(deviations, axis=0),
        "p_value": (1.0 + np.sum(at_least, axis=0)) / (number + 1.0),
    }
