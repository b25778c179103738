"""Vocabulary files: one word a line, the line number being the word's id."""

from __future__ import annotations

from pathlib import Path

from ppl_topics.corpus.names import StrArray
from ppl_topics.corpus.parts import VocabularyLike, as_vocabulary
from ppl_topics.corpus.readers.addresses import as_file
from ppl_topics.corpus.readers.lines import file_error, numbered_lines

__all__ = ["load_vocabulary"]


def load_vocabulary(vocabulary: str | Path | VocabularyLike | None, encoding: str = "utf-8") -> StrArray | None:
    """Return the words of a vocabulary: a file (a single string is a path), a list, or a corpus; None if none."""
    if vocabulary is None:
        return None
    if not isinstance(vocabulary, str | Path):
        return as_vocabulary(vocabulary)
    path = as_file(str(vocabulary), "a vocabulary")
    first_line: dict[str, int] = {}
    blank = 0
    for line, text in numbered_lines(path, encoding):
        word = text.strip(" \t")
        if not word:
            blank = blank or line
            continue
        if blank:
            raise file_error(path, blank, "the line is blank, expected a word: the line number is the word's id")
        if "\0" in word:
            raise file_error(path, line, f"the word {word!r} contains a NUL character; is this a file of words?")
        if word in first_line:
            raise file_error(
                path, line, f"the word '{word}' is also on line {first_line[word]}; each word must occur once"
            )
        first_line[word] = line
    if not first_line:
        raise file_error(path, 0, "the vocabulary is empty, expected one word a line")
    return as_vocabulary(list(first_line))
