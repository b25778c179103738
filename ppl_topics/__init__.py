"""Bayesian topic models declared in YAML, sampled by exact and composable MCMC kernels, read in ArviZ.

Examples
--------
>>> import ppl_topics as pt
>>> corpus = pt.Corpus.from_texts(["red green red", "green blue", "blue blue red"])
>>> fit = pt.sample("lda", corpus, topics=2, draws=20, warmup=10, seed=1, progress=False)
>>> fit.posterior.sizes["draw"]
20
"""

from importlib.metadata import version

from ppl_topics.api import Fit, InexactKernelWarning, load_fit, plan, sample
from ppl_topics.corpus import (
    Corpus,
    CorpusBuilder,
    Covariates,
    Labels,
    load_20newsgroups,
    load_docstrings,
    read_corpus,
    write_svmlight,
)
from ppl_topics.diagnostics.exactness import Certificate, Verification, verify
from ppl_topics.errors import CorpusError, PplTopicsError, RunError, ScheduleError, SpecError, TraceError
from ppl_topics.registry import (
    Binding,
    Block,
    KernelFunctions,
    KernelSpec,
    WordSelection,
    block,
    blocks,
    kernel,
    kernels,
)
from ppl_topics.schedule import Plan, cycle, every, mixture, repeat, step
from ppl_topics.spec import Model, Spec, load_spec
from ppl_topics.spec.schema import json_schema
from ppl_topics.state import ChainState, Key

__version__ = version("ppl-topics")

__all__ = [
    "Binding",
    "Block",
    "Certificate",
    "ChainState",
    "Corpus",
    "CorpusBuilder",
    "CorpusError",
    "Covariates",
    "Fit",
    "InexactKernelWarning",
    "KernelFunctions",
    "KernelSpec",
    "Key",
    "Labels",
    "Model",
    "Plan",
    "PplTopicsError",
    "RunError",
    "ScheduleError",
    "Spec",
    "SpecError",
    "TraceError",
    "Verification",
    "WordSelection",
    "block",
    "blocks",
    "cycle",
    "every",
    "json_schema",
    "kernel",
    "kernels",
    "load_20newsgroups",
    "load_docstrings",
    "load_fit",
    "load_spec",
    "mixture",
    "plan",
    "read_corpus",
    "repeat",
    "sample",
    "step",
    "verify",
    "write_svmlight",
]
