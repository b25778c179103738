"""Options that say where the corpus is and how to read it, the same for every command that has them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ppl_topics.errors import CorpusError, PplTopicsError

if TYPE_CHECKING:
    from ppl_topics.corpus import Corpus

__all__ = [
    "Covariates",
    "Data",
    "Encoding",
    "FirstId",
    "Format",
    "IdColumn",
    "LabelColumn",
    "LabelKind",
    "MaxDf",
    "MaxVocabulary",
    "MinCount",
    "MinDf",
    "OptionalData",
    "StopWords",
    "TextColumn",
    "TokenPattern",
    "Vocabulary",
    "describe",
    "read",
]

ARGUMENT = re.compile(r"(?<![\w'./-])(format|encoding|vocabulary|first_id)='?([\w-]*)'?")
NAME_WITH_UNDERSCORE = re.compile(
    r"(?<![\w'./-])(?:text_column|label_column|id_column|label_kind|first_id|stop_words|min_count|min_df|max_df"
    r"|max_vocabulary|token_pattern)(?![\w'./-])"
)

_DATA_HELP = "The corpus: JSONL, CSV, TSV, MALLET, svmlight, LDA-C, UCI, Matrix Market, or a saved folder."

Data = Annotated[str, typer.Option("--data", help=_DATA_HELP, metavar="FILE")]
OptionalData = Annotated[str | None, typer.Option("--data", help=_DATA_HELP, metavar="FILE")]
Format = Annotated[str | None, typer.Option(help="Format, where the suffix does not tell.")]
Vocabulary = Annotated[str | None, typer.Option(help="File with one word a line.", metavar="FILE")]
TextColumn = Annotated[str, typer.Option(help="Column of the text.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the label.")]
IdColumn = Annotated[str | None, typer.Option(help="Column of the document's id.")]
Covariates = Annotated[
    list[str] | None, typer.Option(help="Columns of covariates, with commas between them, or given several times.")
]
LabelKind = Annotated[str | None, typer.Option(help="class, multi_label, real or count.")]
FirstId = Annotated[int | None, typer.Option(help="First word id of the file, 0 or 1.")]
Encoding = Annotated[str, typer.Option(help="Text encoding of the file.")]
StopWords = Annotated[str | None, typer.Option(help="`english`, or a file with one word a line.")]
MinCount = Annotated[int, typer.Option(help="Leave out words that occur less often.")]
MinDf = Annotated[str, typer.Option(help="Leave out words in fewer documents: a number, or a share such as 0.01.")]
MaxDf = Annotated[str, typer.Option(help="Leave out words in more documents: a number, or a share such as 0.5.")]
MaxVocabulary = Annotated[int | None, typer.Option(help="Keep so many words, the most frequent.")]
TokenPattern = Annotated[str | None, typer.Option(help="Regular expression of a token.")]


def read(
    data: str, *, stop_words: str | None, min_df: str, max_df: str, token_pattern: str | None, **options: Any
) -> Corpus:
    """Read the corpus that the options of a command describe.

    Raises
    ------
    CorpusError
        If it cannot be read, or holds no token.
    """
    if options.get("covariates"):
        names = [name for given in options["covariates"] for name in given.split(",")]
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise CorpusError(f"--covariates: {twice!r} is given twice; give each column once")
        options["covariates"] = names
    options["min_df"] = _count_or_share("--min-df", min_df)
    options["max_df"] = _count_or_share("--max-df", max_df)
    if token_pattern is not None:
        options["token_pattern"] = token_pattern

    from ppl_topics.api.sampling import check_corpus
    from ppl_topics.corpus import read_corpus

    try:
        corpus = read_corpus(data, stop_words=_stop_words(stop_words, options["encoding"]), **options)
    except CorpusError as error:
        raise CorpusError(_in_options(str(error))) from None
    try:
        check_corpus(corpus)
    except CorpusError as error:
        raise CorpusError(f"{data}: {error}") from None
    return corpus


def describe(corpus: Corpus) -> str:
    """Return the sizes of a corpus, and what was lost of it, in a line."""
    text = f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens, {corpus.n_words:,} words"
    if corpus.n_empty_docs:
        text += f"; empty documents, kept: {corpus.n_empty_docs:,}"
    if corpus.dropped.tokens:
        text += f"; tokens dropped, their words being outside the vocabulary: {corpus.dropped.tokens:,}"
    return text


def _in_options(message: str) -> str:
    """Name the options of the command line where a message of `read_corpus` names its arguments.

    Examples
    --------
    >>> _in_options("a.txt: give format=, or encoding='latin-1', where first_id is 3")
    'a.txt: give --format, or --encoding latin-1, where --first-id is 3'
    """
    message = ARGUMENT.sub(lambda found: f"--{found[1]}{' ' if found[2] else ''}{found[2]}".replace("_", "-"), message)
    message = NAME_WITH_UNDERSCORE.sub(lambda found: "--" + found[0].replace("_", "-"), message)
    return message.replace("--id-column and covariates", "--id-column and --covariates")


def _stop_words(given: str | None, encoding: str) -> Any:
    if given is None or given == "english":
        return given
    if not given or not os.path.exists(given):
        raise CorpusError(f"--stop-words {given}: expected `english`, or a file with one word a line; no such file")

    from ppl_topics.corpus.readers.stream import numbered_lines

    # Other than in a vocabulary, order and repetition mean nothing here.
    return sorted({word for _, line in numbered_lines(Path(given), encoding) if (word := line.strip())})


def _count_or_share(option: str, text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise PplTopicsError(f"{option}: expected a number of documents or a share from 0 to 1, got {text!r}")
