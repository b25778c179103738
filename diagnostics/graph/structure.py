"""The factor graph of a model: its variables, its factors, and the plates that they stand in."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import pydantic

from ppl_topics.core.block import Block
from ppl_topics.core.registry import kernels
from ppl_topics.schedule.rules import variables_of
from ppl_topics.spec.model import Marginal, Model, Variable

__all__ = ["FactorGraph", "FactorNode", "Kind", "PlatePath", "VariableNode"]

Kind: TypeAlias = Literal["latent", "observed", "integrated out", "fixed"]

PlatePath: TypeAlias = tuple[str, ...]
"""Dims of plates, the outermost first."""

SYMBOLS = {"lambda": "λ", "sigma2": "σ²"}
"""Symbols of variables whose names Unicode does not have among its Greek letters."""

OBSERVED_DIMS = {"w": ("token",), "y": ("doc", "response"), "x": ("doc", "covariate")}
"""Dims of what is observed, by role; of any other, one a document."""

OUTER = {"token": "doc"}
"""The plate that a plate lies in, where its dim does not say so."""

SAME = {"slope": "coefficient", "prevalence_slope": "prevalence"}
"""Dims that share a plate."""

PLATES = {
    "doc": "documents D",
    "token": "tokens N_d",
    "word": "words V",
    "response": "responses C",
    "coefficient": "coefficients F",
    "covariate": "covariates P",
    "prevalence": "covariates and 1",
    "keyword": "keywords J",
    "cutpoint": "cut points",
    "side": "2 sides",
}
"""Labels of plates; that of topics has their number, any other is the name of its dim."""

MOST_VALUES = 3
"""Values of a list that are shown."""


@dataclass(frozen=True)
class VariableNode:
    """A variable of a factor graph, or a fixed number in the place of one.

    Attributes
    ----------
    name : str
        Of a fixed number, ``block.key``.
    kind : {"latent", "observed", "integrated out", "fixed"}
    label : str
    plates : tuple of str
        Dims of the plates that it stands in, the outermost first.
    kernels : tuple of str
        Names of the kernels that update it; followed by "(not exact)" where they are not.
    """

    name: str
    kind: Kind
    label: str
    plates: PlatePath = ()
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True)
class FactorNode:
    """A factor: the distribution, or pseudo-likelihood, of its children given its parents.

    Attributes
    ----------
    name : str
        Of its block.
    kind : str
        Kind of the block.
    plates : tuple of str
        Dims of the plates that it stands in, the outermost first.
    parents, children : tuple of str
        Names of variable nodes.
    numbers : tuple of str
        Fixed numbers that the model sets, such as ``"variance = 1"``.
    """

    name: str
    kind: str
    plates: PlatePath
    parents: tuple[str, ...]
    children: tuple[str, ...]
    numbers: tuple[str, ...]


@dataclass(frozen=True)
class FactorGraph:
    """The factor graph of a model.

    Attributes
    ----------
    name : str
        Of the model.
    variables : tuple of VariableNode
    factors : tuple of FactorNode
    plates : dict of str to str
        Labels of plates, by dim.
    """

    name: str
    variables: tuple[VariableNode, ...]
    factors: tuple[FactorNode, ...]
    plates: Mapping[str, str]

    @classmethod
    def of(cls, model: Model, steps: Iterable[tuple[str, str]] = ()) -> Self:
        """Return the graph of a model, given variable and kernel of each step of its schedule."""
        updated = _kernels_of(model, steps)
        variables: dict[str, VariableNode] = {}
        factors: list[FactorNode] = []
        each = list(model.by_response.values())
        for name, block in model.spec.blocks.items():
            marginal = next((m for m in each if name in m.names), next(m for m in each if name in m.model.spec.blocks))
            alone, called = marginal.model, marginal.whole_name if name in marginal.names else str
            role = next(role for role, other in alone.names.items() if other == name)
            own = alone.variables.get(name)
            dims = OBSERVED_DIMS.get(role, ("doc",)) if own is None else _rows(block, own.dims)
            plates = _of_whole(_plates(dims, model.apart), marginal)
            kind = _kind(own)
            variables[name] = VariableNode(name, kind, _symbol(name), plates, tuple(updated.get(name, ())))
            brought = {called(other): dims for other, (_, dims) in block.auxiliaries().items()}
            for other, dims in brought.items():
                inside = _of_whole(_plates(dims, model.apart), marginal)
                kind = _kind(model.variables[other])
                variables[other] = VariableNode(other, kind, _symbol(other), inside, tuple(updated.get(other, ())))
            fixed = _fixed(name, block, role)
            variables |= {each.name: each for each in fixed}
            parents = (*dict.fromkeys(block.referred().values()), *(each.name for each in fixed))
            # What is observed and depends on nothing is given: it has no distribution.
            if own is not None or parents:
                children = (name, *brought)
                factors.append(FactorNode(name, block.kind, plates, parents, children, _numbers(block)))
        used = dict.fromkeys(dim for variable in variables.values() for dim in variable.plates)
        labels = {dim: PLATES.get(dim, dim) for dim in used}
        if "topic" in labels:
            labels["topic"] = f"topics K = {model.spec.topics}"
        return cls(model.spec.name, tuple(variables.values()), tuple(factors), labels)

    def directly_in(self, path: PlatePath) -> tuple[list[VariableNode | FactorNode], list[PlatePath]]:
        """Return the nodes and the plates that lie in a plate but in no other one inside it."""
        every: list[VariableNode | FactorNode] = [*self.variables, *self.factors]
        nodes = [node for node in every if node.plates[: len(path)] == path]
        deeper = dict.fromkeys(node.plates[: len(path) + 1] for node in nodes if node.plates != path)
        return [node for node in nodes if node.plates == path], list(deeper)


def _kind(variable: Variable | None) -> Kind:
    """Return how a variable is drawn; what a run is given is data like what it observes."""
    if variable is None or variable.given:
        return "observed"
    return "integrated out" if variable.integrated_out else "latent"


def _of_whole(plates: PlatePath, marginal: Marginal) -> PlatePath:
    """Return plates by the names that they have in a model of several responses."""
    return tuple(marginal.whole_dim(dim) for dim in plates)


def _kernels_of(model: Model, steps: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the kernels that update each variable, in the order of the schedule."""
    known = kernels()
    result: dict[str, list[str]] = {}
    for variable, kernel in steps:
        spec = known.get(kernel)
        text = kernel if spec is None or spec.exact else f"{kernel} (not exact)"
        for name in [variable] if spec is None else variables_of(variable, spec.updates, model):
            if text not in result.setdefault(name, []):
                result[name].append(text)
    return result


