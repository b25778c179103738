"""A model bound to a corpus, as one kernel of a schedule sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ppl_topics.core.block import Block
from ppl_topics.core.response import Response
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
    """

    target: str
    names: Mapping[str, str]
    blocks: Mapping[str, Block]
    sizes: Sizes
    tokens: Tokens

    @property
    def response(self) -> Response | None:
        """The block that observes labels, if the model has one."""
        block = self.blocks.get(self.names.get("y", ""))
        return block if isinstance(block, Response) else None
