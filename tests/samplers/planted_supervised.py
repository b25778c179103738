"""Planted bugs of the kernels of supervised models, in the form of the table in `test_planted_bugs.py`."""

import math

import numpy as np
from planted_tiles import draw

import ppl_topics as pt
from ppl_topics.models.augmentation import simulate_inverse_gaussian, simulate_polya_gamma


class Responses:
    """Features, targets and linear predictors of a state, in plain NumPy."""

    def __init__(self, binding, state):
        self.response, self.targets = binding.response, state.observed.targets
        self.n_dk = state.n_dk.astype(float)
        self.lengths = np.maximum(self.n_dk.sum(axis=1, keepdims=True), 1.0)
        self.features = np.hstack([self.n_dk / self.lengths, state.observed.design.toarray()])
        self.eta = state.arrays[binding.names["eta"]]
        self.augmentation = state.arrays[binding.names["augmentation"]]

    @property
    def scores(self):
        return self.features @ self.eta.T

    @property
    def potential(self):
        return self.response.potential(self.targets, self.augmentation)


def slopes(binding, state, bug):
    """Slope and curvature of each document's responses, with the error asked for."""
    given = Responses(binding, state)
    b, omega = given.potential
    if bug == "b without the margin":
        b = given.response.cost * np.nan_to_num(given.targets)
    if bug == "missing labels count":
        b = np.where(np.isnan(given.targets), given.response.cost, b)
    n = given.lengths
    if bug == "length without the token itself":
        n = np.maximum(n - 1, 1)
    fitted = -given.scores if bug == "sign of m" else given.scores
    fitted = 0 * fitted if bug == "m forgotten" else fitted
    curvature = omega / n**2
    slope = (b - omega * fitted) / n
    if bug == "length forgotten":
        slope, curvature = b - omega * fitted, omega
    if bug == "only the first response":
        slope[:, 1:], curvature[:, 1:] = 0, 0
    return slope, curvature


def with_response(bug):
    """Topics from their conditional without the response, accepted with its ratio."""

    def build(binding):
        name, n_topics = binding.names["phi"], binding.sizes.topics
        docs, words = binding.tokens.docs.tolist(), binding.tokens.words.tolist()

        def step(state, memory, key):
            rng, alpha, phi = key.generator(), state.alpha.tolist(), state.arrays[name].tolist()
            eta = state.arrays[binding.names["eta"]][:, :n_topics]
            slope, curvature = slopes(binding, state, bug)
            z, n_dk = state.z.tolist(), state.n_dk.tolist()
            for i, (doc, word) in enumerate(zip(docs, words, strict=True)):
                old, others = z[i], n_dk[doc]
                others[old] -= 1
                new = draw([(n + a) * f for n, a, f in zip(others, alpha, phi[word], strict=True)], rng.random())
                delta = eta[:, new] - eta[:, old]
                square = 0 if bug == "square of eta forgotten" else 0.5 * curvature[doc] * delta
                log_ratio = float((delta * (slope[doc] - square)).sum())
                if bug == "ratio upside down":
                    log_ratio = -log_ratio
                level = math.log(rng.random())
                if bug == "always accepts" or level < log_ratio:
                    z[i] = new
                    # Only several moves in one document see it.
                    if bug != "slope stays":
                        slope[doc] -= curvature[doc] * delta
                others[z[i]] += 1
            state.set_z(np.array(z))

        return pt.KernelFunctions(step)

    return build


def from_full_conditional(bug, collapsed=False):
    """Topics from their conditional with the response."""

    def build(binding):
        n_topics, tokens = binding.sizes.topics, binding.tokens

        def step(state, memory, key):
            rng, eta = key.generator(), state.arrays[binding.names["eta"]][:, :n_topics]
            slope, curvature = slopes(binding, state, bug)
            z, n_dk, n_wk, n_k = state.z.tolist(), state.n_dk, state.counts_by_word.copy(), state.n_k.copy()
            for i, (doc, word) in enumerate(zip(tokens.docs, tokens.words, strict=True)):
                old = z[i]
                n_dk[doc, old] -= 1
                n_wk[word, old] -= 1
                n_k[old] -= 1
                others = n_wk[word] + state.beta[word]
                of_word = others / (n_k + state.beta.sum()) if collapsed else state.arrays[binding.names["phi"]][word]
                delta = eta if bug == "topic left forgotten" else eta - eta[:, [old]]
                square = 0 if bug == "square of eta forgotten" else 0.5 * curvature[doc, :, None] * delta**2
                gain = (slope[doc, :, None] * delta - square).sum(axis=0)
                weights = (n_dk[doc] + state.alpha) * of_word * np.exp(gain - gain.max())
                new = draw(weights.tolist(), rng.random())
                z[i] = new
                n_dk[doc, new] += 1
                n_wk[word, new] += 1
                n_k[new] += 1
                if bug != "slope stays":
                    slope[doc] -= curvature[doc] * (eta[:, new] - eta[:, old])
            state.set_z(np.array(z))

        return pt.KernelFunctions(step)

    return build


