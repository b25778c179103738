"""What a kernel declares of itself, and the functions that it consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import BoolArray, Int16Array, IntArray
from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState

__all__ = [
    "ALL_WORDS",
    "FORMULA_NAMES",
    "Distribution",
    "KernelFunctions",
    "KernelSpec",
    "Rotation",
    "Share",
    "WordSelection",
]


Distribution: TypeAlias = Literal["doc", "central", "statistic", "rotate"]
"""How a kernel runs where documents are spread over machines; see `kernel`."""


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

    def mask(self, counts: IntArray) -> BoolArray:
        """Return which words are selected, shape (V,), given their corpus counts."""
        high = np.inf if self.max_count is None else self.max_count
        return (counts >= self.min_count) & (counts <= high)


ALL_WORDS = WordSelection()

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
    "L": "cells of phi that are held: V K, or of sparse topics those that are not 0, on average",
}
"""What kernels' formulas may use, beside their own options that are numbers, ``min`` and ``max``."""


class Share(float):
    """How many of some things, as a share of all of them; shares of documents in several places can be added up.

    Attributes
    ----------
    part, whole : int
    """

    part: int
    whole: int

    def __new__(cls, part: int, whole: int) -> Share:
        """Make one of a whole that is not empty."""
        made = super().__new__(cls, part / whole)
        made.part, made.whole = part, whole
        return made

    def __reduce__(self) -> tuple[type[Share], tuple[int, int]]:
        return Share, (self.part, self.whole)


def _no_memory(state: ChainState) -> None:
    return None


@dataclass(frozen=True)
class Rotation:
    """A sweep over groups of documents by blocks of words, of which a group meets one on each diagonal.

    On a diagonal no two groups meet the same block, so groups can be in different places, and blocks follow them. Words
    of no block may be drawn in `begin`; afterwards n_wk has the counts of theirs in the documents here.

    Attributes
    ----------
    word_block : ndarray of int16, shape (V,)
        Block of each word, or -1.
    group_ptr : ndarray of int64, shape (B + 1,)
        Documents of group g are ``group_ptr[g]:group_ptr[g + 1]``. There are as many groups as blocks.
    block_at : callable
        ``block_at(group, diagonal, B)``.
    begin : callable
        ``begin(state, memory, key)``, before the first diagonal; n_wk has the counts of all documents.
    visit : callable
        ``visit(state, memory, first, last)`` draws the tokens of diagonals `first` to `last` - 1.
    end : callable
        ``end(state, memory)``, after the last; returns statistics, as a step does.
    give : callable
        ``give(memory, block)`` returns what, beside the counts of its words, must follow a block.
    take : callable
        ``take(state, memory, block, n_k, given)``, once n_wk has the counts of the block's words, whose sums are `n_k`.
    """

    word_block: Int16Array
    group_ptr: IntArray
    block_at: Callable[[int, int, int], int]
    begin: Callable[[ChainState, Any, Key], None]
    visit: Callable[[ChainState, Any, int, int], None]
    end: Callable[[ChainState, Any], Mapping[str, float] | None]
    give: Callable[[Any, int], Any]
    take: Callable[[ChainState, Any, int, IntArray, Any], None]

    @property
    def blocks(self) -> int:
        """B, the number of blocks, of groups, and of diagonals."""
        return len(self.group_ptr) - 1

    @cached_property
    def of_all_words(self) -> bool:
        """Whether each word is in a block."""
        return bool((self.word_block >= 0).all())

    @cached_property
    def words(self) -> list[IntArray]:
        """The words of each block."""
        by_block = np.argsort(self.word_block, kind="stable")
        return np.split(by_block, np.searchsorted(self.word_block[by_block], np.arange(self.blocks + 1)))[1:-1]

    def step(self, state: ChainState, memory: Any, key: Key) -> Mapping[str, float] | None:
        """Do all of it where all documents are in one place."""
        self.begin(state, memory, key)
        self.visit(state, memory, 0, self.blocks)
        return self.end(state, memory)


