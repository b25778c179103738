"""A chain whose documents are spread over machines: which schedules allow it, and what a sweep would take.

The forecast is computed. Seconds of kernels are those of their formulas, for the documents of one machine or, if each
draws the same, for all. The constants of Dask and of the counts were measured on one machine of two cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from ppl_topics.core.registry import kernels
from ppl_topics.errors import ScheduleError
from ppl_topics.schedule.costs import CorpusSizes, runs, step_seconds
from ppl_topics.schedule.spelling import spell_bytes, spell_seconds
from ppl_topics.schedule.tree import Node, steps

__all__ = [
    "MOST_DIRECT",
    "MOST_SLICES",
    "Machines",
    "SpreadForecast",
    "check_spread",
    "forecast_spread",
    "reduction_bytes",
    "rotation_bytes",
]

MOST_DIRECT = 3
"""Members that send each other their counts; more would send more than sums."""
MOST_SLICES = 8
"""Of the words, whose counts members add up: each makes a task of each slice, and tasks take time."""

COUNT_BYTES = 2.0
"""Of a count that is not zero, on its way; and each word takes a byte."""

CELL_SECONDS, COUNT_SECONDS = 1e-9, 2.5e-9
"""To look through the counts of all words and topics, when they are sent and when they come; and to add one count."""

TASK_SECONDS, DEPTH_SECONDS = 0.8e-3, 6e-3
"""Of Dask: the scheduler's for each task, and those that pass between two tasks of which one waits for the other."""

SWEEPS_GIVEN_PHI = 2.0
"""To the mode, over those with phi integrated out; see `ppl_topics.schedule.assign`."""

GAIN = 1.1
"""Twice the machines pay if a sweep then is at least so many times as fast."""


class Machines(NamedTuple):
    """How many machines, the cores of each, and gigabits a second that each can send, and receive."""

    number: int
    cores: int
    gbits: float


