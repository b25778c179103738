"""Documents with features and targets, and the exact distribution of their coefficients, for tests that draw them."""

import numpy as np
from scipy import linalg, stats

from ppl_topics.core.keys import Key
from ppl_topics.core.observed import Design
from ppl_topics.engine.bind import index_tokens
from ppl_topics.samplers.coefficients.conditional_normal import ConditionalNormal
from ppl_topics.samplers.responses.features import features_of

__all__ = [
    "FALSE_ALARM",
    "KEY",
    "TOPICS",
    "F",
    "Problem",
    "dense",
    "distribution_p_value",
    "documents",
    "fixed_columns",
]

FALSE_ALARM = 1e-6
KEY = Key(seed=1, chain=0, sweep=0, kernel=0)
TOPICS, F = 5, 6
"""Topics of the small problem, one of which is empty, and its coefficients: an intercept comes last."""


def documents(lengths, n_topics, seed=1):
    """Tokens of documents, with topics that are not spread evenly."""
    generator = np.random.default_rng(seed)
    doc_ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    z = generator.choice(n_topics, doc_ptr[-1], p=generator.dirichlet(np.full(n_topics, 0.5)))
    return index_tokens(doc_ptr, np.zeros(len(z), np.uint32), 1), z.astype(np.uint8 if n_topics <= 256 else np.uint16)


def fixed_columns(n_docs, n_columns, seed=2):
    return Design.of(np.random.default_rng(seed).normal(size=(n_docs, n_columns)))


def dense(tokens, z, n_topics, design):
    counts = np.zeros((len(tokens.doc_lengths), n_topics))
    np.add.at(counts, (tokens.docs, z), 1.0)
    return np.hstack([counts / np.maximum(tokens.doc_lengths, 1)[:, None], design.toarray()])


class Problem:
    """Documents with three responses: all targets known, some, and none; each has `replicates` columns."""

    def __init__(self, replicates=1, seed=5, shared=False):
        generator = np.random.default_rng(seed)
        self.tokens, self.z = documents([0, 4, 9, 1, 30, 6, 12, 3] * 5, TOPICS - 1)
        design = Design.of(np.ones((40, 1)))
        self.features = features_of(self.tokens, self.z, TOPICS, design)
        self.dense = dense(self.tokens, self.z, TOPICS, design)
        omega = np.repeat([[0.5, 0.1, 2.0]], 40, axis=0) if shared else generator.gamma(1.0, 1.0, (40, 3))
        known = np.ones((40, 3), bool)
        if not shared:
            known[::2, 1] = known[:, 2] = False
        self.omega = np.where(known, omega, 0.0)
        self.b = np.where(known, generator.normal(1.0, 1.0, (40, 3)), 0.0)
        self.precision = generator.gamma(4.0, 0.25, (3, F))
        self.replicates = replicates

    def precision_matrix(self, c):
        return np.diag(self.precision[c]) + (self.omega[:, c, None] * self.dense).T @ self.dense

    def distribution(self, c):
        """Mean and precision of the coefficients of a response."""
        matrix = self.precision_matrix(c)
        return np.linalg.solve(matrix, self.dense.T @ self.b[:, c]), matrix

    def repeated(self):
        """The distribution of the three responses in turn."""
        n = self.replicates
        b, omega, precision = np.tile(self.b, (1, n)), np.tile(self.omega, (1, n)), np.tile(self.precision, (n, 1))
        return ConditionalNormal(self.features, b, omega, precision)

    def exact_draws(self, seed=11):
        """Draws that use nothing of what is tested, in the order of `repeated`."""
        generator = np.random.default_rng(seed)
        draws = np.empty((self.replicates, 3, F))
        for c in range(3):
            mean, matrix = self.distribution(c)
            noise = generator.normal(size=(F, self.replicates))
            draws[:, c] = mean + linalg.solve_triangular(np.linalg.cholesky(matrix), noise, lower=True, trans="T").T
        return draws.reshape(-1, F)


def distribution_p_value(draws, mean, precision):
    """Independent draws of a normal distribution: whitened coordinates are standard normal and uncorrelated."""
    white = (draws - mean) @ np.linalg.cholesky(precision)
    marginal = min(stats.kstest(column, stats.norm.cdf).pvalue for column in white.T)
    correlations = np.corrcoef(white.T)[np.triu_indices(white.shape[1], 1)]
    pairs = 2.0 * stats.norm.sf(np.abs(correlations).max() * np.sqrt(len(white)))
    return min(1.0, 2.0 * white.shape[1] * marginal, 2.0 * correlations.size * pairs)
