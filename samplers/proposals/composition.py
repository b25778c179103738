"""Metropolis-Hastings steps of one token, composed of registered proposals in a cycle or a mixture.

A step proposes the topic t in the place of s, and accepts with probability

    min(1, p(t) q(s) / (p(s) q(t))),

where p is the conditional of the token's topic, times the density of the responses if the model has any, and q is the
weight of the proposal.

The proposals of a composition are compiled into the sweep, so that the inner loop calls nothing through a pointer;
numba keeps those of the project in its cache on disk.

References
----------
L. Tierney (1994). Markov chains for exploring posterior distributions. Annals of Statistics 22(4).
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD'15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pydantic

from ppl_topics._util.arrays import IntArray
from ppl_topics._util.compiled import specialised
from ppl_topics._util.nearest import choices, nearest
from ppl_topics.core.kernel import Share
from ppl_topics.core.proposal import ProposalSpec, TableInputs, Token
from ppl_topics.core.registry import find_proposal, proposals
from ppl_topics.samplers.responses.kept_gains import follow_kept, gain_of_kept
from ppl_topics.samplers.responses.response_term import ResponseTerm
from ppl_topics.samplers.variates.streams import Stream, integer, uniform

__all__ = [
    "DOC_AND_WORD",
    "MAX_PROPOSALS",
    "N_MOVES",
    "Compose",
    "Composition",
    "Moves",
    "Proposals",
    "ProposalsGivenPhi",
    "Steps",
    "TableForm",
    "compile_moves",
    "flat",
    "forms_of",
]

MAX_PROPOSALS = 4
"""Most proposals in a composition."""

MAX_WEIGHT = 1000

DOC_AND_WORD = {"doc": 1, "word": 1}

Compiled = Callable[..., Any]
TableForm = tuple[type, int]
"""Class and length of a proposal's table."""


def _known(chosen: dict[str, int]) -> dict[str, int]:
    if not 1 <= len(chosen) <= MAX_PROPOSALS:
        listed = choices(proposals())
        raise ValueError(f"name 1 to {MAX_PROPOSALS} proposals, got {len(chosen)}; registered: {listed}")
    for name, weight in chosen.items():
        if find_proposal(name) is None:
            hint = nearest(name, proposals())
            listed = f"; registered: {choices(proposals())}" if hint.startswith("; did") else ""
            raise ValueError(f"unknown proposal {name!r}{hint}{listed}")
        if not 1 <= weight <= MAX_WEIGHT:
            raise ValueError(f"{name}: expected a whole number from 1 to {MAX_WEIGHT}, got {weight}")
    return chosen


def _known_given_phi(chosen: dict[str, int]) -> dict[str, int]:
    for spec in _specs(_known(chosen)):
        if "phi" not in spec.exact_given:
            raise ValueError(
                f"proposal {spec.name!r} is not declared exact given phi, as this kernel is; "
                "use it in `light_collapsed`, or, if it is exact given phi, declare `exact_given='phi'`"
            )
    return chosen


def _specs(chosen: Mapping[str, int]) -> tuple[ProposalSpec, ...]:
    """Return the chosen proposals in the order of their names, so that either order compiles to one sweep."""
    return tuple(spec for name in sorted(chosen) if (spec := find_proposal(name)) is not None)


Proposals = Annotated[dict[str, int], pydantic.AfterValidator(_known)]
"""Option: how many times in a row each proposal is taken in a cycle, or its weight in a mixture."""

ProposalsGivenPhi = Annotated[dict[str, int], pydantic.AfterValidator(_known_given_phi)]
"""The same, for proposals that are exact given phi."""

Compose = Literal["cycle", "mixture"]
Steps = Annotated[int, pydantic.Field(ge=1)]


class Moves(NamedTuple):
    """The Metropolis-Hastings steps of one sweep, as compiled functions take them.

    Attributes
    ----------
    pattern : ndarray of int64
        Numbers of proposals: those of one turn of the cycle, or each as often as its weight in the mixture.
    in_turn : bool
        Whether the numbers are taken in turn (a cycle), or drawn from `pattern` (a mixture).
    steps : int
        Number of steps of each token.
    sweep : int
        Number of the sweep. A token starts at another place of the cycle in each sweep: otherwise a cycle longer than
        `steps` would never reach all proposals.
    tried, accepted : ndarray of int64 of shape (tasks, 16)
        Number of steps and of accepted steps of each proposal. A proposal of the present topic counts as accepted.
        Rows are longer than needed, so that no two tasks write to one cache line.
    """

    pattern: IntArray
    in_turn: bool
    steps: int
    sweep: int
    tried: IntArray
    accepted: IntArray


N_MOVES = len(Moves._fields)
ROW = 16


@dataclass(frozen=True)
class Composition:
    """Proposals in a cycle or a mixture.

    Attributes
    ----------
    specs : tuple of ProposalSpec
        In the order of their names.
    pattern, in_turn, steps
        See `Moves`.
    """

    specs: tuple[ProposalSpec, ...]
    pattern: IntArray
    in_turn: bool
    steps: int

    @classmethod
    def of(cls, chosen: Mapping[str, int], compose: str, steps: int) -> Composition:
        """Return the composition that a kernel's options ask for."""
        specs = _specs(chosen)
        number = {spec.name: i for i, spec in enumerate(specs)}
        pattern = np.repeat([number[name] for name in chosen], list(chosen.values()))
        return cls(specs, pattern.astype(np.int64), compose == "cycle", steps)

    def build(self, inputs: TableInputs, before: Sequence[Any]) -> tuple[Any, ...]:
        """Build the tables of all proposals, in the memory of those before, if any."""
        old = before or (None,) * len(self.specs)
        return tuple(spec.build(inputs, table) for spec, table in zip(self.specs, old, strict=True))

    def moves(self, n_tasks: int, sweep: int) -> Moves:
        """Return the steps of a sweep of the given number, with counts of zero."""
        tried, accepted = np.zeros((2, n_tasks, ROW), np.int64)
        return Moves(self.pattern, self.in_turn, self.steps, sweep, tried, accepted)

    def rates(self, moves: Moves) -> dict[str, float]:
        """Return the acceptance rate of all steps, and of those of each proposal."""
        tried, accepted = moves.tried.sum(axis=0), moves.accepted.sum(axis=0)
        counted = {"acceptance_rate": (int(accepted.sum()), int(tried.sum()))}
        for i, spec in enumerate(self.specs):
            counted[f"acceptance_rate_{spec.name}"] = (int(accepted[i]), int(tried[i]))
        return {name: Share(taken, total) for name, (taken, total) in counted.items() if total}


