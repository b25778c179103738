"""Vocabulary files: one word a line, the line number being the word's id."""

from __future__ import annotations

from pathlib import Path

from ppl_topics.corpus.core import VocabularyLike, as_vocabulary
from ppl_topics.corpus.names import StrArray
from ppl_topics.corpus.readers.stream import fail, numbered_lines

__all__ = ["load_vocabulary"]


def load_vocabulary(vocabulary: str | Path | VocabularyLike | None, encoding: str = "utf-8") -> StrArray | None:
    """Load a vocabulary from wherever it stands.

    Parameters
    ----------
    vocabulary : str, pathlib.Path, sequence of str, Corpus or None
        A path (a single string always is one), the words, or a corpus that has them.
    encoding : str, default "utf-8"
        Text encoding of the file.

    Returns
    -------
    ndarray of shape (V,), dtype object, or None
        The words; None where none were given.

    Raises
    ------
    CorpusError
        If the file is missing or empty, or a word is empty or repeated.
    """
    if vocabulary is None:
        return None
    if not isinstance(vocabulary, str | Path):
        return as_vocabulary(vocabulary)
    path = Path(vocabulary)
    first_line: dict[str, int] = {}
    blank = 0
    for line, text in numbered_lines(path, encoding):
        word = text.strip(" \t")
        if not word:
            blank = blank or line
            continue
        if blank:
            raise fail(path, blank, "the line is blank, expected a word: the line number is the word's id")
        if "\0" in word:
            raise fail(path, line, f"the word {word!r} holds a NUL character; is this a file of words?")
        if word in first_line:
            raise fail(
                path,
                line,
                f"the word '{word}' stands on line {first_line[word]} already; each word must occur once",
            )
        first_line[word] = line
    if not first_line:
        raise fail(path, 0, "the vocabulary is empty, expected one word a line")
    return as_vocabulary(list(first_line))
