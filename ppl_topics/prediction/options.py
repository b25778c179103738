"""The options of predictions, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import MAX_SEED, MAX_SWEEPS, check_choice, check_threads, check_whole, is_whole
from ppl_topics._util.nearest import nearest
from ppl_topics.engine.cluster.connection import ClusterLike
from ppl_topics.errors import PplTopicsError
from ppl_topics.prediction.infer import DRAWS, WARMUP

__all__ = ["Eta", "Inference", "Options", "Phi"]

Average: TypeAlias = Literal["draws", "mean", "last"]
Eta: TypeAlias = Average | int
Phi: TypeAlias = Literal["mean", "draws"]
Inference: TypeAlias = Literal["gibbs", "cvb0"]


@dataclass(frozen=True)
class Options:
    """How to predict; see :func:`ppl_topics.prediction.predict`."""

    eta: Eta = "draws"
    phi: Phi = "mean"
    method: Inference = "gibbs"
    warmup: int = WARMUP
    draws: int = DRAWS
    seed: int = 0
    threads: int | None = None
    cluster: ClusterLike | None = None
    first: int = 0
    """Number of the first document, where these are some of many."""

    def __post_init__(self) -> None:
        if not is_whole(self.eta) and not (isinstance(self.eta, str) and self.eta in get_args(Average)):
            raise PplTopicsError(f"{argument('eta')}: expected draws, mean, last or a draw, got {self.eta!r}")
        check_choice(argument("phi"), self.phi, get_args(Phi))
        if self.phi == "draws" and self.eta != "draws":
            raise PplTopicsError(
                f"{argument('phi')}: the topics of each draw go with the coefficients of each draw; "
                f"give {argument('eta')} draws too"
            )
        check_choice(argument("method"), self.method, get_args(Inference))
        check_whole(argument("warmup"), self.warmup, 0, MAX_SWEEPS)
        check_whole(argument("draws"), self.draws, 1, MAX_SWEEPS)
        if self.method == "cvb0" and (self.warmup, self.draws) != (WARMUP, DRAWS):
            raise PplTopicsError(
                f"{argument('method')}: cvb0 draws no topics; leave out {argument('warmup')} and {argument('draws')}, "
                "or give gibbs"
            )
        check_whole(argument("seed"), self.seed, 0, MAX_SEED)
        if self.threads is not None:
            check_threads(argument("threads"), self.threads)

    @classmethod
    def of(
        cls, given: Mapping[str, Any], names: str = "eta phi method warmup draws seed threads cluster", **fixed: Any
    ) -> Options:
        """Return the options that keywords name, of those that a function takes."""
        known = names.split()
        for name in given:
            if name not in known:
                raise PplTopicsError(f"{name}: no such option{nearest(name, known)}; there are {', '.join(known)}")
        return cls(**given, **fixed)
