"""The functions written as LLVM code give what the plain loops give, bit for bit."""

import numba
import numpy as np
import pytest

from ppl_topics.samplers.variates import (
    plain_simd,
    simd_categorical,
    simd_exponential_weights,
    simd_masks,
    simd_particles,
)
from ppl_topics.samplers.variates.simd import prefetch_row
from ppl_topics.samplers.variates.simd_categorical import new_sums
from ppl_topics.samplers.variates.streams import open_stream, uint64

SIZES = [8, 9, 15, 16, 17, 31, 64, 100, 257]


def caller(emitted, n_parameters):
    """A compiled function that calls one written as LLVM code, which plain Python cannot."""
    names = ", ".join("abcdefgh"[:n_parameters])
    scope = {"emitted": emitted}
    exec(f"def call({names}):\n    return emitted({names})", scope)
    return numba.njit(scope["call"])


sums_of_counts = caller(simd_categorical.running_sums_of_counts, 7)
sums_of_products = caller(simd_categorical.running_sums_of_products, 4)
sums_of_list = caller(simd_categorical.running_sums_of_list, 7)
sums_of_exponentials = caller(simd_exponential_weights.running_sums_of_exponentials, 8)
count_lanes_below = caller(simd_categorical.count_lanes_below, 3)
count_rows_below = caller(simd_categorical.count_rows_below, 4)
compare_bytes = caller(simd_masks.compare_bytes, 2)
eight_positive = caller(simd_masks.eight_positive, 3)
eight_set = caller(simd_masks.eight_set, 3)
find_number = caller(simd_masks.find_number, 4)
lowest_bit = caller(simd_masks.lowest_bit, 1)
totals_by_particle = caller(simd_particles.totals_by_particle, 5)
draw_by_particle = caller(simd_particles.draw_by_particle, 8)


def float32(rng, *shape):
    """Numbers of many sizes, a fifth of them zero."""
    return (np.exp(rng.normal(0, 4, shape)) * (rng.random(shape) > 0.2)).astype(np.float32)


def assert_same_bits(emitted, plain, *arguments, size):
    sums, expected = new_sums(size), new_sums(size)
    total, expected_total = emitted(*arguments, sums), plain(*arguments, expected)
    assert np.array_equal(sums.view(np.int32), expected.view(np.int32))
    assert np.float32(total).tobytes() == np.float32(expected_total).tobytes()
    assert not np.array_equal(sums, np.zeros_like(sums)) or size == 0