def flat(moves: Moves, tables: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the steps and all tables as one tuple of arrays and numbers: parallel loops take no tuples of tuples."""
    return (*moves, *chain.from_iterable(tables))


def forms_of(tables: Sequence[tuple[Any, ...]]) -> tuple[TableForm, ...]:
    """Return what `compile_moves` must know to find tables in what `flat` returns."""
    return tuple((type(table), len(table)) for table in tables)


# What templates call: `specialised` puts compiled functions, classes and numbers in their places.
NUMBER: Any = None
BEGIN: Any = None
END: Any = None
Table: Any = None
draw: Any = None
weigh: Any = None
target: Any = None
own: Any = None
own_table: Any = None
following: Any = None


@lru_cache(maxsize=64)
def compile_moves(
    specs: tuple[ProposalSpec, ...], forms: tuple[TableForm, ...], target: Compiled
) -> tuple[str, bool, Compiled]:
    """Compile the Metropolis-Hastings steps of a token for given proposals."""
    label = "_".join(spec.name for spec in specs)
    functions = [f for spec in specs for f in (spec.build, spec.draw, spec.weight)]
    cached = all(f.__module__.startswith("ppl_topics.") for f in functions)
    steps = specialised(
        move_token,
        f"{target.__name__}_{label}",
        cached=cached,
        in_line=True,
        counting=False,
        draw=_chain([spec.draw for spec in specs], forms, f"draw_{label}", cached),
        weigh=_chain([spec.weight for spec in specs], forms, f"weigh_{label}", cached),
        target=target,
    )
    return label, cached, steps


def _chain(functions: list[Compiled], forms: tuple[TableForm, ...], label: str, cached: bool) -> Compiled:
    """Return a function that calls the one of a given number, with the table of that number."""
    ends = list(accumulate((size for _, size in forms), initial=N_MOVES))
    options: dict[str, Any] = {"cached": cached, "in_line": True, "counting": False}
    following: Compiled | None = None
    for number in reversed(range(len(functions))):
        table, _ = forms[number]
        cut = plain_table if table is tuple else named_table
        found = specialised(cut, f"{number}_{label}", Table=table, BEGIN=ends[number], END=ends[number + 1], **options)
        names: dict[str, Any] = {"NUMBER": number, "own": functions[number], "own_table": found, "following": following}
        template = call_last if following is None else call_own
        following = specialised(template, f"{number}_{label}", **names, **options)
    assert following is not None
    return following


def move_token(
    stream: Stream, token: Token, old: int, given: Any, tables: tuple[Any, ...], term: ResponseTerm, scratch: Any
) -> int:
    """Move a token by Metropolis-Hastings steps, and return its topic; a template."""
    moves = Moves(*tables[:N_MOVES])
    pattern, n_topics, responds = moves.pattern, token.counts.size, term.eta.shape[1] > 0
    topic, mass = old, target(old, given, token)
    turn = (token.number + moves.sweep) * moves.steps % pattern.size
    for _ in range(moves.steps):
        if moves.in_turn:
            number = pattern[turn]
            turn = turn + 1 if turn + 1 < pattern.size else 0
        else:
            number = pattern[integer(stream, pattern.size)]
        scratch.tried[number] += 1
        new = int(draw(number, stream, tables, token))
        if new == topic:
            scratch.accepted[number] += 1
        # A topic that does not exist has no mass.
        elif 0 <= new < n_topics:
            new_mass = target(new, given, token)
            forth = mass * weigh(number, new, tables, token)
            back = new_mass * weigh(number, topic, tables, token)
            if responds:
                gain = gain_of_kept(token.doc, topic, new, term, scratch.gains)
                # The exponential is never large, and NaN is not accepted.
                if gain < 0.0:
                    back *= math.exp(gain)
                else:
                    forth *= math.exp(-gain)
            if uniform(stream) * forth < back or (mass == 0.0 and new_mass > 0.0):
                if responds:
                    follow_kept(token.doc, topic, new, term, scratch.gains)
                topic, mass = new, new_mass
                scratch.accepted[number] += 1
    return topic


def call_own(number: int, first: Any, tables: tuple[Any, ...], token: Token) -> Any:
    """Call the function of this number, or look further; a template."""
    if number == NUMBER:
        return own(first, own_table(tables), token)
    return following(number, first, tables, token)


def call_last(number: int, first: Any, tables: tuple[Any, ...], token: Token) -> Any:
    """Call the last proposal's function; a template."""
    return own(first, own_table(tables), token)


def named_table(tables: tuple[Any, ...]) -> Any:
    """Return one table of what `flat` returns; a template."""
    return Table(*tables[BEGIN:END])


def plain_table(tables: tuple[Any, ...]) -> Any:
    """Return one table, a plain tuple, of what `flat` returns; a template."""
    return tables[BEGIN:END]
