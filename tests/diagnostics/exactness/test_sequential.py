"""Gandy and Scott's sequential rule: thresholds, sample sizes, and its rate of false alarms."""

import numpy as np
import pytest

from ppl_topics.diagnostics.exactness.sequential import Verdict, sequential_test


def run(p_values, samples=100, **options):
    """The verdict on p-values given look by look, and the sample sizes that were asked for."""
    sizes = []

    def look(number, size):
        assert number == len(sizes)
        sizes.append(size)
        return {"a": p_values[number]}

    return sequential_test(look, samples, **options), sizes


def thresholds(false_alarm, looks):
    """Rejection and acceptance bounds of each look, from algorithm 3 as printed."""
    beta = false_alarm / looks
    gamma = beta ** (1 / looks)
    return [(beta / gamma**i, gamma + beta / gamma**i) for i in range(looks)]


def test_thresholds_by_hand():
    # false_alarm 0.02 at two looks: beta = 0.01, gamma = 0.1; then beta = 0.1.
    assert thresholds(0.02, 2) == [(0.01, pytest.approx(0.11)), (pytest.approx(0.1), pytest.approx(0.2))]
    options = {"false_alarm": 0.02, "looks": 2}
    assert not run([0.01], **options)[0].passed
    assert run([0.1101], **options)[0].looks == 1
    for second, passed in ((0.0999, False), (0.1001, True), (0.9, True)):
        verdict, sizes = run([0.0101, second], **options)
        assert (verdict.passed, verdict.looks, sizes) == (passed, 2, [100, 400])


@pytest.mark.parametrize("looks", [1, 3, 7])
def test_every_look_has_the_published_thresholds(looks):
    bounds = thresholds(1e-4, looks)
    undecided = [(low + high) / 2 for low, high in bounds]
    for i, (low, high) in enumerate(bounds):
        options = {"false_alarm": 1e-4, "looks": looks}
        rejected, sizes = run([*undecided[:i], low * 0.999], **options)
        assert (rejected.passed, rejected.looks) == (False, i + 1)
        # The sample grows once, after the first look.
        assert sizes == [100, 400, 400, 400, 400, 400, 400][: i + 1]
        accepted, _ = run([*undecided[:i], high * 1.001], **options)
        assert (accepted.passed, accepted.looks) == (True, i + 1)
    assert run(undecided, false_alarm=1e-4, looks=looks)[0].passed


def test_several_statistics_are_corrected_for_their_number():
    verdict = Verdict(True, {"a": 0.2, "b": 0.01, "c": 0.5}, 1, 10)
    assert verdict.p_value == pytest.approx(0.03)
    assert verdict.worst == "b"
    assert Verdict(True, {"a": 0.6, "b": 0.9}, 1, 10).p_value == 1.0


def test_false_alarm_rate():
    """Uniform p-values are rejected at most at the stated rate (false alarms of this test: 1e-6)."""
    rng = np.random.default_rng(1)
    stated, trials = 0.02, 40_000
    for statistics in (1, 5):
        alarms = sum(
            not sequential_test(
                lambda look, size, n=statistics: dict(enumerate(rng.random(n))), 1, false_alarm=stated, looks=3
            ).passed
            for _ in range(trials)
        )
        spread = (stated * (1 - stated) / trials) ** 0.5
        assert alarms / trials < stated + 4.9 * spread
        # The bound is not idle either: half of it is reached.
        assert alarms / trials > stated / 2


def test_planted_bug_is_rejected():
    """p-values that are uniform to the power of 4 are found out; a single look would miss 97 of 100 of them."""
    rng = np.random.default_rng(2)
    verdicts = [sequential_test(lambda look, n: {"a": rng.random() ** (2 * n)}, 2) for _ in range(200)]
    assert sum(not v.passed for v in verdicts) > 80
