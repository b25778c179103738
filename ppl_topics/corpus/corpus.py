"""The corpus: bags of words as expanded tokens in CSR form, four bytes a token."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ppl_topics._util.arrays import Int32Array, IntArray, UInt32Array
from ppl_topics._util.paths import as_path
from ppl_topics.corpus import native, token_arrays
from ppl_topics.corpus.constructors import CorpusConstructors
from ppl_topics.corpus.covariates import as_covariates
from ppl_topics.corpus.labels import LabelKind, Labels
from ppl_topics.corpus.names import NAME, StrArray, as_doc_ids
from ppl_topics.corpus.notebook import corpus_html
from ppl_topics.corpus.parts import DroppedWords, VocabularyLike, as_vocabulary
from ppl_topics.corpus.splitting import choose_folds, choose_test
from ppl_topics.errors import CorpusError

__all__ = ["Corpus"]


@dataclass(frozen=True, eq=False, repr=False)
class Corpus(CorpusConstructors):
    """Documents as bags of words, with what is known about each document.

    Make one with a ``from_*`` method, a `CorpusBuilder` or `Corpus.load`. A corpus never changes: its arrays
    are read-only, and every method that alters something returns a new corpus. Inside each document the
    tokens are sorted by word id, whatever it was made from.

    Parameters
    ----------
    doc_ptr : ndarray of shape (D + 1,), dtype int64
        The tokens of document d are ``words[doc_ptr[d]:doc_ptr[d + 1]]``.
    words : ndarray of shape (N,), dtype uint32
        The word id of each token.
    vocabulary : ndarray of shape (V,), dtype object
        The words, as distinct ``str``; the position of a word is its id.
    ids : ndarray of shape (D,), or None
        Document ids, as strings or as integers; None for 0, 1, .... Read them from `doc_ids`.
    labels : Labels, optional
        What is to be predicted.
    covariates : Covariates, optional
        Further columns that describe the documents.
    name : str
        A name for messages and reports.
    dropped : DroppedWords
        What was lost when a vocabulary was applied.
    more_labels : mapping of str to Labels
        What else is to be predicted, by name, for models of several responses.

    Raises
    ------
    CorpusError
        If there is no document, or the lengths of the parts disagree.

    Examples
    --------
    >>> corpus = Corpus.from_tokens([["a", "cat"], ["a", "dog", "a"]], labels=["feline", "canine"])
    >>> corpus
    Corpus: 2 documents, 5 tokens, 3 words, 2 classes
    >>> corpus.document(1)
    {'a': 2, 'dog': 1}
    """

    def __len__(self) -> int:
        return self.n_docs

    def __repr__(self) -> str:
        parts = [f"{self.n_docs:,} documents", f"{self.n_tokens:,} tokens", f"{self.n_words:,} words"]
        if self.n_empty_docs:
            parts.append(f"{self.n_empty_docs:,} empty")
        if self.labels is not None:
            parts.append(self.labels.summary)
        parts += [f"{name}: {labels.summary}" for name, labels in self.more_labels.items()]
        if self.covariates is not None:
            parts.append(f"{self.covariates.n_columns:,} covariates")
        if self.dropped.tokens:
            parts.append(f"{self.dropped.tokens:,} tokens dropped")
        return f"Corpus{' ' + repr(self.name) if self.name else ''}: {', '.join(parts)}"

    def _repr_html_(self) -> str:
        return corpus_html(self)

    @property
    def doc_lengths(self) -> IntArray:
        """Tokens in each document, shape (D,)."""
        return np.diff(self.doc_ptr)

    @property
    def n_empty_docs(self) -> int:
        """Number of documents without tokens."""
        return int(np.count_nonzero(self.doc_ptr[1:] == self.doc_ptr[:-1]))

    @property
    def doc_ids(self) -> StrArray:
        """Ids of the documents, shape (D,), dtype object of ``str``; "0", "1", ... by default."""
        ids = np.arange(self.n_docs) if self.ids is None else self.ids
        array = np.empty(self.n_docs, dtype=object)
        array[:] = [str(i) for i in ids.tolist()]
        array.flags.writeable = False
        return array

    @cached_property
    def word_counts(self) -> IntArray:
        """How often each word occurs in the corpus, shape (V,)."""
        counts = token_arrays.count_words(self.words, self.n_words)
        counts.flags.writeable = False
        return counts

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of tokens, vocabulary, labels and covariates (not of ids and name)."""
        return native.fingerprint(self)

    def tokens(self, index: int) -> UInt32Array:
        """Return the word ids of the tokens of one document, sorted, shape (N_d,)."""
        (i,) = self._positions([index])
        return self.words[self.doc_ptr[i] : self.doc_ptr[i + 1]]

    def document(self, index: int) -> dict[str, int]:
        """Return one document as a dictionary from its words to their counts."""
        word_ids, counts = np.unique(self.tokens(index), return_counts=True)
        return dict(zip(self.vocabulary[word_ids], counts.tolist(), strict=True))

    def to_matrix(self) -> sparse.csr_array:
        """Return the counts as a sparse matrix of shape (D, V), dtype int64."""
        indptr, word_ids, counts = token_arrays.run_lengths(self.doc_ptr, self.words)
        # scikit-learn's linear models refuse wider indices than they need.
        index = np.int32 if len(counts) <= np.iinfo(np.int32).max else np.int64
        parts = (counts, word_ids.astype(index, copy=False), indptr.astype(index, copy=False))
        return sparse.csr_array(parts, shape=(self.n_docs, self.n_words))

    def select(self, index: npt.ArrayLike | slice) -> Corpus:
        """Return some of the documents, with the same vocabulary.

        Parameters
        ----------
        index : array-like of int, array-like of bool of shape (D,), or slice
            Positions of the documents, in any order, each at most once; or a mask.

        Returns
        -------
        Corpus

        Raises
        ------
        CorpusError
            If nothing is selected, a position does not exist or is repeated, or the mask has the wrong length.
        """
        positions = self._positions(index)
        if not len(positions):
            raise CorpusError("no document is selected; a corpus needs at least one")
        if len(np.unique(positions)) < len(positions):
            raise CorpusError("a document is selected more than once; select each position once")
        doc_ptr, words = token_arrays.gather(self.doc_ptr, self.words, positions)
        return dataclasses.replace(
            self,
            doc_ptr=doc_ptr,
            words=words,
            ids=positions if self.ids is None else self.ids[positions],
            labels=None if self.labels is None else self.labels.select(positions),
            covariates=None if self.covariates is None else self.covariates.select(positions),
            dropped=DroppedWords(),
            more_labels={name: labels.select(positions) for name, labels in self.more_labels.items()},
        )

    def split(self, test: float | int, *, seed: int = 0, stratify: bool | None = None) -> tuple[Corpus, Corpus]:
        """Split the documents at random into a training and a test corpus.

        The same corpus, arguments and seed give the same split, on every machine and NumPy version.

        Parameters
        ----------
        test : float or int
            The share of the documents that go to the test corpus, in (0, 1), or their number.
        seed : int
            Non-negative seed.
        stratify : bool, optional
            Give each class its share in both parts; the default if the labels are classes.

        Returns
        -------
        train, test : Corpus
            In both, the documents keep their order.

        Raises
        ------
        CorpusError
            If `test` leaves one part empty, or `stratify` is asked for without class labels.
        """
        mask = choose_test(self.n_docs, self._classes(), test, seed=seed, stratify=stratify)
        return self.select(~mask), self.select(mask)

    def folds(self, number: int, *, seed: int = 0) -> list[tuple[Corpus, Corpus]]:
        """Return the training and test corpora of k-fold cross-validation: each document is in one test corpus.

        The folds differ in size by one document at most. If the labels are classes, each fold gets its share of each.

        Parameters
        ----------
        number : int
            How many folds, from 2 to the number of documents.
        seed : int
            Non-negative seed.

        Returns
        -------
        list of (Corpus, Corpus)
            Train and test of each fold; in both, the documents keep their order.

        Raises
        ------
        CorpusError
            If there are more folds than documents, or fewer than two.

        Examples
        --------
        >>> corpus = Corpus.from_tokens([["a"], ["b"], ["a"], ["b"]], labels=["x", "y", "x", "y"])
        >>> [test.labels.values.tolist() for _, test in corpus.folds(2, seed=1)]
        [[0, 1], [0, 1]]
        """
        fold = choose_folds(self.n_docs, self._classes(), number, seed=seed)
        return [(self.select(fold != each), self.select(fold == each)) for each in range(number)]

    def _classes(self) -> Int32Array | None:
        """Return the class of each document, if it has one."""
        return self.labels.values if self.labels is not None and self.labels.kind == "class" else None

    def with_vocabulary(self, vocabulary: VocabularyLike) -> Corpus:
        """Return the same documents in the words of another vocabulary.

        Tokens of unknown words are dropped, which `dropped` reports; documents that lose all their tokens
        stay, empty.

        Parameters
        ----------
        vocabulary : sequence of str, or Corpus
            The words, in order; usually the training corpus.

        Returns
        -------
        Corpus
        """
        target = as_vocabulary(vocabulary)
        position = {word: i for i, word in enumerate(target)}
        mapping = np.array([position.get(word, -1) for word in self.vocabulary], dtype=np.int64)
        words = np.array(self.words)
        doc_ptr = token_arrays.remap(self.doc_ptr, words, mapping)
        words.resize(int(doc_ptr[-1]), refcheck=False)
        dropped = DroppedWords(
            tokens=self.n_tokens - len(words),
            types=int(np.count_nonzero(self.word_counts[mapping < 0])),
            documents_emptied=int(np.count_nonzero(np.diff(doc_ptr) == 0)) - self.n_empty_docs,
        )
        return dataclasses.replace(self, doc_ptr=doc_ptr, words=words, vocabulary=target, dropped=dropped)

    def with_labels(self, labels: Any, *, kind: LabelKind | None = None, name: str = "labels") -> Corpus:
        """Return the same documents with other labels, or with more of them under a name.

        Parameters
        ----------
        labels : Labels, or what `Labels.infer` takes, or None
            None removes them.
        kind : {"class", "multi_label", "real", "count"}, optional
            Their kind, where it should not be inferred.
        name : str
            What `observed` of a response calls them: ``labels``, or another name, for models of several responses.

        Returns
        -------
        Corpus

        Examples
        --------
        >>> films = Corpus.from_tokens([["a", "cat"], ["a", "dog"]], labels=["good", "bad"])
        >>> films.with_labels([8.5, 3.0], name="rating")
        Corpus: 2 documents, 4 tokens, 3 words, 2 classes, rating: real labels
        """
        inferred = None if labels is None else Labels.infer(labels, kind=kind, doc_ids=self.ids)
        if name == "labels":
            return dataclasses.replace(self, labels=inferred)
        if not isinstance(name, str) or not NAME.match(name):
            raise CorpusError(f"name of labels: use lower-case letters, digits and _, a letter first, got {name!r}")
        more = {each: kept for each, kept in self.more_labels.items() if each != name}
        return dataclasses.replace(self, more_labels=more if inferred is None else {**more, name: inferred})

    def labels_of(self, name: str) -> Labels | None:
        """Return the labels that `observed` of a response calls by a name; None if there are none."""
        return self.labels if name == "labels" else self.more_labels.get(name)

    def with_covariates(self, covariates: Any) -> Corpus:
        """Return the same documents with other covariates (`Covariates`, data frame or matrix), or None."""
        return dataclasses.replace(self, covariates=as_covariates(covariates, doc_ids=self.ids))

    def with_doc_ids(self, doc_ids: Any) -> Corpus:
        """Return the same documents with other ids, distinct strings or integers; None for "0", "1", ...."""
        return dataclasses.replace(self, ids=as_doc_ids(doc_ids, self.n_docs))

    def save(self, path: str | Path) -> None:
        """Write the corpus as a folder of plain ``.npy`` files, which `load` maps into memory.

        The folder appears complete or not at all. An existing corpus at `path` is replaced.

        Parameters
        ----------
        path : str or Path
            The folder.

        Raises
        ------
        CorpusError
            If there is something else at `path`, or its parent folder does not exist.
        """
        native.save(self, as_path(path, "a folder to save to", CorpusError))

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Corpus:
        """Open a saved corpus; its tokens stay on disk and are read as they are needed.

        Parameters
        ----------
        path : str or Path
            A folder that `save` wrote.
        verify : bool
            Compare the contents with the checksums, which reads the files once. Skip it only for files that
            nobody else can have changed.

        Returns
        -------
        Corpus

        Raises
        ------
        CorpusError
            If `path` is not a corpus, is damaged, or was written by a later version of the format.
        """
        parts, fingerprint = native.load(as_path(path, "a saved corpus", CorpusError), verify=verify)
        corpus = cls.from_parts(parts)
        corpus.__dict__["fingerprint"] = fingerprint  # computed when it was saved
        return corpus

    def _positions(self, index: npt.ArrayLike | slice) -> IntArray:
        if isinstance(index, slice):
            return np.arange(self.n_docs)[index]
        array = np.asarray(index)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iub"):
            raise CorpusError("select documents by a list of positions, a mask or a slice")
        if array.dtype == bool:
            if len(array) != self.n_docs:
                raise CorpusError(f"the mask has {len(array)} entries for {self.n_docs} documents")
            return np.flatnonzero(array)
        positions = array.astype(np.int64)
        outside = (positions < -self.n_docs) | (positions >= self.n_docs)
        if outside.any():
            raise CorpusError(f"there is no document {positions[outside][0]}; the corpus has {self.n_docs} documents")
        return np.where(positions < 0, positions + self.n_docs, positions)
