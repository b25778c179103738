"""The corpus: documents as bags of words, their labels and covariates, in memory and on disk."""

from __future__ import annotations

from ppl_topics.corpus.builder import CorpusBuilder
from ppl_topics.corpus.corpus import Corpus
from ppl_topics.corpus.covariates import Covariates, CovariateWarning
from ppl_topics.corpus.datasets import load_20newsgroups, load_docstrings
from ppl_topics.corpus.labels import Labels
from ppl_topics.corpus.parts import DroppedWords, as_vocabulary
from ppl_topics.corpus.readers import read_corpus
from ppl_topics.corpus.writers import write_svmlight

__all__ = [
    "Corpus",
    "CorpusBuilder",
    "CovariateWarning",
    "Covariates",
    "DroppedWords",
    "Labels",
    "as_vocabulary",
    "load_20newsgroups",
    "load_docstrings",
    "read_corpus",
    "write_svmlight",
]