@pytest.mark.parametrize("size", SIZES)
def test_running_sums(size):
    rng = np.random.default_rng(size)
    weight, factors = float32(rng, size), float32(rng, 3, size)
    counts = rng.integers(1, 1000, (3, size)).astype(np.int32)
    for row in range(3):
        assert_same_bits(sums_of_products, plain_simd.running_sums_of_products, weight, factors, row, size=size)
        for left in (0, size // 2, size - 1):
            arguments = weight, counts, row, np.float32(0.3), left, np.float32(0.7)
            assert_same_bits(sums_of_counts, plain_simd.running_sums_of_counts, *arguments, size=size)


@pytest.mark.parametrize("size", SIZES)
def test_running_sums_of_exponentials(size):
    rng = np.random.default_rng(size)
    weight, factors = float32(rng, size), float32(rng, 2, size)
    exponents = rng.uniform(-100, 60, size).astype(np.float32)
    slopes = rng.normal(0, 10, (size, size)).astype(np.float32)
    for row, left in ((0, 0), (1, size - 1)):
        arguments = weight, factors, row, exponents, slopes, left, np.float32(-0.37)
        assert_same_bits(sums_of_exponentials, plain_simd.running_sums_of_exponentials, *arguments, size=size)


@pytest.mark.parametrize("size", [0, 1, 7, *SIZES])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_running_sums_of_list(size, dtype):
    rng = np.random.default_rng(size)
    weights, begin = float32(rng, 3, 300), 5
    topics = rng.integers(0, 300, begin + size + 8).astype(np.uint16)
    topics[begin : begin + size] = np.sort(rng.permutation(300)[:size])
    counts = (rng.integers(1, 9, topics.size) * (1 if dtype is np.int32 else 0.3)).astype(dtype)
    for row in range(3):
        arguments = weights, row, topics, counts, begin, size
        sums, expected = new_sums(max(size, 1)), new_sums(max(size, 1))
        total, expected_total = sums_of_list(*arguments, sums), plain_simd.running_sums_of_list(*arguments, expected)
        assert np.array_equal(sums.view(np.int32), expected.view(np.int32))
        assert total == expected_total


def test_exponential_is_close_to_the_exponential():
    numbers = np.linspace(-87, 80, 5001).astype(np.float32)
    computed = np.array([plain_simd.exponential(x) for x in numbers], float)
    assert np.abs(computed / np.exp(numbers.astype(float)) - 1.0).max() < 2.5e-7
    assert plain_simd.exponential(np.float32(-500.0)) == plain_simd.exponential(np.float32(-87.0))


@pytest.mark.parametrize("target", [-1.0, 0.0, 17.0, 20.5, 39.0, 50.0])
def test_counts_of_sums_below_a_target(target):
    rng = np.random.default_rng(4)
    sums = np.sort(rng.integers(0, 40, 8 * 50)).astype(np.float32)
    goal = np.float32(target)
    for place in (0, 16, 392):
        assert count_lanes_below(sums, place, goal) == plain_simd.count_lanes_below(sums, place, goal)
    for rows, lane in ((0, 3), (1, 0), (2, 7), (25, 4), (49, 1)):
        arguments = sums, rows, lane, goal
        assert count_rows_below(*arguments) == plain_simd.count_rows_below(*arguments)


@pytest.mark.parametrize("size", [4, 8, 52])
def test_particles_side_by_side(size):
    rng = np.random.default_rng(size)
    weight, factors = float32(rng, 3, size, 16).astype(float), float32(rng, 3, size)
    stream, other, z, expected_z = (open_stream(seed=3), open_stream(seed=3), *np.zeros((2, 4, 48), np.int32))
    for turn in range(20):
        sums, expected = (simd_particles.new_block_sums(size) for _ in range(2))
        token, group, row = turn % 4, turn % 3, turn % 3
        if turn == 0:
            # What was in the buffer is not used.
            uint64(stream)
            uint64(other)
        draw_by_particle(stream, weight, group, factors, row, sums, z, token)
        plain_simd.draw_by_particle(other, weight, group, factors, row, expected, expected_z, token)
        assert np.array_equal(z, expected_z)
        assert np.array_equal(sums.view(np.int64), expected.view(np.int64))
        assert np.array_equal(stream, other)
        totals_by_particle(weight, group, factors, row, sums)
        plain_simd.totals_by_particle(weight, group, factors, row, expected)
        assert np.array_equal(sums[0].view(np.int64), expected[0].view(np.int64))
        found = z[token, 16 * group : 16 * (group + 1)]
        possible = weight[group, found, np.arange(16)] * factors[row, found] > 0.0
        assert (possible | (sums[0] == 0.0)).all()


def test_masks():
    rng = np.random.default_rng(5)
    stream = open_stream(seed=3)
    for _ in range(30):
        uint64(stream)
        for level in (0, 1, 77, 128, 255):
            assert compare_bytes(stream, np.uint64(level)) == plain_simd.compare_bytes(stream, level)
    counts = rng.integers(-1, 3, (4, 30)).astype(np.int32)
    flags = rng.integers(0, 3, (4, 30)).astype(np.uint8)
    for row, cell in ((0, 0), (3, 22), (2, 5)):
        assert eight_positive(counts, row, cell) == plain_simd.eight_positive(counts, row, cell)
        assert eight_set(flags, row, cell) == plain_simd.eight_set(flags, row, cell)
    for mask in (1, 2, 12, 2**63, 2**40 + 2**41):
        assert lowest_bit(np.uint64(mask)) == plain_simd.lowest_bit(mask)


def test_prefetching_changes_nothing():
    matrix = np.arange(600, dtype=np.float32).reshape(2, 300)
    caller(prefetch_row, 2)(matrix, 1)
    assert np.array_equal(matrix.ravel(), np.arange(600))


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 40])
def test_a_number_is_found_where_it_is_first(size):
    rng = np.random.default_rng(size)
    numbers = rng.integers(0, 30, 3 + size + 16).astype(np.uint16)
    numbers[3 + size] = 65535
    for number in (*range(31), 65535):
        arguments = numbers, 3, 3 + size, number
        assert find_number(*arguments) == plain_simd.find_number(*arguments)
    assert find_number(numbers, 3, 3 + size, 65535) == 3 + size
