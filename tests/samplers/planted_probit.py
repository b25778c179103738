"""Planted bugs of the kernels of probit responses, in the form of the table in `test_planted_bugs.py`."""

import math

import numpy as np
from planted_supervised import AUGMENTATION, ETA, GIVEN, Responses, distribution_of
from planted_tiles import draw
from scipy.special import log_ndtr, logsumexp

import ppl_topics as pt
from ppl_topics.models.augmentation import simulate_normal_between, simulate_truncated_normal

PROBIT = {
    "extends": "lda",
    "name": "probit",
    "blocks": {
        "eta": {"block": "normal", "per": "response"},
        "y": {"block": "probit_do", "coefficients": "eta", "features": ["z"], "observed": "labels"},
    },
}


def probit_augmentation(bug):
    def build(binding):
        def step(state, memory, key):
            given, rng = Responses(binding, state), key.generator()
            sign, mean = given.response.augmentation_arguments(given.targets, given.scores)
            if bug == "the other side of zero":
                sign = -sign
            if bug == "all on the side of the document's class":
                sign = np.abs(sign)
            if bug == "mean forgotten":
                mean = 0 * mean
            if bug == "mean of the class before":
                mean = np.roll(mean, 1, axis=1)
            if bug == "mean of the document before":
                mean = np.roll(mean, 1, axis=0)
            if bug == "does nothing":
                return
            scale = math.sqrt(2) if bug == "variance 2" else 1.0
            drawn = scale * simulate_truncated_normal(sign, mean / scale, rng)
            if bug == "truncation forgotten":
                drawn = mean + rng.normal(size=mean.shape)
            if bug == "truncated at the mean":
                drawn = mean + sign * np.abs(rng.normal(size=mean.shape))
            given.augmentation[...] = np.where(sign == 0, 1.0, drawn)

        return pt.KernelFunctions(step)

    return build


def ordinal_augmentation(bug):
    def build(binding):
        def step(state, memory, key):
            given, rng = Responses(binding, state), key.generator()
            response = given.response.at(state.arrays)
            if bug == "cut points taken for fixed":
                response = response.model_copy(update={"cutpoints": np.arange(1.0, 1 + len(response.cutpoints))})
            targets = np.maximum(given.targets - 1, 0) if bug == "level below" else given.targets
            mean, low, high = response.augmentation_arguments(targets, given.scores)
            if bug == "mean forgotten":
                mean = 0 * mean
            if bug == "mean of the document before":
                mean = np.roll(mean, 1, axis=0)
            if bug == "upper end forgotten":
                high = np.where(np.isnan(high), high, np.inf)
            if bug == "bounds around the mean":
                low, high = low + mean, high + mean
            if bug != "does nothing":
                given.augmentation[...] = simulate_normal_between(mean, low, high, rng)

        return pt.KernelFunctions(step)

    return build


def cut_points(bug):
    """Metropolis, one cut point after another."""

    def build(binding):
        name = binding.names["cutpoints"]
        prior = binding.blocks[name]

        def step(state, memory, key):
            given, rng, cuts = Responses(binding, state), key.generator(), state.arrays[name]
            targets = given.targets
            if bug == "missing levels count as the highest":
                targets = np.nan_to_num(targets, nan=len(cuts) + 1)
            if bug == "documents of the highest level forgotten":
                targets = np.where(targets == len(cuts) + 1, np.nan, targets)
            scores = 0 * given.scores if bug == "linear predictors forgotten" else given.scores

            def log_density(values):
                response = given.response.model_copy(update={"cutpoints": values})
                total = response.log_likelihood(targets, scores, np.ones(1)).sum()
                return total + (0 if bug == "prior forgotten" else prior.log_prior(values))

            for _ in range(0 if bug == "does nothing" else 4):
                for i in range(len(cuts)):
                    proposed = cuts.copy()
                    proposed[i] += rng.normal()
                    if (np.diff(proposed, prepend=0.0) <= 0.0).any():
                        continue
                    if bug == "only the first" and i:
                        continue
                    if math.log(rng.random()) < log_density(proposed) - log_density(cuts):
                        cuts[...] = proposed

        return pt.KernelFunctions(step)

    return build


