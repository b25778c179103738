"""Planted bugs of the kernels of spike-and-slab topics, in the form of the table in `test_planted_bugs.py`."""

import math

import numpy as np

import ppl_topics as pt


def log_gamma_ratio(others, own, tokens):
    """Log G(S + b) G(n + S) / (G(n + S + b) G(S)); minus infinity without another word."""
    if others <= 0:
        return -math.inf
    parts = math.lgamma(others + own), math.lgamma(tokens + others), math.lgamma(tokens + others + own)
    return parts[0] + parts[1] - parts[2] - math.lgamma(others)


def indicators(bug):
    """Each indicator in turn from its conditional, phi summed over."""

    def build(binding):
        name, block = binding.names["included"], binding.blocks[binding.names["phi"]]

        def step(state, memory, key):
            rng, beta, n_k, n_wk = key.generator(), state.beta, state.n_k, state.counts_by_word
            included = state.values[name]
            pi = np.broadcast_to(block.probability(state), included.shape)
            if bug == "probability of exclusion":
                pi = 1 - pi
            if bug == "pi of the next topic":
                pi = np.roll(pi, 1, axis=1)
            if bug == "pi of the next word":
                pi = np.roll(pi, 1, axis=0)
            if bug == "does nothing":
                return
            for topic in range(included.shape[1]):
                row = included[:, topic]
                for word in range(len(row)):
                    if n_wk[word, topic] > 0 and bug != "a word with tokens is excluded":
                        row[word] = 1
                        continue
                    now = row.astype(float)
                    others = float(now @ beta - now[word] * beta[word])
                    if bug == "S over the excluded words":
                        others = float((1 - now) @ beta)
                    if bug == "S with the word itself":
                        others = float(now @ beta - now[word] * beta[word] + beta[word])
                    if bug == "S over all other words":
                        others = float(beta.sum() - beta[word])
                    tokens = 0 if bug == "tokens of the topic forgotten" else n_k[topic]
                    alone = not (row.sum() - row[word])
                    if alone and bug != "an empty row":
                        row[word] = 1
                        continue
                    ratio = (
                        0.0 if others <= 0 and bug == "an empty row" else log_gamma_ratio(others, beta[word], tokens)
                    )
                    if bug == "ratio upside down":
                        ratio = -ratio
                    odds = math.exp(min(ratio, 700.0)) * pi[word, topic] / (1 - pi[word, topic])
                    row[word] = rng.random() < odds / (1 + odds)
            state.set_value(name, included)

        return pt.KernelFunctions(step)

    return build


def rows(bug):
    """Topics given the indicators."""

    def build(binding):
        phi, name = binding.names["phi"], binding.names["included"]

        def step(state, memory, key):
            rng = key.generator()
            included, drawn, n_wk = state.values[name].astype(bool), state.values[phi], state.counts_by_word
            if bug == "indicators of the topic before":
                included = np.roll(included, 1, axis=1) | (n_wk > 0)
            for topic in range(drawn.shape[1]):
                chosen = np.ones(len(drawn), bool) if bug == "over all words" else included[:, topic]
                shape = np.where(chosen, n_wk[:, topic] + state.beta, 0.0)
                if bug == "beta of the excluded words too":
                    shape += chosen * (state.beta * ~included[:, topic]).sum() / chosen.sum()
                if bug == "cut off, not normalised":
                    value = rng.dirichlet(n_wk[:, topic] + state.beta) * chosen
                else:
                    value = np.zeros(len(drawn))
                    value[chosen] = rng.dirichlet(shape[chosen])
                if bug == "mean, not a draw":
                    value = shape / shape.sum()
                if bug == "an empty topic has no words" and state.n_k[topic] == 0:
                    value = np.zeros(len(drawn))
                drawn[:, topic] = value
            state.set_value(phi, drawn)

        return pt.KernelFunctions(step)

    return build


