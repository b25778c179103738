"""One chain over documents that are spread over the members of a cluster.

Given the topics, the coefficients and the concentrations, documents are independent, and random streams are named by
the number of a document in the corpus: a member draws what belongs to its own documents as a single process would.
What the others need of that are counts, which are whole numbers and add up in any order. All else is drawn from these
by every member, from the same streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any

import numpy as np

from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState
from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.cluster import parts
from ppl_topics.engine.cluster.members import ClusterLostError, MemberLostError, Members
from ppl_topics.engine.executor import Executor, SweepRecord
from ppl_topics.errors import KernelError, ScheduleError
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.schedule.plan import to_data

__all__ = ["ShardedExecutor"]


class ShardedExecutor(Executor):
    """Runs the schedule of a bound model on members that have some documents each.

    Raises
    ------
    ScheduleError
        If a kernel of the schedule cannot be distributed; the message names it.
    """

    def __init__(self, bound: BoundModel, sizes: CorpusSizes, members: Members, threads: int | None = None) -> None:
        super().__init__(bound)
        for step in self.steps:
            if step.kernel.distributes is None:
                raise ScheduleError(
                    f"kernel {step.kernel.name!r} ({step.variable}) needs all documents in one place; "
                    f"{_instead(step.kernel.updates)}"
                )
        self.members = members
        # With its schedule, which members would choose otherwise.
        spec = bound.plan.model.spec.with_schedule(to_data(bound.plan.schedule), "the schedule of the run")
        self.model = parts.Model(spec.to_dict(), sizes, threads)
        self.spans: dict[str, tuple[int, int]] = {}
        self._open: dict[str, ChainState] = {}
        self._deal()

    def _deal(self) -> None:
        """Deal out the documents to the members that there are, in runs of pieces that the corpus alone determines."""
        tokens, names = self.bound.tokens, list(self.members.members())
        edges = tokens.groups if any(functions.by_group for functions in self.functions) else tokens.chunk_ptr
        cuts = edges[np.linspace(0, len(edges) - 1, len(names) + 1).astype(np.int64)]
        self.spans = {name: (int(a), int(b)) for name, (a, b) in zip(names, pairwise(cuts), strict=True) if a < b}
        self._open.clear()

    def memories(self, state: ChainState) -> list[Any]:
        """Return nothing: kernels have their memories where the documents are."""
        return [None] * len(self.steps)

    def sweep(
        self,
        state: ChainState,
        memories: list[Any],
        seed: int,
        chain: int,
        number: int,
        wanted: AbstractSet[str] | None = None,
    ) -> SweepRecord:
        """Run the schedule once, and bring what is drawn into the state.

        If a member is lost, the others begin again with the state after the sweep before, which is still here, and draw
        the same.
        """
        name = f"chain {chain}"
        while True:
            try:
                if self._open.get(name) is not state:
                    self._begin(name, state)
                record = super().sweep(state, memories, seed, chain, number, wanted)
                self._gather(name, state)
            except MemberLostError:
                self._deal()
            except KernelError as error:
                # Whatever happens in a step is reported as a failure of its kernel.
                if isinstance(error.__cause__, ClusterLostError):
                    raise error.__cause__ from None
                if not isinstance(error.__cause__, MemberLostError):
                    raise
                self._deal()
            else:
                return record

    def draw(self, place: int, state: ChainState, memory: Any, key: Key) -> Mapping[str, float] | None:
        """Run a step on all members."""
        chain, kernel = f"chain {key.chain}", self.steps[place].kernel
        if kernel.distributes == "statistic":
            self._draw_given_statistic(chain, place, key)
            return None
        called = {name: self.members.call(name, parts.draw, chain, place, key) for name in self.spans}
        found: dict[str, Mapping[str, float] | None] = {
            name: self.members.fetch(value) for name, value in called.items()
        }
        if "z" in kernel.updates:
            self._reduce(chain, state)
        if kernel.distributes == "central":
            return next(iter(found.values()))
        return self._averages(found)

    def _draw_given_statistic(self, chain: str, place: int, key: Key) -> None:
        """Add up what members know of their documents, and let all draw given the sum."""
        combine = self.functions[place].combine
        assert combine is not None
        called = [self.members.call(name, parts.statistic, chain, place) for name in self.spans]
        whole = self.members.put(combine([each for value in called for each in self.members.fetch(value)]))
        for value in [self.members.call(name, parts.draw_given, chain, place, key, whole) for name in self.spans]:
            self.members.fetch(value)

    def _begin(self, chain: str, state: ChainState) -> None:
        """Send each member its documents and their variables."""
        doc_ptr = self.bound.tokens.doc_ptr
        for name, (first, last) in self.spans.items():
            z = state.z[doc_ptr[first] : doc_ptr[last]]
            arrays = {
                each: array[first:last] if self._of_documents(each) else array for each, array in state.arrays.items()
            }
            documents = parts.cut(state, first, last)
            self.members.fetch(
                self.members.call(name, parts.open_part, chain, self.model, documents, parts.Values(z, arrays))
            )
        self._open[chain] = state
        self._reduce(chain, state)

    def _reduce(self, chain: str, state: ChainState) -> None:
        """Add up the counts of all members, and send them the sums."""
        state.n_wk[:], state.n_k[:] = 0, 0
        for value in [self.members.call(name, parts.counts, chain) for name in self.spans]:
            n_wk, n_k = self.members.fetch(value)
            state.n_wk += n_wk
            state.n_k += n_k
        sums = self.members.put(state.n_wk), self.members.put(state.n_k)
        for value in [self.members.call(name, parts.set_counts, chain, *sums) for name in self.spans]:
            self.members.fetch(value)

    def _gather(self, chain: str, state: ChainState) -> None:
        """Copy the variables of all members into the state."""
        doc_ptr = self.bound.tokens.doc_ptr
        called = [self.members.call(name, parts.values, chain) for name in self.spans]
        # All of it first: a state is that of one sweep, whatever happens on the way.
        gathered = [self.members.fetch(value) for value in called]
        for place, ((first, last), found) in enumerate(zip(self.spans.values(), gathered, strict=True)):
            state.z[doc_ptr[first] : doc_ptr[last]] = found.z
            for each, array in found.arrays.items():
                if self._of_documents(each):
                    state.arrays[each][first:last] = array
                elif place == 0:
                    state.arrays[each][...] = array

    def _of_documents(self, name: str) -> bool:
        """Tell whether a variable has a value for each document."""
        return "doc" in self.bound.model.variables[name].dims

    def _averages(self, found: Mapping[str, Mapping[str, float] | None]) -> dict[str, float] | None:
        """Return the statistics of a step over all documents."""
        doc_ptr = self.bound.tokens.doc_ptr
        sizes = {name: int(doc_ptr[last] - doc_ptr[first]) for name, (first, last) in self.spans.items()}
        given = {name: statistics for name, statistics in found.items() if statistics is not None}
        if not given:
            return None
        total = sum(sizes[name] for name in given)
        names = next(iter(given.values()))
        return {
            each: sum(sizes[name] * statistics[each] for name, statistics in given.items()) / max(1, total)
            for each in names
        }


def _instead(updates: tuple[str, ...]) -> str:
    """Say what can serve in place of a kernel."""
    from ppl_topics.core.registry import kernels

    able = [spec.name for spec in kernels().values() if spec.distributes and set(spec.updates) == set(updates)]
    return (
        f"give the step one of {', '.join(sorted(able))}" if able else "no kernel of this variable can be distributed"
    )
