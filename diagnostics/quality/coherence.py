"""Coherence: how often the top words of a topic share documents, or windows of text.

References
----------
D. Mimno, H. M. Wallach, E. Talley, M. Leenders, A. McCallum (2011). Optimizing semantic coherence in topic models.
EMNLP 2011.
M. Röder, A. Both, A. Hinneburg (2015). Exploring the space of topic coherence measures. WSDM 2015.
G. Bouma (2009). Normalized (pointwise) mutual information in collocation extraction. GSCL 2009.
"""

from __future__ import annotations

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
    "CV_WINDOW",
    "EPSILON",
    "NPMI_WINDOW",
    "Convention",
    "check_convention",
    "cv_coherence",
    "npmi_coherence",
    "umass_coherence",
    "window_size",
]

Convention: TypeAlias = Literal["paper", "gensim"]
"""Whether a measure is that of its paper, or as gensim 4 computes it."""


EPSILON = 1e-12
"""Added to probabilities of two words at once, by Röder et al. and gensim."""

NPMI_WINDOW, CV_WINDOW = 10, 110
"""Tokens, in Röder et al. and gensim."""


def umass_coherence(
    top_words: npt.ArrayLike, reference: Corpus | Reference, *, convention: Convention = "paper"
) -> FloatArray:
    """Return the coherence of each topic, sum over m and l < m of log((D(v_m, v_l) + 1) / D(v_l)).

    D counts the documents that hold a word, or both of two words (Mimno et al. 2011, equation 1). It is 0 where each
    two words share all but one of their documents, and falls from there.

    Parameters
    ----------
    top_words : array_like of int, shape (K, M)
        Words of each topic by their number in the vocabulary, the most probable first; -1 where a topic has fewer. A
        word that no document holds has no probability to be conditioned on: its terms as v_l are 0.
    reference : Corpus or Reference
    convention : {"paper", "gensim"}
        gensim's ``u_mass`` is the mean over the pairs, and adds 1e-12 to the share of the documents that hold both
        words in place of 1 to their number: log((D(v_m, v_l) / D + 1e-12) / (D(v_l) / D)).

    Returns
    -------
    ndarray of float64, shape (K,)
        Always finite; 0 for a topic of one word, or of none.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_tokens([["a", "b"], ["a"], ["a", "b"]])
    >>> umass_coherence([[0, 1]], corpus).round(6).tolist()
    [0.0]
    """
    check_convention(convention)
    words = _lists(top_words)
    documents = _reference(reference)
    return umass(words, count_together(words, documents), convention)


def npmi_coherence(
    top_words: npt.ArrayLike,
    reference: Corpus | Reference,
    *,
    window: int | None = None,
    convention: Convention = "paper",
) -> FloatArray:
    """Return the mean over pairs of words of log((p_ij + e) / (p_i p_j)) / -log(p_ij + e), with e = 1e-12.

    p_i is the share of the windows that hold word i, p_ij that of those which hold both (C_NPMI of Röder et al. 2015).

    Parameters
    ----------
    top_words : array_like of int, shape (K, M)
        Words of each topic by their number in the vocabulary; -1 where a topic has fewer. A pair with a word that no
        document holds counts as 0, that of words that come independently.
    reference : Corpus or Reference
    window : int, optional
        Tokens: windows slide over each document, and one that is no longer is one window. By default 10 where the
        reference is in the order of the text; where it is not, as in a corpus, each document is one window.
    convention : {"paper", "gensim"}
        In gensim 4 a window forgets a word that is repeated in it as soon as the first occurrence has left, and two
        words that are in every window have -1 in place of 1.

    Returns
    -------
    ndarray of float64, shape (K,)
        Between -1 and 1, always finite; 0 for a topic of one word, or of none.

    Raises
    ------
    CorpusError
        If a window is given, and the reference is not in the order of the text.
    """
    check_convention(convention)
    words = _lists(top_words)
    documents = _reference(reference)
    size = window_size(documents, window, NPMI_WINDOW)
    return npmi(words, count_together(words, documents, size, forgetful=convention == "gensim"), convention)


