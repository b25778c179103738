"""What blocks and kernels declare of themselves.

A *block* is one factor of a model with the variable that it puts a law on. A *kernel* is a pair of functions
that updates variables. Neither knows the other; the scheduler joins them by these declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics.errors import SpecError
from ppl_topics.state import ChainState, Key, Sizes, Tokens

if TYPE_CHECKING:
    from ppl_topics.seams import Response

__all__ = [
    "ALL_WORDS",
    "FORMULA_NAMES",
    "Binding",
    "Block",
    "Document",
    "KernelFunctions",
    "KernelSpec",
    "ProposalSpec",
    "Topics",
    "WordSelection",
]


class Block(pydantic.BaseModel):
    """Base of all blocks: a pydantic model whose fields are the keys that YAML may give it.

    A subclass sets the class attributes and overrides the methods that apply to it.

    Attributes
    ----------
    kind : str
        Name of the block, set by the decorator :func:`block`.
    seams : frozenset of str
        What other blocks may use it as: ``topic_weights``, ``topics``, ``assignments``, ``concentration``,
        ``coefficients``, ``features``.
    handled_as : frozenset of str
        Forms of factor, beside its own kind, that kernels may take it for. A seam says where a block fits;
        only a form says what its density is. Forms of `ppl_topics.seams`: ``quadratic_response``,
        ``conditional_normal``.
    references : dict of str to str
        Fields that hold the name of another block, with the seam that this one must offer.
    own_role : str or None
        Role of the variable in every model (``z``, ``w``, of labels ``y``, of covariates ``x``); None where the block
        that refers to it gives the role (``theta``, ``phi``, ``alpha``, ``beta``, ``eta``).
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    kind: ClassVar[str] = ""
    seams: ClassVar[frozenset[str]] = frozenset()
    handled_as: ClassVar[frozenset[str]] = frozenset()
    references: ClassVar[Mapping[str, str]] = {}
    own_role: ClassVar[str | None] = None

    def reference_role(self, key: str, own_role: str) -> str:
        """Return the role that this block, itself in ``own_role``, gives to the block named under ``key``."""
        raise SpecError(f"block {self.kind!r} refers to {key!r} but gives it no role; override reference_role")

    def referred(self) -> dict[tuple[str | int, ...], str]:
        """Return the blocks that this one refers to, by field and, in a list, position.

        Raises
        ------
        SpecError
            If a field holds neither names nor a plain value in the place of one.
        """
        result: dict[tuple[str | int, ...], str] = {}
        for key in self.references:
            value = getattr(self, key)
            if isinstance(value, str):
                result[(key,)] = value
            elif isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
                result |= {(key, i): item for i, item in enumerate(value)}
            elif isinstance(value, dict | set | frozenset):
                raise SpecError(f"block {self.kind!r}: {key}: expected the name of a block or a list of names")
        return result

    def check(self, role: str, topics: int) -> str | None:
        """Return what is wrong with this block in the given role of a model of so many topics, or None."""
        return None

    def check_references(self, roles: Mapping[str, str]) -> str | None:
        """Return what is wrong with the blocks that this one refers to, given the roles of all by name, or None."""
        return None

    def dims(self, role: str) -> tuple[str, ...] | None:
        """Return the dims of the variable, or None for a block that only observes."""
        return None

    def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Return the variables that the block brings along beside its own: role and dims, by name."""
        return {}

    def forms(self, blocks: Mapping[str, Block]) -> tuple[str, ...]:
        """Return what messages call this factor, and the forms that kernels may take it for.

        By default its kind and `handled_as`, whatever the other blocks of the model, here by name.
        """
        return self.kind, *sorted(self.handled_as)

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
    ) -> NDArray[Any] | None:
        """Return a draw of the variable from its law, given its parents in ``values`` by role.

        None where the joint law of the model excludes those values: then all are to be drawn again.
        """
        raise SpecError(f"block {self.kind!r} cannot be simulated, so Geweke's test cannot cover it")

    def log_density(self, value: NDArray[Any], state: ChainState) -> float:
        """Return the log density of the variable and its auxiliaries, as far as log p(w, z) does not cover it."""
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
        Variable name by role, for the roles that the model fills: ``z``, ``phi``, ..., and with labels ``y``, ``eta``
        (coefficients) and ``augmentation`` (what the response brings along).
    blocks : dict of str to Block
    sizes : Sizes
    tokens : Tokens
    """

    target: str
    names: Mapping[str, str]
    blocks: Mapping[str, Block]
    sizes: Sizes
    tokens: Tokens

    @property
    def response(self) -> Response | None:
        """The block that observes labels, if the model has one."""
        from ppl_topics.seams import Response

        block = self.blocks.get(self.names.get("y", ""))
        return block if isinstance(block, Response) else None


FORMULA_NAMES: Mapping[str, str] = {
    "N": "tokens that the step draws",
    "D": "documents",
    "V": "words of the vocabulary",
    "K": "topics",
    "C": "responses; 0 without labels",
    "F": "coefficients of a response: of topics and of covariates",
    "F_d": "topics and covariates of a document that are not 0, on average",
    "K_d": "topics that a token finds in its document, on average",
    "K_w": "topics that a token finds its word in, on average",
    "L": "cells of phi that are held: V K, or of topics held as lists those that are not 0, on average",
}
"""What kernels' formulas may use, beside their own options that are numbers, ``min`` and ``max``."""


def _no_memory(state: ChainState) -> None:
    return None