def full_conditional(bug):
    """Topics from their conditional with the response."""

    def build(binding):
        name, n_topics = binding.names["phi"], binding.sizes.topics
        docs, words = binding.tokens.docs.tolist(), binding.tokens.words.tolist()

        def step(state, memory, key):
            rng, alpha, phi = key.generator(), state.alpha, state.arrays[name].astype(float)
            given = Responses(binding, state)
            b, omega = given.potential
            if bug == "missing labels count":
                omega = np.ones_like(omega)
            if bug == "only the first response":
                omega[:, 1:] = 0
            if bug == "b forgotten":
                b = 0 * b
            eta = given.eta[:, :n_topics]
            z, n_dk, lengths = state.z.tolist(), state.n_dk, given.lengths[:, 0]
            m = lengths[:, None] * given.scores
            for i, (doc, word) in enumerate(zip(docs, words, strict=True)):
                old = z[i]
                n_dk[doc, old] -= 1
                size = lengths[doc] - (bug == "length without the token itself" and lengths[doc] > 1)
                others = m[doc] - (0 if bug == "the token itself counted" else eta[:, old])
                square = 0 if bug == "diagonal of G forgotten" else eta**2
                gain = b[doc] @ eta / size - omega[doc] @ (square + 2 * eta * others[:, None]) / (2 * size**2)
                log_weights = np.log(n_dk[doc] + alpha) + np.log(phi[word]) + gain
                new = draw(np.exp(log_weights - log_weights.max()).tolist(), rng.random())
                z[i] = new
                n_dk[doc, new] += 1
                m[doc] += eta[:, new] - eta[:, old]
            state.set_z(np.array(z))

        return pt.KernelFunctions(step)

    return build


def log_normaliser(scores):
    """Log of the sum over classes of the distribution of the generative story, for all documents together."""
    each = log_ndtr(scores) - log_ndtr(-scores)
    return float((logsumexp(each, axis=1) + log_ndtr(-scores).sum(axis=1)).sum())


def coefficients(bug):
    """Coefficients from their full conditional, or accepted with the normaliser of the distribution of a class."""

    def build(binding):
        def step(state, memory, key):
            rng = key.generator()
            given, features, b, omega, precision = distribution_of(binding, state, bug)
            proposed = np.empty_like(given.eta)
            for c in range(len(precision)):
                inverse = np.diag(precision[c]) + (features * omega[:, c : c + 1]).T @ features
                mean = np.linalg.solve(inverse, features.T @ b[:, c])
                proposed[c] = mean + np.linalg.inv(np.linalg.cholesky(inverse).T) @ rng.normal(size=len(mean))
            if bug == "with the normaliser over classes":
                log_ratio = log_normaliser(given.scores) - log_normaliser(features @ proposed.T)
                if math.log(rng.random()) >= log_ratio:
                    return
            given.eta[...] = proposed

        return pt.KernelFunctions(step)

    return build


SIGNS = {**AUGMENTATION, "handles": "probit_do"}
LEVELS = {**AUGMENTATION, "reads": ("z", "eta", "cutpoints"), "handles": "ordinal_probit"}
CUTS = {
    "updates": "cutpoints",
    "integrates_out": "augmentation",
    "reads": ("z", "eta"),
    "handles": ("cutpoints", "ordinal_probit"),
}
SHARED = {**GIVEN, "handles": ("dirichlet", "assignments", "words", "shared_curvature")}

PLANTED_PROBIT = {
    "truncated_normal": (PROBIT, SIGNS, probit_augmentation, {
        "quick": ["truncation forgotten"],
        "slow": ["the other side of zero", "variance 2", "mean forgotten", "all on the side of the document's class",
                 "mean of the class before", "mean of the document before", "truncated at the mean", "does nothing"],
    }),
    "normal_between": ("slda_ordinal", LEVELS, ordinal_augmentation, {
        "quick": ["bounds around the mean"],
        "slow": ["mean forgotten", "mean of the document before", "level below", "upper end forgotten",
                 "cut points taken for fixed", "does nothing"],
    }),
    "slice_cutpoints": ("slda_ordinal", CUTS, cut_points, {
        "quick": ["prior forgotten"],
        "slow": ["linear predictors forgotten", "missing levels count as the highest", "only the first",
                 "documents of the highest level forgotten", "does nothing"],
    }),
    "gram_partially_collapsed": (PROBIT, SHARED, full_conditional, {
        "quick": [],
        "slow": ["b forgotten", "diagonal of G forgotten", "the token itself counted", "only the first response",
                 "missing labels count", "length without the token itself"],
    }),
    "joint_normal, of a probit": (PROBIT, ETA, coefficients, {
        "quick": [],
        "slow": ["sign of b", "with the normaliser over classes", "variance for precision", "counts for shares"],
    }),
}  # fmt: skip
