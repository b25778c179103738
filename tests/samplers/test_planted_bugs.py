"""Every kernel of the project has planted bugs that `verify` must refuse, beside a control that it must certify.

The variants are slow, plain Python kernels that differ from the control by one error a programmer could make.
Seeds are fixed. `verify` refuses a right kernel with probability at most 1e-5, so the controls are stable.
"""

import math
from contextlib import contextmanager

import numpy as np
import pytest
from planted_light import PLANTED_LIGHT
from planted_probit import PLANTED_PROBIT
from planted_shrinkage import PLANTED_SHRINKAGE
from planted_spike_slab import LISTED, PLANTED_SPIKE_SLAB
from planted_supervised import PLANTED_SUPERVISED
from planted_tiles import PLANTED_TILES, draw

import ppl_topics as pt
from ppl_topics.core.registry import unregister_kernel

HELD = {"extends": "lda", "name": "lda_held", "blocks": {"theta": {"integrate_out": False}}}
SYMMETRIC = {"extends": "lda_learned", "name": "lda_symmetric", "blocks": {"alpha": {"per": None}}}
QUICK = {"replicates": 1000, "long_run": 2000}
QUICK_SUPERVISED = {"replicates": 300, "long_run": 2000}


def sweep_tokens(binding, state, key, conditional, bug):
    """Draw every token's topic from the weights of `conditional(token, word, in_doc, in_word, in_topic)`."""
    docs, words = binding.tokens.docs.tolist(), binding.tokens.words.tolist()
    uniforms = key.generator().random(len(words)).tolist()
    z, n_dk, n_wk, n_k = state.z.tolist(), state.n_dk.tolist(), state.counts_by_word.tolist(), state.n_k.tolist()
    frozen = [list(row) for row in n_dk]
    for i, (doc, word) in enumerate(zip(docs, words, strict=True)):
        old = z[i]
        if (bug == "topic 0 absorbs" and old == 0) or (bug == "the first token stays" and i == 0):
            continue
        n_dk[doc][old] -= 1
        n_wk[word][old] -= 1
        n_k[old] -= 1
        in_doc, in_word, in_topic = n_dk[doc], n_wk[word], n_k
        if bug == "counts the token itself":
            in_doc = [n + (k == old) for k, n in enumerate(in_doc)]
        if bug == "counts the token in its topic's total":
            in_topic = [n + (k == old) for k, n in enumerate(in_topic)]
        if bug == "document counts of the sweep's start":
            in_doc = [n - (k == old) for k, n in enumerate(frozen[doc])]
        new = draw(conditional(word, in_doc, in_word, in_topic), uniforms[i])
        z[i] = new
        n_dk[doc][new] += 1
        n_wk[word][new] += 1
        n_k[new] += 1
    if bug != "does nothing":
        state.set_z(np.array(z))


def wrong_alpha(alpha, bug):
    return {
        "alpha forgotten": [1e-9] * len(alpha),
        "alpha of the next topic": [*alpha[1:], alpha[0]],
        "alpha 30% too large": [1.3 * a for a in alpha],
        "one alpha for all topics": [sum(alpha) / len(alpha)] * len(alpha),
    }.get(bug, alpha)


def collapsed(bug):
    def build(binding):
        def step(state, memory, key):
            alpha, beta = wrong_alpha(state.alpha.tolist(), bug), state.beta.tolist()
            beta_sum = sum(beta)
            if bug == "V without the word that never occurs":
                beta_sum -= beta[-1]

            def conditional(word, in_doc, in_word, in_topic):
                total = len(beta) * beta[word] if bug == "V times this word's beta" else beta_sum
                prior = beta[(word + 1) % len(beta)] if bug == "beta of the next word" else beta[word]
                return [
                    (d + a) * (w + prior) / (n + total)
                    for d, a, w, n in zip(in_doc, alpha, in_word, in_topic, strict=True)
                ]

            sweep_tokens(binding, state, key, conditional, bug)

        return pt.KernelFunctions(step)

    return build


def partially(bug):
    def build(binding):
        name = binding.names["phi"]

        def init(state):
            return {"phi": state.values[name].copy()}

        def step(state, memory, key):
            alpha = wrong_alpha(state.alpha.tolist(), bug)
            phi = memory["phi"] if bug == "phi of the sweep before" else state.values[name]
            phi = (np.roll(phi, 1, axis=1) if bug == "phi of the topic before" else phi).tolist()

            def conditional(word, in_doc, in_word, in_topic):
                return [(d + a) * p for d, a, p in zip(in_doc, alpha, phi[word], strict=True)]

            sweep_tokens(binding, state, key, conditional, bug)
            memory["phi"] = state.values[name].copy()

        return pt.KernelFunctions(step, init)

    return build


