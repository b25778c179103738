"""A sequential test with a stated rate of false alarms.

References
----------
A. Gandy, J. Scott (2020). Unit testing for MCMC and other Monte Carlo methods. arXiv 2001.06465, algorithm 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Verdict", "sequential_test"]

FIRST_GROWTH = 4
"""Factor by which the sample grows when the first look does not decide."""


@dataclass(frozen=True)
class Verdict:
    """Outcome of a sequential test."""

    passed: bool
    p_values: Mapping[str, float]  # of the last look, by statistic
    looks: int  # how many samples were drawn
    samples: int  # size of the last one

    @property
    def p_value(self) -> float:
        """The smallest p-value of the last look, times the number of statistics."""
        return min(1.0, min(self.p_values.values()) * len(self.p_values))

    @property
    def worst(self) -> str:
        """The statistic with the smallest p-value."""
        return min(self.p_values, key=lambda name: self.p_values[name])


def sequential_test(
    sample_p_values: Callable[[int, int], Mapping[str, float]],
    samples: int,
    *,
    false_alarm: float = 1e-5,
    looks: int = 7,
) -> Verdict:
    """Test with at most ``looks`` independent samples, with a probability of at most ``false_alarm`` of a false alarm.

    ``sample_p_values`` gets the number of the look and a sample size, draws a new sample, and returns p-values by
    statistic, each uniform or larger on (0, 1) under the null hypothesis. The first sample has the size ``samples``,
    the others four times that. A look rejects if the p-value is tiny, accepts if it is unremarkable, and otherwise asks
    for a new sample: a correct program is nearly always accepted at the first look, and a wrong one is not accepted by
    luck.
    """
    beta = false_alarm / looks
    gamma = beta ** (1.0 / looks)
    verdict = Verdict(True, {}, 0, samples)
    for look in range(looks):
        # A missing p-value, of a statistic that is not finite, counts against the program.
        p_values = {name: p if p >= 0 else 0.0 for name, p in sample_p_values(look, samples).items()}
        verdict = Verdict(True, p_values, look + 1, samples)
        if verdict.p_value <= beta:
            return Verdict(False, p_values, look + 1, samples)
        if verdict.p_value > gamma + beta:
            return verdict
        beta /= gamma
        if look == 0:
            samples *= FIRST_GROWTH
    return verdict