class KernelFunctions(NamedTuple):
    """What a kernel does: ``step``, and ``init`` for the memory that it has between steps.

    ``step(state, memory, key)`` updates ``state`` in place and returns statistics by name, or None;
    all its randomness comes from ``key``. ``init(state)`` returns the memory of one chain. Where documents are in
    several places, a statistic that is a `Share` is that of all; other numbers are averaged over tokens.

    A run that is to be resumed asks what a checkpoint must hold of that memory. Nothing, where it is only room to work
    in, of which no step reads what another wrote: then ``scratch`` is true. Otherwise ``keep(memory)`` returns arrays
    by name, and ``restore(memory, arrays, state)`` brings a memory that ``init`` made for ``state`` into that
    condition.

    A kernel that distributes as ``statistic`` is made by `of_statistic`: what it draws depends on the documents only
    through ``statistic(state)``, a list, and ``combine`` makes one of the lists of all documents. If ``by_group``, it
    has an item for each group of documents (``Tokens.groups``), since sums of real numbers depend on their order. One
    that distributes as ``rotate`` is made by `of_rotation`.

    After each step the variables that it updates must be finite. Of the ``checked`` ones, by their names in the model,
    ``step`` sees to it in passing, and raises FloatingPointError where one is not; all others are looked through.
    """

    step: Callable[[ChainState, Any, Key], Mapping[str, float] | None]
    init: Callable[[ChainState], Any] = _no_memory
    keep: Callable[[Any], Mapping[str, NDArray[Any]]] | None = None
    restore: Callable[[Any, Mapping[str, NDArray[Any]], ChainState], None] | None = None
    scratch: bool = False
    checked: tuple[str, ...] = ()
    statistic: Callable[[ChainState], list[Any]] | None = None
    combine: Callable[[Sequence[Any]], Any] | None = None
    draw_given: Callable[[ChainState, Key, Any], None] | None = None
    by_group: bool = False
    rotation: Rotation | None = None

    @classmethod
    def of_rotation(cls, rotation: Rotation, init: Callable[[ChainState], Any], **more: Any) -> KernelFunctions:
        """Return the functions of a kernel that rotates."""
        return cls(rotation.step, init, rotation=rotation, **more)

    @classmethod
    def of_statistic(
        cls,
        statistic: Callable[[ChainState], list[Any]],
        combine: Callable[[Sequence[Any]], Any],
        draw_given: Callable[[ChainState, Key, Any], None],
        *,
        by_group: bool = False,
    ) -> KernelFunctions:
        """Return the functions of a kernel that draws given a statistic of the documents."""

        def step(state: ChainState, memory: Any, key: Key) -> None:
            draw_given(state, key, combine(statistic(state)))

        return cls(step, statistic=statistic, combine=combine, draw_given=draw_given, by_group=by_group)

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
    distributes: Distribution | None
    devices: Mapping[str, str]
    cost: str
    tasks: str
    memory: str
    reference: str
    options: type[pydantic.BaseModel]
    tiny_options: Mapping[str, Any]
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

    def seconds_on(self, device: str, sizes: Mapping[str, float], options: pydantic.BaseModel | None = None) -> float:
        """Evaluate the cost formula of a device that it can run on, on the nominal one."""
        return 1e-9 * self.evaluate(self.devices[device], sizes, options)

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
            "distributes": self.distributes,
            "devices": dict(self.devices),
            "cost": self.cost,
            "tasks": self.tasks if self.parallel_over else "1",
            "memory": self.memory,
            "options": {k: _plain(f.get_default(call_default_factory=True)) for k, f in fields.items()},
            "reference": self.reference,
            "doc": self.doc,
        }


def _plain(value: Any) -> Any:
    return value.model_dump() if isinstance(value, pydantic.BaseModel) else value
