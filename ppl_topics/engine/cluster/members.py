"""The members of an engine that one chain is spread over: the five calls that a sampler makes of them.

Each member keeps a store of its own, a dictionary, which functions get first. They are plain functions of modules, and
each call happens once, or its member counts as lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from ppl_topics.errors import RunError

__all__ = ["ClusterLostError", "Inline", "MemberLostError", "Members", "MembersDifferError", "Store"]

Store: TypeAlias = dict[Any, Any]


class MemberLostError(Exception):
    """A member is gone, with its store."""


class ClusterLostError(RunError):
    """No member can be reached any more."""


class MembersDifferError(RunError):
    """Two members drew different values of ``variables``, of which each draws all by itself."""

    def __init__(self, one: str, other: str, variables: Sequence[str]) -> None:
        super().__init__(
            f"{one} and {other} drew different values of {', '.join(variables)} from the same random numbers; "
            "their processors or numerical libraries differ: use machines of one kind"
        )
        self.variables = tuple(variables)


class Members(Protocol):
    """What members can be asked for.

    What `call` and `put` return stands for a value; it, or a list of such, can be an argument of a call on any member.

    `call`, `fetch` and `put` raise `MemberLostError` if one of them is gone. If they are ``apart``, in processes of
    their own, functions and arguments are pickled.
    """

    apart: bool

    def members(self) -> Sequence[str]:
        """Return the names of those that there are now, of which there is at least one."""

    def call(self, member: str, function: Callable[..., Any], *arguments: Any, alone: bool = False) -> Any:
        """Start ``function(store, *arguments)`` on a member, after all that was started there before.

        What it returns may go to other members together with what the calls before and after it return, unless it is to
        go ``alone``.
        """

    def fetch(self, value: Any) -> Any:
        """Return what a call returned, or raise what it raised."""

    def put(self, member: str, value: Any) -> Any:
        """Send a value to a member."""

    def close(self) -> None:
        """Let the members forget all of it."""


class Inline:
    """Members that are all in this process, one after another."""

    apart = False

    def __init__(self, number: int = 1) -> None:
        self.stores: dict[str, Store] = {f"inline {place}": {} for place in range(number)}

    def members(self) -> Sequence[str]:
        """Return their names."""
        return list(self.stores)

    def call(self, member: str, function: Callable[..., Any], *arguments: Any, alone: bool = False) -> Any:
        """Call a function at once."""
        return function(self.stores[member], *arguments)

    def fetch(self, value: Any) -> Any:
        """Return the value."""
        return value

    def put(self, member: str, value: Any) -> Any:
        """Return the value."""
        return value

    def close(self) -> None:
        """Empty the stores."""
        for store in self.stores.values():
            store.clear()
