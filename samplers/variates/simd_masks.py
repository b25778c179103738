"""Comparisons of many cells at once, as masks of bits, written as LLVM code; `plain_simd` has each as a loop."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from ppl_topics.samplers.variates.philox import BUFFER
from ppl_topics.samplers.variates.simd import INTEGERS, LANES, WORD, data_of, emit_load, row_of, spread, word

__all__ = ["AT_ONCE", "CELLS", "compare_bytes", "eight_positive", "eight_set", "find_number", "lowest_bit"]

CELLS = 64
"""Bytes of a stream's buffer, and bits of a mask."""

AT_ONCE = 16
"""How many numbers `find_number` reads at once, so that as many may lie after the end."""


@intrinsic  # type: ignore[untyped-decorator]
def compare_bytes(typingctx: Any, stream: Any, level: Any) -> Any:
    """Return two masks of 64 bits: which bytes of a stream's buffer are below `level`, and which are equal to it."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments, 0)
        kind = ir.VectorType(ir.IntType(8), CELLS)
        place = builder.gep(data, [ir.Constant(WORD, BUFFER)])
        cells = builder.load(builder.bitcast(place, kind.as_pointer()), align=8)
        level = spread(builder, builder.trunc(arguments[1], ir.IntType(8)), CELLS)
        masks = [builder.bitcast(builder.icmp_unsigned(how, cells, level), WORD) for how in ("<", "==")]
        return context.make_tuple(builder, signature.return_type, masks)

    return types.UniTuple(types.uint64, 2)(stream, types.uint64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def eight_positive(typingctx: Any, counts: Any, row: Any, cell: Any) -> Any:
    """Return a mask of eight bits: which of the eight counts of a row from `cell` on are positive."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = row_of(context, builder, signature, arguments, 0, arguments[1])
        cells = emit_load(builder, data, arguments[2], INTEGERS)
        positive = builder.icmp_signed(">", cells, ir.Constant(INTEGERS, [0] * LANES))
        return builder.zext(builder.bitcast(positive, ir.IntType(LANES)), WORD)

    return types.uint64(counts, types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def eight_set(typingctx: Any, flags: Any, row: Any, cell: Any) -> Any:
    """Return a mask of eight bits: which of the eight bytes of a row from `cell` on are not zero."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(8), LANES)
        data = row_of(context, builder, signature, arguments, 0, arguments[1])
        place = builder.bitcast(builder.gep(data, [arguments[2]]), kind.as_pointer())
        flagged = builder.icmp_unsigned("!=", builder.load(place, align=1), ir.Constant(kind, [0] * LANES))
        return builder.zext(builder.bitcast(flagged, ir.IntType(LANES)), WORD)

    return types.uint64(flags, types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def find_number(typingctx: Any, numbers: Any, begin: Any, end: Any, number: Any) -> Any:
    """Return the first place from `begin` on of a number of 16 bits; `end` if it is not before that."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments, 0)
        begin, end, before = arguments[1], arguments[2], builder.block
        sought = spread(builder, builder.trunc(arguments[3], ir.IntType(16)), AT_ONCE)
        body, onward, found, done = (builder.append_basic_block(name) for name in ("find", "onward", "found", "done"))
        builder.cbranch(builder.icmp_signed("<", begin, end), body, done)

        builder.position_at_end(body)
        place = builder.phi(WORD)
        some = builder.load(builder.bitcast(builder.gep(data, [place]), sought.type.as_pointer()), align=2)
        mask = builder.bitcast(builder.icmp_unsigned("==", some, sought), ir.IntType(AT_ONCE))
        following = builder.add(place, word(AT_ONCE))
        place.add_incoming(begin, before)
        place.add_incoming(following, onward)
        builder.cbranch(builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0)), found, onward)

        builder.position_at_end(onward)
        builder.cbranch(builder.icmp_signed("<", following, end), body, done)

        builder.position_at_end(found)
        first = builder.add(place, builder.zext(builder.cttz(mask, ir.Constant(ir.IntType(1), 1)), WORD))
        # What lies after the end may be equal, too.
        first = builder.select(builder.icmp_signed("<", first, end), first, end)
        builder.branch(done)

        builder.position_at_end(done)
        result = builder.phi(WORD)
        for value, block in ((end, before), (end, onward), (first, found)):
            result.add_incoming(value, block)
        return result

    return types.int64(numbers, types.int64, types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(typingctx: Any, mask: Any) -> Any:
    """Return the place of the lowest bit of a mask that is not zero."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen
