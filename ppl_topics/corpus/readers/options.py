"""What the caller of `read_corpus` asked for, checked once and handed to every reader."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, get_args

from ppl_topics.corpus.labels import LabelKind
from ppl_topics.corpus.names import StrArray, entries
from ppl_topics.corpus.pruning import Pruning
from ppl_topics.corpus.readers.formats import COUNT_FORMATS
from ppl_topics.corpus.readers.records import Columns
from ppl_topics.corpus.readers.stream import fail
from ppl_topics.corpus.texts import TOKEN_PATTERN, StopWords, check_token_pattern
from ppl_topics.errors import CorpusError

__all__ = ["ReadOptions", "Thresholds", "stop_word_set"]


class Thresholds(TypedDict):
    """Which words to keep, as `CorpusBuilder.build` takes it."""

    min_count: int
    min_df: float | int
    max_df: float | int
    max_vocabulary: int | None


@dataclass(frozen=True)
class ReadOptions:
    """Options of one call of `read_corpus`.

    Attributes
    ----------
    encoding : str
        Text encoding of the file.
    vocabulary : ndarray of shape (V,), dtype object, or None
        The words.
    first_id : {0, 1} or None
        The first word id of a count format, None where it is to be found out.
    columns : Columns
        Columns of a text format.
    label_kind : {"class", "multi_label", "real", "count"} or None
        Kind of the labels, None where it is inferred.
    stop_words : frozenset of str
        Words to leave out.
    lowercase : bool
        Whether texts are turned to lower case.
    token_pattern : str
        Regular expression of a token.
    thresholds : Thresholds
        Which words to keep by their frequency.
    name : str
        Name of the corpus.
    """

    encoding: str
    vocabulary: StrArray | None
    first_id: int | None
    columns: Columns
    label_kind: LabelKind | None
    stop_words: frozenset[str]
    lowercase: bool
    token_pattern: str
    thresholds: Thresholds
    name: str

    def check(self, path: Path, kind: str) -> None:
        """Refuse what the format of the file cannot honour.

        Parameters
        ----------
        path : pathlib.Path
            The file, for the message.
        kind : str
            Its format.

        Raises
        ------
        CorpusError
            If an option is out of range, or means nothing in this format.
        """
        if self.label_kind is not None and self.label_kind not in get_args(LabelKind):
            raise CorpusError(f"label_kind is '{self.label_kind}', expected one of {', '.join(get_args(LabelKind))}")
        if self.first_id not in (None, 0, 1):
            raise CorpusError(f"first_id is {self.first_id}, expected 0 or 1")
        for name, value in (("encoding", self.encoding), *self.columns.named()):
            if not isinstance(value, str):
                raise CorpusError(f"{name} is {value!r}, expected a string")
        for name, value in (("label_column", self.columns.label), ("text_column", self.columns.text)):
            if value in self.columns.covariates:
                raise CorpusError(f"covariates: {value!r} is the {name}, so it is no covariate; leave it out")
        check_token_pattern(self.token_pattern)
        if self.label_kind is not None and self.columns.label is None and kind in ("jsonl", "csv", "tsv"):
            raise fail(path, 0, "label_kind says of what kind the labels are; give label_column, where they are")
        pruning = Pruning(**self.thresholds)
        named = self.columns != Columns("text")
        refused = {
            "text_column, label_column, id_column and covariates": named and kind not in ("jsonl", "csv", "tsv"),
            "first_id": self.first_id is not None and kind not in ("svmlight", "ldac"),
            "token_pattern": self.token_pattern != TOKEN_PATTERN and (kind in COUNT_FORMATS or kind == "native"),
            "stop_words": bool(self.stop_words)
            and (kind == "native" or (kind in COUNT_FORMATS and self.vocabulary is None)),
            "min_count, min_df, max_df and max_vocabulary": kind == "native" and not pruning.is_trivial,
        }
        for name, wrong in refused.items():
            if wrong:
                hint = (
                    "; give vocabulary=, which names the words"
                    if kind in COUNT_FORMATS and name == "stop_words"
                    else ""
                )
                raise fail(path, 0, f"{name} cannot be used with the format {kind}{hint}")


def stop_word_set(stop_words: StopWords) -> frozenset[str]:
    """Return the words to leave out.

    Parameters
    ----------
    stop_words : {"english"}, iterable of str or None
        scikit-learn's English list, a list of words, or none.

    Returns
    -------
    frozenset of str

    Raises
    ------
    CorpusError
        If it is another single string, or holds what is no string.
    """
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise CorpusError(f"stop_words is '{stop_words}', expected 'english' or a list of words")
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    words = list(entries(stop_words, "'english' or a list of words as stop_words"))
    for word in words:
        if not isinstance(word, str):
            raise CorpusError(f"stop_words holds {word!r}, expected words")
    return frozenset(words)
