"""The left-to-right estimator against enumeration: unbiased, better with more work, and refused with a planted bug."""

import math

import numpy as np
import pytest
from held_out_cases import CASES, FALSE_ALARM, copies, exact, make_case
from scipy import stats

from ppl_topics._util.compiled import specialised
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.tokens import TokensByDocument
from ppl_topics.samplers.held_out import left_to_right
from ppl_topics.samplers.held_out.left_to_right import count, draw_token, estimate_left_to_right
from ppl_topics.samplers.held_out.replicates import REPLICATES
from ppl_topics.samplers.variates.simd_particles import GROUP
from ppl_topics.samplers.variates.streams import uniform

KEY = Key(1, 0, 0).reserved(Reserved.LEFT_TO_RIGHT)


def deviates(estimate, n_copies=1500):
    """Two-sided p values of the mean estimate of p(w) against the exact one, one for each case.

    The estimates of all copies and replicates are independent; there are 6,000, so their mean is near enough normal.
    """
    values = []
    for case in CASES:
        words, phi, alpha = make_case(*case)
        ptr, many = copies(words, n_copies)
        ratio = np.exp(estimate(ptr, many, phi, alpha)).ravel() / exact(words, phi, alpha)
        if len(words) == 1:
            # Nothing is drawn, so nothing may be off.
            values.append(0.0 if np.allclose(ratio, 1.0, rtol=1e-6) else np.inf)
            continue
        values.append((ratio.mean() - 1.0) / (ratio.std(ddof=1) / math.sqrt(ratio.size)))
    return 2.0 * stats.norm.sf(np.abs(values))


def left(particles, moves):
    return lambda ptr, words, phi, alpha: estimate_left_to_right(
        ptr, words, phi, Alpha.shared(alpha), particles, moves, KEY
    )


@pytest.mark.parametrize(("particles", "moves"), [(1, 0), (1, 8), (3, 2), (6, 32)])
def test_left_to_right_is_unbiased_for_any_number_of_particles_and_moves(particles, moves):
    values = deviates(left(particles, moves))
    assert values.min() * len(values) > FALSE_ALARM


def test_moves_and_particles_make_the_estimate_better():
    words, phi, alpha = make_case(3, 8)
    ptr, many = copies(words, 1500)
    spread = {how: np.exp(left(*how)(ptr, many, phi, alpha)).std() for how in ((2, 0), (2, 8), (8, 8))}
    # By simulation 0.41, 0.34 and 0.17 of the mean.
    assert spread[2, 8] < 0.93 * spread[2, 0]
    assert spread[8, 8] < 0.6 * spread[2, 8]


def build(moves=8, **faults):
    """Compile the estimator with some of its functions replaced by faulty ones."""

    run = specialised(left_to_right.run_particles.py_func, "faulty", cached=False, **faults)
    whole = specialised(left_to_right.left_to_right.py_func, "faulty", cached=False, run_particles=run)

    def estimate(ptr, words, phi, alpha):
        every = np.ones(len(phi), dtype=bool)
        entropy = left_to_right.word_entropies(phi, alpha, every)
        result = np.zeros((len(ptr) - 1, REPLICATES))
        tokens = TokensByDocument(np.array([0, len(ptr) - 1]), ptr, words, every)
        whole(tokens, phi, Alpha.shared(alpha), entropy, 4, moves, KEY, result)
        return result

    return estimate


