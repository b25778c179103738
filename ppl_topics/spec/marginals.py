"""A model of several responses without all of them but one: what is left when the others are summed over.

Given the assignments, responses are independent: each has coefficients, an augmentation and scales of its own. So what
concerns one of them, its kernels or its predictions, is that of the model without the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ppl_topics.errors import SpecError
from ppl_topics.spec.source import Source
from ppl_topics.spec.specification import Spec

__all__ = ["OF_RESPONSE", "kind_of_dim", "marginal_spec", "own_names", "responses_of"]

OF_RESPONSE = frozenset({"coefficient", "cutpoint", "response", "slope"})
"""Dims that each response has of its own."""


def kind_of_dim(dim: object) -> str:
    """Return what a dim of a trace counts, whichever of several responses it belongs to.

    Examples
    --------
    >>> kind_of_dim("coefficient_rating"), kind_of_dim("topic")
    ('coefficient', 'topic')
    """
    head = str(dim).partition("_")[0]
    return head if head in OF_RESPONSE else str(dim)


def responses_of(spec: Spec) -> list[str]:
    """Return the names of the blocks that observe labels."""
    return [name for name, block in spec.blocks.items() if block.own_role == "y"]


def own_names(spec: Spec, response: str) -> dict[str, str]:
    """Return the names of all that only one of the responses uses, by their names in its model alone.

    A variable that a block brings along is called after it: ``omega`` of the block ``rating`` is ``omega_rating``.

    Raises
    ------
    SpecError
        If another response uses a block of these.
    """
    names = {}
    for block in _own_blocks(spec, response):
        names[block] = block
        for own in spec.blocks[block].auxiliaries():
            names[own] = f"{own}_{block}"
            if names[own] in spec.blocks:
                raise SpecError(
                    f"{spec.locate('blocks', names[own])}: {names[own]!r} is the name of a variable that block "
                    f"{block!r} brings along; give this block another name"
                )
    return names


def marginal_spec(spec: Spec, response: str) -> Spec:
    """Return a model of several responses without the others: no schedule, but what is recorded and given of it."""
    others = set(responses_of(spec)) - {response}
    kept = _reachable(spec, set(spec.blocks) - {name for other in others for name in _own_blocks(spec, other)})
    used = _reachable(spec, [response])
    # Covariates that only others have coefficients for.
    blocks = {n: b for n, b in spec.blocks.items() if n in kept and (b.own_role != "x" or n in used)}
    own = own_names(spec, response)
    here = {name: name for block in set(blocks) - own.keys() for name in (block, *spec.blocks[block].auxiliaries())}
    here |= {whole: name for name, whole in own.items()}
    record = {here[name]: rule for name, rule in spec.record.items() if name in here}
    given = tuple(here[name] for name in spec.given if name in here)

    def without(source: Source) -> Source:
        rest = {key: value for key, value in source.data.items() if key not in ("schedule", "warmup", "given")}
        written = {name: value for name, value in source.data["blocks"].items() if name in blocks}
        recorded = {here[name]: rule for name, rule in source.data.get("record", {}).items() if name in here}
        data = {**rest, "blocks": written} | ({"record": recorded} if recorded else {})
        return replace(source, data=data | ({"given": list(given)} if given else {}))

    made = spec.rewritten(without(spec.written))
    return replace(made, blocks=blocks, schedule=None, warmup=None, record=record, given=given)


def _own_blocks(spec: Spec, response: str) -> list[str]:
    """Return the response and the blocks that nothing but it needs, in order."""
    roots = [name for name, block in spec.blocks.items() if block.own_role not in (None, "x", "y")]
    shared = _reachable(spec, roots)
    own = [n for n in spec.blocks if n in _reachable(spec, [response]) - shared and spec.blocks[n].own_role != "x"]
    for other in responses_of(spec):
        both = [n for n in own if n in _reachable(spec, [other])] if other != response else []
        if both:
            raise SpecError(
                f"{spec.locate('blocks', other)}: blocks {response!r} and {other!r} both refer to {both[0]!r}; give "
                "each its own block"
            )
    return own


def _reachable(spec: Spec, names: Iterable[str]) -> set[str]:
    """Return these blocks and all that they refer to, however indirectly; names of none are left for later checks."""
    found: set[str] = set()
    left = [name for name in names if name in spec.blocks]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += [target for target in spec.blocks[name].referred().values() if target in spec.blocks]
    return found
