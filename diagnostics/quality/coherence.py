"""Coherence: how often the top words of a topic share documents or windows of text.

References
----------
D. Mimno, H. M. Wallach, E. Talley, M. Leenders, A. McCallum (2011). Optimizing semantic coherence in topic models.
EMNLP 2011.
M. Röder, A. Both, A. Hinneburg (2015). Exploring the space of topic coherence measures. WSDM 2015.
G. Bouma (2009). Normalized (pointwise) mutual information in collocation extraction. GSCL 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import BoolArray, FloatArray, IntArray
from ppl_topics.corpus import Corpus
from ppl_topics.diagnostics.quality.cooccurrence import Cooccurrence, count_together
from ppl_topics.diagnostics.quality.reference import Reference
from ppl_topics.errors import CorpusError, PplTopicsError

__all__ = [
    "COHERENCES",
    "EPSILON",
    "Convention",
    "check_convention",
    "coherences",
    "cv_coherence",
    "npmi_coherence",
    "umass_coherence",
    "window_sizes",
]

Convention: TypeAlias = Literal["paper", "gensim"]
"""The formula of a measure's paper, or that of gensim 4."""


EPSILON = 1e-12
"""Added to the joint probability of two words by Röder et al. and gensim."""

WINDOWS = {"npmi": 10, "c_v": 110}
"""Tokens per window in Röder et al. and gensim; UMass is counted in whole documents."""


def umass_coherence(
    top_words: npt.ArrayLike, reference: Corpus | Reference, *, convention: Convention = "paper"
) -> FloatArray:
    """Return the coherence of each topic, sum over m and l < m of log((D(v_m, v_l) + 1) / D(v_l)).

    D counts the documents that hold a word, or both of two words (Mimno et al. 2011, equation 1). It is 0 if every two
    words share all but one of their documents, and negative otherwise.

    Parameters
    ----------
    top_words : array_like of int, shape (K, M)
        Words of each topic by their position in the vocabulary, the most probable first; -1 pads shorter topics. For a
        word that no document holds, the terms with it as v_l are 0.
    reference : Corpus or Reference
    convention : {"paper", "gensim"}
        gensim's ``u_mass`` is the mean over pairs, and adds 1e-12 to the share of documents that hold both words
        instead of 1 to their number: log((D(v_m, v_l) / D + 1e-12) / (D(v_l) / D)).

    Returns
    -------
    ndarray of float64, shape (K,)
        Always finite; 0 for a topic with one word or none.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_tokens([["a", "b"], ["a"], ["a", "b"]])
    >>> umass_coherence([[0, 1]], corpus).round(6).tolist()
    [0.0]
    """
    return _coherence("umass", top_words, reference, None, convention)


def npmi_coherence(
    top_words: npt.ArrayLike,
    reference: Corpus | Reference,
    *,
    window: int | None = None,
    convention: Convention = "paper",
) -> FloatArray:
    """Return the mean over pairs of words of log((p_ij + e) / (p_i p_j)) / -log(p_ij + e), with e = 1e-12.

    p_i is the share of windows that hold word i, and p_ij the share that hold both (C_NPMI of Röder et al. 2015).

    Parameters
    ----------
    top_words : array_like of int, shape (K, M)
        Words of each topic by their position in the vocabulary; -1 pads shorter topics. A pair with a word that no
        document holds counts as 0, like independent words.
    reference : Corpus or Reference
    window : int, optional
        Number of tokens in a window. Windows slide over each document; a document that is no longer than a window is
        one window. By default 10 if the reference keeps the order of words; otherwise, as with a corpus, each document
        is one window.
    convention : {"paper", "gensim"}
        In gensim 4, a window forgets a repeated word as soon as its first occurrence leaves, and two words that are in
        every window have -1 instead of 1.

    Returns
    -------
    ndarray of float64, shape (K,)
        Between -1 and 1, always finite; 0 for a topic with one word or none.

    Raises
    ------
    CorpusError
        If a window is given, but the reference does not keep the order of words.
    """
    return _coherence("npmi", top_words, reference, window, convention)


def cv_coherence(
    top_words: npt.ArrayLike,
    reference: Corpus | Reference,
    *,
    window: int | None = None,
    convention: Convention = "paper",
) -> FloatArray:
    """Return the mean cosine between each word's vector and the sum of these vectors; they hold NPMI with each word.

    This is C_V of Röder et al. (2015) with gamma = 1: the vector of word i holds its NPMI with all words of the topic,
    including itself (1). Words are close if they occur with the same other words.

    Parameters
    ----------
    top_words, reference, convention
        As in `npmi_coherence`. For a word that no document holds, the vector and its cosine are 0.
    window : int, optional
        As in `npmi_coherence`, but by default 110.

    Returns
    -------
    ndarray of float64, shape (K,)
        Between -1 and 1, always finite; 1 for a topic with one word that occurs, 0 for a topic with none.

    Raises
    ------
    CorpusError
        If a window is given, but the reference does not keep the order of words.
    """
    return _coherence("c_v", top_words, reference, window, convention)


