"""Draws from sixteen categorical distributions at once, those of a group of particles, each in its own lane.

The cells of all sixteen have the same factors and differ in their weights, which stand side by side: an array of shape
(groups, K, 16), so that those of a group are near each other in the cache. Cells are in blocks of four, and only the
sum before each block is stored: to store and read all would take longer than to add. Their number is a multiple of
four, if need be by cells without weight. A point is first found among the sums, in all lanes at once, and then in its
block, by the same additions. Nothing has a branch or waits for one particle alone; and as an addition waits for the one
before, sixteen lanes take hardly longer than eight. All numbers are of 64 bits, and so is a point: no cell is too small
for them. `docs/kernels.md` says why this is written as LLVM code, and `plain_simd` has the same as plain loops.
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
from ppl_topics.samplers.variates.philox import BUFFER, POSITION, emit_refill
from ppl_topics.samplers.variates.simd import (
    INTEGER,
    LANES,
    WORD,
    data_of,
    emit_load,
    emit_store,
    integer,
    row_of,
    spread,
    word,
)

__all__ = ["BLOCK", "GROUP", "draw_by_particle", "new_block_sums", "totals_by_particle"]

GROUP = 16
"""Particles side by side."""

BLOCK = 4
"""Cells with one running sum."""

DOUBLE = ir.DoubleType()
DOUBLES, WORDS, INTEGERS = (ir.VectorType(kind, GROUP) for kind in (DOUBLE, WORD, INTEGER))
NONE, ONES = (ir.Constant(DOUBLES, [number] * GROUP) for number in (0.0, 1.0))

EXPONENT_BITS, EXPONENT_OF_ONE = 12, 0x3FF0000000000000
"""The sign and the exponent of a float64, and those of 1: 52 random bits behind them are a number in [1, 2)."""


@compiled
def new_block_sums(size: int) -> FloatArray:
    """Allocate the running sums before each block of four of `size` cells, shape (size / 4, 16)."""
    return np.zeros((size // BLOCK, GROUP))


def emit_factor(builder: Any, factor: Any, cell: Any) -> Any:
    """Emit the factor of a cell as a float64."""
    return builder.fpext(builder.load(builder.gep(factor, [cell])), DOUBLE)


def emit_sums(builder: Any, size: Any, weights: Any, factor: Any, sums: Any = None) -> Any:
    """Emit the totals of ``weights[k] * factor[k]`` by lane; `sums` are overwritten with those before each block."""
    reached = cgutils.alloca_once_value(builder, NONE)
    with cgutils.for_range(builder, builder.udiv(size, word(BLOCK))) as loop:
        if sums is not None:
            emit_store(builder, builder.load(reached), sums, builder.mul(loop.index, word(GROUP)))
        total = builder.load(reached)
        for step in range(BLOCK):
            cell = builder.add(builder.mul(loop.index, word(BLOCK)), word(step))
            factors = spread(builder, emit_factor(builder, factor, cell), GROUP)
            weight = emit_load(builder, weights, builder.mul(cell, word(GROUP)), DOUBLES)
            total = builder.fadd(total, builder.fmul(weight, factors))
        builder.store(total, reached)
    return builder.load(reached)


def emit_weights(context: Any, builder: Any, signature: Any, arguments: Any, index: int, group: Any) -> tuple[Any, Any]:
    """Emit the address of a group's weights, and the number of its cells."""
    array = context.make_array(signature.args[index])(context, builder, arguments[index])
    size = builder.extract_value(array.shape, 1)
    return builder.gep(array.data, [builder.mul(builder.mul(group, size), word(GROUP))]), size


