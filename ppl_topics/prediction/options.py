"""How new documents are treated, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from ppl_topics._util.arguments import MAX_SEED, MAX_SWEEPS, check_threads, check_whole, is_whole
from ppl_topics.errors import PplTopicsError
from ppl_topics.prediction.infer import DRAWS, WARMUP

__all__ = ["Eta", "Options", "Phi"]

Average: TypeAlias = Literal["mean", "last", "draws"]
Eta: TypeAlias = Average | int
Phi: TypeAlias = Literal["mean", "draws"]


@dataclass(frozen=True)
class Options:
    """How to predict.

    Attributes
    ----------
    eta : {"mean", "last", "draws"} or int
        From the mean of the coefficients' draws, from the last or another one by its number, or from all of them,
        the predictions averaged.
    phi : {"mean", "draws"}
        From the mean topics of each chain, or, with ``eta="draws"``, from the topics of each draw.
    warmup, draws : int
        Sweeps over the new documents left out, and averaged over.
    seed : int
    threads : int, optional
        All cores by default.
    """

    eta: Eta = "mean"
    phi: Phi = "mean"
    warmup: int = WARMUP
    draws: int = DRAWS
    seed: int = 0
    threads: int | None = None

    def check(self, call: str = "{name}") -> Options:
        """Return these options if they are right; ``call`` is how messages call one.

        Raises
        ------
        PplTopicsError
        """
        if not is_whole(self.eta) and self.eta not in get_args(Average):
            raise PplTopicsError(f"{call.format(name='eta')}: expected mean, last, draws or a draw, got {self.eta!r}")
        if self.phi not in get_args(Phi):
            raise PplTopicsError(f"{call.format(name='phi')}: expected mean or draws, got {self.phi!r}")
        if self.phi == "draws" and self.eta != "draws":
            raise PplTopicsError(
                f"{call.format(name='phi')}: the topics of each draw go with the coefficients of each draw; "
                f"give {call.format(name='eta')} draws too"
            )
        limits: tuple[tuple[str, Any, int, int], ...] = (
            ("warmup", self.warmup, 0, MAX_SWEEPS),
            ("draws", self.draws, 1, MAX_SWEEPS),
            ("seed", self.seed, 0, MAX_SEED),
        )
        for name, value, least, most in limits:
            check_whole(call.format(name=name), value, least, most)
        if self.threads is not None:
            check_threads(call.format(name="threads"), self.threads)
        return self
