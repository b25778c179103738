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

PLANTED_CONCENTRATION = {
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
