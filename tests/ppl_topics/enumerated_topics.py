"""The topics of a short document given its words, by enumeration."""

import itertools

import numpy as np


def assignments(words, phi, alpha):
    """Yield the counts of topics of each assignment of a document, and p(w_d, z_d | phi, alpha)."""
    for z in itertools.product(range(len(alpha)), repeat=len(words)):
        n = np.bincount(z, minlength=len(alpha)) if z else np.zeros(len(alpha))
        rising = np.prod([np.prod(a + np.arange(k)) for a, k in zip(alpha, n, strict=True)])
        rising /= np.prod(alpha.sum() + np.arange(len(words)))
        yield n, rising * np.prod([phi[k, w] for k, w in zip(z, words, strict=True)])