def sparse(bug):
    """Two parts: alpha phi from a table, and the topics of the document from a list."""

    def build(binding):
        name = binding.names["phi"]

        def init(state):
            return {"phi": state.arrays[name].copy()}

        def step(state, memory, key):
            alpha, phi = state.alpha.tolist(), state.arrays[name].tolist()
            of_table = memory["phi"].tolist() if bug == "table of the sweep before" else phi

            def conditional(word, in_doc, in_word, in_topic):
                scale = [1.0] * len(alpha) if bug == "table without alpha" else alpha
                table = [a * p for a, p in zip(scale, of_table[word], strict=True)]
                listed = [k for k, n in enumerate(in_doc) if n > 0]
                if bug == "the last listed topic is missing":
                    listed = listed[:-1]
                if bug == "a topic without tokens stays listed":
                    in_doc = [max(n, 0.2) for n in in_doc]
                    listed = range(len(alpha))
                if bug == "lists the topics, not their counts":
                    in_doc = [min(n, 1) for n in in_doc]
                for k in listed:
                    table[k] += in_doc[k] * phi[word][k]
                return table

            sweep_tokens(binding, state, key, conditional, bug)
            memory["phi"] = state.arrays[name].copy()

        return pt.KernelFunctions(step, init)

    return build


def rows(bug):
    def build(binding):
        name = binding.names["phi"]

        def init(state):
            return {"n_wk": state.n_wk.copy()}

        def step(state, memory, key):
            counts = memory["n_wk"] if bug == "counts of the sweep before" else state.n_wk
            memory["n_wk"] = state.n_wk.copy()
            parameters = counts + state.beta[:, None]
            if bug == "n + beta + 1":
                parameters = parameters + 1
            if bug == "beta forgotten":
                parameters = counts + 0.05
            if bug == "spread 20% too small":
                parameters = parameters * 1.5
            if bug == "topics shifted":
                parameters = np.roll(parameters, 1, axis=1)
            if bug == "one beta for all words":
                parameters = counts + state.beta.mean()
            if bug == "mean, not a draw":
                state.arrays[name][...] = parameters / parameters.sum(axis=0)
            elif bug != "does nothing":
                gammas = key.generator().standard_gamma(parameters)
                state.arrays[name][...] = gammas / gammas.sum(axis=0)

        return pt.KernelFunctions(step, init)

    return build


def weights(bug):
    def build(binding):
        name = binding.names["theta"]
        empty = binding.tokens.doc_lengths == 0

        def step(state, memory, key):
            alpha, counts = state.alpha, state.n_dk
            parameters = counts + alpha
            if bug == "alpha twice":
                parameters = parameters + alpha
            if bug == "alpha of the next topic":
                parameters = counts + np.roll(alpha, -1)
            if bug == "weights of the document before":
                parameters = np.roll(parameters, 1, axis=0)
            gammas = key.generator().standard_gamma(parameters)
            drawn = gammas / gammas.sum(axis=1, keepdims=True)
            kept = empty if bug == "empty documents are skipped" else np.zeros_like(empty)
            state.arrays[name][~kept] = drawn[~kept]

        return pt.KernelFunctions(step)

    return build


def log_dirichlet_multinomial(counts, concentration, bug):
    """Log probability of the rows of counts, up to the errors asked for."""
    total, value = sum(concentration), 0.0
    for row in counts:
        value += sum(math.lgamma(n + c) - math.lgamma(c) for n, c in zip(row, concentration, strict=True) if n)
        if bug != "lengths forgotten":
            value += math.lgamma(total) - math.lgamma(total + sum(row))
    if bug == "one length for all rows":
        value += sum(math.lgamma(total + sum(row)) for row in counts)
        value -= len(counts) * math.lgamma(total + sum(map(sum, counts)) / len(counts))
    return value


