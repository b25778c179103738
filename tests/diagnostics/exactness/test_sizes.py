"""Errors in code that only some sizes reach: the tiny corpus certifies them, and Geweke's test on larger ones refuses.

The kernel below is collapsed Gibbs with one error of four. Seeds are fixed. With `FREQUENT_WORD`, a frequent word gets
no topic that its document does not have, where there are many topics.
"""

import importlib

import numba
import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.core.registry import unregister_kernel
from ppl_topics.diagnostics.exactness.sizes import SIZES, of_size
from ppl_topics.diagnostics.exactness.tiny import tiny_spec
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.tree import steps

verify = importlib.import_module("ppl_topics.diagnostics.exactness.verify")

NOTHING, LAST_ROW, FREQUENT_WORD, TILE_COUNTS, UNDERFLOW = range(5)


@numba.njit
def sweep(doc_ptr, words, z, state_counts, concentrations, uniforms, error):
    """Collapsed Gibbs; if the error is `TILE_COUNTS`, blocks of documents do not see each other's moves in a sweep."""
    alpha, beta, blocks = concentrations
    n_topics, n_docs = alpha.size, doc_ptr.size - 1
    weights, before = np.empty(n_topics), state_counts.copy()
    for block in range(blocks):
        n_wk = before.copy() if error == TILE_COUNTS else state_counts
        n_k = n_wk.sum(axis=0)
        for doc in range(n_docs * block // blocks, n_docs * (block + 1) // blocks):
            n_dk = np.zeros(n_topics)
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                n_dk[z[token]] += 1
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                word, old = words[token], z[token]
                n_dk[old] -= 1
                n_wk[word, old] -= 1
                n_k[old] -= 1
                for k in range(n_topics):
                    weights[k] = (n_dk[k] + alpha[k]) * (n_wk[word, k] + beta[word]) / (n_k[k] + beta.sum())
                if error == FREQUENT_WORD and n_topics > 512 and n_wk[word].sum() >= 256 and n_dk.sum() > 0:
                    weights[n_dk == 0] = 0.0
                if error == LAST_ROW and n_topics > 8:
                    weights[n_topics - n_topics % 8 :] *= 0.5
                cumulated = np.cumsum(weights)
                if error == UNDERFLOW and cumulated[-1] < 1e-38:
                    cumulated[:] = 1.0
                new = min(np.searchsorted(cumulated, uniforms[token] * cumulated[-1]), n_topics - 1)
                z[token] = new
                n_dk[new] += 1
                n_wk[word, new] += 1
                n_k[new] += 1


def planted(error):
    def build(binding, *, blocks: int = 1):
        tokens = binding.tokens

        def step(state, memory, key):
            uniforms = key.generator().random(len(tokens.words))
            concentrations = state.alpha, state.beta, blocks
            sweep(tokens.doc_ptr, tokens.words, state.z, state.n_wk.copy(), concentrations, uniforms, error)
            state.set_z(state.z)

        return pt.KernelFunctions(step)

    return build


def certificate(error, **options):
    pt.kernel(
        "planted",
        updates="z",
        integrates_out=("theta", "phi"),
        reads=("alpha", "beta"),
        handles=("dirichlet", "assignments", "words"),
        exact=True,
        tiny_options={"blocks": 3},
    )(planted(error))
    try:
        (result,) = pt.verify("lda", kernel="planted", **options).certificates
    finally:
        unregister_kernel("planted")
    return result


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "error", [LAST_ROW, UNDERFLOW, pytest.param(FREQUENT_WORD, marks=SLOW), pytest.param(TILE_COUNTS, marks=SLOW)]
)
def test_an_error_on_a_path_is_refused(error, monkeypatch):
    assert not certificate(error).certified
    # Without the larger corpora none of them shows.
    monkeypatch.setattr(verify, "size_tests", lambda plan, seed: [])
    assert certificate(error).certified


@pytest.mark.slow
def test_the_control_is_certified():
    assert certificate(NOTHING).certified


def test_options_for_small_corpora_replace_defaults_only():
    spec = tiny_spec(pt.load_spec("lda"))
    for options, blocks in (({}, 3), ({"blocks": 2}, 2)):
        schedule = pt.cycle(pt.step("z", "block_collapsed", **options), pt.step("phi", "dirichlet_rows"))
        sized = of_size(make_plan(spec.with_schedule(schedule, "test")), SIZES[1])
        assert next(iter(steps(sized.bound.plan.schedule))).options.blocks == blocks
        assert sized.bound.sizes[:3] == (10, 30, 12)