def from_collapsed_conditional(bug):
    """The same with the topics integrated out."""
    return from_full_conditional(bug, collapsed=True)


def hinge_augmentation(bug):
    def build(binding):
        def step(state, memory, key):
            given = Responses(binding, state)
            scores = np.roll(given.scores, 1, axis=0) if bug == "scores of the document before" else given.scores
            means = given.response.augmentation_arguments(given.targets, scores)
            if bug == "mean inverted":
                means = 1 / means
            if bug == "mean without the margin":
                with np.errstate(divide="ignore"):
                    means = 1 / (given.response.cost * np.abs(given.targets * scores))
            if bug == "cost forgotten":
                means = means * given.response.cost
            if bug == "sign of the label":
                means = given.response.augmentation_arguments(-given.targets, scores)
            if bug == "mean, not a draw":
                given.augmentation[...] = np.where(np.isnan(means), 1.0, means)
            elif bug != "does nothing":
                given.augmentation[...] = simulate_inverse_gaussian(means, key.generator())

        return pt.KernelFunctions(step)

    return build


def logistic_augmentation(bug):
    def build(binding):
        def step(state, memory, key):
            given = Responses(binding, state)
            shape, tilt = given.response.augmentation_arguments(given.targets, given.scores)
            if bug in ("tilt 0", "tilt half"):
                tilt = tilt * (0.0 if bug == "tilt 0" else 0.5)
            if bug == "c forgotten":
                shape = np.sign(shape)
            if bug == "count forgotten":
                shape = np.where(shape > 0, given.response.dispersion, 0.0)
            if bug == "dispersion forgotten":
                shape = np.where(shape > 0, shape - given.response.dispersion + 1.0, 0.0)
            if bug == "coefficients of the response before":
                tilt = np.roll(tilt, 1, axis=1)
            if bug != "does nothing":
                given.augmentation[...] = simulate_polya_gamma(shape, tilt, key.generator())

        return pt.KernelFunctions(step)

    return build


def variance(bug):
    def build(binding):
        def step(state, memory, key):
            given = Responses(binding, state)
            shape, rate = given.response.augmentation_arguments(given.targets, given.scores)
            prior = given.response
            if bug == "shape of the prior":
                shape = np.full_like(shape, prior.shape)
            if bug == "missing targets count":
                shape = np.full_like(shape, prior.shape + len(given.targets) / 2)
            if bug == "targets not halved":
                shape = 2 * shape - prior.shape
            if bug == "squares not halved":
                rate = 2 * rate - prior.rate
            if bug == "rate without the prior":
                rate = rate - prior.rate
            gammas = key.generator().gamma(shape)
            given.augmentation[...] = gammas / rate if bug == "precision for variance" else rate / gammas

        return pt.KernelFunctions(step)

    return build


def distribution_of(binding, state, bug):
    """Features, slope, curvature and prior precision, with the error asked for."""
    given = Responses(binding, state)
    b, omega = given.potential
    precision = binding.blocks[binding.names["eta"]].precision(state)
    features = given.n_dk if bug == "counts for shares" else given.features
    if bug == "prior forgotten":
        precision = 1e-3 * precision
    if bug == "variance for precision":
        precision = 1 / precision
    if bug == "sign of b":
        b = -b
    if bug == "curvature forgotten":
        omega = np.where(np.isnan(given.targets), 0.0, 1.0)
    if bug == "curvature of the response before":
        omega = np.roll(omega, 1, axis=1)
    return given, features, b, omega, precision


def jointly(bug):
    def build(binding):
        def step(state, memory, key):
            rng = key.generator()
            given, features, b, omega, precision = distribution_of(binding, state, bug)
            for c in range(len(precision)):
                inverse = np.diag(precision[c]) + (features * omega[:, c : c + 1]).T @ features
                mean = np.linalg.solve(inverse, features.T @ b[:, c])
                noise = rng.normal(size=len(mean))
                root = np.linalg.inv(np.linalg.cholesky(inverse).T)
                given.eta[c] = mean if bug == "mean, not a draw" else mean + root @ noise

        return pt.KernelFunctions(step)

    return build


def by_documents(bug):
    def build(binding):
        def step(state, memory, key):
            rng = key.generator()
            given, features, b, omega, precision = distribution_of(binding, state, bug)
            for c in range(len(precision)):
                known = omega[:, c] > 0
                root, variance = np.sqrt(omega[known, c]), 1 / precision[c]
                x = root[:, None] * features[known]
                prior = np.sqrt(variance) * rng.normal(size=len(variance))
                errors = rng.normal(size=len(x))
                if bug == "prior not drawn":
                    prior = 0 * prior
                if bug == "errors not drawn":
                    errors = 0 * errors
                if bug == "errors of the likelihood":
                    errors = errors / root
                unit = 0.05 * np.eye(len(x)) if bug == "unit matrix forgotten" else np.eye(len(x))
                targets = b[known, c] if bug == "targets not scaled" else b[known, c] / root
                weights = np.linalg.solve(unit + (x * variance) @ x.T, targets - x @ prior - errors)
                given.eta[c] = prior + variance * (weights @ x)

        return pt.KernelFunctions(step)

    return build


