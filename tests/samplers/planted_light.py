"""Planted bugs of the light kernel, in the form of the table in `test_planted_bugs.py`."""

import numpy as np
from planted_tiles import draw

import ppl_topics as pt

GIVEN = {
    "updates": "z",
    "handles": ("dirichlet", "assignments", "words"),
    "integrates_out": "theta",
    "reads": ("alpha", "phi"),
}


def with_itself(counts, topic):
    return [n + (k == topic) for k, n in enumerate(counts)]


def ratio_of(proposal, new, old, others, alpha, of_word, q, bug):
    """p(new) q(old) / (p(old) q(new)), up to the error asked for."""
    counts = with_itself(others, old) if bug == "the target counts the token" else others
    p = [(n + a) * f for n, a, f in zip(counts, alpha, of_word, strict=True)]
    if bug == "the doc-proposal's ratio with the token" and proposal == "doc":
        q = with_itself(q, old)
    if bug == "always accepts":
        return 1.0
    back, forth = p[new] * q[old], p[old] * q[new]
    if bug == f"q ratio of the {proposal}-proposal forgotten":
        back, forth = p[new], p[old]
    if bug == "q ratio upside down":
        back, forth = p[new] * q[new], p[old] * q[old]
    return back / forth if forth > 0 else 1.0


def light(bug):
    """One step of the doc-proposal and one of the word-proposal for each token."""

    def build(binding):
        name = binding.names["phi"]
        docs, words = binding.tokens.docs.tolist(), binding.tokens.words.tolist()

        def init(state):
            return {"phi": state.arrays[name].copy()}

        def step(state, memory, key):
            if bug == "does nothing":
                return
            alpha, phi = state.alpha.tolist(), state.arrays[name].tolist()
            table = memory["phi"].tolist() if bug == "word table of the sweep before" else phi
            memory["phi"] = state.arrays[name].copy()
            uniforms = key.generator().random((len(words), 2, 2)).tolist()
            z, n_dk = state.z.tolist(), state.n_dk.tolist()
            for i, (doc, word) in enumerate(zip(docs, words, strict=True)):
                others, topic = n_dk[doc], z[i]
                others[topic] -= 1
                for proposal, (choice, level) in zip(("doc", "word"), uniforms[i], strict=True):
                    counts = others
                    if bug == "the doc-proposal as printed":
                        counts = with_itself(others, topic)
                    q = [n + a for n, a in zip(counts, alpha, strict=True)] if proposal == "doc" else table[word]
                    distribution = q
                    if bug == "the doc-proposal draws from alpha as if uniform" and proposal == "doc":
                        distribution = [n + sum(alpha) / len(alpha) for n in others]
                    new = draw(distribution, choice)
                    # A ratio from the same old table would be right for these draws.
                    weights = phi[word] if proposal == "word" else q
                    if level < ratio_of(proposal, new, topic, others, alpha, phi[word], weights, bug):
                        topic = new
                others[topic] += 1
                z[i] = topic
            state.set_z(np.array(z))

        return pt.KernelFunctions(step, init, scratch="before" not in bug)

    return build


PLANTED_LIGHT = {
    "light_partially_collapsed": ("lda", GIVEN, light, {
        "quick": [],
        "slow": ["the doc-proposal as printed", "the doc-proposal's ratio with the token",
                 "word table of the sweep before",
                 "q ratio of the doc-proposal forgotten", "q ratio of the word-proposal forgotten",
                 "q ratio upside down", "always accepts", "the target counts the token",
                 "the doc-proposal draws from alpha as if uniform", "does nothing"],
    }),
}  # fmt: skip
