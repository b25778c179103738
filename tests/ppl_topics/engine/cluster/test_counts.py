"""Counts as bytes: what is added from them is what was encoded."""

import numpy as np
import pytest

from ppl_topics.engine.cluster.counts import add, encode

RNG = np.random.default_rng(0)
CASES = {
    "sparse": RNG.poisson(0.3, size=(200, 30)),
    "dense": RNG.integers(1, 10_000, size=(20, 5)),
    "no tokens": np.zeros((3, 4)),
    "no words": np.zeros((0, 4)),
    "where numbers take another byte": np.array([[127, 128, 0], [0, 16383, 16384], [0, 0, 2**31 - 1]]),
    "topics far apart": np.eye(3, 40_000, 20_000),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_encoded_is_added(name: str) -> None:
    counts = CASES[name].astype(np.int32)
    n_wk = RNG.integers(0, 5, size=counts.shape, dtype=np.int32) * (counts < 100)
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    expected = n_wk + counts
    add(encode(counts), n_wk, n_k, np.zeros(len(counts), np.int64))
    np.testing.assert_array_equal(n_wk, expected)
    np.testing.assert_array_equal(n_k, expected.sum(axis=0, dtype=np.int64))


def test_zeros_take_no_bytes_and_small_counts_two() -> None:
    counts = np.zeros((10, 1000), dtype=np.int32)
    assert encode(counts).nbytes == 10
    counts[3, :60] = 100
    assert encode(counts).nbytes == 10 + 2 * 60
