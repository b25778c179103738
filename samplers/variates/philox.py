"""Philox4x64-10, emitted as LLVM code: two blocks of the counter-based generator at once.

The rounds are written with LLVM's 128-bit integers, which numba lacks, and stand in a function that cannot
raise: so numba keeps neither reference counts nor error branches around it, and a draw costs about 3 ns.

References
----------
J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw (2011). Parallel random numbers: as easy as 1, 2, 3. SC'11,
section 4.3.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["BUFFER", "KEY", "POSITION", "WORDS", "multiply", "refill"]

KEY, BUFFER, POSITION, WORDS = 4, 6, 14, 15
ROUNDS = 10
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
WORD, WIDE = ir.IntType(64), ir.IntType(128)
FUNCTION = "ppl_topics_philox_refill"


def emit_product(builder: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """Emit the high and the low word of the 128-bit product of two words."""
    product = builder.mul(builder.zext(first, WIDE), builder.zext(second, WIDE))
    return builder.trunc(builder.lshr(product, ir.Constant(WIDE, 64)), WORD), builder.trunc(product, WORD)


def emit_round(builder: Any, block: list[Any], key: list[Any]) -> list[Any]:
    """Emit one round (Salmon et al. 2011, figure 2) on a block of four words."""
    high_0, low_0 = emit_product(builder, ir.Constant(WORD, MULTIPLIERS[0]), block[0])
    high_1, low_1 = emit_product(builder, ir.Constant(WORD, MULTIPLIERS[1]), block[2])
    first = builder.xor(builder.xor(high_1, block[1]), key[0])
    third = builder.xor(builder.xor(high_0, block[3]), key[1])
    return [first, low_1, third, low_0]


def define_refill(function: Any) -> None:
    """Write the body of the function that advances the counter by two and fills the buffer."""
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))

    def place(index: int) -> Any:
        return builder.gep(function.args[0], [ir.Constant(WORD, index)])

    state = [builder.load(place(index)) for index in range(BUFFER)]
    blocks = []
    for ahead in (1, 2):
        counter = builder.add(state[0], ir.Constant(WORD, ahead))
        blocks.append([counter, *state[1:KEY]])
    builder.store(blocks[1][0], place(0))
    key = state[KEY:BUFFER]
    for _ in range(ROUNDS):
        blocks = [emit_round(builder, block, key) for block in blocks]
        key = [builder.add(part, ir.Constant(WORD, step)) for part, step in zip(key, WEYL, strict=True)]
    for index, word in enumerate(blocks[0] + blocks[1]):
        builder.store(word, place(BUFFER + index))
    builder.ret_void()


def emit_refill(builder: Any, stream: Any) -> None:
    """Emit `refill` of the stream at an address."""
    kind = ir.FunctionType(ir.VoidType(), [WORD.as_pointer()])
    function = cgutils.get_or_insert_function(builder.module, kind, FUNCTION)
    if function.is_declaration:
        define_refill(function)
    builder.call(function, [stream])


@intrinsic  # type: ignore[untyped-decorator]
def refill(typingctx: Any, stream: Any) -> Any:
    """Fill the buffer of a stream with its next two blocks.

    Only the first word of the counter moves: a sequence holds 2^66 words before it repeats.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        emit_refill(builder, context.make_array(signature.args[0])(context, builder, arguments[0]).data)
        return context.get_dummy_value()

    return types.void(stream), codegen


@intrinsic  # type: ignore[untyped-decorator]
def multiply(typingctx: Any, first: Any, second: Any) -> Any:
    """High and low word of the 128-bit product of two uint64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_tuple(builder, signature.return_type, emit_product(builder, *arguments))

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), codegen
