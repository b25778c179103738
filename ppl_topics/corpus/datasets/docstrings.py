"""The docstrings of the scientific Python packages that are installed: a corpus that needs no download."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, Unpack

from ppl_topics.corpus.corpus import Corpus
from ppl_topics.corpus.datasets.docstring_extraction import extract_docstrings
from ppl_topics.corpus.datasets.prose import prose
from ppl_topics.corpus.keywords import TextKeywords, takes
from ppl_topics.corpus.text_options import TOKEN_PATTERN
from ppl_topics.errors import CorpusError

__all__ = ["DOCSTRING_PACKAGES", "WORD_PATTERN", "load_docstrings"]

DOCSTRING_PACKAGES = ("numpy", "scipy", "pandas", "xarray", "numba", "matplotlib", "arviz")
"""Packages that `load_docstrings` reads; those that are not installed are skipped."""

WORD_PATTERN = r"(?u)\b[^\W\d_]{3,}\b"
"""A word: three letters or more. Identifiers with digits and underscores are mostly names of arguments."""


class _Document(NamedTuple):
    name: str
    package: str
    module: str
    text: str


@takes(TextKeywords, stop_words="english", min_count=10, max_df=0.15, token_pattern=WORD_PATTERN)
def load_docstrings(
    *,
    packages: Sequence[str] = DOCSTRING_PACKAGES,
    label: Literal["package", "module"] = "package",
    min_length: int = 20,
    **options: Unpack[TextKeywords],
) -> Corpus:
    """Gather the docstrings of installed packages as a corpus.

    They are read from the packages' files; nothing is imported. Doctests, code, formulas, section titles, types
    of parameters and bibliographies are left out, and so are tests, vendored packages and repeated texts.
    The result depends only on the installed versions.

    Parameters
    ----------
    packages : sequence of str
        Names of packages, by default `DOCSTRING_PACKAGES`.
    label : {"package", "module"}, default "package"
        Class of a document: its package, or the module directly in that package, such as ``scipy.stats``.
    min_length : int, default 20
        Least number of words in a docstring without its code, stop words included.
    **options
        `stop_words`, `min_count`, `min_df`, `max_df`, `max_vocabulary`, `lowercase`, `token_pattern`, `tokenizer` and
        `ngrams` as in `Corpus.from_texts`. By default English stop words are left out, words that occur less than ten
        times, and words in more than 15 % of the docstrings, which say nothing about the topic (array, default).

    Returns
    -------
    Corpus
        Document ids are qualified names, such as ``numpy.linalg.norm``.

    Raises
    ------
    CorpusError
        If none of the packages is installed, or none has a docstring of that length.

    Examples
    --------
    >>> from ppl_topics.corpus.datasets import load_docstrings
    >>> corpus = load_docstrings(packages=["numpy"], label="module")
    >>> "numpy.linalg" in corpus.labels.classes
    True
    """
    if label not in ("package", "module"):
        raise CorpusError(f"label is '{label}', expected 'package' or 'module'")
    if isinstance(packages, str):
        raise CorpusError(f"packages must be a list of names, such as ['{packages}']")
    if options.get("tokenizer") is not None and options["token_pattern"] == WORD_PATTERN:
        # The pattern is only our default.
        options["token_pattern"] = TOKEN_PATTERN
    documents = list(_documents(packages, min_length))
    if not documents:
        raise CorpusError(f"no docstring of {min_length} words was found in {', '.join(packages)}; are they installed?")
    return Corpus.from_texts(
        (document.text for document in documents),
        doc_ids=_distinct(document.name for document in documents),
        labels=[getattr(document, label) for document in documents],
        label_kind="class",
        name="docstrings",
        **options,
    )


def _documents(packages: Sequence[str], min_length: int) -> Iterator[_Document]:
    seen: set[str] = set()
    for package in packages:
        for docstring in extract_docstrings(package):
            # Most are too short even before they are cleaned.
            if len(docstring.text.split()) < min_length:
                continue
            text = prose(docstring.text)
            if len(text.split()) < min_length or text in seen:
                continue
            seen.add(text)
            module = ".".join(docstring.name.split(".")[:2])
            yield _Document(docstring.name, package, module, text)


def _distinct(names: Iterator[str]) -> list[str]:
    """Number repeated names, such as those of overloads and properties with a setter."""
    times: dict[str, int] = {}
    distinct = []
    for name in names:
        times[name] = times.get(name, 0) + 1
        distinct.append(name if times[name] == 1 else f"{name}#{times[name]}")
    return distinct