def cv_coherence(
    top_words: npt.ArrayLike,
    reference: Corpus | Reference,
    *,
    window: int | None = None,
    convention: Convention = "paper",
) -> FloatArray:
    """Return the mean cosine of the words' vectors with their sum; the vector of word i is its NPMI with each word.

    C_V of Röder et al. (2015), with gamma = 1: vectors hold the NPMI of word i with the words of the topic, itself
    included (1). So words are near that go with the same others.

    Parameters
    ----------
    top_words, reference, convention
        As in `npmi_coherence`. The vector of a word that no document holds is 0, and so is its cosine.
    window : int, optional
        As there; by default 110.

    Returns
    -------
    ndarray of float64, shape (K,)
        Between -1 and 1, always finite; 1 for a topic of one word that occurs, 0 for a topic of none.

    Raises
    ------
    CorpusError
        If a window is given, and the reference is not in the order of the text.
    """
    check_convention(convention)
    words = _lists(top_words)
    documents = _reference(reference)
    size = window_size(documents, window, CV_WINDOW)
    return cv(words, count_together(words, documents, size, forgetful=convention == "gensim"), convention)


def umass(words: IntArray, counts: Cooccurrence, convention: Convention) -> FloatArray:
    """Return the UMass coherence of lists whose words were counted in documents."""
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
    """Return the NPMI coherence of lists whose words were counted in windows."""
    values = np.tril(_pair_npmi(counts, convention), -1).sum(axis=(1, 2))
    return np.asarray(values / np.maximum(_pairs(words), 1))


def cv(words: IntArray, counts: Cooccurrence, convention: Convention) -> FloatArray:
    """Return the C_V coherence of lists whose words were counted in windows."""
    vectors = _pair_npmi(counts, convention)
    together = vectors.sum(axis=1)
    inner = (vectors * together[:, None, :]).sum(axis=2)
    lengths = np.sqrt((vectors**2).sum(axis=2)) * np.sqrt((together**2).sum(axis=1))[:, None]
    cosines = np.divide(inner, lengths, out=np.zeros_like(inner), where=lengths > 0.0)
    return np.asarray(cosines.sum(axis=1) / np.maximum((words >= 0).sum(axis=1), 1))


def _pair_npmi(counts: Cooccurrence, convention: Convention) -> FloatArray:
    """Return the NPMI of each two words of lists, shape (T, M, M); 0 with a word that no window holds."""
    total = float(max(counts.windows, 1))
    joint, alone = counts.together / total, counts.alone / total
    independent = alone[:, :, None] * alone[:, None, :]
    known = independent > 0.0
    # The same operations as gensim's, for where both words are in every window they leave nothing but rounding.
    ratio = np.log((joint + EPSILON) / np.where(known, independent, 1.0))
    values = np.where(known, ratio / -np.log(joint + EPSILON), 0.0)
    # Its limit, where p_ij = p_i = p_j go to 1.
    return values if convention == "gensim" else np.where(joint == 1.0, 1.0, np.clip(values, -1.0, 1.0))


def _both(words: IntArray) -> BoolArray:
    there = words >= 0
    return there[:, :, None] & there[:, None, :]


def _pairs(words: IntArray) -> IntArray:
    number = (words >= 0).sum(axis=1)
    return np.asarray(number * (number - 1) // 2)


def _lists(top_words: npt.ArrayLike) -> IntArray:
    return np.atleast_2d(np.asarray(top_words, dtype=np.int64))


def _reference(given: Corpus | Reference) -> Reference:
    return Reference.from_corpus(given) if isinstance(given, Corpus) else given


def window_size(reference: Reference, asked: int | None, default: int) -> int | None:
    """Return the size of windows for a reference; None where each document is one.

    Raises
    ------
    CorpusError
        If a window is asked for, and the reference is not in the order of the text.
    """
    if asked is None:
        return default if reference.ordered else None
    if not is_whole(asked) or asked < 1:
        raise PplTopicsError(f"window: must be a whole number of tokens, 1 at least, got {asked!r}")
    if not reference.ordered:
        raise CorpusError(
            "a corpus does not keep the order of words, so no window can slide over it; leave out window=, or give the "
            "texts themselves, or lists of their words"
        )
    return int(asked)


def check_convention(convention: str) -> None:
    """Refuse what is no convention.

    Raises
    ------
    PplTopicsError
    """
    if convention not in ("paper", "gensim"):
        raise PplTopicsError(f"convention: must be 'paper' or 'gensim', got {convention!r}")
