"""What progress bars show."""

import pytest

from ppl_topics.engine.chains import SweepReport
from ppl_topics.engine.progress import ProgressBars


def report(sweep: int, seconds: float, **spread: float) -> SweepReport:
    return SweepReport(0, sweep, 30, True, -1.0, seconds, **spread)


@pytest.mark.parametrize("sweeps", [(1, 2), (1, 14), (1, 2, 3)])
def test_seconds_of_the_sweep_that_compiles_are_forgotten(sweeps: tuple[int, ...]) -> None:
    bars = ProgressBars(1, 30, shown=False)
    for sweep in sweeps:
        bars(report(sweep, 20.0 if sweep == 1 else 0.1))
    assert bars.seconds == [pytest.approx(0.1)]


def test_seconds_are_smoothed() -> None:
    bars = ProgressBars(1, 30, shown=False)
    for sweep, seconds in ((2, 1.0), (3, 2.0)):
        bars(report(sweep, seconds))
    assert bars.seconds == [pytest.approx(1.2)]


def test_what_workers_send_and_wait_is_below_the_bars() -> None:
    bars = ProgressBars(1, 30, shown=False)
    bars(report(1, 1.0))
    assert not bars.progress.below
    bars(report(2, 0.5, members=3, sent=14_000_000, waited=0.05))
    says = "3 workers: 14 MB/sweep between them, waiting for the slowest 10% of the time"
    assert bars.progress.below == says
    assert str(list(bars.progress.get_renderables())[-1]) == says
