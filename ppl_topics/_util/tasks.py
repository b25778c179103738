"""Loops over tasks on all threads, quick to compile.

numba compiles the body of a ``prange`` three times over, with all that it calls: for itself, for the loop of a thread
and for the function around it. Here a task is a function of its own, and a loop that is compiled once for all calls it
by its address.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.caching import NullCache
from numba.extending import intrinsic

from ppl_topics._util.arrays import BoolArray
from ppl_topics._util.compiled import parallel, signed, specialised

__all__ = ["for_each"]

OF_LOOP = (types.int64, types.int64)
"""What the loop gives: the number of the task, and where its arguments are."""

OTHER_TYPES = -1


class _Code(NamedTuple):
    """The code of a task that ran last: what starts it, its address, and the stamp of the types that it takes."""

    start: Callable[..., int]
    address: int = 0
    stamp: int = 0


_latest: dict[Any, _Code] = {}


def for_each(task: Any, number: int, *arguments: Any) -> None:
    """Call a compiled function with each index below a number and the arguments, in any order, on all threads.

    The tasks must not depend on each other, or on the number of threads: each owns its output and its random stream.
    It returns nothing. Threads get runs of tasks of equal number. If a task fails, others run all the same, and then a
    RuntimeError is raised.
    """
    if numba.config.DISABLE_JIT:
        for index in range(number):
            task(index, *arguments)
        return
    code = _latest.get(task) or _Code(_start_of(task))
    # Types are not looked at twice: this takes as long as a sweep over a tiny corpus.
    failed = code.start(code.address, code.stamp, number, arguments)
    if failed == OTHER_TYPES:
        code = _latest[task] = _code_for(task, code.start, arguments)
        failed = code.start(code.address, code.stamp, number, arguments)
    if failed:
        raise RuntimeError(f"{failed} of {number} tasks of {task.__name__} failed; is there enough memory?")


def _start_of(task: Any) -> Callable[..., int]:
    """Return a copy of `start_tasks` for one task, whose file in numba's cache names the types of this task only."""
    # This starts numba's threads. What is loaded from its cache does so too, but not if a part of it was loaded before.
    numba.get_num_threads()
    label = f"{task.__module__}.{task.__qualname__}"
    return specialised(start_tasks, label, cached=not isinstance(task._cache, NullCache))


def _code_for(task: Any, start: Callable[..., int], arguments: tuple[Any, ...]) -> _Code:
    """Return a task's code for arguments of these types, compiled if need be."""
    taken = types.BaseTuple.from_types(tuple(task.typeof_pyval(each) for each in arguments))
    own = (types.int64, *taken)
    task.compile(own)
    made = task.overloads[own]
    return _Code(start, made.library.get_pointer_to_function(made.fndesc.llvm_func_name), _stamp(taken))


def _stamp(taken: Any) -> int:
    """Return a number that tells types apart, the same in all processes, and never 0."""
    return int.from_bytes(hashlib.sha256(str(taken).encode()).digest()[:7], "big") + 1


def start_tasks(address: int, stamp: int, number: int, arguments: Any) -> int:
    """Run the tasks at an address, and return how many failed; `OTHER_TYPES` if the stamp is not of these types."""
    if stamp != stamp_of(arguments):
        return OTHER_TYPES
    caller, place = packed(address, arguments)
    ends = np.zeros(number, np.bool_)
    run_tasks(caller, place, ends)
    failed = 0
    for end in ends:
        if end:
            failed += 1
    return failed


@parallel
def run_tasks(caller: int, place: int, failed: BoolArray) -> None:
    """Run tasks by the function at an address that calls them. What they raise is lost: numba has no way to pass it."""
    for index in numba.prange(failed.size):
        failed[index] = call(caller, signed(index), place)


@intrinsic  # type: ignore[untyped-decorator]
def stamp_of(typing_context: Any, arguments: Any) -> Any:
    """Return the stamp of the types of arguments."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return context.get_constant(types.int64, _stamp(arguments))

    return types.int64(arguments), generate


@intrinsic  # type: ignore[untyped-decorator]
def call(typing_context: Any, caller: Any, index: Any, place: Any) -> Any:
    """Call the function that calls a task, and return whether it failed."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address, *given = values
        return _call(context, builder, address, OF_LOOP, given).is_error

    return types.boolean(types.int64, *OF_LOOP), generate


@intrinsic  # type: ignore[untyped-decorator]
def packed(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Return the addresses of a function that calls a task, and of what it reads: the task's address and arguments.

    The latter is memory of the function that this is called in.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        held = ir.LiteralStructType([context.get_value_type(part) for part in (types.int64, arguments)])
        place = cgutils.alloca_once(builder, held)
        for part, value in enumerate(values):
            builder.store(value, cgutils.gep_inbounds(builder, place, 0, part))
        caller = _function(context, builder.module, held, arguments)
        word = context.get_value_type(types.int64)
        pair = [builder.ptrtoint(each, word) for each in (caller, place)]
        return context.make_tuple(builder, signature.return_type, pair)

    return types.UniTuple(types.int64, 2)(types.int64, arguments), generate


def _function(context: Any, module: Any, held: Any, arguments: Any) -> Any:
    """Add to a module the function that calls a task with arguments of these types, which it finds at an address."""
    kind = context.call_conv.get_function_type(types.none, OF_LOOP)
    function = ir.Function(module, kind, module.get_unique_name("call_task"))
    function.linkage = "internal"
    context.call_conv.decorate_function(function, ["index", "place"], OF_LOOP)
    builder = ir.IRBuilder(function.append_basic_block())
    index, place = context.call_conv.get_arguments(function)
    address, values = cgutils.unpack_tuple(builder, builder.load(builder.inttoptr(place, held.as_pointer())), 2)
    parts = cgutils.unpack_tuple(builder, values, len(arguments))
    status = _call(context, builder, address, (types.int64, *arguments), [index, *parts])
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    context.call_conv.return_value(builder, context.get_dummy_value())
    return function


def _call(context: Any, builder: Any, address: Any, taken: Any, values: Any) -> Any:
    """Call a compiled function that returns nothing, by its address, and return how it ended."""
    kind = context.call_conv.get_function_type(types.none, taken)
    function = builder.inttoptr(address, kind.as_pointer())
    status, _ = context.call_conv.call_function(builder, function, types.none, taken, values)
    return status
