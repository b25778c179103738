"""A model as a product of factors over named variables: what the scheduler reasons about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ppl_topics._util.nearest import choices, nearest
from ppl_topics.core.block import Block
from ppl_topics.core.registry import blocks
from ppl_topics.core.response import Response
from ppl_topics.core.tokens import DIMS
from ppl_topics.corpus.names import StrArray
from ppl_topics.errors import SpecError
from ppl_topics.spec.marginals import OF_RESPONSE, marginal_spec, own_names, responses_of
from ppl_topics.spec.model_file import Docs, TopWords
from ppl_topics.spec.source import KeyPath, Location
from ppl_topics.spec.specification import Spec

__all__ = ["Factor", "Marginal", "Model", "Variable"]


@dataclass(frozen=True)
class Variable:
    """An unknown of the model, and its block: its own, or the one whose auxiliary variable it is.

    The role is its name for kernels: ``z``, ``theta``, ``phi``, ``alpha``, ``beta``, ``eta``, ... A variable that is
    given keeps the value that a run is given.
    """

    name: str
    role: str
    dims: tuple[str, ...]
    integrated_out: bool
    block: str
    given: bool = False


@dataclass(frozen=True)
class Factor:
    """One factor of the model: a block, and the variables that it touches.

    `kind` is its name in messages, usually the kind of block; `forms` are those that kernels may require of it.
    `numbers` are the variables that stand in the place of numbers of the block.
    """

    name: str
    kind: str
    forms: frozenset[str]
    touches: frozenset[str]
    numbers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Marginal:
    """A model of several responses without the others, with the names that its own variables have in that model."""

    model: Model
    names: Mapping[str, str]

    def whole_name(self, name: str) -> str:
        """Return the name of a variable in the model of several responses."""
        return self.names.get(name, name)

    def own_name(self, whole: str) -> str:
        """Return the name here of a variable of the model of several responses."""
        return next((own for own, name in self.names.items() if name == whole), whole)

    @property
    def dims(self) -> dict[str, str]:
        """The dims that each response has of its own, by their names in the model of several responses."""
        return {self.whole_dim(dim): dim for dim in sorted(OF_RESPONSE)}

    def whole(self, variable: Variable) -> Variable:
        """Return a variable as the model of several responses has it."""
        if variable.name not in self.names:
            return variable
        dims = tuple(self.whole_dim(dim) for dim in variable.dims)
        return replace(variable, name=self.names[variable.name], dims=dims)

    def whole_dim(self, dim: str) -> str:
        """Return a dim of an own variable as the model of several responses has it: each has its own coefficients."""
        return f"{dim}_{self.model.names['y']}" if dim in OF_RESPONSE and self.names else dim


@dataclass(frozen=True)
class Model:
    """The variables and factors of a specification.

    Given the assignments, several responses are independent. Variables of one of them have the roles that they have in
    its model alone, and no place in `names`.

    Attributes
    ----------
    spec : Spec
    variables : dict of str to Variable
    factors : tuple of Factor
    names : dict of str to str
        Variable (or observing block) by role.
    marginals : dict of str to Marginal
        Of several responses, the model of each without the others, by the name of its block; else empty.
    """

    spec: Spec
    variables: Mapping[str, Variable]
    factors: tuple[Factor, ...]
    names: Mapping[str, str]
    marginals: Mapping[str, Marginal] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: Spec) -> Model:
        """Work out roles, variables and factors.

        Raises
        ------
        SpecError
            If a reference names no block or one that does not fit, a block is unused, two blocks have the same
            role, or ``record`` or ``given`` names an unknown variable.
        """
        if len(responses_of(spec)) > 1:
            return cls._of_several(spec)
        roles = _roles(spec)
        variables = {}
        for name, block in spec.blocks.items():
            problem = block.check(roles[name], spec.topics) or block.check_references(roles)
            if roles[name] == "y" and not isinstance(block, Response):
                problem = problem or _label_problem(block, roles)
            if roles[name] == "x" and not any(name in other.referred().values() for other in spec.blocks.values()):
                problem = problem or _unused_features(name, roles)
            if problem:
                raise SpecError(f"{spec.locate('blocks', name)}: block {name!r} ({block.kind}): {problem}")
            dims = block.dims(roles[name])
            if dims is not None:
                variables[name] = Variable(name, roles[name], dims, block.integrated_out, name)
        for name, block in spec.blocks.items():
            for own, (role, dims) in block.auxiliaries().items():
                unknown = next((dim for dim in dims if dim not in DIMS), None)
                if unknown is not None:
                    raise SpecError(
                        f"{spec.locate('blocks', name)}: block {name!r} ({block.kind}): its variable {own!r} has the "
                        f"dim {unknown!r}, which no model has{nearest(unknown, DIMS)}"
                    )
                if own in spec.blocks:
                    raise SpecError(
                        f"{spec.locate('blocks', own)}: {own!r} is the auxiliary variable of block {name!r} "
                        f"({block.kind}); give this block another name"
                    )
                other = next((v for v in variables.values() if own == v.name or role == v.role), None)
                if other is not None:
                    raise SpecError(
                        f"{spec.locate('blocks', name)}: block {name!r} ({block.kind}) brings along {own!r}, as the "
                        f"{role} of this model, and block {other.block!r} has {other.name!r}, its {other.role}; "
                        "replace one of these blocks"
                    )
                variables[own] = Variable(own, role, dims, False, name)
                roles[own] = role
        for place, name in enumerate(spec.given):
            _check_given(name, spec.locate("given", place), spec, variables)
            variables[name] = replace(variables[name], given=True)
        factors = tuple(_factor(name, spec, variables) for name in spec.blocks)
        model = cls(spec, variables, factors, {role: name for name, role in roles.items()})
        model._check_record()
        return model

    @classmethod
    def _of_several(cls, spec: Spec) -> Model:
        """Put a model of several responses together from those of each."""
        marginals: dict[str, Marginal] = {}
        variables: dict[str, Variable] = {}
        factors: dict[str, Factor] = {}
        roles: dict[str, str] = {}
        for response, names in {each: own_names(spec, each) for each in responses_of(spec)}.items():
            model = cls.of(marginal_spec(spec, response))
            if model.response is None:
                raise SpecError(
                    f"{spec.locate('blocks', response)}: block {response!r} ({spec.blocks[response].kind}): of several "
                    "responses each must be a pt.Response; leave the others out"
                )
            if model.apart:
                raise SpecError(
                    f"{spec.locate('blocks', response)}: block {response!r}: one_vs_all gives each class topics of its "
                    "own, which no other response can share; set one_vs_all: false"
                )
            marginals[response] = marginal = Marginal(model, names)
            variables |= {marginal.whole_name(name): marginal.whole(v) for name, v in model.variables.items()}
            for factor in model.factors:
                touches, numbers = ({names.get(n, n) for n in of} for of in (factor.touches, factor.numbers))
                factors[factor.name] = replace(factor, touches=frozenset(touches), numbers=frozenset(numbers))
            roles |= {role: name for role, name in model.names.items() if name not in names}
        unused = next((name for name in spec.blocks if name not in factors), None)
        if unused is not None:
            raise SpecError(
                f"{spec.locate('blocks', unused)}: block {unused!r} is used by no other block; refer to it, or remove "
                "it"
            )
        for place, name in enumerate(spec.given):
            _check_given(name, spec.locate("given", place), spec, variables)
        ordered = tuple(factors[name] for name in spec.blocks)
        made = cls(spec, variables, ordered, roles, marginals)
        made._check_record()
        return made

    def for_corpus(self, vocabulary: Iterable[str]) -> Model:
        """Return the model with blocks that know the words of a corpus.

        Raises
        ------
        SpecError
            If words that a block names are not there.
        """
        blocks: dict[str, Block] = {}
        for name, block in self.spec.blocks.items():
            try:
                blocks[name] = block.for_corpus(vocabulary, self.spec.topics)
            except SpecError as error:
                key = [word for word in re.findall(r"\w+", str(error)) if word in type(block).model_fields][:1]
                place = self.spec.locate("blocks", name, *key)
                raise SpecError(f"{place}: block {name!r} ({block.kind}): {error}") from None
        if all(blocks[name] is block for name, block in self.spec.blocks.items()):
            return self
        return Model.of(replace(self.spec, blocks=blocks))

    @property
    def found_words(self) -> dict[str, Any]:
        """What blocks have found in the words of the corpus, by name."""
        found = {name: block.found_words for name, block in self.spec.blocks.items()}
        return {name: each for name, each in found.items() if each is not None}

    def with_found_words(self, found: Mapping[str, Any]) -> Model:
        """Return the model with blocks that know what `for_corpus` found in another process."""
        if not found:
            return self
        blocks = {n: b.with_found_words(found[n]) if n in found else b for n, b in self.spec.blocks.items()}
        return Model.of(replace(self.spec, blocks=blocks))

    @property
    def topic_names(self) -> list[str]:
        """What the first topics are called, in order, where a block names them."""
        return next((block.topic_names for block in self.spec.blocks.values() if block.topic_names), [])

    @property
    def n_keywords(self) -> int:
        """The size of the dim ``keyword``."""
        return sum(block.n_keywords for block in self.spec.blocks.values())

    def keyword_names(self, vocabulary: StrArray) -> list[str]:
        """Return what the keywords of topics are called, in the order of the dim ``keyword``."""
        return [name for block in self.spec.blocks.values() for name in block.keyword_names(vocabulary)]

    @property
    def by_response(self) -> dict[str, Marginal]:
        """Of several responses `marginals`; else the model itself, under an empty name."""
        return dict(self.marginals) or {"": Marginal(self, {})}

    def owner(self, variable: str) -> str | None:
        """Return the response, of several, that a variable belongs to; None if all have it."""
        return next((name for name, m in self.marginals.items() if variable in m.names.values()), None)

    def seen_by(self, variable: str) -> list[Marginal]:
        """Return the models of one response, of several, that have a variable: that of its own, or all."""
        owner = self.owner(variable)
        return list(self.marginals.values()) if owner is None else [self.marginals[owner]]

    @property
    def held(self) -> dict[str, Variable]:
        """The variables that a chain has values of."""
        return {name: v for name, v in self.variables.items() if not v.integrated_out}

    @property
    def latent(self) -> dict[str, Variable]:
        """The variables that a chain samples."""
        return {name: v for name, v in self.held.items() if not v.given}

    @property
    def supervised(self) -> bool:
        """Whether a block observes labels."""
        return "y" in self.names or bool(self.marginals)

    @property
    def label_block(self) -> Block | None:
        """The block that observes labels, if there is one and no other."""
        return self.spec.blocks.get(self.names.get("y", ""))

    @property
    def response(self) -> Response | None:
        """The block that observes labels, if no other does and its density is quadratic given an augmentation."""
        block = self.label_block
        return block if isinstance(block, Response) else None

    @property
    def weights(self) -> Block:
        """The prior of assignments: the weights of topics."""
        return self.spec.blocks[self.names["theta"]]

    @property
    def whole_documents(self) -> bool:
        """Whether all tokens of a document have the same topic."""
        return self.spec.blocks[self.names["z"]].whole_documents

    def uses_covariates(self, block: Block) -> bool:
        """Tell whether a block refers to the covariates."""
        return self.names.get("x") in block.referred().values()

    @property
    def apart(self) -> bool:
        """Whether each response has its own chains."""
        return self.response is not None and self.response.apart

    def _check_record(self) -> None:
        for name, rule in self.spec.record.items():
            location = self.spec.locate("record", name)
            if name not in self.variables:
                raise SpecError(
                    f"{location}: record: {name!r} is not a variable of model {self.spec.name!r}"
                    f"{nearest(name, self.variables)}"
                )
            dims = self.variables[name].dims
            for cls, dim in ((TopWords, "word"), (Docs, "doc")):
                if isinstance(rule, cls) and dim not in dims:
                    key = next(iter(cls.model_fields))
                    raise SpecError(
                        f"{location}: record: {name!r} has dims {dims}, so `{key}` does not apply; use all or none"
                    )


def _check_given(name: str, place: Location, spec: Spec, variables: Mapping[str, Variable]) -> None:
    """Refuse to hold what the model has no value of."""
    if name not in variables:
        raise SpecError(f"{place}: {name!r} is not a variable of model {spec.name!r}{nearest(name, variables)}")
    if variables[name].integrated_out:
        raise SpecError(
            f"{place}: model {spec.name!r} integrates {name} out, so it has no value of it that could be given; remove "
            f"`integrate_out: true` from {name}"
        )


def _label_problem(block: Block, roles: Mapping[str, str]) -> str | None:
    """Return what a block of labels lacks that is no response, or None."""
    for method in ("encode", "log_density"):
        if getattr(type(block), method) is getattr(Block, method):
            return f"it observes labels, so its class needs the method `{method}`, or must be a pt.Response"
    referred = {roles[name] for name in block.referred().values()}
    if "z" not in referred:
        # Kernels of z would leave its factor out, and nothing would say so.
        return "it observes labels, so one of its `references` must name the assignments, on which these depend"
    return None


def _unused_features(name: str, roles: Mapping[str, str]) -> str:
    """Return what is wrong with covariates that no block refers to."""
    response = next((other for other, role in roles.items() if role == "y"), None)
    add = "" if response is None else f"add {name!r} to the features of {response!r}, "
    return f"no block uses these features; {add}give topics a prior of the kind dirichlet_regression, or remove them"


def _factor(name: str, spec: Spec, variables: Mapping[str, Variable]) -> Factor:
    block = spec.blocks[name]
    touched = {name, *block.referred().values(), *block.auxiliaries()} & set(variables)
    forms = block.forms(spec.blocks)
    return Factor(name, forms[0], frozenset(forms), frozenset(touched), frozenset(block.numbers.values()))


def _roles(spec: Spec) -> dict[str, str]:
    """Give each block its role: some have their own, the others get it from the block that refers to them."""
    roles: dict[str, str] = {}
    given_by: dict[str, str] = {}

    def give(name: str, role: str, by: str) -> None:
        location = spec.locate("blocks", by)
        other = next((n for n, r in roles.items() if r == role and n != name), None)
        if other is not None:
            raise SpecError(
                f"{location}: both {other!r} and {name!r} would be the {role} of this model; remove one, "
                "or refer to the same block twice"
            )
        if roles.get(name, role) != role:
            raise SpecError(
                f"{location}: {name!r} is {roles[name]} for {given_by[name]!r} and {role} for {by!r}; "
                "give each its own block"
            )
        if name in roles:
            return
        roles[name], given_by[name] = role, by
        block = spec.blocks[name]
        for path, target in block.referred().items():
            _check_reference(spec, name, path, target)
            give(target, spec.blocks[target].own_role or block.reference_role(str(path[0]), role), name)

    for name, block in spec.blocks.items():
        if block.own_role is not None:
            give(name, block.own_role, name)
    for name in spec.blocks:
        if name not in roles:
            raise SpecError(
                f"{spec.locate('blocks', name)}: block {name!r} is used by no other block; refer to it, or remove it"
            )
    return roles


def _check_reference(spec: Spec, name: str, path: KeyPath, target: str) -> None:
    key = str(path[0])
    location = spec.locate("blocks", name, *path)
    seam = spec.blocks[name].references[key]
    able = [n for n, b in spec.blocks.items() if seam in b.seams]
    what = f"{location}: block {name!r}: {key}: {target!r}"
    kinds = choices(kind for kind, cls in blocks().items() if seam in cls.seams)
    if target not in spec.blocks:
        hint = nearest(target, able) if able else f"; add a block of kind {kinds}"
        raise SpecError(f"{what} is not a block of this model{hint}")
    if target not in able:
        raise SpecError(
            f"{what} is of kind {spec.blocks[target].kind!r}, which cannot serve as {key}; valid kinds: {kinds}"
        )
