"""Metropolis-Hastings steps of one token, composed of registered proposals in a cycle or a mixture.

The proposals of a composition are compiled into the sweep, so that there is no call through a pointer in the inner
loop; what the project ships stays in numba's cache on disk.

References
----------
L. Tierney (1994). Markov chains for exploring posterior distributions. Annals of Statistics 22(4).
X. Zheng, Y. Yu, E. P. Xing (2015). Linear time samplers for supervised topic models using compositional proposals.
KDD'15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
import pydantic

from ppl_topics._util.arrays import BoolArray, IntArray, UInt32Array
from ppl_topics._util.compiled import specialised
from ppl_topics._util.nearest import choices, nearest
from ppl_topics.core.proposal import Document, ProposalSpec, Topics
from ppl_topics.core.registry import find_proposal, proposals
from ppl_topics.samplers.responses.response_term import ResponseTerm, follow_move, gain_of_move
from ppl_topics.samplers.variates.streams import Stream, integer, uniform

__all__ = [
    "DOC_AND_WORD",
    "MAX_PROPOSALS",
    "Compose",
    "Composition",
    "Proposals",
    "ProposalsGivenPhi",
    "Steps",
    "compile_sweep",
    "move_document",
]

MAX_PROPOSALS = 4
"""Tables that a compiled sweep takes."""

MAX_WEIGHT = 1000

Compiled = Callable[..., Any]


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
                "use it in `light_collapsed`, or mend it and declare `exact_given='phi'`"
            )
    return chosen


def _specs(chosen: Mapping[str, int]) -> tuple[ProposalSpec, ...]:
    """Return the chosen proposals in the order of their names, so that either order compiles to one sweep."""
    return tuple(spec for name in sorted(chosen) if (spec := find_proposal(name)) is not None)


Proposals = Annotated[dict[str, int], pydantic.AfterValidator(_known)]
"""Option: how often each proposal comes in turn in a cycle, or its weight in a mixture."""

ProposalsGivenPhi = Annotated[dict[str, int], pydantic.AfterValidator(_known_given_phi)]
"""The same, of proposals that are exact given phi."""

Compose = Literal["cycle", "mixture"]
Steps = Annotated[int, pydantic.Field(ge=1)]

# What templates call: `specialised` puts compiled functions in their places.
NUMBER: Any = None
draw: Any = None
weigh: Any = None
target: Any = None
count: Any = None
own: Any = None
following: Any = None

DOC_AND_WORD = {"doc": 1, "word": 1}


@dataclass(frozen=True)
class Composition:
    """Proposals in a cycle or a mixture.

    Attributes
    ----------
    specs : tuple of ProposalSpec
        In the order of their names.
    pattern : ndarray of int64
        Positions in ``specs``: those of one turn of the cycle, or each as often as its weight in the mixture.
    in_turn : bool
        Whether it is a cycle.
    steps : int
        Metropolis-Hastings steps of a token.
    """

    specs: tuple[ProposalSpec, ...]
    pattern: IntArray
    in_turn: bool
    steps: int

    @classmethod
    def of(cls, chosen: Mapping[str, int], compose: str, steps: int) -> Composition:
        """Return the composition that a kernel's options ask for."""
        specs = _specs(chosen)
        place = {spec.name: i for i, spec in enumerate(specs)}
        pattern = np.repeat([place[name] for name in chosen], list(chosen.values()))
        return cls(specs, pattern.astype(np.int64), compose == "cycle", steps)

    def build(self, topics: Topics, before: tuple[Any, ...]) -> tuple[Any, ...]:
        """Build the tables of all proposals, and empty ones for the rest that a compiled sweep takes."""
        old = before or (None,) * len(self.specs)
        tables = tuple(spec.build(topics, table) for spec, table in zip(self.specs, old, strict=False))
        return tables + ((),) * (MAX_PROPOSALS - len(tables))

    def rates(self, tried: IntArray, accepted: IntArray) -> dict[str, float]:
        """Return the acceptance rate of all steps, and of those of each proposal.

        Parameters
        ----------
        tried, accepted : ndarray of int64 of shape (number of proposals,)
        """
        counted = {"acceptance_rate": (int(accepted.sum()), int(tried.sum()))}
        for i, spec in enumerate(self.specs):
            counted[f"acceptance_rate_{spec.name}"] = (int(accepted[i]), int(tried[i]))
        return {name: taken / total for name, (taken, total) in counted.items() if total}


