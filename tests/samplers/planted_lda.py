"""Planted bugs of the kernels of plain LDA, in the form of the table in `test_planted_bugs.py`."""

import numpy as np
from planted_spike_slab import LISTED
from planted_tiles import draw

import ppl_topics as pt

HELD = {"extends": "lda", "name": "lda_held", "blocks": {"theta": {"integrate_out": False}}}


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

        return pt.KernelFunctions(step, init, scratch="before" not in bug)

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

        return pt.KernelFunctions(step, init, scratch="before" not in bug)

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

        return pt.KernelFunctions(step, init, scratch="before" not in bug)

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

PLANTED_LDA = {
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
                 "alpha 30% too large", "one alpha for all topics", "phi of the sweep before",
                 "phi of the topic before", "topic 0 absorbs", "the first token stays", "does nothing"],
    }),
    "alias_partially_collapsed": ("lda", GIVEN, sparse, {
        "quick": ["the last listed topic is missing"],
        "slow": ["table without alpha", "table of the sweep before", "a topic without tokens stays listed",
                 "lists the topics, not their counts"],
    }),
    "sparse_partially_collapsed": ("lda", GIVEN, partially, {
        "quick": [],
        "slow": ["alpha of the next topic", "phi of the topic before", "the first token stays"],
    }),
    "listed_partially_collapsed": (LISTED, {**GIVEN, "handles": LISTED_HANDLES}, partially, {
        "quick": [],
        "slow": ["alpha of the next topic", "counts the token itself", "the first token stays"],
    }),
    "dirichlet_rows": ("lda", ROWS, rows, {
        "quick": ["spread 20% too small"],
        "slow": ["n + beta + 1", "does nothing", "beta forgotten", "topics shifted", "counts of the sweep before",
                 "one beta for all words", "mean, not a draw"],
    }),
    "dirichlet_weights": (HELD, WEIGHTS, weights, {
        "quick": ["empty documents are skipped"],
        "slow": ["alpha twice", "alpha of the next topic", "weights of the document before"],
    }),
}  # fmt: skip
