"""The list of all blocks and kernels, where both meet, and of the proposals that kernels are composed of.

Third parties register with the decorators, or through the entry-point groups ``ppl_topics.blocks``,
``ppl_topics.kernels`` and ``ppl_topics.proposals`` (the value being a module whose import registers).
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, TypeVar

import pydantic

from ppl_topics._util.importing import load_entry_point
from ppl_topics.core.block import Block
from ppl_topics.core.kernel import FORMULA_NAMES, Distribution, KernelFunctions, KernelSpec
from ppl_topics.core.proposal import ProposalSpec, TableInputs
from ppl_topics.corpus.names import NAME
from ppl_topics.errors import SpecError

__all__ = [
    "block",
    "blocks",
    "find_proposal",
    "kernel",
    "kernels",
    "proposal",
    "proposals",
    "unregister_kernel",
    "unregister_proposal",
]

TRIAL_SIZES: Mapping[str, float] = {
    "N": 1e6,
    "D": 1e4,
    "V": 2e4,
    "K": 50.0,
    "C": 20.0,
    "F": 51.0,
    "F_d": 11.0,
    "K_d": 10.0,
    "K_w": 20.0,
    "L": 1e6,
}
"""Sizes that formulas are tried at when a kernel is registered."""


@dataclass
class _Registry:
    blocks: dict[str, type[Block]] = field(default_factory=dict)
    kernels: dict[str, KernelSpec] = field(default_factory=dict)
    loaded: bool = False


_registry = _Registry()
_proposals: dict[str, ProposalSpec] = {}

B = TypeVar("B", bound=type[Block])
Builder = TypeVar("Builder", bound=Callable[..., KernelFunctions])
Tables = TypeVar("Tables", bound=Callable[[TableInputs, Any], tuple[Any, ...]])

DRAW = ("stream", "table", "token")
WEIGHT = ("topic", "table", "token")


def block(name: str) -> Callable[[B], B]:
    """Register a block under the name that YAML calls it by.

    Raises
    ------
    SpecError
        If another block has that name, the class is no :class:`Block`, or it lacks the field ``block``.
    """

    def register(cls: B) -> B:
        if not (isinstance(cls, type) and issubclass(cls, Block)):
            raise SpecError(f"block {name!r}: {cls!r} must be a class derived from ppl_topics.Block")
        _check_name("block", name, _registry.blocks.get(name), cls)
        _check_fields(name, cls)
        cls.kind = name
        _registry.blocks[name] = cls
        return cls

    return register


def kernel(
    name: str,
    *,
    updates: str | Iterable[str],
    integrates_out: str | Iterable[str] = (),
    reads: str | Iterable[str] = (),
    handles: str | Iterable[str],
    exact: bool,
    full_conditional: bool = False,
    automatic: bool = False,
    parallel_over: str | None = None,
    distributes: Distribution | None = None,
    devices: Mapping[str, str] | None = None,
    cost: str = "N * K",
    tasks: str = "N",
    memory: str = "0",
    reference: str = "",
    tiny_options: Mapping[str, Any] | None = None,
) -> Callable[[Builder], Builder]:
    """Register a kernel: a builder that takes a :class:`Binding` and returns :class:`KernelFunctions`.

    The builder's keyword-only parameters, with their types and defaults, are the kernel's options.

    Parameters
    ----------
    name : str
        What schedules call it.
    updates : str or iterable of str
        Roles of the variables that it changes (``z``, ``phi``, ``theta``, ``alpha``, ``beta``, ``eta``,
        ``augmentation``), or those that a block gives to the variables that it brings along.
    integrates_out : iterable of str
        Roles that it marginalises, and so leaves stale where the model holds them.
    reads : iterable of str
        Roles whose current value it uses, beside what it updates. ``scales`` stands for all variables that the prior
        of the coefficients brings along.
    handles : iterable of str
        Kinds of block, or forms (``handled_as``), whose factors it accounts for.
    exact : bool
        Whether it leaves the posterior invariant.
    full_conditional : bool
        Whether it draws what it updates afresh, not looking at the old value.
    automatic : bool
        Whether the scheduler may choose it where the model names no kernel.
    parallel_over : str, optional
        Dim over which it runs in parallel.
    distributes : str, optional
        How it runs where documents are spread over machines: ``doc``, each machine draws what belongs to its own
        documents, given what all have; ``central``, all machines draw the same from the counts of all; ``statistic``,
        all draw the same from a statistic of all documents (`KernelFunctions.of_statistic`); ``rotate``, blocks of
        words go from machine to machine (`KernelFunctions.of_rotation`). By default it cannot.
    devices : mapping of str to str, optional
        Where it can run beside the host, ``cuda`` for some kernels of the project, and a formula for the nanoseconds of
        a step on the nominal one, an NVIDIA H200.
    cost : str
        Formula for the nanoseconds that one thread of a nominal machine takes for one step: Python arithmetic over N
        (tokens that the step draws), D (documents), V (words), K (topics), C (responses), F (coefficients of each),
        F_d (those of them whose features are not 0 in a document, on average), K_d and K_w (topics that a token finds
        in its document, and its word in, on average), ``min``, ``max`` and those of the kernel's options that are
        numbers. The nominal machine is the one of ``benchmarks/README.md``.
    tasks : str
        Formula for how many threads find work at the same time, where `parallel_over` is set; they share it evenly.
    memory : str
        Formula for the bytes that one chain of the kernel keeps or has in use at a time, beside the state.
    reference : str
        Paper and equation.
    tiny_options : mapping of str to object, optional
        Values, for options left at their defaults, with which a corpus of some hundred tokens reaches the code that by
        default only a large one does: ``verify`` uses them there.

    Raises
    ------
    SpecError
        If the name is taken or malformed, the declaration contradicts itself, or the builder's signature
        does not fit.
    """

    def register(build: Builder) -> Builder:
        if not callable(build):
            raise SpecError(f"kernel {name!r}: its builder must be a function, got {build!r}")
        _check_name("kernel", name, _registry.kernels.get(name), build)
        spec = KernelSpec(
            name=name,
            build=build,
            updates=_names(name, "updates", updates),
            integrates_out=_names(name, "integrates_out", integrates_out),
            reads=_names(name, "reads", reads),
            handles=_names(name, "handles", handles),
            exact=exact,
            full_conditional=full_conditional,
            automatic=automatic,
            parallel_over=parallel_over,
            distributes=distributes,
            devices=dict(devices or {}),
            cost=cost,
            tasks=tasks,
            memory=memory,
            reference=reference,
            options=_options(name, build),
            tiny_options=dict(tiny_options or {}),
            doc=inspect.getdoc(build) or "",
        )
        _check_declaration(spec)
        _registry.kernels[name] = spec
        return build

    return register


def proposal(
    name: str,
    *,
    draw: Callable[..., int],
    weight: Callable[..., float],
    exact_given: str | Iterable[str],
    reference: str = "",
) -> Callable[[Tables], Tables]:
    """Register a proposal for the topic of a token, from which kernels such as ``light_partially_collapsed`` compose.

    The decorated function builds the proposal's table: ``build(inputs, before)`` gets the
    :class:`~ppl_topics.core.proposal.TableInputs` and what it returned the last time (None at first), whose memory it
    may use again. It returns a tuple of arrays and numbers, named or not, empty if the proposal needs no table.
    The kernel accepts with the ratio of its target times that of the weights, so these must be the distribution of the
    draws.

    Parameters
    ----------
    name : str
        What ``proposals`` of a schedule calls it.
    draw : function compiled by numba
        ``draw(stream, table, token)`` returns a topic. ``token`` is a :class:`~ppl_topics.core.proposal.Token`.
    weight : function compiled by numba
        ``weight(topic, table, token)`` returns the probability with which ``draw`` returns the topic,
        up to a factor that is the same for all topics.
    exact_given : str or iterable of str
        ``phi``, ``counts`` or both: what the topics may be known by such that neither function, nor the table, depends
        on the topic of the token being moved. A table built from counts depends on it, for it was counted.
    reference : str
        Paper and equation.

    Raises
    ------
    SpecError
        If the name is taken or malformed, or a function is not compiled or takes other parameters.
    """

    def register(build: Tables) -> Tables:
        if not callable(build):
            raise SpecError(f"proposal {name!r}: what builds its table must be a function, got {build!r}")
        _check_name("proposal", name, _proposals.get(name), build)
        for key, function, expected in (("draw", draw, DRAW), ("weight", weight, WEIGHT)):
            _check_compiled(name, key, function, expected)
        given = (exact_given,) if isinstance(exact_given, str) else tuple(exact_given)
        if not set(given) <= {"phi", "counts"}:
            raise SpecError(f"proposal {name!r}: `exact_given` lists 'phi', 'counts', both or neither, got {given!r}")
        _proposals[name] = ProposalSpec(name, build, draw, weight, given, reference, inspect.getdoc(build) or "")
        return build

    return register


def blocks() -> dict[str, type[Block]]:
    """Return all registered blocks by name."""
    _load()
    return dict(_registry.blocks)


def kernels() -> dict[str, KernelSpec]:
    """Return the declarations of all registered kernels by name."""
    _load()
    return dict(_registry.kernels)


def proposals() -> dict[str, ProposalSpec]:
    """Return the declarations of all registered proposals by name."""
    _load()
    return dict(_proposals)


def find_proposal(name: str) -> ProposalSpec | None:
    """Return one proposal, loading what others registered only if it is not known yet.

    Kernels of the project check the defaults of their options while they are being loaded themselves.
    """
    if name not in _proposals:
        _load()
    return _proposals.get(name)


def unregister_kernel(name: str) -> None:
    """Forget a kernel, so that a notebook cell or a test can register it again."""
    _registry.kernels.pop(name, None)


def unregister_proposal(name: str) -> None:
    """Forget a proposal, so that a notebook cell or a test can register it again."""
    _proposals.pop(name, None)


def _names(kernel: str, key: str, value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else (value,)
    for name in names:
        if not isinstance(name, str):
            raise SpecError(f"kernel {kernel!r}: `{key}` must be a word or a list of words, got {value!r}")
    return names


def _check_fields(name: str, cls: type[Block]) -> None:
    for key in ("block", *cls.references):
        if key not in cls.model_fields:
            hint = f"`block: Literal[{name!r}] = {name!r}`" if key == "block" else f"{key!r}, which `references` names"
            raise SpecError(f"block {name!r}: the class must declare the field {hint}")


def _check_declaration(spec: KernelSpec) -> None:
    what = f"kernel {spec.name!r}"
    if not spec.updates:
        raise SpecError(f"{what}: `updates` is empty; name the roles that it changes, such as 'z'")
    # A kernel that marginalises a variable cannot depend on its value, nor leave it with a new one.
    both = sorted(set(spec.integrates_out) & {*spec.updates, *spec.reads})
    if both:
        raise SpecError(
            f"{what}: {both[0]!r} is in `integrates_out` and also in `updates` or `reads`; remove it from one"
        )
    formulas = {"cost": spec.cost, "tasks": spec.tasks, "memory": spec.memory, **spec.devices}
    for key, formula in formulas.items():
        _check_formula(f"{what}: {key} {formula!r}", formula, spec)


def _check_formula(what: str, formula: str, spec: KernelSpec) -> None:
    names = ", ".join(FORMULA_NAMES)
    try:
        value = spec.evaluate(formula, TRIAL_SIZES)
    except Exception as error:
        raise SpecError(f"{what} is not a formula in {names} and numeric options ({error})") from None
    if not (isinstance(value, int | float) and 0 <= value < float("inf")):
        raise SpecError(f"{what} gives {value!r}; write a formula in {names}")


def _check_compiled(proposal: str, key: str, function: Callable[..., Any], expected: tuple[str, ...]) -> None:
    plain = getattr(function, "py_func", None)
    if plain is None:
        raise SpecError(f"proposal {proposal!r}: `{key}` must be compiled; decorate it with numba.njit")
    if len(inspect.signature(plain).parameters) != len(expected):
        raise SpecError(f"proposal {proposal!r}: `{key}` must be a function of ({', '.join(expected)})")


def _check_name(what: str, name: str, present: object, new: object) -> None:
    if not isinstance(name, str) or not NAME.match(name):
        raise SpecError(f"{what} name {name!r}: use lower-case letters, digits and _, a letter first")
    if present is None:
        return
    before = present.build if isinstance(present, KernelSpec | ProposalSpec) else present
    # The same function, defined again by a reload or a re-run cell, replaces itself.
    old, own = (f"{part.__module__}.{part.__qualname__}" for part in (before, new))  # type: ignore[attr-defined]
    if old != own:
        raise SpecError(f"a {what} named {name!r} is already registered by {old}; choose another name for {own}")


def _options(name: str, build: Callable[..., Any]) -> type[pydantic.BaseModel]:
    """Make a strict pydantic model of a builder's keyword-only parameters."""
    parameters = list(inspect.signature(build).parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = [p for p in parameters if p not in positional]
    if len(positional) != 1 or any(p.kind is not p.KEYWORD_ONLY for p in rest):
        raise SpecError(f"kernel {name!r}: its builder takes one Binding, and options that are keyword-only")
    for p in rest:
        if p.default is p.empty or p.name == "kernel" or not NAME.match(p.name):
            problem = "needs a default value" if p.default is p.empty else "needs another name"
            raise SpecError(f"kernel {name!r}: its option {p.name!r} {problem}")
    config = pydantic.ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, validate_default=True, protected_namespaces=()
    )
    try:
        hints = typing.get_type_hints(build, include_extras=True)
        fields: dict[str, Any] = {p.name: (hints.get(p.name, Any), p.default) for p in rest}
        model: type[pydantic.BaseModel] = pydantic.create_model(f"{name}_options", __config__=config, **fields)
        model()
    except pydantic.ValidationError as error:
        detail = error.errors()[0]
        option = ".".join(str(part) for part in detail["loc"])
        raise SpecError(f"kernel {name!r}: the default of its option {option!r}: {detail['msg']}") from None
    except (NameError, TypeError, pydantic.PydanticUserError) as error:
        raise SpecError(f"kernel {name!r}: the types of its options cannot be used ({error})") from None
    return model


def _load() -> None:
    """Import what registers: our own packages, then entry points of others."""
    if _registry.loaded:
        return
    _registry.loaded = True
    for group in ("ppl_topics.blocks", "ppl_topics.kernels", "ppl_topics.proposals"):
        for point in entry_points(group=group):
            try:
                load_entry_point(point)
            except SpecError:
                _registry.loaded = False
                raise
