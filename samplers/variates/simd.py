"""Vectors of eight numbers (SIMD), written as LLVM code: what a compiler would not make of a loop by itself.

Where a processor has shorter vectors, LLVM splits these, and the results keep their bits. `docs/kernels.md` explains
why, and `plain_simd` has each function as a plain loop.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "AHEAD",
    "CACHE_LINE",
    "FAR_AHEAD",
    "FLOATS",
    "INTEGER",
    "INTEGERS",
    "IOTA",
    "LANES",
    "NOTHING",
    "WORD",
    "ZEROS",
    "data_of",
    "emit_load",
    "emit_store",
    "integer",
    "prefetch_cell",
    "prefetch_row",
    "row_of",
    "size_of",
    "spread",
    "unlikely",
    "word",
]

LANES = 8
FLOAT, WORD, INTEGER = ir.FloatType(), ir.IntType(64), ir.IntType(32)
FLOATS, INTEGERS = ir.VectorType(FLOAT, LANES), ir.VectorType(INTEGER, LANES)
NOTHING, ZEROS = ir.Constant(FLOATS, ir.Undefined), ir.Constant(FLOATS, [0.0] * LANES)
IOTA = ir.Constant(INTEGERS, list(range(LANES)))
CACHE_LINE, PREFETCHED = 16, 256

AHEAD = 4
"""How many tokens ahead a row is prefetched: about as long as it takes to come from memory."""

FAR_AHEAD = 4 * AHEAD
"""How many tokens ahead a word is prefetched, that names such a row."""


def word(value: int) -> Any:
    """Return a constant of 64 bits."""
    return ir.Constant(WORD, value)


def integer(value: int) -> Any:
    """Return a constant of 32 bits."""
    return ir.Constant(INTEGER, value)


def spread(builder: Any, value: Any, lanes: int = LANES) -> Any:
    """Emit a vector that holds `value` in each lane."""
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    single = builder.insert_element(undefined, value, integer(0))
    return builder.shuffle_vector(single, undefined, ir.Constant(ir.VectorType(INTEGER, lanes), [0] * lanes))


def emit_load(builder: Any, data: Any, cell: Any, kind: Any) -> Any:
    """Emit the load of a vector of cells."""
    return builder.load(builder.bitcast(builder.gep(data, [cell]), kind.as_pointer()), align=4)


def emit_store(builder: Any, value: Any, data: Any, cell: Any) -> None:
    """Emit the store of a vector of cells."""
    builder.store(value, builder.bitcast(builder.gep(data, [cell]), value.type.as_pointer()), align=4)


def data_of(context: Any, builder: Any, signature: Any, arguments: Any, index: int) -> Any:
    """Emit the address of an array's first element."""
    return context.make_array(signature.args[index])(context, builder, arguments[index]).data


def size_of(context: Any, builder: Any, signature: Any, arguments: Any, index: int) -> Any:
    """Emit the length of a vector."""
    return builder.extract_value(context.make_array(signature.args[index])(context, builder, arguments[index]).shape, 0)


def row_of(context: Any, builder: Any, signature: Any, arguments: Any, index: int, row: Any) -> Any:
    """Emit the address of a row of a matrix: a slice would count references at every draw."""
    matrix = context.make_array(signature.args[index])(context, builder, arguments[index])
    columns = builder.extract_value(matrix.shape, 1)
    return builder.gep(matrix.data, [builder.mul(row, columns)])


def emit_prefetch(builder: Any, data: Any, cell: Any) -> None:
    """Emit the prefetch of a cell, to be read."""
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), INTEGER, INTEGER, INTEGER])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    place = builder.bitcast(builder.gep(data, [cell]), ir.IntType(8).as_pointer())
    builder.call(prefetch, [place, *map(integer, (0, 3, 1))])


@intrinsic  # type: ignore[untyped-decorator]
def prefetch_row(typingctx: Any, matrix: Any, row: Any) -> Any:
    """Prefetch a row of a matrix of 4-byte numbers (its first 1,024 bytes) into the cache; it changes no value."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = row_of(context, builder, signature, arguments, 0, arguments[1])
        columns = builder.extract_value(context.make_array(signature.args[0])(context, builder, arguments[0]).shape, 1)
        most = builder.select(builder.icmp_signed("<", columns, word(PREFETCHED)), columns, word(PREFETCHED))
        with cgutils.for_range_slice(builder, word(0), most, word(CACHE_LINE), inc=True) as (cell, _):
            emit_prefetch(builder, data, cell)
        return context.get_dummy_value()

    return types.void(matrix, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def prefetch_cell(typingctx: Any, vector: Any, cell: Any) -> Any:
    """Prefetch a cell of a vector into the cache; it changes no value."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        emit_prefetch(builder, data_of(context, builder, signature, arguments, 0), arguments[1])
        return context.get_dummy_value()

    return types.void(vector, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def unlikely(typingctx: Any, condition: Any) -> Any:
    """Return a condition, which the compiler is told is nearly always false; it changes no value."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bit = ir.IntType(1)
        expect = cgutils.get_or_insert_function(builder.module, ir.FunctionType(bit, [bit, bit]), "llvm.expect.i1")
        return builder.call(expect, [arguments[0], ir.Constant(bit, 0)])

    return types.boolean(types.boolean), codegen
