"""The docstrings of the scientific Python packages that are installed: a corpus that needs no download."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ppl_topics.corpus.core import Corpus
from ppl_topics.corpus.datasets.docstring_extraction import harvest
from ppl_topics.corpus.datasets.prose import prose
from ppl_topics.corpus.texts import StopWords
from ppl_topics.errors import CorpusError

__all__ = ["DOCSTRING_PACKAGES", "WORD_PATTERN", "load_docstrings"]

DOCSTRING_PACKAGES = ("numpy", "scipy", "pandas", "xarray", "numba", "matplotlib", "arviz")
"""Packages that `load_docstrings` looks into; those that are not installed are passed over."""

WORD_PATTERN = r"(?u)\b[^\W\d_]{3,}\b"
"""A word: three letters or more. Identifiers with digits and underscores are names of arguments, mostly."""


class _Document(NamedTuple):
    name: str
    package: str
    module: str
    text: str


def load_docstrings(
    *,
    packages: Sequence[str] = DOCSTRING_PACKAGES,
    label: Literal["package", "module"] = "package",
    min_length: int = 20,
    stop_words: StopWords = "english",
    min_count: int = 10,
    min_df: float | int = 1,
    max_df: float | int = 0.15,
    max_vocabulary: int | None = None,
    lowercase: bool = True,
    token_pattern: str = WORD_PATTERN,
) -> Corpus:
    """Gather the docstrings of installed packages as a corpus.

    They are read from the source files; nothing is imported. Doctests, code, formulas, section titles, types
    of parameters and bibliographies are left out, and so are tests, vendored packages and repeated texts.
    What comes depends on the versions installed; with the same versions it is always the same.

    Parameters
    ----------
    packages : sequence of str
        Names of packages, by default `DOCSTRING_PACKAGES`.
    label : {"package", "module"}, default "package"
        Class of a document: its package, or the module directly in that package, such as ``scipy.stats``.
    min_length : int, default 20
        Least number of words in a docstring, counted after code is left out and before stop words are.
    stop_words, min_count, min_df, max_df, max_vocabulary, lowercase, token_pattern : optional
        As in `Corpus.from_texts`. Words in more than 15 % of the docstrings say what docstrings are
        about (array, default, returns), rather than what one of them is about, and are left out.

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
    documents = list(_documents(packages, min_length))
    if not documents:
        raise CorpusError(f"no docstring of {min_length} words was found in {', '.join(packages)}; are they installed?")
    return Corpus.from_texts(
        (document.text for document in documents),
        doc_ids=_distinct(document.name for document in documents),
        labels=[getattr(document, label) for document in documents],
        label_kind="class",
        stop_words=stop_words,
        min_count=min_count,
        min_df=min_df,
        max_df=max_df,
        max_vocabulary=max_vocabulary,
        lowercase=lowercase,
        token_pattern=token_pattern,
        name="docstrings",
    )


def _documents(packages: Sequence[str], min_length: int) -> Iterator[_Document]:
    seen: set[str] = set()
    for package in packages:
        for docstring in harvest(package):
            # Most are too short as they stand, and need not be cleaned to know it.
            if len(docstring.text.split()) < min_length:
                continue
            text = prose(docstring.text)
            if len(text.split()) < min_length or text in seen:
                continue
            seen.add(text)
            module = ".".join(docstring.name.split(".")[:2])
            yield _Document(docstring.name, package, module, text)


def _distinct(names: Iterator[str]) -> list[str]:
    """Number the names that come again, as those of overloads and properties with a setter do."""
    times: dict[str, int] = {}
    distinct = []
    for name in names:
        times[name] = times.get(name, 0) + 1
        distinct.append(name if times[name] == 1 else f"{name}#{times[name]}")
    return distinct
