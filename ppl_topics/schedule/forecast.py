"""What a run would take: seconds of each kernel that could serve, of a sweep and of the run, and memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ppl_topics._util.argument_names import setting, spelled
from ppl_topics.schedule.assign import admissible
from ppl_topics.schedule.costs import CorpusSizes, runs, step_bytes, step_seconds
from ppl_topics.schedule.spelling import spell_bytes, spell_seconds
from ppl_topics.schedule.spread import SpreadForecast
from ppl_topics.schedule.tree import Node, Step
from ppl_topics.spec.model import Model

__all__ = ["DeviceForecast", "Forecast", "KernelForecast", "forecast_kernels"]

MEMORY = {
    "corpus": "corpus and its indexes",
    "state": "chain states",
    "kernels": "kernels",
    "recorded": "recorded draws",
    "assembling": "building the trace",
    "workers": "worker processes",
}


@dataclass(frozen=True)
class KernelForecast:
    """One kernel that could update a variable; seconds are those of one execution, bytes those of one chain."""

    variable: str
    kernel: str
    exact: bool
    chosen: bool
    seconds_one_thread: float
    seconds: float
    bytes: float


@dataclass(frozen=True)
class DeviceForecast:
    """A sweep of a chain on a GPU as fast as an NVIDIA H200: seconds, those of the CPU among them; bytes of all."""

    seconds_sweep: float
    seconds_on_host: float
    bytes: float

    def __str__(self) -> str:
        """Return one line."""
        host = f", {spell_seconds(self.seconds_on_host)} of it by kernels on the CPU" if self.seconds_on_host else ""
        return (
            f"with a GPU as fast as an NVIDIA H200: a sweep of {spell_seconds(self.seconds_sweep)}{host}; "
            f"{spell_bytes(self.bytes)} of its memory"
        )


@dataclass(frozen=True)
class Forecast:
    """What a run of a plan would take; see `ppl_topics.plan`.

    Attributes
    ----------
    threads, chains, processes, sweeps : int
        Of the run; sweeps of one chain, warmup among them.
    speed : float
        Speed of this machine, the nominal one being 1.
    sizes : dict of str to float
        Values of the names that kernels' formulas use.
    kernels : tuple of KernelForecast
        By variable, in the order of the sweep.
    seconds_sweep_one_thread, seconds_sweep : float
        All kernels of the schedule, by one thread and by the threads of the run.
    seconds_warmup_sweep : float
        Of the sweeps before the first kept draw, by the threads of the run.
    seconds_recording : float
        Of a draw: what is computed and kept for the trace.
    seconds_run : float
        All chains, without compiling.
    bytes : dict of str to float
        At the time when most is in use, all processes together, in addition to Python and its libraries: by
        ``corpus``, ``state``, ``kernels``, ``recorded``, ``assembling``, ``workers``; the sum is ``total``.
    bytes_in_folder : dict of str to float
        The same if draws are streamed to a run folder.
    bytes_before : float
        What of that is in memory before the run starts: the corpus.
    bytes_available : float, optional
        What is available in addition; None if unknown.
    available_by : str
        What sets it.
    spread : SpreadForecast, optional
        Of a chain over several machines, if these were given.
    on_device : DeviceForecast, optional
        Of a chain on a GPU, if one was asked for; the table of kernels is that of the CPU.
    """

    threads: int
    chains: int
    processes: int
    sweeps: int
    speed: float
    sizes: Mapping[str, float]
    kernels: tuple[KernelForecast, ...]
    seconds_sweep_one_thread: float
    seconds_sweep: float
    seconds_warmup_sweep: float
    seconds_recording: float
    seconds_run: float
    bytes: Mapping[str, float]
    bytes_in_folder: Mapping[str, float]
    bytes_before: float
    bytes_available: float | None
    available_by: str
    spread: SpreadForecast | None = None
    on_device: DeviceForecast | None = None

    @property
    def refused(self) -> bool:
        """Whether the run, in memory, would be refused because it is not expected to fit."""
        return self._too_much(self.bytes)

    @property
    def refused_in_folder(self) -> bool:
        """Whether a run with a folder would be refused as well."""
        return self._too_much(self.bytes_in_folder)

    def _too_much(self, needed: Mapping[str, float]) -> bool:
        return self.bytes_available is not None and needed["total"] - self.bytes_before > self.bytes_available

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast as plain data, under the names of its attributes."""
        spread = None if self.spread is None else self.spread.to_dict()
        return asdict(self) | {"spread": spread, "refused": self.refused, "refused_in_folder": self.refused_in_folder}

    def __str__(self) -> str:
        """Return a table of the kernels, and the totals."""
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        header = ["", "kernel", "exact", "1 thread", *([] if self.threads == 1 else [threads]), "memory"]
        rows = [self._row(kernel) for kernel in self.kernels]
        sweep = self._seconds(self.seconds_sweep_one_thread, self.seconds_sweep)
        rows.append(["sweep", "", "", *sweep, spell_bytes(sum(k.bytes for k in self.kernels if k.chosen))])
        return "\n".join([*_table(header, rows), "", *self._totals(threads)])

    def _row(self, kernel: KernelForecast) -> list[str]:
        mark = " *" if kernel.chosen else ""
        seconds = self._seconds(kernel.seconds_one_thread, kernel.seconds)
        exact = "yes" if kernel.exact else "no"
        return [kernel.variable, kernel.kernel + mark, exact, *seconds, spell_bytes(kernel.bytes)]

    def _seconds(self, one: float, all_threads: float) -> list[str]:
        return [spell_seconds(one)] if self.threads == 1 else [spell_seconds(one), spell_seconds(all_threads)]

    def _totals(self, threads: str) -> Iterator[str]:
        processes = "1 process" if self.processes == 1 else f"{self.processes} processes"
        chains = "1 chain" if self.chains == 1 else f"{self.chains} chains"
        yield "* in the schedule; forecasts of time and memory are for one execution and one chain"
        yield (
            f"a draw: {spell_seconds(self.seconds_sweep)} for the sweep and {spell_seconds(self.seconds_recording)} to "
            f"record it; this machine is {self.speed:.2g} times as fast as the nominal one"
        )
        if self.seconds_warmup_sweep != self.seconds_sweep:
            early = spell_seconds(self.seconds_warmup_sweep)
            yield f"a sweep of the warmup, whose kernels are not in the table: {early}"
        yield f"run: {chains} of {self.sweeps:,} sweeps, {processes} of {threads}: {spell_seconds(self.seconds_run)}"
        parts = ", ".join(f"{text} {spell_bytes(self.bytes[key])}" for key, text in MEMORY.items() if self.bytes[key])
        yield f"memory: {spell_bytes(self.bytes['total'])} in addition to Python and its libraries ({parts})"
        streamed = f"streamed to a folder ({setting('out', 'FOLDER')})"
        yield f"memory if draws are {streamed}: {spell_bytes(self.bytes_in_folder['total'])}"
        if self.bytes_available is not None:
            free = f"{spell_bytes(self.bytes_available)} beyond the corpus ({self.available_by})"
            yield f"memory available: {free}{self._verdict()}"
        if self.spread is not None:
            yield from self.spread.lines()
        if self.on_device is not None:
            yield str(self.on_device)

    def _verdict(self) -> str:
        if not self.refused:
            return ""
        folder = "" if self.refused_in_folder else ", but not with a folder"
        run = spelled("pt.sample", "`ppl-topics run`")
        return f": {run} would refuse this run{folder} and suggest what would fit"


def forecast_kernels(
    model: Model, schedule: Node, corpus: CorpusSizes, threads: int, speed: float
) -> tuple[KernelForecast, ...]:
    """Forecast every kernel that the model admits, and those of the schedule with their options."""
    topics = model.spec.topics
    scheduled: dict[str, list[Step]] = {}
    for step, _ in runs(schedule):
        scheduled.setdefault(step.variable, []).append(step)
    result = []
    for name in dict.fromkeys([*scheduled, *model.latent]):
        own = scheduled.get(name, [])
        used = {step.kernel.name for step in own}
        others = [s for s in admissible(model.variables[name], model)[0] if s.kernel.name not in used]
        for step in [*own, *others]:
            result.append(
                KernelForecast(
                    variable=name,
                    kernel=step.kernel.name,
                    exact=step.kernel.exact,
                    chosen=step in own,
                    seconds_one_thread=step_seconds(step, corpus, topics, 1) / speed,
                    seconds=step_seconds(step, corpus, topics, threads) / speed,
                    bytes=step_bytes(step, corpus, topics),
                )
            )
    return tuple(result)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: the first three columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = [c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        yield "  ".join(cells).rstrip()
