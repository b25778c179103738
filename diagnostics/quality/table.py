"""Topic quality as a table with a row for each topic and a column for each measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.nearest import nearest
from ppl_topics.diagnostics.quality.coherence import (
    COHERENCES,
    Convention,
    check_convention,
    coherences,
    window_sizes,
)
from ppl_topics.diagnostics.quality.entropy import entropy_of_assignments
from ppl_topics.diagnostics.quality.intervals import OF_PHI, over_draws
from ppl_topics.diagnostics.quality.reference import Reference, ReferenceLike
from ppl_topics.diagnostics.quality.topic_set import TopicSet, check_words, texts_of, topic_sets
from ppl_topics.errors import TraceError
from ppl_topics.results.best_words import best_words
from ppl_topics.results.coefficient_draws import check_probability

__all__ = ["MEASURES", "topic_quality"]

MEASURES = ("umass", "npmi", "c_v", "entropy", "exclusivity", "effective_words")
"""The default measures; `frex` is computed if it is named."""

KNOWN = (*MEASURES, "frex")


def topic_quality(
    groups: Mapping[str, xr.Dataset],
    *,
    corpus: ReferenceLike | None = None,
    n_words: int = 10,
    chain: int = 0,
    measures: Sequence[str] | None = None,
    window: int | None = None,
    convention: Convention = "paper",
    probability: float | None = None,
) -> pd.DataFrame:
    """Measure the quality of each topic of a chain: coherence, spread over documents and words, exclusivity.

    ===================  ===============================================================================================
    ``umass``            sum over pairs of top words of log((D(v_m, v_l) + 1) / D(v_l)); see `umass_coherence`
    ``npmi``             mean over pairs of their normalised pointwise mutual information; see `npmi_coherence`
    ``c_v``              mean cosine of the words' vectors of NPMI; see `cv_coherence`
    ``entropy``          of the topic's tokens over training documents at the last z; see `document_entropy`
    ``exclusivity``      mean over top words of phi_kv / sum_j phi_jv; see `exclusivity`
    ``effective_words``  exp of the entropy of phi_k; see `effective_words`
    ``frex``             mean over top words of FREX with weight 0.5; see `frex`; not computed by default
    ===================  ===============================================================================================

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    corpus : Corpus, Reference, iterable of str or of sequences of str, optional
        The documents to measure coherence on; by default the training documents. Texts, or lists of words, keep the
        order of words, so windows slide over them; in a corpus, as in the training documents of a trace, the order is
        lost, and each document is one window.
    n_words : int
        Number of top words, the most probable of each topic's mean phi; words of probability 0 are left out.
    chain : int
        Chains number their topics independently, so they are not combined.
    measures : sequence of str, optional
        Names of the columns to compute; by default all of `MEASURES` that the trace allows.
    window : int, optional
        Number of tokens in the windows of ``npmi`` and ``c_v``, if the order of words is known; by default 10 and 110.
    convention : {"paper", "gensim"}
        Compute coherences as their papers or as gensim 4 does.
    probability : float, optional
        Add the ends of equal-tailed intervals over the recorded draws, as ``<measure>_low`` and ``<measure>_high``, for
        measures that can be computed for each draw; see Notes.

    Returns
    -------
    pandas.DataFrame
        A row for each topic, the largest share of tokens first, with the columns ``topic`` (its number in the chain),
        ``name`` if topics have names, ``share``, the measures, and ``words``. If each response has its own topics,
        ``response`` is the first column.
        ``attrs`` holds ``chain``, ``n_words``, ``convention``, ``reference``, ``windows`` (tokens by measure, or
        "document"), ``absent`` (top words that no document of the reference holds), ``left_out`` (measures that the
        trace does not allow, with the reason) and, for intervals, ``probability`` and ``draws``.

    Raises
    ------
    TraceError
        If the trace has no mean topics or no such chain, a measure does not exist, or a requested measure needs what
        the trace does not hold.
    CorpusError
        If the documents are not of an accepted type.

    Notes
    -----
    No measure is ever NaN: each states how it treats words that the documents lack.

    Intervals use at most 100 draws, evenly spaced. In each draw the top words are those of that draw, among the
    recorded words; if a topic drifts to other words, the interval is wide, and the value for the mean topic may lie
    outside it. Coherences and exclusivity have intervals if draws of phi are recorded (by default for the 1,000 most
    frequent words), ``effective_words`` and ``frex`` if all words are, as with ``record={"phi": "all"}``, and
    ``entropy`` if z is.
    """
    check_words(n_words)
    check_convention(convention)
    probability = None if probability is None else check_probability(probability)
    wanted = _wanted(measures)
    sets = topic_sets(groups, chain)
    vocabulary = sets[0].vocabulary
    left_out: dict[str, str] = {}
    reference, name = None, "none"
    if set(wanted) & set(COHERENCES):
        try:
            name = "training documents" if corpus is None else "given documents"
            reference = Reference.from_groups(groups) if corpus is None else Reference.of(corpus, vocabulary)
            if reference.ordered:
                name = "given texts"
        except TraceError as error:
            left_out |= _leave_out([each for each in wanted if each in COHERENCES], measures, error)
    windows = {} if reference is None else window_sizes(wanted, reference, window)
    tables, absent, draws = [], set[str](), 0
    for part in sets:
        best = best_words(part.phi, n_words)
        columns: dict[str, Any] = {}
        if reference is not None:
            lacking = np.setdiff1d(best[best >= 0], reference.words)
            absent.update(vocabulary[lacking])
            columns |= coherences(best, reference, [each for each in wanted if each in COHERENCES], windows, convention)
        for measure in (each for each in wanted if each not in COHERENCES):
            try:
                columns[measure] = _of_mean(part, measure, best)
            except TraceError as error:
                left_out |= _leave_out([measure], measures, error)
        if probability is not None:
            intervals, draws = over_draws(
                part, list(columns), reference, probability, n_words=n_words, windows=windows, convention=convention
            )
            columns |= intervals
        names = [f"{measure}{end}" for measure in wanted for end in ("", "_low", "_high")]
        ordered = {name: columns[name] for name in names if name in columns}
        tables.append(part.table({"share": part.share, **ordered, "words": texts_of(best, vocabulary)}))
    table = pd.concat(tables, ignore_index=True)
    table.attrs = {
        "chain": sets[0].chain,
        "n_words": int(n_words),
        "convention": convention,
        "reference": name,
        "windows": {key: "document" if size is None else size for key, size in windows.items()},
        "absent": sorted(absent),
        "left_out": left_out,
    }
    if probability is not None:
        table.attrs |= {"probability": probability, "draws": draws}
    return table


def _wanted(measures: Sequence[str] | None) -> list[str]:
    """Return the names of the requested measures, in the order of `KNOWN`."""
    if measures is None:
        return list(MEASURES)
    asked = [measures] if isinstance(measures, str) else list(measures)
    for each in asked:
        if each not in KNOWN:
            raise TraceError(f"measures: there is no {each!r}{nearest(str(each), KNOWN)}; there are {', '.join(KNOWN)}")
    return [each for each in KNOWN if each in asked]


def _leave_out(names: Sequence[str], asked: Sequence[str] | None, error: TraceError) -> dict[str, str]:
    """Return the reason why measures are left out, or raise it if they were requested."""
    if asked is not None:
        raise error
    return dict.fromkeys(names, str(error))


def _of_mean(part: TopicSet, measure: str, best: IntArray) -> FloatArray:
    """Return a measure of the mean topics that needs no reference, shape (K,)."""
    if measure in OF_PHI:
        return OF_PHI[measure](part.phi, best)
    z, constants = part.z_last, part.groups["constant_data"]
    if z is None or "doc_length" not in constants:
        raise TraceError(
            "document entropy needs `z_last` and `doc_length` in `constant_data`, which the trace does not hold"
        )
    doc_ptr = np.concatenate([[0], np.cumsum(constants["doc_length"].values.astype(np.int64))])
    return entropy_of_assignments(doc_ptr, z, len(part.phi))
