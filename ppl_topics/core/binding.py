"""A model bound to a corpus, as one kernel of a schedule sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ppl_topics.core.block import Block
from ppl_topics.core.response import Response
from ppl_topics.core.response_view import ResponseView
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes, Tokens

__all__ = ["Binding"]


@dataclass(frozen=True)
class Binding:
    """A model bound to a corpus, as one kernel of a schedule sees it.

    Attributes
    ----------
    target : str
        Name of the variable that the schedule gave to this kernel.
    names : dict of str to str
        Variable name by role, for the roles that the model fills: ``z``, ``phi``, ..., and with labels ``y``, ``eta``
        (coefficients) and ``augmentation`` (what the response brings along).
    blocks : dict of str to Block
    sizes : Sizes
    tokens : Tokens
    view : ResponseView, optional
        Of one response of several, how states are seen that all of the above fits.
    alone : tuple of Binding
        Of several responses, the binding of each without the others.
    """

    target: str
    names: Mapping[str, str]
    blocks: Mapping[str, Block]
    sizes: Sizes
    tokens: Tokens
    view: ResponseView | None = None
    alone: tuple[Binding, ...] = ()

    def seen(self, state: ChainState) -> ChainState:
        """Return a state of the whole model as this binding has it."""
        return state if self.view is None else self.view.of(state)

    @property
    def response(self) -> Response | None:
        """The block that observes labels, if the model has one and no other."""
        block = self.blocks.get(self.names.get("y", ""))
        return block if isinstance(block, Response) else None