def emit_points(builder: Any, stream: Any) -> Any:
    """Emit sixteen random numbers from [0, 1), multiples of 2^-52; what was in the stream's buffer is lost."""
    bits = ir.Constant(WORDS, ir.Undefined)
    for half in range(0, GROUP, LANES):
        emit_refill(builder, stream)
        # One by one: a vector would wait until all of it has reached the cache.
        for lane in range(LANES):
            number = builder.load(builder.gep(stream, [word(BUFFER + lane)]))
            bits = builder.insert_element(bits, number, integer(half + lane))
    builder.store(word(LANES), builder.gep(stream, [word(POSITION)]))
    bits = builder.lshr(bits, ir.Constant(WORDS, [EXPONENT_BITS] * GROUP))
    from_one = builder.bitcast(builder.or_(bits, ir.Constant(WORDS, [EXPONENT_OF_ONE] * GROUP)), DOUBLES)
    return builder.fsub(from_one, ONES)


@intrinsic  # type: ignore[untyped-decorator]
def totals_by_particle(typingctx: Any, weight: Any, group: Any, factors: Any, row: Any, totals: Any) -> Any:
    """Compute the sum over k of ``weight[group, k] * factors[row, k]`` into the first row of `totals`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        weights, size = emit_weights(context, builder, signature, arguments, 0, arguments[1])
        factor = row_of(context, builder, signature, arguments, 2, arguments[3])
        found = emit_sums(builder, size, weights, factor)
        emit_store(builder, found, data_of(context, builder, signature, arguments, 4), word(0))
        return context.get_dummy_value()

    return types.void(weight, types.int64, factors, types.int64, totals), codegen


@intrinsic  # type: ignore[untyped-decorator]
def draw_by_particle(
    typingctx: Any, stream: Any, weight: Any, group: Any, factors: Any, row: Any, sums: Any, z: Any, token: Any
) -> Any:
    """Draw a cell for each particle of a group in proportion to ``weight[group, k] * factors[row, k]``, into z[token].

    A cell without weight is drawn only where none has any. `sums` are working memory, from `new_block_sums`. The
    stream's buffer is used up.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        weights, size = emit_weights(context, builder, signature, arguments, 1, arguments[2])
        factor = row_of(context, builder, signature, arguments, 3, arguments[4])
        data = data_of(context, builder, signature, arguments, 5)
        totals = emit_sums(builder, size, weights, factor, data)
        # Random numbers are below 1 by more than rounding: a point is below its total.
        points = builder.fmul(emit_points(builder, data_of(context, builder, signature, arguments, 0)), totals)
        found = cgutils.alloca_once_value(builder, ir.Constant(WORDS, [0] * GROUP))
        with cgutils.for_range(builder, builder.udiv(size, word(BLOCK)), start=word(1)) as loop:
            before = emit_load(builder, data, builder.mul(loop.index, word(GROUP)), DOUBLES)
            passed = builder.sext(builder.fcmp_ordered("<=", before, points), WORDS)
            builder.store(builder.sub(builder.load(found), passed), found)
        blocks, topics = builder.load(found), ir.Constant(INTEGERS, ir.Undefined)
        for lane in range(GROUP):
            block, point = (builder.extract_element(vector, integer(lane)) for vector in (blocks, points))
            reached = builder.load(builder.gep(data, [builder.add(builder.mul(block, word(GROUP)), word(lane))]))
            topic = first = builder.mul(block, word(BLOCK))
            for step in range(BLOCK - 1):
                cell = builder.add(first, word(step))
                own = builder.load(builder.gep(weights, [builder.add(builder.mul(cell, word(GROUP)), word(lane))]))
                reached = builder.fadd(reached, builder.fmul(own, emit_factor(builder, factor, cell)))
                topic = builder.add(topic, builder.zext(builder.fcmp_ordered("<=", reached, point), WORD))
            topics = builder.insert_element(topics, builder.trunc(topic, INTEGER), integer(lane))
        out = row_of(context, builder, signature, arguments, 6, arguments[7])
        emit_store(builder, topics, out, builder.mul(arguments[2], word(GROUP)))
        return context.get_dummy_value()

    return types.void(stream, weight, types.int64, factors, types.int64, sums, z, types.int64), codegen
