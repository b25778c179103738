"""Where blocks and kernels meet: what each declares of itself, and the list of all of them.

A *block* is one factor of a model with the variable that it puts a law on. A *kernel* is a pair of
functions that updates variables. Neither imports the other; the scheduler joins them by what stands here.
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
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics.errors import SpecError
from ppl_topics.state import ChainState, Key, Sizes, Tokens

__all__ = [
    "Binding",
    "Block",
    "KernelFunctions",
    "KernelSpec",
    "WordSelection",
    "block",
    "blocks",
    "kernel",
    "kernels",
]

NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
COST_SIZES: Mapping[str, float] = {"N": 1_000_000.0, "D": 10_000.0, "V": 20_000.0, "K": 50.0, "K_d": 10.0}


class Block(pydantic.BaseModel):
    """Base of all blocks: a pydantic model whose fields are the keys that YAML may give it.

    A subclass sets the class attributes and overrides the methods that apply to it.

    Attributes
    ----------
    kind : str
        Name of the block, set by the decorator :func:`block`.
    seams : frozenset of str
        What other blocks may use it as: ``topic_weights``, ``topics``, ``assignments``, ``concentration``.
    references : dict of str to str
        Fields that hold the name of another block, with the seam that this one must offer.
    own_role : str or None
        Role of the variable in every model (``z``); None where the block that refers to it gives the role.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    kind: ClassVar[str] = ""
    seams: ClassVar[frozenset[str]] = frozenset()
    references: ClassVar[Mapping[str, str]] = {}
    own_role: ClassVar[str | None] = None

    def reference_role(self, key: str, own_role: str) -> str:
        """Return the role that this block, itself in ``own_role``, gives to the block named under ``key``."""
        raise SpecError(f"block {self.kind!r} refers to {key!r} but gives it no role; override reference_role")

    def check(self, role: str) -> str | None:
        """Return what is wrong with this block in the given role, or None."""
        return None

    def dims(self, role: str) -> tuple[str, ...] | None:
        """Return the dims of the variable, or None for a block that only observes."""
        return None

    @property
    def integrated_out(self) -> bool:
        """Whether the model asks never to hold this variable."""
        return False

    def constants(self, role: str, sizes: Sizes) -> Mapping[str, NDArray[np.float64]]:
        """Return the fixed vectors that this block sets, by role (``alpha``, ``beta``)."""
        return {}

    def init(self, role: str, state: ChainState) -> NDArray[Any] | None:
        """Return a starting value for the variable, given z and the counts."""
        return None

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> NDArray[Any]:
        """Return a draw of the variable from its law, given its parents in ``values`` by role."""
        raise SpecError(f"block {self.kind!r} cannot be simulated, so Geweke's test cannot cover it")

    def log_density(self, value: NDArray[Any]) -> float:
        """Return the log density of a variable that log p(w, z) does not cover."""
        return 0.0


class WordSelection(pydantic.BaseModel):
    """Which words' tokens a kernel updates, by corpus count.

    Attributes
    ----------
    min_count, max_count : int
        Words that occur at least, and at most, so often; ``max_count: null`` sets no bound.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)

    min_count: int = pydantic.Field(default=1, ge=1)
    max_count: int | None = pydantic.Field(default=None, ge=1)

    @pydantic.model_validator(mode="after")
    def _ordered(self) -> WordSelection:
        if self.max_count is not None and self.max_count < self.min_count:
            raise ValueError(f"max_count {self.max_count} is below min_count {self.min_count}")
        return self

    def mask(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which words are selected, shape (V,), given their corpus counts."""
        high = np.inf if self.max_count is None else self.max_count
        return (counts >= self.min_count) & (counts <= high)


ALL_WORDS = WordSelection()


@dataclass(frozen=True)
class Binding:
    """A model bound to a corpus, as one kernel of a schedule sees it.

    Attributes
    ----------
    target : str
        Name of the variable that the schedule gave to this kernel.
    names : dict of str to str
        Variable name by role, for the roles that the model fills.
    blocks : dict of str to Block
    sizes : Sizes
    tokens : Tokens
    """

    target: str
    names: Mapping[str, str]
    blocks: Mapping[str, Block]
    sizes: Sizes
    tokens: Tokens


def _no_memory(state: ChainState) -> None:
    return None


class KernelFunctions(NamedTuple):
    """What a kernel does: ``step``, and ``init`` for the memory that it keeps between steps.

    ``step(state, memory, key)`` updates ``state`` in place and returns statistics by name, or None;
    all its randomness comes from ``key``. ``init(state)`` returns the memory of one chain.
    """

    step: Callable[[ChainState, Any, Key], Mapping[str, float] | None]
    init: Callable[[ChainState], Any] = _no_memory


@dataclass(frozen=True)
class KernelSpec:
    """What a kernel declares of itself; see :func:`kernel`."""

    name: str
    build: Callable[..., KernelFunctions]
    updates: tuple[str, ...]
    integrates_out: tuple[str, ...]
    reads: tuple[str, ...]
    handles: tuple[str, ...]
    exact: bool
    full_conditional: bool
    automatic: bool
    parallel_over: str | None
    cost: str
    reference: str
    options: type[pydantic.BaseModel]
    doc: str

    def seconds(self, sizes: Mapping[str, float]) -> float:
        """Evaluate the cost formula, in units of one multiplication, at the given sizes."""
        value: float = eval(self.cost, {"__builtins__": {}}, dict(sizes))
        return value

    def declaration(self) -> dict[str, Any]:
        """Return the declaration as plain data, for listings."""
        fields = self.options.model_fields
        return {
            "name": self.name,
            "updates": list(self.updates),
            "integrates_out": list(self.integrates_out),
            "reads": list(self.reads),
            "handles": list(self.handles),
            "exact": self.exact,
            "parallel_over": self.parallel_over,
            "cost": self.cost,
            "options": {k: _plain(f.get_default(call_default_factory=True)) for k, f in fields.items()},
            "reference": self.reference,
            "doc": self.doc,
        }


def _plain(value: Any) -> Any:
    return value.model_dump() if isinstance(value, pydantic.BaseModel) else value


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
        Kinds of block, or seams, whose factors it accounts for.
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
            updates=_names(updates),
            integrates_out=_names(integrates_out),
            reads=_names(reads),
            handles=_names(handles),
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


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


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
