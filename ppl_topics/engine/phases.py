"""The two parts of a run: what runs before the first kept draw, and the schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.placing import check_schedule, executor_of, present_device

__all__ = ["Phases"]


class Phases:
    """What advances chains: an executor of the warmup in the sweeps before `first_kept`, and then one of the schedule.

    A model without a warmup of its own runs its schedule from sweep 0 on. Neither executor knows of the other: memories
    of kernels begin anew with the schedule, and a kernel of the warmup has no place in it.
    """

    def __init__(self, bound: BoundModel, warmup: int, make: Callable[[BoundModel], Executor]) -> None:
        self.bound = bound
        self.kept = make(bound)
        self.first_kept = 0 if bound.plan.warmup is None else warmup
        self.all = [self.kept]
        if self.first_kept:
            self.all.insert(0, make(replace(bound, plan=bound.plan.before(warmup))))

    @classmethod
    def here(cls, bound: BoundModel, warmup: int, debug: bool = False, chains: int = 1) -> Phases:
        """Return what advances chains whose documents are all in this process, on a device if one is in use."""
        check_schedule(bound.plan.schedule, present_device())
        return cls(bound, warmup, lambda part: executor_of(part, debug, chains))

    def at(self, sweep: int) -> Executor:
        """Return what runs a sweep, numbered from 0."""
        return self.all[0] if sweep < self.first_kept else self.kept
