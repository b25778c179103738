"""Topic weights whose concentrations depend on covariates of the documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.core.alpha import LARGEST_ALPHA, SMALLEST_ALPHA, LogLinear
from ppl_topics.core.registry import block
from ppl_topics.core.state import ChainState
from ppl_topics.models.dirichlet import draw_rows_of
from ppl_topics.models.document_weights import DocumentWeights

__all__ = ["DirichletRegression"]


@block("dirichlet_regression")
class DirichletRegression(DocumentWeights):
    """Dirichlet weights of topics, with concentrations that are log-linear in covariates (Mimno, McCallum 2008).

        alpha_dk = exp(x_d . gamma_k),    theta_d ~ Dirichlet(alpha_d),

    where x_d are the covariates of document d and a 1, and each topic has its own coefficients gamma_k. A coefficient
    of 0.7 doubles the concentration of its topic, and with it the odds of the topic against the others, where the
    covariate is larger by 1. As the ``prior`` of assignments.

    Attributes
    ----------
    over : {"topic"}
        What a row sums over.
    per : {"doc"}
        What there is one row for.
    features : list of str
        The name of the block of covariates. There is always an intercept.
    coefficients : str
        The name of the block that is the prior of gamma, with ``per: topic``: `normal`, `horseshoe` or `random_walk`.
    integrate_out : bool
        Whether theta is never held: kernels must marginalise it.

    References
    ----------
    D. Mimno, A. McCallum (2008). Topic models conditioned on arbitrary features with Dirichlet-multinomial regression.
    UAI 2008, section 2.
    """

    references: ClassVar[Mapping[str, str]] = {"coefficients": "coefficients", "features": "features"}

    block: Literal["dirichlet_regression"] = "dirichlet_regression"
    features: list[str] = pydantic.Field(min_length=1, max_length=1)
    coefficients: str

    def reference_role(self, key: str, own_role: str) -> str:
        """Return ``alpha`` for the coefficients, on which the concentrations depend; features have their own role."""
        return "alpha" if key == "coefficients" else super().reference_role(key, own_role)

    def simulate(
        self, role: str, values: Mapping[str, NDArray[Any]], state: ChainState, rng: np.random.Generator
    ) -> FloatArray | None:
        """Draw rows from the prior given gamma; None where a concentration leaves the range that kernels keep to."""
        concentration = state.concentrations["alpha"]
        assert isinstance(concentration, LogLinear), "a state without covariates"
        # Of a prior with heavy tails some overflow, and are out of range.
        with np.errstate(over="ignore"):
            alpha = concentration.of(values["alpha"])
        if not ((alpha.rows >= SMALLEST_ALPHA) & (alpha.rows <= LARGEST_ALPHA)).all():
            return None
        return draw_rows_of(alpha.by_doc, rng)
