"""Keywords of topics from a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from ppl_topics.errors import SpecError
from ppl_topics.spec.source import short_repr
from ppl_topics.spec.yaml_source import read_source

__all__ = ["read_keywords"]

COLUMNS = ["topic", "keyword"]


def read_keywords(path: str | Path) -> dict[str, list[str]]:
    r"""Read the keywords of topics, for the parameter ``keywords`` of `keyword_lda`.

    Parameters
    ----------
    path : str or path-like
        A CSV file, by its suffix, with the columns ``topic`` and ``keyword``, a row for each keyword; or a YAML or JSON
        file with a list of keywords for each topic.

    Returns
    -------
    dict of str to list of str
        In the order of the file.

    Raises
    ------
    SpecError
        If the file cannot be read, or holds something else.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> _ = open("keywords.csv", "w").write("topic,keyword\nlaw,court\nhealth,hospital\nlaw,attorney*\n")
    >>> pt.read_keywords("keywords.csv")
    {'law': ['court', 'attorney*'], 'health': ['hospital']}
    """
    path = Path(path)
    if path.suffix.lower() == ".csv":
        return _read_csv(path)
    source = read_source(path, wanted="a list of keywords for each topic, such as `law: [court, attorney*]`")
    for name, words in source.data.items():
        if not isinstance(words, list) or not words or not all(isinstance(word, str) and word for word in words):
            raise SpecError(f"{source.locate((name,))}: {name}: expected a list of words, got {short_repr(words)}")
    return dict(source.data)


def _read_csv(path: Path) -> dict[str, list[str]]:
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise SpecError(f"{path}: cannot read the keywords ({error.strerror})") from None
    except UnicodeDecodeError:
        raise SpecError(f"{path}: not UTF-8 text; save the file as UTF-8") from None
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    keywords: dict[str, list[str]] = {}
    try:
        header = [cell.strip() for cell in next(rows, [])]
        if not set(COLUMNS) <= set(header):
            raise SpecError(f"{path}:1: expected the columns topic and keyword, got {', '.join(header) or 'nothing'}")
        topic, keyword = (header.index(column) for column in COLUMNS)
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            cells = [row[place].strip() if place < len(row) else "" for place in (topic, keyword)]
            if not all(cells) or any("\n" in cell for cell in cells):
                raise SpecError(f"{path}:{rows.line_num}: expected a topic and a keyword, got {','.join(row)!r}")
            keywords.setdefault(cells[0], []).append(cells[1])
    except csv.Error as error:
        raise SpecError(f"{path}:{rows.line_num}: {error}") from None
    if not keywords:
        raise SpecError(f"{path}: there are no keywords after the header; add rows such as `law,court`")
    return keywords