@lru_cache(maxsize=64)
def compile_sweep(
    specs: tuple[ProposalSpec, ...], documents: Compiled, sweep: Compiled | None, target: Compiled, count: Compiled
) -> Compiled:
    """Compile the sweep of a kernel for given proposals.

    Parameters
    ----------
    specs : tuple of ProposalSpec
    documents : function
        Template of a serial sweep over documents, which calls `move_document`.
    sweep : function, optional
        Template of a parallel loop, which calls the serial sweep by the name ``sweep_documents``.
    target : compiled function
        ``target(topic, distribution, document, word)`` returns the density that the steps leave invariant.
    count : compiled function
        ``count(distribution, word, topic, change)`` counts a token of the word in the topic more, or less.
    """
    label = "_".join(spec.name for spec in specs)
    functions = [f for spec in specs for f in (spec.build, spec.draw, spec.weight)]
    cached = all(f.__module__.startswith("ppl_topics.") for f in functions)
    move = specialised(
        move_document,
        f"{target.__name__}_{label}",
        cached=cached,
        counting=False,
        draw=_chain([spec.draw for spec in specs], f"draw_{label}", cached),
        weigh=_chain([spec.weight for spec in specs], f"weigh_{label}", cached),
        target=target,
        count=count,
    )
    serial = specialised(documents, label, cached=cached, move_document=move)
    if sweep is None:
        return serial
    return specialised(sweep, label, cached=cached, in_parallel=True, sweep_documents=serial)


def _chain(functions: list[Compiled], label: str, cached: bool) -> Compiled:
    """Return a function that calls the one of a given number, with the table of that number."""
    last = len(functions) - 1
    chain = specialised(call_last, f"{last}_{label}", cached=cached, in_line=True, NUMBER=last, own=functions[last])
    for number in reversed(range(last)):
        names: dict[str, Any] = {"NUMBER": number, "own": functions[number], "following": chain}
        chain = specialised(call_own, f"{number}_{label}", cached=cached, in_line=True, **names)
    return chain


def move_document(
    stream: Stream,
    tables: tuple[Any, ...],
    document: Document,
    words: UInt32Array,
    selected: BoolArray,
    distribution: tuple[Any, ...],
    pattern: IntArray,
    in_turn: bool,
    turn: int,
    steps: int,
    tried: IntArray,
    accepted: IntArray,
    term: ResponseTerm,
) -> None:
    """Move the topics of a document's tokens by Metropolis-Hastings steps; a template of compiled functions.

    A proposal t of the topic s is accepted with probability min(1, p(t) q(s) / (p(s) q(t))), p being the target from
    the counts without the token, q the weight of the proposal; with a response, times the ratio of its densities.

    Parameters
    ----------
    stream : ndarray of uint64 of shape (15,)
    tables : tuple
        The table of each proposal.
    document : Document
        Its topics are updated in place; `others` must be all zero, and is so again afterwards.
    words : ndarray of uint32 of shape (N_d,)
    selected : ndarray of bool of shape (V,)
        Only the tokens of these words are moved; all are counted.
    distribution : tuple
        What the target depends on besides; counts in it are updated in place.
    pattern : ndarray of int64
    in_turn : bool
        Whether the numbers in `pattern` come in turn, or each is drawn from them.
    turn : int
        Number of the turn's first token; else that of a cycle longer than `steps` would never see all proposals.
    steps : int
        Steps of each token.
    tried, accepted : ndarray of int64 of shape (number of proposals,)
        Added to. A topic that is proposed to itself is accepted.
    term : ResponseTerm
        Its slope is kept up to date.
    """
    topics, others, doc = document.topics, document.others, document.number
    responds = term.eta.shape[1] > 0
    for place in range(topics.size):
        others[topics[place]] += 1
    for place in range(topics.size):
        word = words[place]
        if not selected[word]:
            continue
        topic = int(topics[place])
        others[topic] -= 1
        count(distribution, word, topic, -1)
        mass = target(topic, distribution, document, word)
        at = (turn + place) * steps % pattern.size
        for _ in range(steps):
            if in_turn:
                number = pattern[at]
                at = at + 1 if at + 1 < pattern.size else 0
            else:
                number = pattern[integer(stream, pattern.size)]
            tried[number] += 1
            new = int(draw(number, stream, tables, document, place, word))
            if new == topic:
                accepted[number] += 1
            # A topic that does not exist has no mass.
            elif 0 <= new < others.size:
                new_mass = target(new, distribution, document, word)
                forth = mass * weigh(number, new, tables, document, place, word)
                back = new_mass * weigh(number, topic, tables, document, place, word)
                if responds:
                    gain = gain_of_move(doc, topic, new, term)
                    # Never a large number, and what is not a number is not accepted.
                    if gain < 0.0:
                        back *= math.exp(gain)
                    else:
                        forth *= math.exp(-gain)
                if uniform(stream) * forth < back or (mass == 0.0 and new_mass > 0.0):
                    if responds:
                        follow_move(doc, topic, new, term)
                    topic, mass = new, new_mass
                    accepted[number] += 1
        topics[place] = topic
        others[topic] += 1
        count(distribution, word, topic, 1)
    for place in range(topics.size):
        others[topics[place]] -= 1


def call_own(number: int, first: Any, tables: tuple[Any, ...], document: Document, place: int, word: int) -> Any:
    """Call one proposal's function, or look further; a template."""
    if number == NUMBER:
        return own(first, tables[NUMBER], document, place, word)
    return following(number, first, tables, document, place, word)


def call_last(number: int, first: Any, tables: tuple[Any, ...], document: Document, place: int, word: int) -> Any:
    """Call the last proposal's function; a template."""
    return own(first, tables[NUMBER], document, place, word)
