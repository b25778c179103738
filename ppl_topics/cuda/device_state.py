"""A chain on a device: its corpus, its values, and whether the host or the device has the newest of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from ppl_topics._util.arrays import BoolArray
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Tokens
from ppl_topics.cuda.given_phi import DeviceTokens

__all__ = ["COUNTS", "DeviceCorpus", "DeviceState"]

COUNTS = ("z", "n_wk", "n_k")
"""Names of the assignments and their counts, beside those of variables; no variable but z has one of them."""


class DeviceCorpus:
    """The tokens of a corpus on a device, for all chains.

    Attributes
    ----------
    tokens : DeviceTokens
    word_counts : device array of int64, shape (V,)
    longest : int
        Tokens of the longest document.
    """

    def __init__(self, tokens: Tokens) -> None:
        lengths = tokens.doc_lengths
        # Long documents first, so that no warp begins one when the others are done; which warp has which is all one.
        order = np.argsort(-lengths, kind="stable").astype(np.int32)
        every = cuda.to_device(np.zeros(0, np.bool_))
        order, doc_ptr, words = (cuda.to_device(each) for each in (order, tokens.doc_ptr, tokens.words))
        self.tokens = DeviceTokens(order, doc_ptr, words, every)
        self.word_counts = cuda.to_device(tokens.word_counts)
        self.longest = int(lengths.max(initial=0))

    def of(self, selected: BoolArray) -> DeviceTokens:
        """Return the tokens, given the words that are drawn."""
        return self.tokens if selected.all() else self.tokens._replace(selected=cuda.to_device(selected))


class DeviceState:
    """The values of a chain on a device.

    What the device has drawn is copied to the host when the host asks for it, and the other way round.

    Attributes
    ----------
    corpus : DeviceCorpus
    host : ChainState
    """

    def __init__(self, corpus: DeviceCorpus, host: ChainState) -> None:
        self.corpus, self.host = corpus, host
        self._arrays: dict[str, Any] = {}
        self._stale_here: set[str] = {*COUNTS, *host.arrays}
        self._stale_there: set[str] = set()
        self._row: tuple[Any, Any] = (None, cuda.to_device(np.zeros(0, np.int64)))

    def on_host(self, name: str) -> NDArray[Any]:
        """Return the host's array of a variable, or of one of `COUNTS`, whatever is newest."""
        held: NDArray[Any] = getattr(self.host, name) if name in COUNTS else self.host.arrays[name]
        return held

    def __getitem__(self, name: str) -> Any:
        """Return the newest value of a variable, or of one of `COUNTS`, as a device array of one dimension."""
        if name in self._stale_here:
            flat = self.on_host(name).reshape(-1)
            if name in self._arrays:
                self._arrays[name].copy_to_device(flat)
            else:
                self._arrays[name] = cuda.to_device(flat)
            self._stale_here.discard(name)
        return self._arrays[name]

    def drawn(self, *names: str) -> None:
        """Note that the device has changed some variables."""
        self._stale_there.update(names)

    def drawn_on_host(self, names: Iterable[str]) -> None:
        """Note that the host has changed some variables, of which it had the newest values."""
        self._stale_here.update(names)

    @property
    def on_host_only(self) -> bool:
        """Whether the device has no newest assignments."""
        return "z" in self._stale_here

    def fetch(self, names: Iterable[str]) -> None:
        """Let the host have the newest values of some variables."""
        for name in set(names) & self._stale_there:
            self._arrays[name].copy_to_host(self.on_host(name).reshape(-1))
            self._stale_there.discard(name)

    def alpha(self, alpha: Alpha) -> tuple[Any, Any]:
        """Return the rows of concentrations and the row of each document, on the device."""
        if len(alpha.row) and self._row[0] is not alpha.row:
            self._row = (alpha.row, cuda.to_device(alpha.row))
        return cuda.to_device(np.ascontiguousarray(alpha.rows)), self._row[1]
