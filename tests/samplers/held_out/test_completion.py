"""Document completion against enumeration, its planted bugs, and how documents are split in halves."""

import math

import numpy as np
import pytest
from held_out_cases import CASES, FALSE_ALARM, copies, exact, make_case
from scipy import stats

from ppl_topics._util.compiled import specialised
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.samplers.held_out import completion
from ppl_topics.samplers.held_out.completion import estimate_completion, mean_theta, split_tokens
from ppl_topics.samplers.held_out.replicates import REPLICATES

KEY = Key(1, 0, 0).reserved(Reserved.COMPLETION)


def complete(estimate=estimate_completion, particles=2, n_copies=40):
    """p values of the mean estimates of p(w_n | first half) against the exact ones, a case each."""
    values = []
    for case in CASES:
        words, phi, alpha = make_case(*case)
        ptr, _ = copies(words, n_copies)
        # All copies are split alike, so that there is one exact value.
        order = np.random.default_rng(case).permutation(len(words))
        half = len(words) // 2
        shuffled = np.tile(words[order], n_copies)
        found = estimate(ptr, shuffled, phi, Alpha.shared(alpha), particles, KEY).reshape(
            REPLICATES, n_copies, len(words)
        )
        assert (found[:, :, :half] == 1.0).all()
        first, second = words[order][:half], words[order][half:]
        each = [exact([*first, word], phi, alpha) / exact(first, phi, alpha) for word in second]
        if not half:
            values.append(0.0 if np.allclose(found, each, rtol=1e-6) else np.inf)
            continue
        # The tokens of a document share their draws: one number for each chain of draws.
        mean = (found[:, :, half:] / each).mean(axis=2).ravel()
        # What does not vary at all is off by infinitely many standard errors.
        values.append((mean.mean() - 1.0) / max(mean.std(ddof=1) / math.sqrt(mean.size), 1e-9))
    return 2.0 * stats.t.sf(np.abs(values), REPLICATES * n_copies - 1)


def test_the_estimator_agrees_with_enumeration():
    values = complete()
    assert values.min() * len(values) > FALSE_ALARM


def levels_alpha(stream, words, phi, alpha, particles):
    """All topics have the same concentration."""
    return mean_theta(stream, words, phi, np.full(alpha.size, alpha.mean()), particles)


def forgets_the_half(stream, words, phi, alpha, particles):
    """The prior mean, whatever the first half says."""
    return alpha / alpha.sum()


@pytest.mark.parametrize("fault", [forgets_the_half, pytest.param(levels_alpha, marks=pytest.mark.slow)])
def test_planted_bugs_are_caught(fault):
    faulty = specialised(fault, "planted", cached=False)
    whole = specialised(completion.complete.py_func, "planted", cached=False, mean_theta=faulty)

    def estimate(ptr, shuffled, phi, alpha, particles, key):
        result = np.ones((REPLICATES, len(shuffled)))
        whole(np.array([0, len(ptr) - 1]), ptr, shuffled, phi, alpha, particles, key, result)
        return result

    assert complete(estimate).min() * len(CASES) < FALSE_ALARM


def test_halves_are_random_and_the_same_for_every_model():
    ptr = np.array([0, 0, 1, 21, 41], dtype=np.int64)
    words = np.concatenate([[7], np.arange(20), np.arange(20)]).astype(np.uint32)
    shuffled = split_tokens(ptr, words, Key(3, 0, 0).reserved(Reserved.SPLITTING))
    assert shuffled[0] == 7
    assert sorted(shuffled[1:21]) == sorted(shuffled[21:]) == list(range(20))
    assert (shuffled[1:21] != shuffled[21:]).any()
    assert (split_tokens(ptr, words, Key(3, 0, 0).reserved(Reserved.SPLITTING)) == shuffled).all()
    assert (split_tokens(ptr, words, Key(4, 0, 0).reserved(Reserved.SPLITTING)) != shuffled).any()
