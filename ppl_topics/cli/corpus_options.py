"""Options that say how to read a corpus, the same for every command that reads one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ppl_topics.errors import CorpusError, PplTopicsError

if TYPE_CHECKING:
    from ppl_topics.corpus import Corpus

__all__ = ["DATA", "Data", "Reading", "Training", "TrainingTexts", "describe", "naming"]


DATA = typer.Option(
    "--data",
    help="The corpus: JSONL, CSV, TSV, MALLET, Parquet, svmlight, LDA-C, UCI, Matrix Market, or a saved folder.",
    metavar="FILE",
)
Data = Annotated[str, DATA]


@dataclass(frozen=True, kw_only=True)
class Texts:
    """How to read texts."""

    format: Annotated[str | None, typer.Option(help="Format, if the suffix does not tell.")] = None
    vocabulary: Annotated[str | None, typer.Option(help="File with one word a line.", metavar="FILE")] = None
    text_column: Annotated[str, typer.Option(help="Column of the text.")] = "text"
    label_column: Annotated[str | None, typer.Option(help="Column of the label.")] = None
    id_column: Annotated[str | None, typer.Option(help="Column of the document's id.")] = None
    covariates: Annotated[
        list[str] | None, typer.Option(help="Columns of covariates, separated by commas; may be given several times.")
    ] = None
    label_kind: Annotated[str | None, typer.Option(help="class, multi_label, real or count.")] = None
    encoding: Annotated[str, typer.Option(help="Text encoding of the file.")] = "utf-8"
    stop_words: Annotated[str | None, typer.Option(help="`english`, or a file with one word a line.")] = None
    token_pattern: Annotated[str | None, typer.Option(help="Regular expression of a token.")] = None
    ngrams: Annotated[int, typer.Option(help="Also count runs of up to so many tokens.")] = 1

    def given(self) -> dict[str, Any]:
        """Return the arguments of `read_corpus` and `shard_corpus`."""
        options = {field.name: getattr(self, field.name) for field in fields(Texts)}
        options |= {"covariates": self._covariates(), "stop_words": _stop_words(self.stop_words, self.encoding)}
        if self.token_pattern is None:
            del options["token_pattern"]
        return options

    def _covariates(self) -> list[str] | None:
        if not self.covariates:
            return None
        names = [name for given in self.covariates for name in given.split(",")]
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise CorpusError(f"--covariates: {twice!r} is given twice; give each column once")
        return names


@dataclass(frozen=True, kw_only=True)
class Reading(Texts):
    """How to read documents."""

    first_id: Annotated[int | None, typer.Option(help="First word id in the file, 0 or 1.")] = None
    more_labels: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns that models of several responses observe beside the label, separated by commas, each with "
            "its kind after a colon if that is not to be inferred: stars:real.",
            metavar="NAME[:KIND]",
        ),
    ] = None

    def read(self, data: str, **words: Any) -> Corpus:
        """Read the corpus in a file; all of its words are kept, unless `words` says which."""
        from ppl_topics.api.run_arguments import check_corpus
        from ppl_topics.corpus import read_corpus

        more = self._more_labels()
        corpus = read_corpus(data, first_id=self.first_id, more_labels=more, **self.given(), **words)
        with naming(data):
            check_corpus(corpus)
        return corpus

    def _more_labels(self) -> dict[str, Any]:
        kinds = {}
        for part in (part for given in self.more_labels or () for part in given.split(",")):
            name, _, kind = part.partition(":")
            if name in kinds:
                raise CorpusError(f"--more-labels: {name!r} is given twice; give each column once")
            kinds[name] = kind or None
        return kinds


@dataclass(frozen=True, kw_only=True)
class Words:
    """Which words to keep."""

    min_count: Annotated[int, typer.Option(help="Leave out words that occur less often.")] = 1
    min_df: Annotated[
        str, typer.Option(help="Leave out words in fewer documents: a number, or a share such as 0.01.")
    ] = "1"
    max_df: Annotated[
        str, typer.Option(help="Leave out words in more documents: a number, or a share such as 0.5.")
    ] = "1.0"
    max_vocabulary: Annotated[int | None, typer.Option(help="Keep at most this many words, the most frequent.")] = None

    def thresholds(self) -> dict[str, Any]:
        """Return the arguments of `read_corpus` and `shard_corpus`."""
        return {
            "min_count": self.min_count,
            "min_df": _count_or_share("--min-df", self.min_df),
            "max_df": _count_or_share("--max-df", self.max_df),
            "max_vocabulary": self.max_vocabulary,
        }


@dataclass(frozen=True, kw_only=True)
class Training(Words, Reading):
    """How to read documents to train on, and which of their words to keep."""

    def read(self, data: str, **words: Any) -> Corpus:
        """Read the training corpus in a file."""
        return super().read(data, **self.thresholds(), **words)

    def read_new(self, data: str) -> Corpus:
        """Read other documents in the same way, all of whose words are kept."""
        return super().read(data)


@dataclass(frozen=True, kw_only=True)
class TrainingTexts(Words, Texts):
    """How to read texts to train on, and which of their words to keep."""


@contextmanager
def naming(data: str) -> Iterator[None]:
    """Start the messages about a corpus with the name of its file."""
    try:
        yield
    except CorpusError as error:
        raise CorpusError(f"{data}: {error}") from None


def describe(corpus: Corpus) -> str:
    """Return the sizes of a corpus, and what was dropped from it, in a line."""
    text = f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens, {corpus.n_words:,} words"
    if corpus.n_empty_docs:
        text += f"; empty documents, kept: {corpus.n_empty_docs:,}"
    if corpus.dropped.tokens:
        text += f"; tokens dropped, their words being outside the vocabulary: {corpus.dropped.tokens:,}"
    return text


def _stop_words(given: str | None, encoding: str) -> Any:
    if given is None or given == "english":
        return given
    if not given or not os.path.exists(given):
        raise CorpusError(f"--stop-words {given}: expected `english`, or a file with one word a line; no such file")

    from ppl_topics.corpus.readers.lines import numbered_lines

    # Unlike in a vocabulary, order and repetition mean nothing here.
    return sorted({word for _, line in numbered_lines(Path(given), encoding) if (word := line.strip())})


def _count_or_share(option: str, text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise PplTopicsError(f"{option}: expected a number of documents or a share from 0 to 1, got {text!r}")
