"""Bayesian topic models declared in YAML, sampled by exact and composable MCMC kernels, read in ArviZ.

Examples
--------
>>> import ppl_topics as pt
>>> corpus = pt.Corpus.from_texts(["red green red", "green blue", "blue blue red"])
>>> fit = pt.sample("lda", corpus, topics=2, draws=20, warmup=10, seed=1, progress=False)
>>> fit.posterior.sizes["draw"]
20
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ppl_topics.api.calibrating import calibrate
    from ppl_topics.api.chain import Chain
    from ppl_topics.api.comparing import Comparison, compare
    from ppl_topics.api.graph import graph
    from ppl_topics.api.grid import grid
    from ppl_topics.api.planning import plan
    from ppl_topics.api.pymc_model import to_pymc
    from ppl_topics.api.resuming import resume
    from ppl_topics.api.sampling import InexactKernelWarning, sample
    from ppl_topics.api.sharding import shard_corpus
    from ppl_topics.api.simulating import Simulation, simulate
    from ppl_topics.core.binding import Binding
    from ppl_topics.core.block import Block
    from ppl_topics.core.kernel import KernelFunctions, KernelSpec, WordSelection
    from ppl_topics.core.keys import Key
    from ppl_topics.core.number import CutPointPrior, PositiveNumber, PositivePrior
    from ppl_topics.core.prior import CoefficientPrior
    from ppl_topics.core.proposal import ProposalSpec
    from ppl_topics.core.registry import block, blocks, kernel, kernels, proposal, proposals
    from ppl_topics.core.response import LabelResponse, Potential, RealResponse, Response
    from ppl_topics.core.state import ChainState
    from ppl_topics.corpus import (
        Corpus,
        CorpusBuilder,
        Covariates,
        CovariateWarning,
        Labels,
        load_20newsgroups,
        load_docstrings,
        read_corpus,
        write_svmlight,
    )
    from ppl_topics.diagnostics.calibration import Calibration, load_calibration
    from ppl_topics.diagnostics.exactness import Certificate, Verification, verify
    from ppl_topics.diagnostics.graph import Graph
    from ppl_topics.errors import CorpusError, PplTopicsError, RunError, ScheduleError, SpecError, TraceError
    from ppl_topics.fit import Fit, load_fit
    from ppl_topics.models.keyword_topics import KeywordWarning
    from ppl_topics.models.targets import encode_counts, encode_numbers, encode_signs
    from ppl_topics.prediction.documents import UnknownWordsWarning
    from ppl_topics.prediction.scoring import OverfitWarning
    from ppl_topics.prediction.serving import Predictor, load_predictor
    from ppl_topics.results.run_folder.log import RunWarning
    from ppl_topics.samplers.numbers.slice_positive import slice_positive
    from ppl_topics.samplers.responses.features import linear_predictors
    from ppl_topics.schedule import Plan, cycle, every, mixture, repeat, step
    from ppl_topics.spec import Model, Spec, load_spec
    from ppl_topics.spec.keywords_file import read_keywords
    from ppl_topics.spec.schema import json_schema

    __version__: str

__all__ = [
    "Binding",
    "Block",
    "Calibration",
    "Certificate",
    "Chain",
    "ChainState",
    "CoefficientPrior",
    "Comparison",
    "Corpus",
    "CorpusBuilder",
    "CorpusError",
    "CovariateWarning",
    "Covariates",
    "CutPointPrior",
    "Fit",
    "Graph",
    "InexactKernelWarning",
    "KernelFunctions",
    "KernelSpec",
    "Key",
    "KeywordWarning",
    "LabelResponse",
    "Labels",
    "Model",
    "OverfitWarning",
    "Plan",
    "PositiveNumber",
    "PositivePrior",
    "Potential",
    "PplTopicsError",
    "Predictor",
    "ProposalSpec",
    "RealResponse",
    "Response",
    "RunError",
    "RunWarning",
    "ScheduleError",
    "Simulation",
    "Spec",
    "SpecError",
    "TraceError",
    "UnknownWordsWarning",
    "Verification",
    "WordSelection",
    "block",
    "blocks",
    "calibrate",
    "compare",
    "cycle",
    "encode_counts",
    "encode_numbers",
    "encode_signs",
    "every",
    "graph",
    "grid",
    "json_schema",
    "kernel",
    "kernels",
    "linear_predictors",
    "load_20newsgroups",
    "load_calibration",
    "load_docstrings",
    "load_fit",
    "load_predictor",
    "load_spec",
    "mixture",
    "plan",
    "proposal",
    "proposals",
    "read_corpus",
    "read_keywords",
    "repeat",
    "resume",
    "sample",
    "shard_corpus",
    "simulate",
    "slice_positive",
    "step",
    "to_pymc",
    "verify",
    "write_svmlight",
]

# In a checkout the folders models, samplers and diagnostics are beside this one; once installed, they are inside it.
# Without this, Python started in a checkout would find this folder in place of an installed package, but not those.
if not Path(__path__[0], "models").is_dir():
    __path__.append(str(Path(__path__[0]).parent))

# Names are imported when they are first used, so that `ppl-topics --help` does not wait for numba.
_HOMES = {
    "ppl_topics.api.chain": "Chain",
    "ppl_topics.api.comparing": "Comparison compare",
    "ppl_topics.api.graph": "graph",
    "ppl_topics.api.calibrating": "calibrate",
    "ppl_topics.api.grid": "grid",
    "ppl_topics.api.planning": "plan",
    "ppl_topics.api.pymc_model": "to_pymc",
    "ppl_topics.api.resuming": "resume",
    "ppl_topics.api.sampling": "InexactKernelWarning sample",
    "ppl_topics.api.sharding": "shard_corpus",
    "ppl_topics.api.simulating": "Simulation simulate",
    "ppl_topics.core.binding": "Binding",
    "ppl_topics.core.block": "Block",
    "ppl_topics.core.kernel": "KernelFunctions KernelSpec WordSelection",
    "ppl_topics.core.keys": "Key",
    "ppl_topics.core.number": "CutPointPrior PositiveNumber PositivePrior",
    "ppl_topics.core.prior": "CoefficientPrior",
    "ppl_topics.core.proposal": "ProposalSpec",
    "ppl_topics.core.registry": "block blocks kernel kernels proposal proposals",
    "ppl_topics.core.response": "LabelResponse Potential RealResponse Response",
    "ppl_topics.core.state": "ChainState",
    "ppl_topics.corpus": "Corpus CorpusBuilder CovariateWarning Covariates Labels "
    "load_20newsgroups load_docstrings read_corpus write_svmlight",
    "ppl_topics.diagnostics.calibration": "Calibration load_calibration",
    "ppl_topics.diagnostics.exactness": "Certificate Verification verify",
    "ppl_topics.diagnostics.graph": "Graph",
    "ppl_topics.errors": "CorpusError PplTopicsError RunError ScheduleError SpecError TraceError",
    "ppl_topics.fit": "Fit load_fit",
    "ppl_topics.models.keyword_topics": "KeywordWarning",
    "ppl_topics.models.targets": "encode_counts encode_numbers encode_signs",
    "ppl_topics.prediction.documents": "UnknownWordsWarning",
    "ppl_topics.prediction.scoring": "OverfitWarning",
    "ppl_topics.prediction.serving": "Predictor load_predictor",
    "ppl_topics.results.run_folder.log": "RunWarning",
    "ppl_topics.samplers.numbers.slice_positive": "slice_positive",
    "ppl_topics.samplers.responses.features": "linear_predictors",
    "ppl_topics.schedule": "Plan cycle every mixture repeat step",
    "ppl_topics.spec": "Model Spec load_spec",
    "ppl_topics.spec.keywords_file": "read_keywords",
    "ppl_topics.spec.schema": "json_schema",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            value = version("ppl-topics")
        elif name in _HOME_OF:
            value = getattr(import_module(_HOME_OF[name]), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
