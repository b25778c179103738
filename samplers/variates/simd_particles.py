"""Draws from eight categorical distributions at once, those of eight particles, each in its own lane of a vector.

The cells of all eight have the same factors and differ in their weights, which stand side by side: an array of shape
(K, P), of which eight columns are read. So neither the sums nor the search for a cell has a branch or waits for one
particle alone. All numbers are of 64 bits, and so is a point: no cell is too small for them. `docs/kernels.md` says why
this is written as LLVM code, and `plain_simd` has the same as plain loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.variates.philox import BUFFER
from ppl_topics.samplers.variates.simd import (
    INTEGERS,
    LANES,
    WORD,
    data_of,
    emit_load,
    row_of,
    spread,
    word,
)

__all__ = ["find_by_particle", "new_particle_sums", "running_sums_by_particle"]

DOUBLE = ir.DoubleType()
DOUBLES, WORDS = ir.VectorType(DOUBLE, LANES), ir.VectorType(WORD, LANES)
NONE, ONES = ir.Constant(DOUBLES, [0.0] * LANES), ir.Constant(DOUBLES, [1.0] * LANES)

EXPONENT_BITS, EXPONENT_OF_ONE = 12, 0x3FF0000000000000
"""The sign and the exponent of a float64, and those of 1: 52 random bits behind them are a number in [1, 2)."""


@compiled
def new_particle_sums(size: int) -> FloatArray:
    """Allocate the running sums of eight distributions with `size` cells, shape (K, 8)."""
    return np.zeros((size, LANES))


def emit_put(builder: Any, value: Any, data: Any, cell: Any) -> None:
    """Emit the store of eight numbers of any kind."""
    builder.store(value, builder.bitcast(builder.gep(data, [cell]), value.type.as_pointer()), align=4)


@intrinsic  # type: ignore[untyped-decorator]
def running_sums_by_particle(typingctx: Any, weight: Any, lane: Any, factors: Any, row: Any, sums: Any) -> Any:
    """Compute the running sums over k of ``weight[k, lane : lane + 8] * factors[row, k]``; the last are the totals."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        weights, out = (data_of(context, builder, signature, arguments, i) for i in (0, 4))
        factor = row_of(context, builder, signature, arguments, 2, arguments[3])
        shape = context.make_array(signature.args[0])(context, builder, arguments[0]).shape
        size, width = (builder.extract_value(shape, axis) for axis in (0, 1))
        reached = cgutils.alloca_once_value(builder, NONE)
        with cgutils.for_range(builder, size) as loop:
            place = builder.add(builder.mul(loop.index, width), arguments[1])
            factors_of_cell = spread(builder, builder.fpext(builder.load(builder.gep(factor, [loop.index])), DOUBLE))
            term = builder.fmul(emit_load(builder, weights, place, DOUBLES), factors_of_cell)
            total = builder.fadd(builder.load(reached), term)
            builder.store(total, reached)
            emit_put(builder, total, out, builder.mul(loop.index, word(LANES)))
        return context.get_dummy_value()

    return types.void(weight, types.int64, factors, types.int64, sums), codegen


@intrinsic  # type: ignore[untyped-decorator]
def find_by_particle(typingctx: Any, stream: Any, sums: Any, z: Any, token: Any, lane: Any) -> Any:
    """Write into ``z[token, lane : lane + 8]`` a cell for each particle, by its running sums and its random number.

    The numbers are the eight words of the stream's buffer. They are below 1 by more than rounding: a point is below
    its total, and a cell without weight is never found.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        state, data = (data_of(context, builder, signature, arguments, i) for i in (0, 1))
        topics = row_of(context, builder, signature, arguments, 2, arguments[3])
        shape = context.make_array(signature.args[1])(context, builder, arguments[1]).shape
        last = builder.sub(builder.extract_value(shape, 0), word(1))
        bits = builder.lshr(emit_load(builder, state, word(BUFFER), WORDS), ir.Constant(WORDS, [EXPONENT_BITS] * LANES))
        from_one = builder.bitcast(builder.or_(bits, ir.Constant(WORDS, [EXPONENT_OF_ONE] * LANES)), DOUBLES)
        totals = emit_load(builder, data, builder.mul(last, word(LANES)), DOUBLES)
        points = builder.fmul(builder.fsub(from_one, ONES), totals)
        cells = cgutils.alloca_once_value(builder, ir.Constant(WORDS, [0] * LANES))
        with cgutils.for_range(builder, last) as loop:
            below = emit_load(builder, data, builder.mul(loop.index, word(LANES)), DOUBLES)
            passed = builder.sext(builder.fcmp_ordered("<=", below, points), WORDS)
            builder.store(builder.sub(builder.load(cells), passed), cells)
        emit_put(builder, builder.trunc(builder.load(cells), INTEGERS), topics, arguments[4])
        return context.get_dummy_value()

    return types.void(stream, sums, z, types.int64, types.int64), codegen
