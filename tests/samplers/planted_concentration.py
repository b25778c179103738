"""Planted bugs of the kernels of concentrations, in the form of the table in `test_planted_bugs.py`."""

import math
from functools import partial

import numpy as np

import ppl_topics as pt

SYMMETRIC = {"extends": "lda_learned", "name": "lda_symmetric", "blocks": {"alpha": {"per": None}}}


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


ALPHA = {"updates": "alpha", "integrates_out": "theta", "reads": "z", "handles": ("gamma", "dirichlet", "assignments")}
BETA = {"updates": "beta", "integrates_out": "phi", "reads": "z", "handles": ("gamma", "dirichlet", "words")}


def tables(bug):
    """Tables one by one, a given these by auxiliary variables (Teh et al. 2006, appendix), g by Metropolis steps."""

    def build(binding):
        name, top = binding.names["alpha"], binding.names["top_concentration"]
        prior, topics = binding.blocks[name], binding.sizes.topics
        rate = 1.0 / prior.rate if bug == "rate taken for a scale" else prior.rate

        def log_top(value, counts):
            share = value if bug == "g in the place of g / K" else value / topics
            likelihood = sum(math.lgamma(share + m) - math.lgamma(share) for m in counts)
            likelihood += math.lgamma(value) - math.lgamma(value + sum(counts))
            if bug == "g without the tables":
                likelihood = 0.0
            return likelihood + prior.top_shape * math.log(value) - prior.top_rate * value

        def step(state, memory, key):
            if bug == "does nothing":
                return
            rng, alpha, value = key.generator(), state.arrays[name], float(state.arrays[top])
            n_dk = state.n_dk
            if bug == "tables of one document":
                n_dk = n_dk.sum(axis=0, keepdims=True)
            counts = np.zeros(topics)
            for row in n_dk:
                for k, n in enumerate(row):
                    opened = rng.random(n) < alpha[k] / (alpha[k] + np.arange(n))
                    counts[k] += {"a table for each token": n, "one table a topic": min(n, 1)}.get(bug, opened.sum())
            total, lengths = alpha.sum(), state.n_dk.sum(axis=1)
            lengths = lengths[lengths > 0]
            w = rng.beta(total + 1.0, lengths)
            s = rng.random(len(lengths)) < lengths / (lengths + total)
            if bug == "lengths forgotten":
                w, s = np.ones(1), np.zeros(1)
            total = rng.gamma(max(prior.shape + counts.sum() - s.sum(), 0.1)) / (rate - np.log(w).sum())
            for jump, level in zip(rng.normal(size=5), np.log(rng.random(5)), strict=True):
                proposed = value * math.exp(jump)
                if 1e-9 < proposed < 1e9 and level < log_top(proposed, counts) - log_top(value, counts):
                    value = proposed
            shares = rng.dirichlet(counts + (value if bug == "g in the place of g / K" else value / topics))
            alpha[...] = np.maximum(total * shares, 1e-100)
            state.arrays[top][...] = state.arrays[top] if bug == "g stays" else value

        return pt.KernelFunctions(step)

    return build


TABLES = {
    "updates": ("alpha", "top_concentration"),
    "integrates_out": "theta",
    "reads": "z",
    "handles": ("hierarchical_dirichlet", "dirichlet", "assignments"),
}

PLANTED_CONCENTRATION = {
    "dirichlet_tables": ("hdp_lda", TABLES, tables, {
        "quick": ["a table for each token"],
        "slow": ["one table a topic", "tables of one document", "lengths forgotten", "rate taken for a scale",
                 "g in the place of g / K", "g without the tables", "g stays", "does nothing"],
    }),
    "slice_alpha": ("lda_learned", ALPHA, partial(concentration, "alpha"), {
        "quick": ["Jacobian forgotten"],
        "slow": ["the last element stays", "prior forgotten", "rate taken for a scale", "rate 30% too large",
                 "lengths forgotten", "one length for all rows", "does nothing"],
    }),
    "slice_alpha, symmetric": (SYMMETRIC, ALPHA, partial(concentration, "alpha"), {
        "quick": [],
        "slow": ["prior once for every cell", "does nothing", "Jacobian forgotten", "prior forgotten",
                 "rate taken for a scale", "lengths forgotten", "one length for all rows"],
    }),
    "slice_beta": ("lda_learned", BETA, partial(concentration, "beta"), {
        "quick": [],
        "slow": ["Jacobian forgotten", "does nothing", "prior forgotten", "rate taken for a scale",
                 "rate 30% too large", "lengths forgotten", "V without the word that never occurs",
                 "prior once for every cell"],
    }),
}  # fmt: skip
