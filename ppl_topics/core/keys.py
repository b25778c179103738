"""Names of random streams."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Key"]


class Key(NamedTuple):
    """The name of a random stream, up to its unit (a document, word or topic).

    ``step`` counts sweeps; ``kernel`` numbers the executions of kernels inside one sweep.
    """

    seed: int
    chain: int
    step: int
    kernel: int

    def generator(self, unit: int = 0) -> np.random.Generator:
        """Return a NumPy generator over the stream of ``unit``, for kernels written in plain Python.

        Examples
        --------
        >>> Key(seed=1, chain=0, step=0, kernel=0).generator().random() < 1
        True
        """
        counter = np.array([0, unit, self.step, self.kernel], dtype=np.uint64)
        key = np.array([self.seed, self.chain], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=key, counter=counter))
