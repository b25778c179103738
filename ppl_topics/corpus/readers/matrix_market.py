"""Matrix Market files, as SciPy and gensim write them: documents are rows, words are columns."""

from __future__ import annotations

from collections.abc import Iterator

from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.bags import Bag, parse_id
from ppl_topics.corpus.readers.lines import file_error, numbered_lines
from ppl_topics.corpus.readers.triples import SIZES, Shape, read_triples

__all__ = ["read_matrix_market"]

_FIELDS = {"integer": 3, "unsigned-integer": 3, "real": 3, "double": 3, "pattern": 2}


def read_matrix_market(path: File, encoding: str = "utf-8", *, sort: bool = False) -> tuple[Shape, Iterator[Bag]]:
    """Return the sizes of a sparse matrix of counts, and its documents; see `read_triples` for ``sort``.

    In a ``pattern`` matrix every count is 1.
    """
    lines = numbered_lines(path, encoding)
    line, banner = next(lines, (1, ""))
    words = banner.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise file_error(
            path, line, f"found '{banner[:60]}', expected the banner '%%MatrixMarket matrix coordinate integer general'"
        )
    _, _, layout, field, symmetry = words
    if layout != "coordinate" or field not in _FIELDS or symmetry != "general":
        raise file_error(
            path,
            line,
            f"the matrix is '{layout} {field} {symmetry}', expected 'coordinate', a field of "
            f"{', '.join(_FIELDS)}, and 'general': counts of words by document",
        )
    content = ((line, text) for line, text in lines if text.strip() and not text.startswith("%"))
    line, text = next(content, (0, ""))
    if not line:
        raise file_error(path, 0, "the file ends before the line 'documents words entries'; is it truncated?")
    sizes = text.split()
    if len(sizes) != 3:
        raise file_error(path, line, f"found {len(sizes)} fields, expected the three numbers 'documents words entries'")
    shape = Shape(line, *(parse_id(path, line, size, name) for size, name in zip(sizes, SIZES, strict=True)))
    return shape, read_triples(path, lines, shape, n_fields=_FIELDS[field], sort=sort)
