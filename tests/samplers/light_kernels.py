"""Light kernels of z alone, ready to run."""

import numpy as np

import ppl_topics as pt
from ppl_topics.diagnostics.exactness.enumeration import token_counts
from ppl_topics.engine.bind import bind_tokens, index_tokens
from ppl_topics.engine.executor import Executor
from ppl_topics.schedule.plan import make_plan
from ppl_topics.spec import load_spec

__all__ = ["MODELS", "QUICK", "bound_kernel"]

MODELS = {"light_partially_collapsed": "lda", "light_collapsed": "lda_collapsed"}
QUICK = {"replicates": 1000, "long_run": 2000}


def bound_kernel(kernel, documents, n_words, topics, **options):
    """A kernel of z alone, ready to run, and a starting state."""
    spec = load_spec(MODELS[kernel], {"topics": topics}).with_schedule(pt.step("z", kernel, **options), "test")
    doc_ptr, words = token_counts(documents)
    bound = bind_tokens(make_plan(spec, partial=True), index_tokens(doc_ptr, words, n_words), n_words)
    state = bound.initial_state(1, 0)
    if "phi" in state.arrays:
        phi = np.random.default_rng(3).dirichlet(np.full(n_words, 0.5), size=topics).T
        state.arrays["phi"][...] = phi
    return Executor(bound, debug=True), state
