"""One chain over documents that are spread over the members of a cluster.

Given the topics, the coefficients and the concentrations, documents are independent, and random streams are named by
the number of a document in the corpus: a member draws what belongs to its own documents as a single process would.
What the others need of that are counts, which are whole numbers and add up in any order. All else is drawn from these
by every member, from the same streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import count, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ppl_topics.core.kernel import Share
from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState
from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.cluster import blocks, parts, reduction
from ppl_topics.engine.cluster.counts import add
from ppl_topics.engine.cluster.members import ClusterLostError, MemberLostError, Members, MembersDifferError
from ppl_topics.engine.executor import Executor, SweepRecord
from ppl_topics.engine.summary import Summary, summarise
from ppl_topics.errors import KernelError, ScheduleError
from ppl_topics.schedule.plan import Plan, to_data
from ppl_topics.schedule.spread import MOST_DIRECT, MOST_SLICES, check_spread

__all__ = ["ShardedExecutor"]

Result = TypeVar("Result")

MOST_BEHIND = 20
"""Sweeps that are drawn again at most if a member is lost."""
TRIED_DOCUMENTS = 64
"""With which members show that they draw the same."""


class _Base(NamedTuple):
    """What the members of a chain begin again with: the values that a state had before a sweep."""

    of: ChainState
    values: ChainState
    number: int


class ShardedExecutor(Executor):
    """Runs the schedule of a bound model on members that have some documents each.

    Raises
    ------
    ScheduleError
        If a kernel of the schedule cannot be distributed; the message names it.
    """

    def __init__(
        self, bound: BoundModel, members: Members, threads: int | None = None, deals: Iterator[int] | None = None
    ) -> None:
        super().__init__(bound)
        if bound.sparse:
            raise ScheduleError(
                "storage='sparse' keeps the topics in one place; give storage='dense' to spread a chain"
            )
        check_spread(bound.plan.schedule)
        self.members = members
        plan = _as_data(bound.plan) if members.apart else bound.plan
        self.model = parts.Model(plan, threads, bound.model.found_words, bound.plan.annealing)
        self.spans: dict[str, tuple[int, int]] = {}
        # Executors of the same members must not give two deals one number.
        self._numbers = count(1) if deals is None else deals
        self.deals = 0
        self._open: dict[int, ChainState] = {}
        self._bases: dict[int, _Base] = {}
        self._under_way: list[tuple[int, dict[str, Any]]] = []
        self._counted: list[dict[str, Any]] = []
        self._deal()

    def _deal(self) -> None:
        """Deal out the documents to the members that there are, in runs of pieces that the corpus alone determines."""
        tokens, names = self.bound.tokens, list(self.members.members())
        edges = tokens.groups if any(functions.by_group for functions in self.functions) else tokens.chunk_ptr
        for functions in self.functions:
            if functions.rotation is not None and functions.rotation.blocks:
                edges = np.intersect1d(edges, functions.rotation.group_ptr)
        cuts = edges[np.linspace(0, len(edges) - 1, len(names) + 1).astype(np.int64)]
        self.spans = {name: (int(a), int(b)) for name, (a, b) in zip(names, pairwise(cuts), strict=True) if a < b}
        self._compared = False
        self.slices = reduction.slices(tokens.word_counts, self.bound.sizes.topics, min(len(self.spans), MOST_SLICES))
        self.deals = next(self._numbers)
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
        seen: bool = True,
    ) -> SweepRecord:
        """Run the schedule once, and bring what is ``wanted`` into the state if it is ``seen`` before the next sweep.

        If a member is lost, the others begin again with the last state that was brought here whole, and draw the same.
        """

        def once() -> SweepRecord:
            self._catch_up(state, memories, seed, chain, number)
            record = self._sweep(state, memories, seed, chain, number, wanted)
            whole = wanted is None or self._behind(chain, number + 1) >= MOST_BEHIND
            if not whole:
                self._bases.setdefault(chain, _Base(state, state, number))
            summary = self._gather(chain, state, None if whole else wanted) if whole or seen else None
            done = record()
            done.summary = summary
            return done

        return self._until_done(once)

    def settle(self, state: ChainState, memories: list[Any], seed: int, chain: int, number: int) -> None:
        """Bring all into the state."""

        def once() -> None:
            self._catch_up(state, memories, seed, chain, number)
            self._gather(chain, state, None)

        if self._behind(chain, number):
            self._until_done(once)

    def _until_done(self, once: Callable[[], Result]) -> Result:
        """Do something, and again with the members that are left if one is lost."""
        while True:
            try:
                return once()
            except MemberLostError:
                self._deal()
            except KernelError as error:
                # Whatever happens in a step is reported as a failure of its kernel.
                if isinstance(error.__cause__, ClusterLostError):
                    raise error.__cause__ from None
                if not isinstance(error.__cause__, MemberLostError):
                    raise
                self._deal()

    def _behind(self, chain: int, number: int) -> int:
        """Return how many sweeps a chain's state here is behind, at most."""
        return number - self._bases[chain].number if chain in self._bases else 0

    def _catch_up(self, state: ChainState, memories: list[Any], seed: int, chain: int, number: int) -> None:
        """Let the members begin where the chain is, if they have not."""
        if self._open.get(chain) is state:
            return
        base = self._bases.get(chain)
        if base is None or base.of is not state:
            self._bases.pop(chain, None)
            base = _Base(state, state, number)
        self._begin(chain, base.values)
        for earlier in range(base.number, number):
            self._sweep(state, memories, seed, chain, earlier, frozenset())()
        self._open[chain] = state

    def _sweep(self, *arguments: Any) -> Callable[[], SweepRecord]:
        """Let the members run the schedule; return what waits until they have."""
        self._under_way, self._counted = [], []
        super().sweep(*arguments)
        under_way, counted = self._under_way, self._counted

        def record() -> SweepRecord:
            done = SweepRecord.of(len(self.steps))
            done.members = len(self.spans)
            for place, called in under_way:
                found: dict[str, list[parts.Drawn]] = self._fetch_all(called)
                own = np.array([[drawn.seconds for drawn in each] for each in found.values()])
                # As long as the slowest takes, for which the others wait.
                done.add(place, float(own.max(axis=0).sum()), self._averages(place, found))
                done.waited += float((own.max(axis=0) - own.mean(axis=0)).sum())
                done.sent += sum(drawn.received for each in found.values() for drawn in each)
            for called in counted:
                done.sent += reduction.sent(list(self._fetch_all(called).values()))
            return done

        return record

    def check_finite(self, place: int, state: ChainState, key: Key) -> None:
        """Do nothing: members look at what they draw."""

    def draw(self, place: int, state: ChainState, memory: Any, key: Key) -> None:
        """Start a step on all members."""
        chain, kernel = key.chain, self.steps[place].kernel
        if kernel.distributes == "statistic":
            known = self._call_all(parts.statistic, chain, place, key)
            adds_up = next(iter(self.spans))
            whole = self.members.call(adds_up, parts.combine, (chain, self.deals), place, list(known.values()))
            called = self._call_all(parts.draw_given, chain, place, key, whole)
        elif kernel.distributes == "rotate":
            called = self._rotate(place, key)
        else:
            called = self._call_all(parts.draw, chain, place, key)
        self._under_way.append((place, called))
        rotation = self.functions[place].rotation
        if "z" in kernel.updates and not (rotation is not None and rotation.of_all_words):
            self._counted.append(self._reduce(chain))

    def _rotate(self, place: int, key: Key) -> dict[str, Any]:
        """Start a sweep whose blocks of words go from member to member."""
        rotation, names, part = self.functions[place].rotation, list(self.spans), (key.chain, self.deals)
        assert rotation is not None
        firsts = [first for first, _ in self.spans.values()]
        owners = np.maximum(np.searchsorted(firsts, rotation.group_ptr[:-1], side="right") - 1, 0)
        phases = blocks.phases(rotation, owners)
        left, had = list[Any](), phases[0].holders
        for phase, following in zip(phases, [*[phase.holders for phase in phases[1:]], {}], strict=True):
            called = []
            for number, name in enumerate(names):
                own = [block for block, holder in phase.holders.items() if holder == number]
                taken = [block for block in own if had[block] != number]
                came = [left[source] for source in sorted({had[block] for block in taken})]
                leaving = [block for block in own if following.get(block) != number]
                given = (phase.first, phase.last, taken, came, leaving)
                called.append(self.members.call(name, blocks.visit, part, place, key, *given))
            left, had = called, phase.holders
        if not rotation.of_all_words:
            held = [[block for block, holder in had.items() if holder == number] for number in range(len(names))]
            return {
                name: self.members.call(name, blocks.keep_blocks, part, place, own)
                for name, own in zip(names, held, strict=True)
            }
        return {
            name: self.members.call(name, blocks.take_all, part, place, left[:number] + left[number + 1 :])
            for number, name in enumerate(names)
        }

    def _call_all(
        self, function: Callable[..., Any], chain: int, *arguments: Any, alone: bool = False
    ) -> dict[str, Any]:
        """Start a function on all parts of a chain."""
        part = (chain, self.deals)
        return {name: self.members.call(name, function, part, *arguments, alone=alone) for name in self.spans}

    def _fetch_all(self, called: Mapping[str, Any]) -> dict[str, Any]:
        """Return what calls returned, all of them."""
        return {name: self.members.fetch(value) for name, value in called.items()}

    def _begin(self, chain: int, state: ChainState) -> None:
        """Send each member its documents and their variables."""
        if not self._compared:
            self._compare(state)
        called, part = {}, (chain, self.deals)
        for name, (first, last) in self.spans.items():
            given = [self.members.put(name, each) for each in self._cut(state, first, last)]
            called[name] = self.members.call(name, parts.open_part, part, self.model, *given)
        self._fetch_all(called)
        self._fetch_all(self._reduce(chain))

    def _compare(self, state: ChainState) -> None:
        """Let all members draw the same, with a few documents each has; refuse them if they draw different values."""
        few, called = self._cut(state, 0, min(TRIED_DOCUMENTS, self.bound.sizes.docs)), {}
        for name in self.spans:
            given = [self.members.put(name, each) for each in few]
            called[name] = self.members.call(name, parts.try_out, self.model, *given)
        self._refuse_different(self._fetch_all(called))
        self._compared = True

    def _refuse_different(self, checksums: Mapping[str, Mapping[str, int]]) -> None:
        """Refuse members of which one has drawn other values than the first."""
        first, expected = next(iter(checksums.items()))
        for name, found in checksums.items():
            other = [each for each, checksum in found.items() if checksum != expected[each]]
            if other:
                raise MembersDifferError(first, name, other)

    def _cut(self, state: ChainState, first: int, last: int) -> tuple[parts.Documents, parts.Values]:
        """Return documents `first` to `last` - 1 with their variables, and all that belongs to no document."""
        doc_ptr = self.bound.tokens.doc_ptr
        arrays = {
            name: array[first:last] if self._of_documents(name) else array for name, array in state.arrays.items()
        }
        documents = parts.cut(state, first, last, self.bound.above)
        return documents, parts.Values(state.z[doc_ptr[first] : doc_ptr[last]], arrays)

    def _reduce(self, chain: int) -> dict[str, Any]:
        """Start adding up the counts of all members.

        Of few, each sends its own to all others; else some add them up for a slice of the words each, and send the sums
        to all.
        """
        part = (chain, self.deals)
        if len(self.spans) <= MOST_DIRECT:
            counted = self._call_all(reduction.counts, chain, slice(0, self.bound.sizes.words))
            return {
                name: self.members.call(
                    name, reduction.add_counts, part, [counted[other] for other in self.spans if other != name]
                )
                for name in self.spans
            }
        counted_by_slice = [self._call_all(reduction.counts, chain, words, alone=True) for words in self.slices]
        sums = [
            self.members.call(name, reduction.add_up, part, words, list(counts.values()), alone=True)
            for name, words, counts in zip(self.spans, self.slices, counted_by_slice, strict=False)
        ]
        return self._call_all(reduction.set_counts, chain, self.slices, sums)

    def _gather(self, chain: int, state: ChainState, wanted: AbstractSet[str] | None) -> Summary:
        """Copy the variables of all members into the state; what belongs to no document, each must have drawn alike.

        What is large, topics, z and the counts, is left out unless it is wanted; a summary of it serves the trace.
        """
        doc_ptr, first_member, part = self.bound.tokens.doc_ptr, next(iter(self.spans)), (chain, self.deals)
        model, sizes = self.bound.model, self.bound.sizes
        names = [n for n in state.arrays if wanted is None or n in wanted or model.variables[n].role != "phi"]
        asked = parts.Asked(
            names, z=wanted is None or model.names["z"] in wanted, counts=wanted is None or "n_wk" in wanted
        )
        whole = asked.z and asked.counts and len(names) == len(state.arrays)
        # All of it first: a state is that of one sweep, whatever happens on the way. But for what is left out, without
        # which nobody can begin again.
        called = {name: self.members.call(name, parts.values, part, asked, name == first_member) for name in self.spans}
        if whole:
            self._refuse_different(self._fetch_all(self._call_all(parts.checksums, chain)))
        gathered: dict[str, parts.Values] = self._fetch_all(called)
        base = self._bases.get(chain)
        if base is not None and base.values is state and not whole:
            self._bases[chain] = base._replace(values=state.copy())
        for name, found in gathered.items():
            first, last = self.spans[name]
            if found.z is not None:
                state.z[doc_ptr[first] : doc_ptr[last]] = found.z
            for each, array in found.arrays.items():
                if self._of_documents(each):
                    state.arrays[each][first:last] = array
                else:
                    state.arrays[each][...] = array
            if found.counts is not None:
                state.n_wk[:], state.n_k[:] = 0, 0
                add(found.counts, state.n_wk, state.n_k, np.zeros(len(state.n_wk), np.int64))
        of_all = gathered[first_member]
        assert of_all.n_k is not None
        assert of_all.topics is not None
        state.n_k[:] = of_all.n_k
        if whole:
            self._bases.pop(chain, None)
        of_documents = [found.documents for found in gathered.values() if found.documents is not None]
        return summarise(sizes.docs, sizes.topics, of_documents, of_all.topics)

    def _of_documents(self, name: str) -> bool:
        """Tell whether a variable has a value for each document."""
        return "doc" in self.bound.model.variables[name].dims

    def _averages(self, place: int, found: Mapping[str, list[parts.Drawn]]) -> dict[str, float] | None:
        """Return the statistics of a step over all documents."""
        said = [(name, drawn.statistics) for name, each in found.items() for drawn in each]
        given = {name: statistics for name, statistics in said if statistics is not None}
        if not given:
            return None
        if self.steps[place].kernel.distributes not in ("doc", "rotate"):
            return dict(next(iter(given.values())))
        doc_ptr = self.bound.tokens.doc_ptr
        sizes = {name: int(doc_ptr[last] - doc_ptr[first]) for name, (first, last) in self.spans.items()}
        return {
            each: _pooled([(sizes[name], values[each]) for name, values in given.items() if each in values])
            for each in dict.fromkeys(each for values in given.values() for each in values)
        }


def _pooled(values: Sequence[tuple[int, float]]) -> float:
    """Return a statistic of all documents, from those of members with so many tokens."""
    shares = [value for _, value in values if isinstance(value, Share)]
    if len(shares) == len(values):
        return Share(sum(share.part for share in shares), sum(share.whole for share in shares))
    return sum(size * value for size, value in values) / max(1, sum(size for size, _ in values))


def _as_data(plan: Plan) -> dict[str, Any]:
    """Return the specification of a plan, with its schedule, which members would choose otherwise."""
    return plan.model.spec.with_schedule(to_data(plan.schedule), "the schedule of the run").to_dict()
