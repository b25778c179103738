"""Small documents whose likelihood is known by enumeration, for the tests of its estimators."""

import itertools

import numpy as np

FALSE_ALARM = 1e-5
"""Of each statistical test, over all of its comparisons together."""


def exact(words, phi, alpha):
    """p(w | phi, alpha), a sum over all z."""
    total = 0.0
    for z in itertools.product(range(len(alpha)), repeat=len(words)):
        value, counts = 1.0, np.zeros(len(alpha))
        for n, (word, k) in enumerate(zip(words, z, strict=True)):
            value *= float(phi[word, k]) * (counts[k] + alpha[k]) / (n + alpha.sum())
            counts[k] += 1
        total += value
    return total


CASES = [(2, 1), (2, 6), (3, 4), (3, 8)]
"""Numbers of topics, and of tokens."""


def make_case(k, n):
    rng = np.random.default_rng([k, n])
    phi = rng.dirichlet(np.full(5, 0.4), k).T.astype(np.float32).copy()
    # An asymmetric alpha, of which a half is easily told from a whole.
    alpha = np.linspace(0.2, 1.1, k)
    return np.sort(rng.integers(0, 5, n)).astype(np.uint32), phi, alpha


def copies(words, number):
    return np.arange(number + 1, dtype=np.int64) * len(words), np.tile(words, number)
