"""What a kernel declares, and whether a step of it kept to that: what `debug` checks after every step.

A step may change what its kernel updates and nothing else. Its outcome may depend on what the kernel reads, on its own
memory and on its key, and on nothing else: run again from the same state, with all other values replaced, it must give
the same bits.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState
from ppl_topics.engine.bind import BoundModel
from ppl_topics.errors import RunError
from ppl_topics.schedule.rules import read_by, reads_old_values, variables_of
from ppl_topics.schedule.tree import Step

__all__ = ["Before", "Contract", "copy_memory"]

REPEATS = 5
"""Runs that tell whether a step draws the same again."""

DRAWN = ("z", "n_wk", "n_k", "arrays", "sparse_topics")
"""Fields of a state that kernels change; the others are the same in all of a run."""


@dataclass(frozen=True)
class Before:
    """Copies of what a step starts from, and hashes of everything else that it can reach."""

    state: ChainState
    memory: Any
    reachable: Mapping[str, int]


class Contract:
    """What one step of a schedule may read and change.

    Attributes
    ----------
    updates : frozenset of str
        Names of the variables that it draws.
    hidden : tuple of str
        Names of the variables whose values in the chain it may not use: those that its kernel does not declare to read,
        and the old values of what it declares to draw from its full conditional.
    """

    def __init__(self, bound: BoundModel, step: Step, functions: KernelFunctions) -> None:
        kernel, model = step.kernel, bound.model
        self._functions, self._blocks, self._sparse = functions, model.spec.blocks, bound.sparse
        self._name, self._z = kernel.name, model.names["z"]
        self._summed = frozenset(variables_of(step.variable, kernel.integrates_out, model))
        self.updates = frozenset(variables_of(step.variable, kernel.updates, model))
        read = {*read_by(step, model), *(self.updates if reads_old_values(step) else ())}
        self.hidden = tuple(name for name in model.held if name not in read)

    def before(self, state: ChainState, memories: list[Any], place: int) -> Before:
        """Copy what step number ``place`` of the schedule starts from."""
        copied = state.copy()
        return Before(copied, self._copy(memories[place], state, copied), self._reachable(state, memories, place))

    def breach(self, before: Before, state: ChainState, memories: list[Any], place: int, key: Key) -> str:
        """Return what the step that led from ``before`` to ``state`` did against its declaration, or nothing."""
        changed = self.changed(before.state, state)
        if changed:
            return f"changed {changed[0]}, but declares that it updates {', '.join(sorted(self.updates))}"
        after = self._reachable(state, memories, place)
        for name, value in before.reachable.items():
            if after.get(name) != value:
                return f"changed {name}, which no kernel may change but its owner"
        return self.dependence(partial(self._again, before, key), before.state, state)

    def changed(self, before: ChainState, after: ChainState) -> list[str]:
        """Return the variables that are not the same bytes, though the kernel does not update them."""
        # Sparse topics have no place for the probabilities of excluded words; those are stale.
        allowed = self.updates | ({after.phi_name} if self._sparse and "included" in self.updates else set())
        earlier, later = self._values(before), self._values(after)
        return [name for name in later if name not in allowed and not _same_bits(earlier.get(name), later[name])]

    def others(self, a: ChainState, b: ChainState) -> list[str]:
        """Return the variables that the kernel updates and that are not the same bytes in two states."""
        first, second = self._values(a), self._values(b)
        return [name for name in sorted(self.updates) if not _same_bits(first.get(name), second.get(name))]

    def hide(self, state: ChainState, nan: bool, names: Collection[str] | None = None) -> None:
        """Replace hidden values, all or the named ones, by others that are valid, or by NaN where they are floats."""
        for name in self.hidden if names is None else names:
            if name == self._z:
                _hide_topics(state)
            elif name in state.arrays:
                _hide_array(state.arrays[name], nan)
            elif state.sparse_topics is not None and name == state.phi_name:
                _hide_array(state.sparse_topics.values[: state.sparse_topics.size], nan)

    def blank(self, state: ChainState) -> None:
        """Give the same value to all cells of what the kernel integrates out, which its step leaves meaningless."""
        for name in self._summed:
            if name in state.arrays:
                state.arrays[name][...] = 0.5
            elif state.sparse_topics is not None and name == state.phi_name:
                state.sparse_topics.values[:] = 0.5

    def reveal(self, state: ChainState, original: ChainState) -> None:
        """Put the hidden values back that the kernel does not update."""
        kept = set(self.hidden) - self.updates
        if self._z in kept:
            state.set_z(original.z)
        for name in kept & state.arrays.keys():
            state.arrays[name][...] = original.arrays[name]
        if state.sparse_topics is not None and not {state.phi_name, "included"} & self.updates:
            state.sparse_topics = original.sparse_topics

    def _again(self, before: Before, key: Key, state: ChainState) -> None:
        """Run the step again on a copy of its state."""
        # No step reads what another wrote into scratch memory, so a new one must do.
        scratch = self._functions.scratch
        memory = self._functions.init(state) if scratch else self._copy(before.memory, before.state, state)
        self._functions.step(state, memory, key)

    def dependence(self, run: Callable[[ChainState], object], start: ChainState, end: ChainState) -> str:
        """Return what the way from ``start`` to ``end`` depends on that it must not, given what runs it, or nothing."""
        # Valid values come first: NaN may make compiled code write out of bounds.
        for nan in (False, True):
            if self._same(run, start, end, nan, self.hidden):
                continue
            # Two runs may draw the same by chance.
            if not self.hidden or not all(self._same(run, start, end, nan, ()) for _ in range(REPEATS)):
                return (
                    "drew other values when it was run again from the same state with the same key; all its randomness "
                    "must come from `key`, and what it keeps between steps must be in its memory, declared no `scratch`"
                )
            alone = [name for name in self.hidden if not self._same(run, start, end, nan, (name,))]
            return f"reads {' and '.join(self._undeclared(name) for name in alone or self.hidden)}"
        return ""

    def _undeclared(self, name: str) -> str:
        if name in self.updates:
            return f"the old value of {name}, which it declares to draw from its full conditional"
        return f"{name}, which it {'declares integrated out' if name in self._summed else 'does not declare to read'}"

    def _same(
        self,
        run: Callable[[ChainState], object],
        start: ChainState,
        end: ChainState,
        nan: bool,
        hidden: Collection[str],
    ) -> bool:
        """Tell whether the same bits are drawn again, with the values of the ``hidden`` variables replaced."""
        again = start.copy()
        self.hide(again, nan, hidden)
        try:
            with np.errstate(all="ignore"):
                run(again)
        except Exception:
            # It went well with the values that are replaced here.
            return False
        first, second = self._values(end), self._values(again)
        return all(_same_bits(first[name], second.get(name)) for name in self.updates)

    def _values(self, state: ChainState) -> dict[str, NDArray[Any]]:
        return {self._z: state.z, **state.values}

    def _copy(self, memory: Any, of: ChainState, to: ChainState) -> Any:
        """Copy a memory, for a copied state."""
        try:
            return copy_memory(memory, of, to)
        except Exception as error:
            raise RunError(
                f"kernel {self._name!r}: its memory cannot be copied ({type(error).__name__}: {error}), so that it "
                "cannot be checked; keep arrays and plain values in it"
            ) from error

    def _reachable(self, state: ChainState, memories: list[Any], place: int) -> dict[str, int]:
        """Return hashes of all values but the variables that the step could change."""
        others = {f"the memory of step {i + 1}": memory for i, memory in enumerate(memories) if i != place}
        held = _arrays(state)
        # Memories may refer to the variables themselves.
        hashes = {
            name: _hash(value)
            for name, value in _leaves({**_unchanging(state), **others})
            if not (isinstance(value, np.ndarray) and any(np.may_share_memory(value, array) for array in held))
        }
        return hashes | {"the model's blocks": hash(repr(self._blocks)), "the state's attributes": len(vars(state))}


def copy_memory(memory: Any, of: ChainState, to: ChainState) -> Any:
    """Copy a kernel's memory; where it refers to arrays of its state, the copy refers to those of a copied state."""
    fixed = {id(value): value for value in _unchanging(of).values()}
    held = {id(a): b for a, b in zip(_arrays(of), _arrays(to), strict=True)}
    return copy.deepcopy(memory, fixed | held)