class KernelFunctions(NamedTuple):
    """What a kernel does: ``step``, and ``init`` for the memory that it has between steps.

    ``step(state, memory, key)`` updates ``state`` in place and returns statistics by name, or None;
    all its randomness comes from ``key``. ``init(state)`` returns the memory of one chain.

    A run that is to be resumed asks what a checkpoint must hold of that memory. Nothing, where it is only room to work
    in, of which no step reads what another wrote: then ``scratch`` is true. Otherwise ``keep(memory)`` returns arrays
    by name, and ``restore(memory, arrays, state)`` brings a memory that ``init`` made for ``state`` into that
    condition.

    After each step the variables that it updates must be finite. Of the ``checked`` ones, by their names in the model,
    ``step`` sees to it in passing, and raises FloatingPointError where one is not; all others are looked through.
    """

    step: Callable[[ChainState, Any, Key], Mapping[str, float] | None]
    init: Callable[[ChainState], Any] = _no_memory
    keep: Callable[[Any], Mapping[str, NDArray[Any]]] | None = None
    restore: Callable[[Any, Mapping[str, NDArray[Any]], ChainState], None] | None = None
    scratch: bool = False
    checked: tuple[str, ...] = ()

    @property
    def has_memory(self) -> bool:
        """Whether it has any."""
        return self.init is not _no_memory

    @property
    def resumable(self) -> bool:
        """Whether a checkpoint can hold its memory."""
        return not self.has_memory or self.scratch or (self.keep is not None and self.restore is not None)


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
    tasks: str
    memory: str
    reference: str
    options: type[pydantic.BaseModel]
    doc: str

    def seconds(self, sizes: Mapping[str, float], threads: int = 1, options: pydantic.BaseModel | None = None) -> float:
        """Evaluate the cost formula on the nominal machine, its work shared evenly by the threads that find some.

        Parameters
        ----------
        sizes : mapping of str to float
            Values of the names of `FORMULA_NAMES`.
        threads : int
        options : pydantic.BaseModel, optional
            Of the kernel; by default its defaults. Formulas may use those that are numbers by their names.
        """
        busy = min(float(threads), max(1.0, self.evaluate(self.tasks, sizes, options))) if self.parallel_over else 1.0
        return 1e-9 * self.evaluate(self.cost, sizes, options) / busy

    def bytes(self, sizes: Mapping[str, float], options: pydantic.BaseModel | None = None) -> float:
        """Evaluate the formula of the memory of one chain; see `seconds`."""
        return self.evaluate(self.memory, sizes, options)

    def evaluate(self, formula: str, sizes: Mapping[str, float], options: pydantic.BaseModel | None = None) -> float:
        """Evaluate a formula of the declaration; see `seconds`."""
        given = {name: value for name, value in options or self.options() if isinstance(value, int | float)}
        value: float = eval(formula, {"__builtins__": {}}, {"min": min, "max": max, **given, **sizes})
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
            "tasks": self.tasks if self.parallel_over else "1",
            "memory": self.memory,
            "options": {k: _plain(f.get_default(call_default_factory=True)) for k, f in fields.items()},
            "reference": self.reference,
            "doc": self.doc,
        }


class Topics(NamedTuple):
    """What the table of a proposal is built from; see :func:`proposal`.

    Attributes
    ----------
    phi : ndarray of float32, shape (V, K)
        The topics; where they are integrated out, their expectation given the counts at the time of building.
    alpha : ndarray of float64, shape (K,)
    word_ptr : ndarray of int64, shape (V + 1,)
        Differences are the corpus counts of the words.
    selected : ndarray of bool, shape (V,)
        Words whose tokens will be moved.
    chunk_ptr : ndarray of int64
        Boundaries of pieces of the corpus whose documents are swept one after another.
    response : callable, optional
        None in a model without a response. Returns what a topic adds to the responses of a document of which nothing
        is known yet but its fixed features and its topics' prior mean: ``eta`` of shape (K, C), ``slope`` and
        ``curvature`` of shape (D, C), such that a token in topic k adds
        ``(eta[k] * (slope[d] - curvature[d] * eta[k] / 2)).sum()`` to the log density of document d. C is the number
        of responses, rounded up to a multiple of 4 with zeros.
    """

    phi: NDArray[np.float32]
    alpha: NDArray[np.float64]
    word_ptr: NDArray[np.int64]
    selected: NDArray[np.bool_]
    chunk_ptr: NDArray[np.int64]
    response: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]] | None


class Document(NamedTuple):
    """The document of the token that is being moved, as the compiled functions of a proposal see it.

    Attributes
    ----------
    number : int
        Which document of the corpus.
    topics : ndarray of uint8 or uint16, shape (N_d,)
        Topic of each token; that of the token being moved is out of date.
    others : ndarray of int64, shape (K,)
        Tokens in each topic, without the one being moved.
    """

    number: int
    topics: NDArray[np.unsignedinteger[Any]]
    others: NDArray[np.int64]


@dataclass(frozen=True)
class ProposalSpec:
    """What a proposal declares of itself; see :func:`proposal`."""

    name: str
    build: Callable[[Topics, Any], tuple[Any, ...]]
    draw: Callable[..., int]
    weight: Callable[..., float]
    exact_given: tuple[str, ...]
    reference: str
    doc: str

    def declaration(self) -> dict[str, Any]:
        """Return the declaration as plain data, for listings."""
        return {
            "name": self.name,
            "exact_given": list(self.exact_given),
            "reference": self.reference,
            "doc": self.doc,
        }


def _plain(value: Any) -> Any:
    return value.model_dump() if isinstance(value, pydantic.BaseModel) else value