def _coherence(
    measure: str, top_words: npt.ArrayLike, reference: Corpus | Reference, window: int | None, convention: Convention
) -> FloatArray:
    """Return one of the `COHERENCES` of word lists."""
    check_convention(convention)
    words = np.atleast_2d(np.asarray(top_words, dtype=np.int64))
    documents = Reference.from_corpus(reference) if isinstance(reference, Corpus) else reference
    return coherences(words, documents, [measure], window_sizes([measure], documents, window), convention)[measure]


def umass(words: IntArray, counts: Cooccurrence, convention: Convention) -> FloatArray:
    """Return the UMass coherence of word lists from document counts."""
    given = counts.alone[:, None, :]
    if convention == "gensim":
        total = max(counts.windows, 1)
        ratios = (counts.together / total + EPSILON) / (np.maximum(given, 1) / total)
    else:
        ratios = (counts.together + 1.0) / np.maximum(given, 1)
    known = (given > 0) & _both(words)
    # Below the diagonal: the row is the later word, the column the earlier one.
    sums: FloatArray = np.tril(np.where(known, np.log(ratios), 0.0), -1).sum(axis=(1, 2))
    return sums / np.maximum(_pairs(words), 1) if convention == "gensim" else sums


def npmi(words: IntArray, counts: Cooccurrence, convention: Convention) -> FloatArray:
    """Return the NPMI coherence of word lists from window counts."""
    values = np.tril(_pair_npmi(counts, convention), -1).sum(axis=(1, 2))
    return np.asarray(values / np.maximum(_pairs(words), 1))


def cv(words: IntArray, counts: Cooccurrence, convention: Convention) -> FloatArray:
    """Return the C_V coherence of word lists from window counts."""
    vectors = _pair_npmi(counts, convention)
    together = vectors.sum(axis=1)
    inner = (vectors * together[:, None, :]).sum(axis=2)
    lengths = np.sqrt((vectors**2).sum(axis=2)) * np.sqrt((together**2).sum(axis=1))[:, None]
    cosines = np.divide(inner, lengths, out=np.zeros_like(inner), where=lengths > 0.0)
    return np.asarray(cosines.sum(axis=1) / np.maximum((words >= 0).sum(axis=1), 1))


def _pair_npmi(counts: Cooccurrence, convention: Convention) -> FloatArray:
    """Return the NPMI of each pair of words of a list, shape (T, M, M), and 0 with a word that no window holds."""
    total = float(max(counts.windows, 1))
    joint, alone = counts.together / total, counts.alone / total
    independent = alone[:, :, None] * alone[:, None, :]
    known = independent > 0.0
    # The same operations as gensim's: for words that are in every window, only rounding errors remain.
    ratio = np.log((joint + EPSILON) / np.where(known, independent, 1.0))
    values = np.where(known, ratio / -np.log(joint + EPSILON), 0.0)
    # The limit as p_ij = p_i = p_j goes to 1.
    return values if convention == "gensim" else np.where(joint == 1.0, 1.0, np.clip(values, -1.0, 1.0))


def _both(words: IntArray) -> BoolArray:
    there = words >= 0
    return there[:, :, None] & there[:, None, :]


def _pairs(words: IntArray) -> IntArray:
    number = (words >= 0).sum(axis=1)
    return np.asarray(number * (number - 1) // 2)


def window_sizes(measures: Sequence[str], reference: Reference, asked: int | None) -> dict[str, int | None]:
    """Return the tokens in a window by measure with windows, None if each document is one window."""
    defaults = {measure: size for measure, size in WINDOWS.items() if measure in measures}
    if asked is None or not defaults:
        return {measure: size if reference.ordered else None for measure, size in defaults.items()}
    if not is_whole(asked) or asked < 1:
        raise PplTopicsError(f"window: must be a whole number of at least 1, got {asked!r}")
    if not reference.ordered:
        raise CorpusError(
            "a corpus does not keep the order of words, so windows cannot slide over it; omit window=, or give the "
            "texts themselves, or lists of their words"
        )
    return dict.fromkeys(defaults, int(asked))


def check_convention(convention: str) -> None:
    """Refuse an unknown convention."""
    if convention not in ("paper", "gensim"):
        raise PplTopicsError(f"convention: must be 'paper' or 'gensim', got {convention!r}")


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
        # A window that is a whole document forgets nothing.
        key = (size, size is not None and convention == "gensim")
        if key not in counted:
            counted[key] = count_together(words, reference, size, forgetful=key[1])
        result[measure] = COHERENCES[measure](words, counted[key], convention)
    return result