def one_by_one(bug):
    def build(binding):
        def step(state, memory, key):
            rng = key.generator()
            given, features, b, omega, precision = distribution_of(binding, state, bug)
            n_classes, size = precision.shape
            for c in range(n_classes):
                for j in rng.permutation(size - (bug == "the last coefficient stays")):
                    fitted = features @ given.eta[c]
                    curvature = omega[:, c] @ features[:, j] ** 2
                    own = 0.0 if bug == "own part forgotten" else curvature * given.eta[c, j]
                    slope = features[:, j] @ (b[:, c] - omega[:, c] * fitted) + own
                    total = precision[c, j] + curvature
                    given.eta[c, j] = slope / total + rng.normal() / math.sqrt(total)

        return pt.KernelFunctions(step)

    return build


GIVEN = {
    "updates": "z",
    "handles": ("dirichlet", "assignments", "words", "quadratic_response"),
    "integrates_out": "theta",
    "reads": ("alpha", "phi", "eta", "augmentation"),
}
OUT = {**GIVEN, "integrates_out": ("theta", "phi"), "reads": ("alpha", "beta", "eta", "augmentation")}
AUGMENTATION = {"updates": "augmentation", "reads": ("z", "eta"), "full_conditional": True}
MEANS = {**AUGMENTATION, "handles": ("hinge", "epsilon_insensitive")}
TILTS = {**AUGMENTATION, "handles": ("logistic", "negative_binomial")}
VARIANCES = {**AUGMENTATION, "handles": "gaussian"}
ETA = {
    "updates": "eta",
    "reads": ("z", "augmentation"),
    "handles": ("quadratic_response", "conditional_normal"),
    "full_conditional": True,
}

PLANTED_SUPERVISED = {
    "partially_collapsed, with a response": ("medlda", GIVEN, with_response, {
        "quick": ["sign of m"],
        "slow": ["square of eta forgotten", "slope stays", "always accepts", "length without the token itself",
                 "length forgotten",
                 "m forgotten", "ratio upside down", "b without the margin", "only the first response",
                 "missing labels count"],
    }),
    "full_partially_collapsed": ("slda_logistic", GIVEN, from_full_conditional, {
        "quick": ["topic left forgotten"],
        "slow": ["square of eta forgotten", "slope stays", "m forgotten", "only the first response"],
    }),
    "full_collapsed_gibbs": ("medlda", OUT, from_collapsed_conditional, {
        "quick": [],
        "slow": ["topic left forgotten", "slope stays", "length forgotten"],
    }),
    "inverse_gaussian": ("medlda", MEANS, hinge_augmentation, {
        "quick": ["mean inverted"],
        "slow": ["mean without the margin", "cost forgotten", "sign of the label", "scores of the document before",
                 "mean, not a draw", "does nothing"],
    }),
    "polya_gamma": ("slda_logistic", TILTS, logistic_augmentation, {
        "quick": [],
        "slow": ["tilt 0", "c forgotten", "tilt half", "coefficients of the response before", "does nothing"],
    }),
    "polya_gamma, counts": ("slda_counts", TILTS, logistic_augmentation, {
        "quick": [],
        "slow": ["count forgotten", "dispersion forgotten", "tilt 0"],
    }),
    "inverse_gamma": ("slda_gaussian", VARIANCES, variance, {
        "quick": [],
        "slow": ["shape of the prior", "missing targets count", "targets not halved", "squares not halved",
                 "rate without the prior",
                 "precision for variance"],
    }),
    "joint_normal": ("slda_gaussian", ETA, jointly, {
        "quick": ["prior forgotten"],
        "slow": ["variance for precision", "sign of b", "curvature forgotten", "curvature of the response before",
                 "counts for shares", "mean, not a draw"],
    }),
    "low_rank_normal": ("slda_gaussian", ETA, by_documents, {
        "quick": [],
        "slow": ["prior not drawn", "errors not drawn", "errors of the likelihood", "unit matrix forgotten",
                 "targets not scaled", "variance for precision", "curvature of the response before"],
    }),
    "coordinate_normal": ("medlda_regression", {**ETA, "full_conditional": False}, one_by_one, {
        "quick": ["own part forgotten"],
        "slow": ["the last coefficient stays", "prior forgotten", "sign of b", "curvature of the response before"],
    }),
}  # fmt: skip
