"""Live progress on standard error."""

from __future__ import annotations

import math
from types import TracebackType

from rich.console import Console
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


class ProgressBars:
    """One bar a chain, if `shown`: phase, sweeps, seconds per sweep, log posterior, time left."""

    def __init__(self, chains: int, sweeps: int, shown: bool) -> None:
        self.progress = Progress(
            TextColumn("chain {task.fields[chain]} {task.fields[phase]:<6}"),
            BarColumn(bar_width=10),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            _Speed(table_column=Column(no_wrap=True)),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            disable=not shown,
        )
        self.seconds = [math.nan] * chains
        self.tasks = [
            self.progress.add_task("", total=sweeps, chain=c, phase="", seconds=math.nan, log_posterior=math.nan)
            for c in range(chains)
        ]

    def __enter__(self) -> ProgressBars:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()

    def __call__(self, report: SweepReport) -> None:
        """Show one sweep."""
        before = self.seconds[report.chain]
        # The first sweep compiles, so it says nothing of the ones to come.
        seconds = report.seconds
        if not math.isnan(before) and report.sweep > 2:
            seconds = before + SMOOTHING * (report.seconds - before)
        self.seconds[report.chain] = seconds
        self.progress.update(
            self.tasks[report.chain],
            completed=report.sweep,
            phase="warmup" if report.warmup else "draws",
            seconds=seconds,
            log_posterior=report.log_posterior,
        )
