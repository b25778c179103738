"""Functions of the state of a chain that a user wants in the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.argument_names import argument
from ppl_topics.core.state import ChainState
from ppl_topics.errors import RunError

__all__ = ["Traced"]


@dataclass(frozen=True)
class Traced:
    """A function of the state, and the dims of what it returns; those of the model have its sizes."""

    name: str
    function: Callable[[ChainState], Any]
    dims: tuple[str, ...] = ()

    def value(self, state: ChainState) -> NDArray[Any]:
        """Return what the function has of a state.

        Raises
        ------
        RunError
            If the function fails, or returns something other than numbers with its dims.
        """
        what = f"{argument('record')}: {self.name}"
        try:
            # A copy: what it returns may be part of the state, which the next sweep changes.
            value = np.array(self.function(state))
        except Exception as error:
            raise RunError(f"{what}: the function failed: {type(error).__name__}: {error}") from error
        known = state.sizes.by_dim
        fits = value.ndim == len(self.dims) and all(
            known.get(dim, size) == size for dim, size in zip(self.dims, value.shape, strict=True)
        )
        if not fits or value.dtype.kind not in "biuf":
            expected = ", ".join(f"{dim} {known[dim]}" if dim in known else dim for dim in self.dims) or "one number"
            raise RunError(
                f"{what}: the function returned {value.dtype} of shape {value.shape}, expected numbers: {expected}; "
                f"name dims as in {argument('record')}={{{self.name!r}: (function, ('topic',))}}"
            )
        return value