def counts_the_token(row, mass, given, every):
    """The counts are those of after the token: its most probable topic is counted in."""
    for p in range(every.importance.size):
        counts, weight = every.counts[p // GROUP, :, p % GROUP], every.weight[p // GROUP, :, p % GROUP]
        best, total = 0, 0.0
        for k in range(given.alpha.size):
            if weight[k] * given.phi[row, k] > weight[best] * given.phi[row, best]:
                best = k
        for k in range(given.alpha.size):
            total += (counts[k] + given.alpha[k] + (1.0 if k == best else 0.0)) * given.phi[row, k]
        every.importance[p] *= total / (mass + 1.0)


def forgets_alpha(row, mass, given, every):
    """The predictive probability is by counts alone, where there are any."""
    for p in range(every.importance.size):
        counts = every.counts[p // GROUP, :, p % GROUP]
        total, number = 0.0, 0.0
        for k in range(given.alpha.size):
            total += counts[k] * given.phi[row, k]
            number += counts[k]
        if number == 0.0 or total == 0.0:
            total, number = 0.0, mass
            for k in range(given.alpha.size):
                total += (counts[k] + given.alpha[k]) * given.phi[row, k]
        every.importance[p] *= total / number


def counts_itself(stream, rows, position, turn, number, given, every):
    """A token's own topic stays in the counts when it is drawn again."""
    for group in range(len(every.weight)):
        token = turn
        for _ in range(number):
            if token >= position:
                token = 0
            old = every.z[token].copy()
            draw_token(stream, group, token, rows[token], given, every)
            new = every.z[token].copy()
            every.z[token] = old
            count(group, token, -1, given, every)
            every.z[token] = new
            token += 1


def takes_a_neighbours_total(stream, rows, position, turn, number, given, every):
    """A particle's token is drawn again by its own sums, to a point below the total of the particle beside it."""
    for group in range(len(every.weight)):
        token, last = turn, given.alpha.size - 1
        for _ in range(number):
            if token >= position:
                token = 0
            count(group, token, -1, given, every)
            row = rows[token]
            for p in range(GROUP):
                total = 0.0
                for k in range(last + 1):
                    total += every.weight[group, k, p ^ 1] * given.phi[row, k]
                point, topic = uniform(stream) * total, 0
                reached = every.weight[group, 0, p] * given.phi[row, 0]
                while topic < last and reached <= point:
                    topic += 1
                    reached += every.weight[group, topic, p] * given.phi[row, topic]
                every.z[token, group * GROUP + p] = topic
            count(group, token, 1, given, every)
            token += 1


def copies_half(stream, first, particles, position, every):
    """The heaviest particle takes the place of all others, whatever the weights."""
    importance = every.importance[first : first + particles]
    total = 0.0
    best = 0
    for particle in range(particles):
        total += importance[particle]
        if importance[particle] > importance[best]:
            best = particle
    best += first
    for p in range(first, first + particles):
        every.z[:, p] = every.z[:, best]
        every.counts[p // GROUP, :, p % GROUP] = every.counts[best // GROUP, :, best % GROUP]
        every.weight[p // GROUP, :, p % GROUP] = every.weight[best // GROUP, :, best % GROUP]
        every.importance[p] = 1.0
    return math.log(total / particles)


def averages_by_position(stream, first, particles, position, every):
    """As Wallach et al.: the mean over particles at each position, with the particles never weighted."""
    importance = every.importance[first : first + particles]
    total = 0.0
    for particle in range(particles):
        total += importance[particle]
        importance[particle] = 1.0
    return math.log(total / particles)


FAULTS = {
    "the token itself is counted": ("weigh", counts_the_token),
    "alpha is forgotten": ("weigh", forgets_alpha),
    "moved tokens count themselves": ("move_earlier", counts_itself),
    "moves take the total of another particle": ("move_earlier", takes_a_neighbours_total),
    "the heaviest particle takes all": ("resample", copies_half),
    "means are taken by position": ("resample", averages_by_position),
}

QUICK = ("the token itself is counted",)


@pytest.mark.slow
def test_the_rebuilt_estimator_is_unbiased():
    assert deviates(build()).min() > FALSE_ALARM


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=[] if fault in QUICK else pytest.mark.slow) for fault in FAULTS]
)
def test_planted_bugs_are_caught(fault):
    name, body = FAULTS[fault]
    compiled = specialised(body, "planted", cached=False)
    # Moves hide what goes wrong with the weights.
    moves = 0 if name == "resample" else 8
    assert deviates(build(moves, **{name: compiled})).min() * len(CASES) < FALSE_ALARM


def test_words_without_a_topic_and_tiny_concentrations():
    phi = np.array([[0.5, 0.5], [0.5, 0.0], [0.0, 0.5], [0.0, 0.0]], dtype=np.float32)
    ptr = np.array([0, 2, 4, 4], dtype=np.int64)
    words = np.array([1, 3, 1, 2], dtype=np.uint32)
    found = estimate_left_to_right(ptr, words, phi, Alpha.shared(np.array([1e-40, 1e-40])), 2, 32, KEY)
    assert (found[0] == -np.inf).all()
    # (1 / 4) (a / 2) / (1 + 2 a).
    np.testing.assert_allclose(found[1], math.log(1e-40 / 8.0), rtol=1e-6)
    assert (found[2] == 0.0).all()
