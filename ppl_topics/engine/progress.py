"""Live progress on standard error."""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import TracebackType

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from ppl_topics.engine.chains import SweepReport
from ppl_topics.schedule.spelling import spell_bytes

__all__ = ["ProgressBars"]

SMOOTHING = 0.2
"""Weight of the newest sweep in the seconds per sweep that are shown."""


class _Speed(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Return seconds per sweep and the log posterior."""
        seconds, log_posterior = task.fields["seconds"], task.fields["log_posterior"]
        if math.isnan(seconds):
            return Text("compiling or loading", style="dim")
        value = "" if math.isnan(log_posterior) else f"  log posterior {log_posterior:,.0f}"
        return Text(f"{seconds:.3g} s/sweep{value}")


class _Bars(Progress):
    """Bars, and a line below them."""

    below = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return what is shown."""
        yield from super().get_renderables()
        if self.below:
            yield Text(self.below)


class ProgressBars:
    """One bar a chain, if `shown`: phase, sweeps, seconds per sweep, log posterior, time left.

    Where documents are spread over workers, also how many there are, the bytes that they send each other in a sweep,
    and the share of its time that they wait for the slowest.
    """

    def __init__(self, chains: int, sweeps: int, shown: bool) -> None:
        self.progress = _Bars(
            TextColumn("chain {task.fields[chain]} {task.fields[phase]:<6}"),
            BarColumn(bar_width=10),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            _Speed(table_column=Column(no_wrap=True)),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            disable=not shown,
        )
        self.seconds, self.reported = [math.nan] * chains, [0] * chains
        self.tasks = [
            self.progress.add_task("", total=sweeps, chain=chain, phase="", seconds=math.nan, log_posterior=math.nan)
            for chain in range(chains)
        ]

    def __enter__(self) -> ProgressBars:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()

    def say(self, text: str) -> None:
        """Show a line above the bars."""
        if not self.progress.disable:
            self.progress.console.print(text, highlight=False, soft_wrap=True)

    def __call__(self, report: SweepReport) -> None:
        """Show one sweep."""
        before, seconds = self.seconds[report.chain], report.seconds
        # The first sweep compiles, so it says nothing of the ones to come; not all are reported.
        if self.reported[report.chain] > 1:
            seconds = before + SMOOTHING * (report.seconds - before)
        self.seconds[report.chain], self.reported[report.chain] = seconds, report.sweep
        self.progress.update(
            self.tasks[report.chain],
            completed=report.sweep,
            phase="warmup" if report.warmup else "draws",
            seconds=seconds,
            log_posterior=report.log_posterior,
        )
        if report.members:
            self.progress.below = _spread(report)


def _spread(report: SweepReport) -> str:
    workers = "1 worker" if report.members == 1 else f"{report.members} workers"
    waiting = f"waiting for the slowest {report.waited / report.seconds:.0%} of the time"
    return f"{workers}: {spell_bytes(report.sent)}/sweep between them, {waiting}"
