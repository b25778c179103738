"""A schedule, executed on a GPU as far as its kernels can run there.

The others run on the host, with what they read copied there and what they draw copied back, so that any model runs;
what stays on the device is what most of the time goes into. The draws of a kernel on a device have the same
distribution as on the host, but are not the same: there its random numbers are used in another order.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NoReturn

from numba import cuda

from ppl_topics._util.argument_names import argument
from ppl_topics.core.alpha import Alpha, LogLinear
from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState
from ppl_topics.cuda.device_state import COUNTS, DeviceCorpus, DeviceState
from ppl_topics.cuda.log_marginal import summary_on_device
from ppl_topics.cuda.steps import STEPS, DeviceStep
from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.executor import Executor, SweepRecord
from ppl_topics.engine.summary import Summary
from ppl_topics.engine.topic_sums import AllWords, topic_sums
from ppl_topics.errors import RunError
from ppl_topics.schedule.costs import device_bytes
from ppl_topics.schedule.tree import Step

__all__ = ["DeviceExecutor"]


class DeviceExecutor(Executor):
    """Runs the schedule of a bound model on the present CUDA device.

    Raises
    ------
    RunError
        If the model needs more memory for so many chains than the device has room for.
    """

    def __init__(self, bound: BoundModel, chains: int = 1) -> None:
        super().__init__(bound)
        self._on_device = [self._step_on_device(step) for step in self.steps]
        check_room(bound, chains)
        self._corpus = DeviceCorpus(bound.tokens)
        self._open: dict[int, DeviceState] = {}
        self._plain = type(topic_sums(bound.model, bound.sizes, sparse=False)) is AllWords

    def _step_on_device(self, step: Step) -> DeviceStep | None:
        """Build a step for the device, if its kernel can run there."""
        build, binding = STEPS.get(step.kernel.name), self.bound.binding(step.variable)
        if build is None or binding.view is not None:
            return None
        return build(binding, **step.arguments)

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
        """Run the schedule once; what of the state stays on the device is copied if it is ``seen`` and ``wanted``."""
        here = self._state(chain, state)
        record = super().sweep(state, memories, seed, chain, number, wanted, seen)
        if not seen:
            return record
        if wanted is None:
            self._hand_over(here)
            return record
        z = self.bound.model.names["z"]
        here.fetch([*(wanted - {z}), "n_k", *(["z"] if z in wanted else [])])
        if not self._plain:
            here.fetch(COUNTS)
        return record

    def settle(self, state: ChainState, memories: list[Any], seed: int, chain: int, number: int) -> None:
        """Copy all that has been drawn into the state, which may then be changed."""
        if chain in self._open and self._open[chain].host is state:
            # What the device had of it is of no use then, and takes its memory.
            self._hand_over(self._open.pop(chain))

    def summary(self, state: ChainState, chain: int) -> Summary | None:
        """Return what a trace says of the assignments on the device; None where the host must look at them itself."""
        here = self._state(chain, state)
        return Summary(*summary_on_device(here)) if self._plain and not here.on_host_only else None

    def draw(self, place: int, state: ChainState, memory: Any, key: Key) -> Mapping[str, float] | None:
        """Run one step on the device, or else on the host."""
        here, step, kernel = self._state(key.chain, state), self._on_device[place], self.steps[place].kernel
        if step is not None:
            statistics = step(here, key)
            cuda.synchronize()
            return statistics
        here.fetch(self._names({*kernel.reads, *kernel.updates}))
        try:
            return super().draw(place, state, memory, key)
        finally:
            here.drawn_on_host(self._names(kernel.updates))

    def check_finite(self, place: int, state: ChainState, key: Key) -> None:
        """Refuse what a step has drawn if it is not finite; on the device, steps look at it themselves."""
        if self._on_device[place] is None:
            super().check_finite(place, state, key)

    def fail(self, place: int, state: ChainState, key: Key, error: Exception) -> NoReturn:
        """Raise what a step's error comes to, with the values that it has left."""
        if isinstance(error, FloatingPointError):
            self._state(key.chain, state).fetch([*COUNTS, *state.arrays])
        super().fail(place, state, key, error)

    def _state(self, chain: int, state: ChainState) -> DeviceState:
        """Return a chain on the device, which begins with the values of its state."""
        found = self._open.get(chain)
        if found is None or found.host is not state:
            if found is not None:
                self._hand_over(found)
            found = self._open[chain] = DeviceState(self._corpus, state)
        return found

    def _hand_over(self, here: DeviceState) -> None:
        """Copy all into the state; whoever has it may change it."""
        every = [*COUNTS, *here.host.arrays]
        here.fetch(every)
        here.drawn_on_host(every)

    def _names(self, roles: AbstractSet[str] | tuple[str, ...]) -> list[str]:
        """Return the names of what a kernel reads or draws that the device may have, given the roles."""
        names = self.bound.model.names
        found = [names[role] for role in roles if role in names and role != "z"]
        return [*found, *(COUNTS if "z" in roles else ())]


def free_bytes() -> int:
    """Return how much memory of the device nobody uses."""
    free: int = cuda.current_context().get_memory_info()[0]
    return free


def check_room(bound: BoundModel, chains: int) -> None:
    """Refuse a model that needs more memory than the device has free."""
    sizes, alpha = bound.sizes, bound.concentrations["alpha"]
    rows = len(alpha.rows) if isinstance(alpha, Alpha) else len(alpha.features) if isinstance(alpha, LogLinear) else 1
    more = chains * (12 * rows * sizes.topics + 24 * sizes.docs * sizes.responses)
    needed = more + device_bytes(sizes.tokens, sizes.docs, sizes.words, sizes.topics, chains)
    free = free_bytes()
    if needed > free:
        raise RunError(
            f"{argument('device')}: the GPU has {free / 2**30:,.1f} GiB free, and the corpus and its topics take "
            f"{needed / 2**30:,.1f} GiB; use fewer chains or topics, prune rare words, or leave out "
            f"{argument('device')}"
        )
