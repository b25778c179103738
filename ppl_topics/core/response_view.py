"""One response of several, as its own kernels and blocks see it: they know of no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes

__all__ = ["ResponseView"]


@dataclass(frozen=True)
class ResponseView:
    """A way to see one response of several.

    Attributes
    ----------
    name : str
        Of the block that observes the labels.
    variables : dict of str to str
        The names of all variables by those that they have in the model of this response alone.
    sizes : Sizes
        With the responses and the coefficients of this one.
    """

    name: str
    variables: Mapping[str, str]
    sizes: Sizes

    def of(self, state: ChainState) -> ChainState:
        """Return a state in which there is only this response; its arrays are those of the whole."""
        arrays = {own: state.arrays[whole] for own, whole in self.variables.items() if whole in state.arrays}
        return replace(
            state, sizes=self.sizes, arrays=arrays, observed=state.observed_by.get(self.name), observed_by={}
        )

    def put_back(self, seen: ChainState, state: ChainState) -> None:
        """Give the whole state the arrays that stand in the place of others since it was seen."""
        state.arrays.update({self.variables.get(own, own): array for own, array in seen.arrays.items()})