@dataclass(frozen=True)
class SpreadForecast:
    """What a sweep of one chain would take on several machines; computed, not measured.

    Attributes
    ----------
    machines, cores : int
    gbits : float
        Of each machine, a second, in either direction.
    seconds_drawing : float
        All kernels, on the documents of one machine or, where all machines draw the same, on all.
    seconds_adding : float
        To encode, add up and decode the counts by word.
    seconds_sending : float
        Of these between machines.
    seconds_scheduling : float
        Of Dask.
    seconds_sweep : float
        The sum.
    seconds_one : float
        The same sweep on one such machine.
    bytes_sweep : float
        Between all machines.
    bytes_recorded : float
        What the client gets, besides, with a draw that is kept, if there are labels or theta is recorded: z.
    seconds_recorded : float
        Until it has them.
    machines_useful : int
        The power of two beyond which twice as many machines make a sweep less than a tenth faster.
    threads_useful : int, optional
        Of all machines together, where a kernel of the schedule has a number of tasks that depends on the corpus alone.
    seconds_given_phi : float, optional
        A sweep of the best schedule that draws z given phi, where that of the plan rotates blocks of words.
    """

    machines: int
    cores: int
    gbits: float
    seconds_drawing: float
    seconds_adding: float
    seconds_sending: float
    seconds_scheduling: float
    seconds_one: float
    bytes_sweep: float
    bytes_recorded: float
    seconds_recorded: float
    machines_useful: int
    threads_useful: int | None
    seconds_given_phi: float | None = None

    @property
    def seconds_sweep(self) -> float:
        """All of a sweep, without recording it."""
        return self.seconds_drawing + self.seconds_adding + self.seconds_sending + self.seconds_scheduling

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast as plain data."""
        return asdict(self) | {"seconds_sweep": self.seconds_sweep}

    def lines(self) -> Iterator[str]:
        """Yield the forecast as text."""
        parts = {
            "drawing": self.seconds_drawing,
            "adding up counts": self.seconds_adding,
            "sending them": self.seconds_sending,
            "Dask": self.seconds_scheduling,
        }
        yield (
            f"{self.machines:,} machines of {'1 core' if self.cores == 1 else f'{self.cores} cores'} and "
            f"{self.gbits:g} Gbit/s, each with some documents of every chain (computed, not measured)"
        )
        yield (
            f"  a sweep: {spell_seconds(self.seconds_sweep)} "
            f"({', '.join(f'{what} {spell_seconds(seconds)}' for what, seconds in parts.items())}), on one machine "
            f"{spell_seconds(self.seconds_one)}; {spell_bytes(self.bytes_sweep)} between the machines"
        )
        yield (
            f"  a draw that is kept, with labels or theta: besides, {spell_bytes(self.bytes_recorded)} to the client "
            f"in {spell_seconds(self.seconds_recorded)}"
        )
        if self.threads_useful is not None and self.threads_useful < self.machines * self.cores:
            yield f"  only {self.threads_useful} threads of all find work where blocks of words rotate"
        if self.seconds_given_phi is not None:
            sooner = SWEEPS_GIVEN_PHI * self.seconds_given_phi < self.seconds_sweep
            yield (
                f"  with z drawn given phi, a sweep takes {spell_seconds(self.seconds_given_phi)}, and about twice as "
                f"many lead to the mode: {'sooner, so name sparse_partially_collapsed for z' if sooner else 'later'}"
            )
        if self.machines_useful < self.machines:
            more = "one machine is enough" if self.machines_useful == 1 else f"{self.machines_useful:,} are enough"
            yield f"  {more}: twice as many make a sweep less than a tenth faster"
        else:
            yield f"  more pay up to {self.machines_useful:,}: then twice as many make a sweep less than a tenth faster"


def check_spread(schedule: Node) -> None:
    """Refuse a schedule with a kernel that needs all documents in one place, and say what can serve."""
    for step in steps(schedule):
        if step.kernel.distributes is None:
            raise ScheduleError(
                f"kernel {step.kernel.name!r} ({step.variable}) needs all documents in one place; "
                f"{_instead(step.kernel.updates)}"
            )


def _instead(updates: tuple[str, ...]) -> str:
    """Say what can serve in place of a kernel."""
    able = [spec.name for spec in kernels().values() if spec.distributes and set(spec.updates) == set(updates)]
    return (
        f"give the step one of {', '.join(sorted(able))}" if able else "no kernel of this variable can be distributed"
    )


def forecast_spread(
    schedule: Node, corpus: CorpusSizes, topics: int, machines: Machines, speed: float
) -> SpreadForecast:
    """Forecast a sweep of one chain whose documents are spread over machines."""
    one = _sweep(schedule, corpus, topics, machines._replace(number=1), speed)
    made = _sweep(schedule, corpus, topics, machines, speed)
    recorded = corpus.n_tokens * (1.0 if topics <= 2**8 else 2.0)
    return SpreadForecast(
        *machines,
        seconds_drawing=made.drawing,
        seconds_adding=made.adding,
        seconds_sending=made.sending,
        seconds_scheduling=made.scheduling,
        seconds_one=one.drawing,
        bytes_sweep=made.sent,
        bytes_recorded=recorded,
        seconds_recorded=recorded / _bytes_a_second(machines),
        machines_useful=_useful(schedule, corpus, topics, machines, speed),
        threads_useful=_threads(schedule, corpus, topics),
    )


def _threads(schedule: Node, corpus: CorpusSizes, topics: int) -> int | None:
    """Return how many threads find work in the step that has least."""
    rotating = [step for step in steps(schedule) if step.kernel.distributes == "rotate"]
    sizes = corpus.formula_sizes(topics)
    return min((int(step.kernel.evaluate(step.kernel.tasks, sizes, step.options)) for step in rotating), default=None)


class _Sweep(NamedTuple):
    drawing: float
    adding: float
    sending: float
    scheduling: float
    sent: float

    @property
    def seconds(self) -> float:
        return self.drawing + self.adding + self.sending + self.scheduling


def _sweep(schedule: Node, corpus: CorpusSizes, topics: int, machines: Machines, speed: float) -> _Sweep:
    """Return what a sweep takes; on one machine, nothing is sent."""
    number, share = machines.number, corpus.share(machines.number)
    slices, cells = min(number, MOST_SLICES), corpus.n_words * float(topics)
    own, total = share.cells_met(topics), corpus.cells_met(topics)
    drawing = adding = sending = sent = 0.0
    tasks, depth = float(number), 1.0
    for step, times in runs(schedule):
        how = step.kernel.distributes
        if how == "rotate":
            # Its tiles are those of the whole corpus, and the threads of all machines share them.
            drawing += times * step_seconds(step, corpus, topics, machines.cores * number)
        else:
            drawing += times * step_seconds(step, corpus if how == "central" else share, topics, machines.cores)
        # Steps go in one task of each machine's until one needs what others have.
        if how == "statistic":
            tasks, depth = tasks + times * (number + 1), depth + 2 * times
        elif how == "rotate":
            tasks, depth = tasks + times * number * number, depth + times * number
            moved = rotation_bytes(number, total, corpus.n_words)
            sent += times * moved
            sending += times * moved * (1 / number + 1) / 2 / _bytes_a_second(machines)
            adding += times * (CELL_SECONDS * cells + COUNT_SECONDS * total) * (1 + (number - 1) / number)
        elif "z" in step.kernel.updates and number <= MOST_DIRECT:
            tasks, depth = tasks + times * number, depth + times
            moved = reduction_bytes(number, own, total, corpus.n_words)
            sent += times * moved
            sending += times * moved / number / _bytes_a_second(machines)
            adding += times * (CELL_SECONDS * cells + COUNT_SECONDS * number * own)
        elif "z" in step.kernel.updates:
            tasks, depth = tasks + times * (number * slices + slices + number), depth + 3 * times
            moved = reduction_bytes(number, own, total, corpus.n_words)
            sent += times * moved
            sending += times * moved / slices / _bytes_a_second(machines)
            adding += times * (
                CELL_SECONDS * cells * (1 + 1 / slices) + COUNT_SECONDS * (number * own / slices + total)
            )
    if number == 1:
        return _Sweep(drawing / speed, 0.0, 0.0, 0.0, 0.0)
    return _Sweep(drawing / speed, adding / speed, sending, TASK_SECONDS * tasks + DEPTH_SECONDS * depth, sent)


def reduction_bytes(members: int, own: float, total: float, words: int) -> float:
    """Return the bytes between members that add up counts, given how many are not zero of their own, and in all."""
    if members <= MOST_DIRECT:
        return members * (members - 1) * (COUNT_BYTES * own + words)
    # Those who add up get what all others have of their words, and send the sums of these to all others.
    return (members - 1) * (COUNT_BYTES * (own + total) + 2 * words)


def rotation_bytes(members: int, total: float, words: int) -> float:
    """Return the bytes between members of blocks of words, which go to all in turn, and then to all at once."""
    return 2 * (members - 1) * (COUNT_BYTES * total + words)


def _bytes_a_second(machines: Machines) -> float:
    return machines.gbits * 1e9 / 8


def _useful(schedule: Node, corpus: CorpusSizes, topics: int, machines: Machines, speed: float) -> int:
    """Return the power of two beyond which twice as many machines hardly help."""
    seconds = [
        _sweep(schedule, corpus, topics, machines._replace(number=2**power), speed).seconds for power in range(15)
    ]
    ratios = np.array(seconds[:-1]) / np.array(seconds[1:])
    return 2 ** int(np.argmax(ratios < GAIN)) if (ratios < GAIN).any() else 2**14
