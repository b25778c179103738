"""Names of random streams.

A stream is named by a `Key` and a unit: a document, word, topic or response. So draws depend on no thread, process or
machine.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

__all__ = ["STREAMS", "Key", "Reserved"]

STREAMS = 12
"""Version of the draws that a seed gives: to be raised whenever anything draws otherwise than before.

A run is resumed only by a ppl-topics of the same version. A test holds the draws of every kernel to it.
"""


class Key(NamedTuple):
    """The name of a random stream, up to its unit (a document, word or topic).

    Attributes
    ----------
    seed, chain : int
    sweep : int
        Numbered from 0, warmup included.
    kernel : int
        Numbers the executions of kernels inside one sweep, from 1; those in `Reserved` have other purposes.
    first : int
        What is added to units: the number of the first document, where only some of the corpus are here.
    """

    seed: int
    chain: int
    sweep: int
    kernel: int = 0
    first: int = 0

    def reserved(self, purpose: Reserved) -> Key:
        """Return the key of a purpose beside the kernels, in the same sweep."""
        # A plain integer: compiled functions see one type of key.
        return self._replace(kernel=int(purpose))

    def generator(self, unit: int = 0) -> np.random.Generator:
        """Return a NumPy generator over the stream of ``unit``, for kernels written in plain Python.

        Examples
        --------
        >>> Key(seed=1, chain=0, sweep=0, kernel=0).generator().random() < 1
        True
        """
        counter = np.array([0, self.first + unit, self.sweep, self.kernel], dtype=np.uint64)
        key = np.array([self.seed, self.chain], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=key, counter=counter))


class Reserved(IntEnum):
    """Numbers of streams, in the place of `Key.kernel`, that no kernel of a schedule has.

    No two are the same: a seed that is used again, for prediction say, never draws the same numbers twice.
    """

    PHI_WITHIN_KERNEL = 2**32
    """Added to a kernel's own number, for topics that it draws on the way."""
    RARE_WITHIN_KERNEL = 2**33
    """Added to a kernel's own number, for the words that it samples collapsed."""
    INITIAL = 2**40
    """The first state of a chain; with other units, the data of `verify`."""
    THETA_FOR_TRACE = 2**41
    """Draws of theta where the model integrates it out."""
    PHI_FOR_TRACE = 2**41 + 1
    """Draws of phi where the model integrates it out."""
    PREDICTION = 2**42
    """Topics of new documents."""
    LABELS = 2**42 + 1
    """Topics of training documents given their words alone, for the likelihood of their labels."""
    REPLICATED_TOPICS = 2**42 + 2
    """Topics of training documents given their words alone, for replicated words and labels."""
    TARGETS = 2**43
    """Targets of new documents."""
    REPLICATED = 2**43 + 1
    """Replicated words and labels."""
    PREDICTIVE_CHECKS = 2**44
    """Replicated words of posterior predictive checks."""
    LEFT_TO_RIGHT = 2**45
    """Particles of left-to-right estimation."""
    COMPLETION = 2**45 + 1
    """Particles of document completion."""
    SPLITTING = 2**45 + 2
    """The halves that document completion cuts documents into."""
    SIMULATION = 2**46
    """Simulated parameters, words and labels."""
