import numpy as np
from device_reference import words_of
from numba import cuda

from ppl_topics.core.keys import Key
from ppl_topics.cuda.compiling import launched
from ppl_topics.cuda.philox import device_key, philox, standard_normal, uniform_open


@launched
def blocks(key, unit, number, out):
    out[0], out[1], out[2], out[3] = philox(key, unit, number)


@launched
def normals(key, out):
    first, second, third, fourth = philox(key, 3, cuda.blockIdx.x + 1)
    out[2 * cuda.blockIdx.x] = standard_normal(first, second)
    out[2 * cuda.blockIdx.x + 1] = uniform_open(third ^ fourth)


def test_blocks_are_those_of_numpy():
    for key in (Key(1, 0, 0, 0), Key(2**63 - 1, 7, 12345, 2**40, 9), Key(5, 1, 2, 3, 2**33)):
        for unit, number in ((0, 1), (77, 2**32 + 5), (2**31, 3)):
            out = cuda.to_device(np.zeros(4, np.uint64))
            blocks[1, 1](device_key(key), unit, number, out)
            assert [int(word) for word in out.copy_to_host()] == words_of(key, unit, number)


def test_normal_numbers():
    out = cuda.to_device(np.zeros(800))
    normals[400, 1](device_key(Key(3, 0, 0, 1)), out)
    drawn, uniform = out.copy_to_host().reshape(-1, 2).T
    # Six standard errors: a false alarm in 10^8.
    assert abs(drawn.mean()) < 6 / 20
    assert abs((drawn**2).mean() - 1) < 6 * 2**0.5 / 20
    assert ((uniform > 0) & (uniform < 1)).all()
    assert abs(uniform.mean() - 0.5) < 6 * 12**-0.5 / 20
