"""From word ids or words, one document after another, to the parts of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ppl_topics._util.arrays import IntArray, UInt32Array
from ppl_topics.corpus.counts import expand_counts
from ppl_topics.corpus.growable_array import GrowableArray
from ppl_topics.corpus.labels import LabelKind
from ppl_topics.corpus.names import StrArray, document_name, iterate, number_names, word_problem
from ppl_topics.corpus.parts import CorpusParts, DroppedWords, VocabularyLike, as_vocabulary, check_not_empty, described
from ppl_topics.corpus.pruning import Pruning
from ppl_topics.corpus.token_arrays import remap
from ppl_topics.errors import CorpusError

__all__ = ["CorpusAssembler"]

KEEP_ALL = Pruning()

MAX_UNNAMED_WORDS = 10**8
"""Most words that may be named by their numbers; a larger id is probably a mistake."""


class CorpusAssembler:
    """Gather documents one by one or in blocks; `CorpusBuilder` documents the use of it.

    Tokens are kept as in the corpus, at four bytes each, in an array that grows in place.
    """

    def __init__(self, vocabulary: VocabularyLike | None = None, word_ids: dict[str, int] | None = None) -> None:
        if word_ids is None:
            self._fixed = None if vocabulary is None else as_vocabulary(vocabulary)
            self._word_ids = {} if self._fixed is None else {word: i for i, word in enumerate(self._fixed)}
        else:
            # Whoever knows where the words are has had them checked: to do so again takes longer than a document.
            assert isinstance(vocabulary, np.ndarray), "places of the words of no vocabulary"
            self._fixed, self._word_ids = vocabulary, word_ids
        self._from_ids = False
        self._ends = GrowableArray(np.int64)
        self._words = GrowableArray(np.uint32)
        self._doc_ids: list[Any] = []
        self._labels: list[Any] = []
        self._covariates: list[Any] = []
        self._unknown: set[str] = set()
        self._unknown_tokens = 0
        self._emptied = 0
        self._any_tokens = False
        self._built = False

    @property
    def n_docs(self) -> int:
        """Number of documents so far."""
        return self._ends.size

    @property
    def n_tokens(self) -> int:
        """Number of tokens so far."""
        return self._words.size

    def add_counts(
        self,
        word_ids: npt.ArrayLike,
        counts: npt.ArrayLike | None = None,
        *,
        doc_id: str | int | None = None,
        label: Any = None,
        covariates: Mapping[str, Any] | None = None,
    ) -> None:
        """Add one document as word ids and their counts."""
        ids = np.asarray(word_ids)
        self.add_block(
            [0, ids.size], ids, counts, doc_ids=_alone(doc_id), labels=_alone(label), covariates=_alone(covariates)
        )

    def add_block(
        self,
        doc_ptr: npt.ArrayLike,
        word_ids: npt.ArrayLike,
        counts: npt.ArrayLike | None = None,
        *,
        doc_ids: Iterable[str | int] | None = None,
        labels: Iterable[Any] | None = None,
        covariates: Iterable[Mapping[str, Any]] | None = None,
    ) -> None:
        """Add many documents at once, in CSR form; the fast way for a reader."""
        self._check_open()
        if self._fixed is None and self._word_ids:
            raise CorpusError("word ids cannot follow documents given as words; give the builder a vocabulary")
        self._from_ids = True
        ids, label_list, rows = (None if given is None else list(given) for given in (doc_ids, labels, covariates))
        ptr, words = expand_counts(
            doc_ptr,
            word_ids,
            counts,
            n_words=None if self._fixed is None else len(self._fixed),
            name=lambda i: document_name(i, ids, self.n_docs),
        )
        self._note(len(ptr) - 1, ids, label_list, rows)
        self._any_tokens |= bool(len(words))
        self._ends.extend(ptr[1:] + self._words.size)
        self._words.extend(words)

    def add_tokens(
        self,
        tokens: Iterable[str],
        *,
        doc_id: str | int | None = None,
        label: Any = None,
        covariates: Mapping[str, Any] | None = None,
    ) -> None:
        """Add one document as a list of words."""
        self._check_open()
        if self._fixed is None and self._from_ids:
            raise CorpusError("words cannot follow documents given as word ids; give the builder a vocabulary")
        ids = _alone(doc_id)
        known = self._known_ids(tokens, document_name(0, ids, self.n_docs))
        self._note(1, ids, _alone(label), _alone(covariates))
        self._words.extend(np.sort(np.array(known, dtype=np.uint32)))
        self._ends.extend(np.array([self._words.size], dtype=np.int64))

    def assemble(
        self,
        *,
        vocabulary: VocabularyLike | None = None,
        n_words: int | None = None,
        doc_ids: Iterable[str | int] | None = None,
        labels: Any = None,
        label_kind: LabelKind | None = None,
        covariates: Any = None,
        name: str = "",
        pruning: Pruning = KEEP_ALL,
    ) -> CorpusParts:
        """Return the parts of the corpus, as `CorpusBuilder.build` does."""
        self._check_open()
        pruning.check_vocabulary(self._fixed)
        check_not_empty(self.n_docs, self._any_tokens)
        names = self._names(vocabulary, n_words)
        doc_ids = self._doc_ids or None if doc_ids is None else doc_ids
        labels = self._labels or None if labels is None else labels
        covariates = self._covariates or None if covariates is None else covariates
        ids, label_part, covariate_part = described(self.n_docs, doc_ids, labels, label_kind, covariates)

        self._built = True
        doc_ptr = np.concatenate([np.zeros(1, dtype=np.int64), self._ends.release()])
        words = self._words.release()
        if self._fixed is None:
            mapping, names = self._final_words(doc_ptr, words, names, pruning)
            if mapping is not None:
                doc_ptr = remap(doc_ptr, words, mapping)
                words.resize(int(doc_ptr[-1]), refcheck=False)
        dropped = DroppedWords(self._unknown_tokens, len(self._unknown), self._emptied)
        return CorpusParts(doc_ptr, words, names, ids, label_part, covariate_part, name, dropped)

    def _known_ids(self, tokens: Iterable[str], where: str) -> list[int]:
        """Return the ids of words: new words get the next id, or are counted as unknown if the vocabulary is fixed."""
        if isinstance(tokens, str | bytes):
            raise CorpusError(
                f"{where} is the single string {tokens[:40]!r}; give its tokens as a list, "
                "or use Corpus.from_texts to have it cut into tokens"
            )
        table, fixed = self._word_ids, self._fixed is not None
        known: list[int] = []
        unknown: list[str] = []
        for token in iterate(tokens, f"{where} to be a list of words"):
            word_id = table.get(token)
            if word_id is not None:
                known.append(word_id)
            elif not isinstance(token, str):
                raise CorpusError(f"{where} has the token {token!r}; expected strings")
            elif fixed:
                unknown.append(token)
            elif problem := word_problem(token):
                raise CorpusError(f"{where} has the token {token!r}, which {problem}; expected words")
            else:
                known.append(len(table))
                table[str(token)] = len(table)
        self._unknown.update(unknown)
        self._unknown_tokens += len(unknown)
        self._emptied += bool(unknown) and not known
        self._any_tokens |= bool(known or unknown)
        return known

    def _names(self, vocabulary: VocabularyLike | None, n_words: int | None) -> StrArray:
        """Return the name of each word id in use so far."""
        if vocabulary is not None and (self._fixed is not None or not self._from_ids):
            raise CorpusError(
                "build takes a vocabulary only if documents were given as word ids to a builder without a vocabulary"
            )
        if self._fixed is not None:
            return self._fixed
        if not self._from_ids:
            return np.array(list(self._word_ids), dtype=object)
        words = self._words.view()
        largest = int(words.max()) if len(words) else -1
        if vocabulary is None and largest >= MAX_UNNAMED_WORDS:
            raise CorpusError(
                f"the largest word id is {largest}; beyond {MAX_UNNAMED_WORDS} words, give the vocabulary"
            )
        names = as_vocabulary(vocabulary) if vocabulary is not None else number_names(n_words or largest + 1)
        if largest >= len(names):
            token = int(np.argmax(words >= len(names)))
            index = int(np.searchsorted(self._ends.view(), token, side="right"))
            raise CorpusError(
                f"{document_name(index, self._doc_ids)} has word id {words[token]}, "
                f"but the vocabulary has {len(names)} words; ids run from 0 to {len(names) - 1}"
            )
        return names

    def _final_words(
        self, doc_ptr: IntArray, words: UInt32Array, names: StrArray, pruning: Pruning
    ) -> tuple[IntArray | None, StrArray]:
        """Choose the words to keep, sorted if they came from documents: a map from old to new ids, and the names."""
        kept = pruning.choose(doc_ptr, words, names)
        if not self._from_ids:
            kept = kept[np.argsort(names[kept], kind="stable")]
        if np.array_equal(kept, np.arange(len(names))):
            return None, names
        mapping = np.full(len(names), -1, dtype=np.int64)
        mapping[kept] = np.arange(len(kept))
        return mapping, names[kept]

    def _note(self, n_new: int, ids: list[Any] | None, labels: list[Any] | None, covariates: list[Any] | None) -> None:
        """Keep ids, labels and covariates of new documents; ids and covariates are for all documents or for none."""
        for what, new in (("ids", ids), ("labels", labels), ("rows of covariates", covariates)):
            if new is not None and len(new) != n_new:
                raise CorpusError(f"the block has {n_new} documents, but {len(new)} {what}; give one for each")
        for what, new, known in (("an id", ids, self._doc_ids), ("covariates", covariates, self._covariates)):
            if n_new and self.n_docs and (new is not None) != bool(known):
                does = "does not have" if new is None else "has"
                raise CorpusError(
                    f"document {self.n_docs} {does} {what}, unlike the documents before it; "
                    "give them for all documents or for none"
                )
        self._doc_ids.extend(ids or [])
        self._covariates.extend(covariates or [])
        if labels is not None or self._labels:
            self._labels.extend([None] * (self.n_docs - len(self._labels)))
            self._labels.extend([None] * n_new if labels is None else labels)

    def _check_open(self) -> None:
        if self._built:
            raise CorpusError("the corpus is already built; use a new CorpusBuilder for another corpus")


def _alone(value: Any) -> list[Any] | None:
    """Return what is known about one document as the list of a block."""
    return None if value is None else [value]
