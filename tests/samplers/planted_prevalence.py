"""Planted bugs of the kernel of coefficients of concentrations, in the form of the table in `test_planted_bugs.py`."""

import numpy as np
from scipy.special import gammaln

import ppl_topics as pt


def coefficients(bug):
    """Metropolis on the coefficients of one topic after another."""

    def build(binding):
        name = binding.names["alpha"]

        def log_density(values, state, precision):
            features = state.concentrations["alpha"].features[state.concentrations["alpha"].row]
            if bug == "intercept forgotten":
                features = features * [1.0, 1.0, 1.0, 1.0, 0.0]
            if bug == "features of the next document":
                features = np.roll(features, -1, axis=0)
            n_dk, alpha = state.n_dk, np.exp(features @ values.T)
            if bug == "coefficients of the next topic":
                alpha = np.roll(alpha, 1, axis=1)
            value = (gammaln(n_dk + alpha) - gammaln(alpha)).sum()
            if bug != "lengths forgotten":
                total = alpha.sum(axis=1)
                value += (gammaln(total) - gammaln(total + n_dk.sum(axis=1))).sum()
            if bug == "variance for the precision":
                precision = 1.0 / precision
            steps = values.copy()
            if binding.blocks[name].kind == "random_walk" and bug != "no walk":
                steps[:, 2:4] -= values[:, 1:3]
            return value - (0.0 if bug == "prior forgotten" else (precision * steps**2).sum() / 2.0)

        def step(state, memory, key):
            if bug == "does nothing":
                return
            rng, values = key.generator(), state.arrays[name].copy()
            precision = binding.blocks[name].precision(state)
            before = log_density(values, state, precision)
            for _ in range(3):
                for topic in range(len(values) - (bug == "the last topic stays")):
                    proposed = values.copy()
                    proposed[topic] += rng.normal(size=values.shape[1])
                    after = log_density(proposed, state, precision)
                    if np.abs(proposed).max() < 10.0 and np.log(rng.random()) < after - before:
                        values, before = proposed, after
            state.arrays[name][...] = values

        return pt.KernelFunctions(step)

    return build


GAMMA = {
    "updates": "alpha",
    "integrates_out": "theta",
    "reads": "z",
    "handles": ("normal", "random_walk", "dirichlet_regression", "assignments"),
}

PLANTED_PREVALENCE = {
    "elliptical_slice": ("dmr", GAMMA, coefficients, {
        "quick": ["variance for the precision"],
        "slow": ["intercept forgotten", "features of the next document", "coefficients of the next topic",
                 "lengths forgotten", "prior forgotten", "the last topic stays", "does nothing"],
    }),
    "elliptical_slice, random walk": ("dmr_time", GAMMA, coefficients, {
        "quick": [],
        "slow": ["no walk", "variance for the precision"],
    }),
}  # fmt: skip
