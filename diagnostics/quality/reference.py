"""The documents in which the words of topics are counted: training documents, a corpus, or texts in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, TypeAlias, Union

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.argument_names import spelled
from ppl_topics._util.arrays import Int32Array, IntArray
from ppl_topics.corpus import Corpus
from ppl_topics.errors import CorpusError, TraceError

__all__ = ["Reference", "ReferenceLike"]


@dataclass(frozen=True)
class Reference:
    """Documents as positions of words in a vocabulary.

    Make one with a ``from_*`` method or `of`.

    Attributes
    ----------
    doc_ptr : ndarray of int64, shape (D + 1,)
        Tokens of document d are ``words[doc_ptr[d]:doc_ptr[d + 1]]``.
    words : ndarray of int32, shape (N,)
        Position in the vocabulary of each token's word; -1 for a word outside it, which still takes up a place.
    n_words : int
        V, the size of the vocabulary.
    ordered : bool
        True if the tokens are in the order of the text, which a `Corpus` does not keep.

    Examples
    --------
    >>> reference = Reference.from_texts(["the cat sat", "a dog"], ["cat", "dog"])
    >>> reference.words.tolist(), reference.ordered
    ([-1, 0, -1, 1], True)
    """

    doc_ptr: IntArray
    words: Int32Array
    n_words: int
    ordered: bool

    @property
    def doc_lengths(self) -> IntArray:
        """Tokens of each document, shape (D,)."""
        return np.diff(self.doc_ptr)

    @classmethod
    def from_groups(cls, groups: Mapping[str, xr.Dataset]) -> Reference:
        """Return the training documents of a trace."""
        constants, observed = (groups.get(name, xr.Dataset()) for name in ("constant_data", "observed_data"))
        if "doc_length" not in constants or "words" not in observed or "word" not in constants.coords:
            raise TraceError(
                "the trace holds no training documents (`words` in observed_data, `doc_length` in constant_data); "
                f"give documents to measure coherence on ({spelled('corpus=', '--reference')})"
            )
        doc_ptr = np.concatenate([[0], np.cumsum(constants["doc_length"].values.astype(np.int64))])
        words = observed["words"].values.astype(np.int32)
        if len(words) != doc_ptr[-1]:
            raise TraceError(f"the trace holds {len(words):,} tokens, but its documents have {doc_ptr[-1]:,}")
        return cls(doc_ptr, words, constants.sizes["word"], ordered=False)

    @classmethod
    def from_corpus(cls, corpus: Corpus, vocabulary: Sequence[str] | NDArray[np.object_] | None = None) -> Reference:
        """Return the documents of a corpus, for a vocabulary that is by default its own."""
        words = corpus.words.astype(np.int32)
        if vocabulary is None or np.array_equal(np.asarray(vocabulary, dtype=object), corpus.vocabulary):
            return cls(corpus.doc_ptr, words, corpus.n_words, ordered=False)
        numbers = {str(word): i for i, word in enumerate(vocabulary)}
        known = np.array([numbers.get(word, -1) for word in corpus.vocabulary.tolist()], dtype=np.int32)
        return cls(corpus.doc_ptr, known[words], len(vocabulary), ordered=False)

    @classmethod
    def from_texts(
        cls, texts: Iterable[str] | Iterable[Sequence[str]], vocabulary: Sequence[str] | NDArray[np.object_]
    ) -> Reference:
        """Return texts, or lists of words, in their order.

        A string is tokenised as `Corpus.from_texts` does by default: in lower case, words of two letters or more. Words
        outside the vocabulary keep their places and are not counted.
        """
        from ppl_topics.corpus.text_options import TextOptions

        if isinstance(texts, str | bytes):
            raise CorpusError("the texts are a single string; give a list of texts, or of lists of words")
        numbers = {str(word): i for i, word in enumerate(vocabulary)}
        analyze = TextOptions().analyzer()
        documents = []
        for place, text in enumerate(texts):
            tokens: Any = analyze(text) if isinstance(text, str) else text
            if isinstance(tokens, bytes) or not isinstance(tokens, Iterable):
                raise CorpusError(f"text {place} is of type {type(text).__name__}; expected str, or a list of str")
            documents.append(np.array(list(map(numbers.get, tokens, repeat(-1))), dtype=np.int32))
        if not documents:
            raise CorpusError("there are no texts; give at least one")
        doc_ptr = np.concatenate([[0], np.cumsum([len(each) for each in documents])]).astype(np.int64)
        return cls(doc_ptr, np.concatenate(documents), len(numbers), ordered=True)

    @classmethod
    def from_file(
        cls, path: str | Path, vocabulary: Sequence[str] | NDArray[np.object_], text_column: str = "text"
    ) -> Reference:
        """Read what `read_corpus` reads: texts in their order, or the documents of a format that holds counts.

        ``text_column`` applies to JSON Lines, CSV and TSV.
        """
        from ppl_topics._util.paths import as_path
        from ppl_topics.corpus import read_corpus
        from ppl_topics.corpus.readers.delimited import read_delimited
        from ppl_topics.corpus.readers.formats import TEXT_FORMATS, format_of
        from ppl_topics.corpus.readers.jsonl import read_jsonl
        from ppl_topics.corpus.readers.lines import missing_file
        from ppl_topics.corpus.readers.mallet import read_mallet
        from ppl_topics.corpus.readers.records import Columns

        place = as_path(path, "reference documents", CorpusError)
        if not place.exists():
            raise missing_file(place)
        kind = format_of(place, None)
        if kind not in TEXT_FORMATS:
            return cls.from_corpus(read_corpus(place), vocabulary)
        columns = Columns(text_column)
        if kind == "jsonl":
            records = read_jsonl(place, columns, "utf-8")
        elif kind == "mallet":
            records = read_mallet(place, "utf-8")
        else:
            records = read_delimited(place, columns, "," if kind == "csv" else "\t", "utf-8")
        return cls.from_texts((record.text for record in records), vocabulary)

    @classmethod
    def of(cls, given: ReferenceLike, vocabulary: Sequence[str] | NDArray[np.object_]) -> Reference:
        """Return a corpus, texts, lists of words, or a reference as a reference for a vocabulary."""
        if isinstance(given, Reference):
            if given.n_words != len(vocabulary):
                raise CorpusError(
                    f"the reference was made for a vocabulary of {given.n_words:,} words, and this one has "
                    f"{len(vocabulary):,}; make it for this vocabulary"
                )
            return given
        if isinstance(given, Corpus):
            return cls.from_corpus(given, vocabulary)
        if not isinstance(given, Iterable):
            raise CorpusError(
                f"the reference is of type {type(given).__name__}; give a Corpus, a list of texts, or a list of lists "
                "of words"
            )
        return cls.from_texts(given, vocabulary)


ReferenceLike: TypeAlias = Union[Reference, Corpus, Iterable[str], Iterable[Sequence[str]]]  # noqa: UP007
"""What `Reference.of` accepts."""