def inclusion(bug):
    """Probabilities of inclusion given the indicators."""

    def build(binding):
        pi, name = binding.names["pi"], binding.names["included"]
        prior = binding.blocks[pi]

        def step(state, memory, key):
            rng, included = key.generator(), state.arrays[name].astype(float)
            if bug == "words with tokens only":
                included = (state.n_wk > 0).astype(float)
            axis = {None: None, "topic": 0, "word": 1}[prior.per]
            inside, outside = included.sum(axis=axis), (1 - included).sum(axis=axis)
            a, b = (0.0, 0.0) if bug == "prior forgotten" else (prior.a, prior.b)
            if bug == "counts swapped":
                inside, outside = outside, inside
            if bug == "prior swapped":
                a, b = b, a
            drawn = rng.beta(np.maximum(a + inside, 1e-3), np.maximum(b + outside, 1e-3))
            if bug == "mean, not a draw":
                drawn = (a + inside) / (a + b + inside + outside)
            if bug == "the element before":
                drawn = np.roll(drawn, 1)
            if bug != "does nothing":
                state.arrays[pi][...] = np.clip(drawn, 1e-12, 1 - 1e-12)

        return pt.KernelFunctions(step)

    return build


def with_prior(per, name):
    """LDA with indicators whose probability is drawn."""
    beta = {"block": "beta", "a": 1.0, "b": 1.0, "per": per}
    return {"extends": "lda_spike_slab", "name": name, "blocks": {"pi": beta, "phi": {"inclusion": "pi"}}}


BY_TOPIC, BY_WORD = with_prior("topic", "pi_by_topic"), with_prior("word", "pi_by_word")
SHARED = with_prior(None, "pi_shared")
INCLUDED = {
    "updates": "included",
    "integrates_out": "phi",
    "reads": ("z", "beta", "pi"),
    "handles": ("spike_slab", "words"),
}
PHI = {
    "updates": "phi",
    "reads": ("z", "beta", "included", "pi"),
    "handles": ("spike_slab", "words"),
    "full_conditional": True,
}
LISTED = {"extends": "lda_spike_slab", "name": "listed", "parameters": {"storage": "sparse"}}
BY_LISTS = {"handles": ("listed_spike_slab", "listed_words")}
PI = {"updates": "pi", "reads": ("included", "phi"), "handles": ("beta", "spike_slab"), "full_conditional": True}

PLANTED_SPIKE_SLAB = {
    "indicator_scan": ("lda_spike_slab", INCLUDED, indicators, {
        "quick": ["tokens of the topic forgotten"],
        "slow": ["S with the word itself", "a word with tokens is excluded", "S over all other words",
                 "S over the excluded words", "probability of exclusion", "an empty row", "ratio upside down",
                 "does nothing"],
    }),
    "indicator_scan, pi by topic": (BY_TOPIC, INCLUDED, indicators, {
        "quick": [],
        "slow": ["pi of the next topic", "S over the excluded words"],
    }),
    "indicator_scan, pi by word": (BY_WORD, INCLUDED, indicators, {
        "quick": [],
        "slow": ["pi of the next word", "S with the word itself"],
    }),
    "included_rows": ("lda_spike_slab", PHI, rows, {
        "quick": [],
        "slow": ["an empty topic has no words", "over all words", "cut off, not normalised",
                 "beta of the excluded words too", "indicators of the topic before", "mean, not a draw"],
    }),
    "listed_scan": (LISTED, INCLUDED | BY_LISTS, indicators, {
        "quick": [],
        "slow": ["S over the excluded words", "tokens of the topic forgotten", "does nothing"],
    }),
    "listed_rows": (LISTED, PHI | BY_LISTS, rows, {
        "quick": [],
        "slow": ["cut off, not normalised", "beta of the excluded words too", "mean, not a draw"],
    }),
    "beta_inclusion": (SHARED, PI, inclusion, {
        "quick": [],
        "slow": ["counts swapped", "prior forgotten", "prior swapped", "words with tokens only", "mean, not a draw",
                 "does nothing"],
    }),
    "beta_inclusion, by topic": (BY_TOPIC, PI, inclusion, {
        "quick": [],
        "slow": ["the element before", "counts swapped", "prior swapped"],
    }),
    "beta_inclusion, by word": (BY_WORD, PI, inclusion, {
        "quick": [],
        "slow": ["the element before", "counts swapped", "prior swapped"],
    }),
}  # fmt: skip
