"""Whose topics a trace holds: one set for all responses, or one for each (one-vs-all)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from ppl_topics._util.argument_names import argument, spelled
from ppl_topics._util.arguments import is_whole
from ppl_topics._util.nearest import nearest
from ppl_topics.errors import TraceError

__all__ = ["check_chain", "chosen_response", "own_topics"]

MOST_NAMED = 12


def check_chain(chain: Any, chains: Sequence[int]) -> int:
    """Return the number of a chain, and refuse one that a trace does not have."""
    if not is_whole(chain):
        raise TraceError(f"{argument('chain')}: must be a whole number, got {chain!r}")
    if chain not in chains:
        raise TraceError(f"the trace has no chain {chain}; it has {', '.join(map(str, chains))}")
    return int(chain)


def own_topics(groups: Mapping[str, xr.Dataset]) -> list[str]:
    """Return the names of the responses if each has its own topics (one-vs-all), else an empty list."""
    for name in ("constant_data", "posterior"):
        for array in groups.get(name, xr.Dataset()).data_vars.values():
            # Arrays by topic or token; coefficients of shared topics have the dimension `coefficient` instead.
            if {"chain", "response"} <= set(array.dims) and {"topic", "token"} & set(array.dims):
                return [str(response) for response in array["response"].values]
    return []


def chosen_response(groups: Mapping[str, xr.Dataset], response: str | None) -> str | None:
    """Return the response whose topics are requested, or None if all responses share the topics.

    It must be given if each response has its own topics, and only then.
    """
    apart = own_topics(groups)
    if not apart:
        if response is not None:
            raise TraceError(f"{argument('response')}: all responses share the topics; omit {response!r}")
        return None
    if response is None:
        named = ", ".join(apart[:MOST_NAMED]) + (", ..." if len(apart) > MOST_NAMED else "")
        raise TraceError(
            f"each response has its own topics; name one of them ({spelled('response=', '--response')}): {named}"
        )
    if not isinstance(response, str) or response not in apart:
        raise TraceError(f"the trace has no response {response!r}{nearest(str(response), apart)}")
    return response