def _unchanging(state: ChainState) -> dict[str, Any]:
    return {name: value for name, value in vars(state).items() if name not in DRAWN}


def _arrays(state: ChainState) -> list[NDArray[Any]]:
    """Return the arrays that kernels change."""
    sparse = () if state.sparse_topics is None else state.sparse_topics[:4]
    return [state.z, state.n_wk, state.n_k, *state.arrays.values(), *sparse]


def _leaves(value: Any, name: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the arrays, numbers and strings that a value consists of, each with its place."""
    seen = set() if seen is None else seen
    if isinstance(value, np.ndarray | np.generic | int | float | str | bytes):
        yield name, value
        return
    if id(value) in seen or callable(value) or isinstance(value, ModuleType):
        return
    seen.add(id(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    elif isinstance(value, list | tuple | set):
        value = dict(enumerate(value))
    elif not isinstance(value, Mapping):
        value = getattr(value, "__dict__", {})
    for key, item in value.items():
        yield from _leaves(item, f"{name}.{key}" if name else str(key), seen)


def _hash(value: Any) -> int:
    return hash(value.tobytes()) if isinstance(value, np.ndarray | np.generic) else hash(value)


def _same_bits(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return a is not None and b is not None and a.shape == b.shape and a.tobytes() == b.tobytes()


def _hide_array(array: NDArray[Any], nan: bool) -> None:
    """Replace values by others of the same sign, not in proportion, or by NaN; whole numbers by others in range."""
    if array.dtype.kind != "f":
        array[...] = array.max(initial=0) - array
    elif nan:
        array[...] = np.nan
    else:
        # Fractional parts of multiples of the golden ratio: spread out, and no random numbers needed.
        array *= 0.5 + 1.5 * ((np.arange(1, array.size + 1) * 0.6180339887498949) % 1).reshape(array.shape)


def _hide_topics(state: ChainState) -> None:
    """Move tokens to other topics, of sparse topics to those that include their words."""
    shift = 1 + np.arange(len(state.z))
    sparse = state.sparse_topics
    if sparse is None:
        state.set_z((state.z + shift) % state.sizes.topics)
    else:
        words = state.tokens.words
        sizes = sparse.topics_of_words[words]
        state.set_z(sparse.topics[sparse.pointer[words] + (state.z + shift) % sizes])
