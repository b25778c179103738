"""Whether what is drawn is finite: looked at after every step, which costs little compared with drawing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.finite import all_finite, first_not_finite, spelled
from ppl_topics.core.state import WORD_MAJOR, ChainState
from ppl_topics.engine.bind import BoundModel
from ppl_topics.errors import NotFiniteError
from ppl_topics.schedule.rules import variables_of
from ppl_topics.schedule.tree import Step
from ppl_topics.spec import Variable
from ppl_topics.spec.marginals import kind_of_dim

__all__ = ["FiniteCheck", "check_recorded"]

HINT = (
    "a number became too large or too small; check the model's parameters for extreme values, or scale the targets "
    "and the covariates"
)


class FiniteCheck:
    """Looks through the variables that one step of a schedule updates.

    Integers are left out, and so are the variables that the kernel checks itself, `checked`.
    """

    def __init__(self, bound: BoundModel, step: Step, checked: tuple[str, ...] = ()) -> None:
        self.kernel = step.kernel.name
        self.variables = list(variables_of(step.variable, step.kernel.updates, bound.model).values())
        self.looked_through = [
            v.name for v in self.variables if v.name not in checked and v.role not in ("z", "included")
        ]

    def __call__(self, state: ChainState, sweep: int, chain: int) -> None:
        """Look through a state."""
        for name in self.looked_through:
            array = _held(state, name)
            if array is not None and not all_finite(array):
                self.all_variables(state, sweep, chain)

    def all_variables(self, state: ChainState, sweep: int, chain: int) -> None:
        """Look through what the kernel updates, also where it does so itself, and say where the first value is."""
        for variable in self.variables:
            array = _held(state, variable.name)
            index = None if array is None else first_not_finite(array)
            if array is None or index is None:
                continue
            place = (
                _sparse_place(state, index[0])
                if array.ndim == 1 and _is_sparse(state, variable.name)
                else (_place(variable, index, state))
            )
            raise NotFiniteError(
                f"kernel {self.kernel!r} (sweep {sweep}, chain {chain}) drew {variable.name}{place} as "
                f"{spelled(array[index])}; {HINT}",
                self.kernel,
                sweep,
                chain,
                variable.name,
            )


def check_recorded(values: Mapping[str, Any], sweep: int, chain: int) -> None:
    """Refuse to record what is not finite: the log posterior, and what is drawn only for the trace.

    Examples
    --------
    >>> check_recorded({"lp": -12.5}, sweep=3, chain=0)
    """
    for name, value in values.items():
        array = np.asarray(value)
        index = first_not_finite(array)
        if index is not None:
            at = f"[{', '.join(map(str, index))}]" if index else ""
            raise NotFiniteError(
                f"{name}{at}, to be recorded after sweep {sweep} of chain {chain}, is {spelled(array[index])}; {HINT}",
                "",
                sweep,
                chain,
                name,
            )


def _held(state: ChainState, name: str) -> NDArray[Any] | None:
    """Return the floats that a state holds of a variable: all of an array, or the included cells of sparse topics."""
    if _is_sparse(state, name):
        assert state.sparse_topics is not None, "a state without sparse topics"
        return state.sparse_topics.values[: state.sparse_topics.size]
    return state.arrays.get(name)


def _is_sparse(state: ChainState, name: str) -> bool:
    return state.sparse_topics is not None and name == state.phi_name and name not in state.arrays


def _sparse_place(state: ChainState, entry: int) -> str:
    assert state.sparse_topics is not None, "a state without sparse topics"
    word = int(np.searchsorted(state.sparse_topics.pointer, entry, side="right")) - 1
    return f" of word {word}, topic {int(state.sparse_topics.topics[entry])}"


def _place(variable: Variable, index: tuple[int, ...], state: ChainState) -> str:
    """Say where in a variable a value is: responses and covariates by their names, all else by number."""
    dims = variable.dims[::-1] if variable.role in WORD_MAJOR else variable.dims
    if len(dims) != len(index):
        return f" at {index}" if index else ""
    parts = [_part(dim, number, state) for dim, number in zip(dims, index, strict=True)]
    return f" of {', '.join(parts)}" if parts else ""


def _part(dim: str, number: int, state: ChainState) -> str:
    observed, topics = state.observed, state.sizes.supervised
    if state.observed_by and kind_of_dim(dim) == "response":
        return f"response {state.observed_by[dim.partition('_')[2]].responses[number]!r}"
    if observed is not None and dim == "response" and number < len(observed.responses):
        return f"response {observed.responses[number]!r}"
    if observed is not None and dim in ("coefficient", "slope"):
        return f"topic {number}" if number < topics else f"{observed.columns[number - topics]!r}"
    return f"{dim} {number}"
