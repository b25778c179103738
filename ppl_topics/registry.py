"""The list of all blocks and kernels, where both meet.

Third parties register with the decorators, or through the entry-point groups ``ppl_topics.blocks`` and
``ppl_topics.kernels`` (the value being a module whose import registers).
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, TypeVar

import pydantic

from ppl_topics.declarations import Block, KernelFunctions, KernelSpec
from ppl_topics.errors import SpecError

__all__ = ["block", "blocks", "kernel", "kernels", "unregister_kernel"]

NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
COST_SIZES: Mapping[str, float] = {"N": 1_000_000.0, "D": 10_000.0, "V": 20_000.0, "K": 50.0, "K_d": 10.0}


@dataclass
class _Registry:
    blocks: dict[str, type[Block]] = field(default_factory=dict)
    kernels: dict[str, KernelSpec] = field(default_factory=dict)
    loaded: bool = False


_registry = _Registry()

B = TypeVar("B", bound=type[Block])
Builder = TypeVar("Builder", bound=Callable[..., KernelFunctions])


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
    cost: str = "N * K",
    reference: str = "",
) -> Callable[[Builder], Builder]:
    """Register a kernel: a builder that takes a :class:`Binding` and returns :class:`KernelFunctions`.

    The builder's keyword-only parameters, with their types and defaults, are the kernel's options.

    Parameters
    ----------
    name : str
        What schedules call it.
    updates : str or iterable of str
        Roles of the variables that it changes (``z``, ``phi``, ``theta``, ``alpha``, ``beta``).
    integrates_out : iterable of str
        Roles that it marginalises, and so leaves stale where the model holds them.
    reads : iterable of str
        Roles whose current value it uses, beside what it updates.
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
    cost : str
        Formula in N, D, V, K, K_d (topics in a document) for the work of one step.
    reference : str
        Paper and equation.

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
            cost=cost,
            reference=reference,
            options=_options(name, build),
            doc=inspect.getdoc(build) or "",
        )
        _check_declaration(spec)
        _registry.kernels[name] = spec
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


def unregister_kernel(name: str) -> None:
    """Forget a kernel, so that a notebook cell or a test can register it again."""
    _registry.kernels.pop(name, None)


def _names(kernel: str, key: str, value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else (value,)
    for name in names:
        if not isinstance(name, str):
            raise SpecError(f"kernel {kernel!r}: `{key}` must be a word or a list of words, got {value!r}")
    return names


def _check_fields(name: str, cls: type[Block]) -> None:
    for key in ("block", *cls.references):
        if key not in cls.model_fields:
            hint = f"`block: Literal[{name!r}] = {name!r}`" if key == "block" else f"{key!r}, which it refers by"
            raise SpecError(f"block {name!r}: the class must declare the field {hint}")


def _check_declaration(spec: KernelSpec) -> None:
    what = f"kernel {spec.name!r}"
    if not spec.updates:
        raise SpecError(f"{what}: `updates` is empty; name the roles that it changes, such as 'z'")
    # A kernel that marginalises a variable cannot depend on its value, nor leave it with a new one.
    both = sorted(set(spec.integrates_out) & {*spec.updates, *spec.reads})
    if both:
        raise SpecError(f"{what}: {both[0]!r} stands under `integrates_out` and under `updates` or `reads`; keep one")
    try:
        cost = spec.seconds(COST_SIZES)
    except Exception as error:
        raise SpecError(f"{what}: cost {spec.cost!r} is no formula in N, D, V, K and K_d ({error})") from None
    if not (isinstance(cost, int | float) and 0 <= cost < float("inf")):
        raise SpecError(f"{what}: cost {spec.cost!r} gives {cost!r}; write a formula in N, D, V, K and K_d")


def _check_name(what: str, name: str, present: object, new: object) -> None:
    if not isinstance(name, str) or not NAME.match(name):
        raise SpecError(f"{what} name {name!r}: use lower-case letters, digits and _, a letter first")
    if present is None:
        return
    before = present.build if isinstance(present, KernelSpec) else present
    # The same function, defined again by a reload or a re-run cell, replaces itself.
    same = (before.__module__, before.__qualname__) == (new.__module__, new.__qualname__)  # type: ignore[attr-defined]
    if not same:
        raise SpecError(f"a {what} named {name!r} is registered already ({before!r}); choose another name")


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
    for group in ("ppl_topics.blocks", "ppl_topics.kernels"):
        for point in entry_points(group=group):
            try:
                point.load()
            except Exception as error:
                _registry.loaded = False
                raise SpecError(
                    f"entry point {point.name!r} of group {group!r} ({point.value}) fails to load: "
                    f"{type(error).__name__}: {error}; repair or uninstall that package"
                ) from error