def concentration(role, bug):
    """Metropolis on the log of a concentration, one element after another."""

    def build(binding):
        name = binding.names[role]
        prior = binding.blocks[name]
        size = binding.sizes.topics if role == "alpha" else binding.sizes.words
        rate = {"rate taken for a scale": 1 / prior.rate, "rate 30% too large": 1.3 * prior.rate}.get(bug, prior.rate)

        def log_density(values, counts):
            log_sum = sum(map(math.log, values))
            power = prior.shape - (bug == "Jacobian forgotten")
            vector = list(values) * (size // len(values))
            if bug == "V without the word that never occurs":
                vector, counts = vector[:-1], [row[:-1] for row in counts]
            value = log_dirichlet_multinomial(counts, vector, bug)
            if bug == "prior forgotten":
                return value + log_sum
            if bug == "prior once for every cell":
                return value + size * ((power - 1) * log_sum - rate * sum(values)) + log_sum
            return value + power * log_sum - rate * sum(values)

        def step(state, memory, key):
            if bug == "does nothing":
                return
            counts = (state.n_dk if role == "alpha" else state.n_wk.T).tolist()
            rng, value = key.generator(), state.arrays[name]
            values = np.atleast_1d(value).tolist()
            jumps, levels = rng.normal(size=(3, len(values))), np.log(rng.random((3, len(values))))
            before = log_density(values, counts)
            for jump, level in zip(jumps, levels, strict=True):
                for i in range(len(values) - (bug == "the last element stays")):
                    proposed = list(values)
                    proposed[i] *= math.exp(jump[i])
                    if not 1e-9 < proposed[i] < 1e9:
                        continue
                    after = log_density(proposed, counts)
                    if level[i] < after - before:
                        values, before = proposed, after
            value[...] = values if value.ndim else values[0]

        return pt.KernelFunctions(step)

    return build


OF_Z = {"updates": "z", "handles": ("dirichlet", "assignments", "words")}
OUT = {**OF_Z, "integrates_out": ("theta", "phi"), "reads": ("alpha", "beta")}
GIVEN = {**OF_Z, "integrates_out": "theta", "reads": ("alpha", "phi")}
LISTED_HANDLES = ("dirichlet", "assignments", "listed_words")
ROWS = {"updates": "phi", "reads": ("z", "beta"), "handles": ("dirichlet", "words"), "full_conditional": True}
WEIGHTS = {
    "updates": "theta",
    "reads": ("z", "alpha"),
    "handles": ("dirichlet", "assignments"),
    "full_conditional": True,
}
ALPHA = {"updates": "alpha", "integrates_out": "theta", "reads": "z", "handles": ("gamma", "dirichlet", "assignments")}
BETA = {"updates": "beta", "integrates_out": "phi", "reads": "z", "handles": ("gamma", "dirichlet", "words")}

PLANTED = {
    "collapsed_gibbs": ("lda_collapsed", OUT, collapsed, {
        "quick": ["alpha forgotten"],
        "slow": ["does nothing", "counts the token itself", "topic 0 absorbs", "V without the word that never occurs",
                 "alpha of the next topic", "alpha 30% too large", "one alpha for all topics",
                 "beta of the next word", "V times this word's beta", "counts the token in its topic's total",
                 "the first token stays"],
    }),
    "partially_collapsed": ("lda", GIVEN, partially, {
        "quick": ["alpha of the next topic"],
        "slow": ["document counts of the sweep's start", "alpha forgotten", "counts the token itself",
                 "alpha 30% too large", "one alpha for all topics",
                 "phi of the sweep before", "phi of the topic before", "topic 0 absorbs", "the first token stays",
                 "does nothing"],
    }),
    "sparse_partially_collapsed": ("lda", GIVEN, sparse, {
        "quick": ["the last listed topic is missing"],
        "slow": ["table without alpha", "table of the sweep before", "a topic without tokens stays listed",
                 "lists the topics, not their counts", "does nothing"],
    }),
    "listed_partially_collapsed": (LISTED, {**GIVEN, "handles": LISTED_HANDLES}, partially, {
        "quick": [],
        "slow": ["alpha of the next topic", "counts the token itself", "the first token stays"],
    }),
    "dirichlet_rows": ("lda", ROWS, rows, {
        "quick": ["spread 20% too small"],
        "slow": ["n + beta + 1", "does nothing", "beta forgotten", "topics shifted", "counts of the sweep before",
                 "one beta for all words",
                 "mean, not a draw"],
    }),
    "dirichlet_weights": (HELD, WEIGHTS, weights, {
        "quick": ["empty documents are skipped"],
        "slow": ["alpha twice", "alpha of the next topic", "weights of the document before"],
    }),
    "slice_alpha": ("lda_learned", ALPHA, lambda bug: concentration("alpha", bug), {
        "quick": ["Jacobian forgotten"],
        "slow": ["the last element stays", "prior forgotten", "rate taken for a scale", "rate 30% too large",
                 "lengths forgotten", "one length for all rows", "does nothing"],
    }),
    "slice_alpha, symmetric": (SYMMETRIC, ALPHA, lambda bug: concentration("alpha", bug), {
        "quick": [],
        "slow": ["prior once for every cell", "does nothing", "Jacobian forgotten", "prior forgotten",
                 "rate taken for a scale", "lengths forgotten",
                 "one length for all rows"],
    }),
    "slice_beta": ("lda_learned", BETA, lambda bug: concentration("beta", bug), {
        "quick": [],
        "slow": ["Jacobian forgotten", "does nothing", "prior forgotten", "rate taken for a scale",
                 "rate 30% too large", "lengths forgotten", "V without the word that never occurs",
                 "prior once for every cell"],
    }),
    **PLANTED_TILES,
    **PLANTED_LIGHT,
    **PLANTED_SPIKE_SLAB,
    **PLANTED_SUPERVISED,
    **PLANTED_SHRINKAGE,
    **PLANTED_PROBIT,
}  # fmt: skip


CONTROLS = ["partially_collapsed"]
"""Entries whose control, without a bug, is tried quickly."""


@contextmanager
def registered(declared, build):
    """A kernel for as long as the context lasts."""
    pt.kernel("planted", exact=True, **declared)(build)
    try:
        yield
    finally:
        unregister_kernel("planted")


def certificate(entry, bug, **options):
    model, declared, make, _ = PLANTED[entry]
    with registered(declared, make(bug)):
        (result,) = pt.verify(model, kernel="planted", **options).certificates
    return result


def quick(entry):
    """A sweep of a supervised model has twice the kernels; the bugs tried quickly are large."""
    return QUICK_SUPERVISED if entry in PLANTED_SUPERVISED | PLANTED_PROBIT | PLANTED_SHRINKAGE else QUICK


def cases(when):
    return [(entry, bug) for entry, (_, _, _, bugs) in PLANTED.items() for bug in bugs[when]]


def test_every_exact_kernel_has_a_planted_bug():
    with_bugs = {entry.split(",")[0] for entry in PLANTED}
    ours = {
        name for name, spec in pt.kernels().items() if spec.exact and spec.build.__module__.startswith("ppl_topics.")
    }
    assert with_bugs == ours, "give each exact kernel of the project an entry in PLANTED"


@pytest.mark.parametrize(("entry", "bug"), cases("quick"))
def test_planted_bug_is_refused(entry, bug):
    assert not certificate(entry, bug, **quick(entry)).certified


@pytest.mark.parametrize("entry", CONTROLS)
def test_control_is_certified(entry):
    """Some of them: `test_control_is_certified_by_the_full_test` has all."""
    assert certificate(entry, "", **quick(entry)).certified


def broken(binding):
    """Moves a token and forgets its counts."""

    def step(state, memory, key):
        state.z[0] = (state.z[0] + 1) % binding.sizes.topics

    return pt.KernelFunctions(step)


def out_of_range(binding):
    def step(state, memory, key):
        state.z[0] = binding.sizes.topics

    return pt.KernelFunctions(step)


def undeclared(binding):
    def step(state, memory, key):
        state.arrays["phi"][...] = 0.25

    return pt.KernelFunctions(step)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (broken, "counts n_wk are not those of z"),
        (out_of_range, "wrote topic 3 into z; there are 3 topics"),
        (undeclared, "changed phi, but declares that it updates z"),
    ],
)
def test_a_kernel_that_breaks_its_contract_is_an_error(build, message):
    with registered(GIVEN, build), pytest.raises(pt.RunError, match=f"kernel 'planted' .*{message}"):
        pt.verify("lda", kernel="planted")


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "bug"), cases("slow"))
def test_subtler_planted_bug_is_refused(entry, bug):
    assert not certificate(entry, bug).certified


@pytest.mark.slow
@pytest.mark.parametrize("entry", PLANTED)
def test_control_is_certified_by_the_full_test(entry):
    assert certificate(entry, "").certified
