"""Sweeps given phi in float64, token by token, by the same random numbers and with topics laid out as on a device."""

import numpy as np

from ppl_topics.cuda.device_state import COUNTS, DeviceCorpus, DeviceState
from ppl_topics.cuda.given_phi import PARTS
from ppl_topics.cuda.steps import STEPS
from ppl_topics.cuda.warp import LANES
from ppl_topics.engine.bind import bind_tokens, index_tokens
from ppl_topics.schedule import make_plan
from ppl_topics.spec import load_spec

WIDTH = LANES * PARTS


def bound_to(documents, words, model="lda", **parameters):
    """Return a model bound to documents, which are lists of word ids."""
    doc_ptr = np.cumsum([0, *map(len, documents)])
    tokens = index_tokens(doc_ptr, np.concatenate([np.zeros(0, int), *documents]).astype(np.uint32), words)
    return bind_tokens(make_plan(load_spec(model, parameters)), tokens, words)


def layout(topics):
    """Return the topics in the order of their cells: lane by lane, and part by part of each."""
    order = [np.arange(lane + part * LANES, topics, WIDTH) for lane in range(LANES) for part in range(PARTS)]
    return np.concatenate(order).astype(int)


def words_of(key, doc, number):
    """Return the random words of a token, as NumPy draws them."""
    counter = [number - 1, doc + key.first, key.sweep, key.kernel]
    return [int(word) for word in np.random.Philox(counter=counter, key=[key.seed, key.chain]).random_raw(4)]


def uniform(word):
    return (word >> 11) * 2.0**-53


def swept(state, phi, key, selected=None, term=None):
    """Return z after a sweep, and how often a move of each document was not accepted."""
    tokens, z, order = state.tokens, state.z.astype(int), layout(state.sizes.topics)
    rejected = np.zeros(state.sizes.docs, int)
    slope = None if term is None else term.slope.copy()
    alpha = state.document_alpha
    for doc in range(state.sizes.docs):
        row = alpha.rows[alpha.row[doc] if len(alpha.row) else 0]
        first, last = tokens.doc_ptr[doc : doc + 2]
        n = np.bincount(z[first:last], minlength=len(row)).astype(float)
        for i in range(first, last):
            word = tokens.words[i]
            if selected is not None and not selected[word]:
                continue
            draw, accept, *_ = words_of(key, doc, i - first + 1)
            old = z[i]
            n[old] -= 1
            # As large as on the device, so that nothing underflows.
            reached = np.cumsum(((n + row) * 2.0**600 * phi[word].astype(float))[order])
            new = old
            if reached[-1] > 0:
                point = min(uniform(draw), 1 - 2.0**-53) * reached[-1]
                new = order[np.searchsorted(reached, point, side="right")]
            if term is not None and new != old:
                delta = term.eta[new] - term.eta[old]
                gain = float((delta * (slope[doc] - 0.5 * term.curvature[doc] * delta)).sum())
                if gain >= 0 or uniform(accept) < np.exp(gain):
                    slope[doc] -= term.curvature[doc] * delta
                else:
                    rejected[doc] += 1
                    new = old
            z[i] = new
            n[new] += 1
    return z, rejected


def on_device(bound, state, key, kernel="partially_collapsed", **options):
    """Run a step of a kernel on the device, in place."""
    device = DeviceState(DeviceCorpus(bound.tokens), state)
    target = "phi" if kernel == "dirichlet_rows" else "z"
    statistics = STEPS[kernel](bound.binding(target), **options)(device, key)
    device.fetch([*COUNTS, *state.arrays])
    return statistics


__all__ = ["bound_to", "layout", "on_device", "swept", "uniform", "words_of"]
