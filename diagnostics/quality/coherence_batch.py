"""Several coherences of the same lists of words at once: each kind of window is counted once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.diagnostics.quality.coherence import Convention, cv, npmi, umass
from ppl_topics.diagnostics.quality.cooccurrence import Cooccurrence, count_together
from ppl_topics.diagnostics.quality.reference import Reference

__all__ = ["COHERENCES", "coherences"]

COHERENCES: Mapping[str, Callable[[IntArray, Cooccurrence, Convention], FloatArray]] = {
    "umass": umass,
    "npmi": npmi,
    "c_v": cv,
}


def coherences(
    words: IntArray,
    reference: Reference,
    measures: Sequence[str],
    windows: Mapping[str, int | None],
    convention: Convention,
) -> dict[str, FloatArray]:
    """Return the named `COHERENCES` of word lists (T, M), padded with -1, counting each kind of window once.

    ``windows`` holds the number of tokens in a window by measure; the other measures use whole documents.
    """
    counted: dict[tuple[int | None, bool], Cooccurrence] = {}
    result = {}
    for measure in measures:
        size = windows.get(measure)
        # A whole document forgets nothing.
        key = (size, size is not None and convention == "gensim")
        if key not in counted:
            counted[key] = count_together(words, reference, size, forgetful=key[1])
        result[measure] = COHERENCES[measure](words, counted[key], convention)
    return result
