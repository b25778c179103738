"""Example corpora: `load_docstrings`, which needs no download, and `load_20newsgroups`."""

from __future__ import annotations

from ppl_topics.corpus.datasets.docstrings import DOCSTRING_PACKAGES, load_docstrings
from ppl_topics.corpus.datasets.newsgroups import load_20newsgroups

__all__ = ["DOCSTRING_PACKAGES", "load_20newsgroups", "load_docstrings"]