def _rows(block: Block, dims: tuple[str, ...]) -> tuple[str, ...]:
    """Return the dims of a variable but the one that its rows sum over: a row is one vector, not in a plate."""
    return tuple(dim for dim in dims if dim != getattr(block, "over", None))


def _plates(dims: Iterable[str], apart: bool) -> tuple[str, ...]:
    """Return the plates of a variable; where each response has its own model, that of responses is around all."""
    result = ["response"] if apart else []
    for dim in dims:
        result += [each for each in (OUTER.get(dim), SAME.get(dim, dim)) if each is not None and each not in result]
    return tuple(result)


def _fixed(name: str, block: Block, role: str) -> list[VariableNode]:
    """Return the numbers that stand where another block could, but for positive ones, which the factor shows."""
    values = {key: _number(getattr(block, key)) for key, seam in block.references.items() if seam != "positive"}
    return [
        VariableNode(f"{name}.{key}", "fixed", f"{_symbol(block.reference_role(key, role))} = {text}")
        for key, text in values.items()
        if text
    ]


def _numbers(block: Block) -> tuple[str, ...]:
    """Return the other numbers that the model sets."""
    others = {key for key, seam in block.references.items() if seam != "positive"}
    keys = [key for key in type(block).model_fields if key in block.model_fields_set - others]
    return tuple(f"{key} = {text}" for key in keys if (text := _number(getattr(block, key))))


def _number(value: Any) -> str:
    """Return a number, to six digits, or a mapping or a list of numbers in YAML; "" for anything else."""
    if isinstance(value, pydantic.BaseModel):
        parts = {key: _number(each) for key, each in value}
        return f"{{{', '.join(f'{key}: {text}' for key, text in parts.items())}}}" if all(parts.values()) else ""
    if isinstance(value, list | tuple):
        texts = [_number(each) for each in value]
        more = [] if len(texts) <= MOST_VALUES else ["..."]
        return f"[{', '.join(texts[:MOST_VALUES] + more)}]" if texts and all(texts) else ""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _symbol(name: str) -> str:
    """Return the Greek letter of that name, or the name."""
    try:
        return SYMBOLS.get(name) or unicodedata.lookup(f"GREEK SMALL LETTER {name}")
    except KeyError:
        return name
