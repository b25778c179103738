"""Covariates of the documents, beside their topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pydantic

from ppl_topics.core.registry import block
from ppl_topics.core.response import FixedFeatures
from ppl_topics.corpus import Covariates as DocumentCovariates
from ppl_topics.corpus.formulas import check_formula, fitted_formula
from ppl_topics.corpus.scaling import Scaling, no_scaling, scaling_of_formula, standardising

__all__ = ["Covariates"]

ALL = "."
"""The formula of all columns, as R has it."""


@block("covariates")
class Covariates(FixedFeatures):
    """Observed covariates: columns of numbers, and of categories a column of 0 and 1 each, or what a formula makes.

    Attributes
    ----------
    observed : {"covariates"}
        Field of the corpus that is observed.
    formula : str
        A formula of the columns, such as ``treatment * bs(party, 4)``, as R and formulaic have them: ``a + b``, ``a:b``
        and ``a * b`` with their interactions, splines (``bs``, ``cr``, ``cc``), ``poly``, ``log``, ``C`` for numbers
        that are categories. The training documents fix the knots, and what else it takes from data. By default ``.``,
        all columns, and a column for each category.
    standardise : bool
        Whether columns of numbers are given mean 0 and standard deviation 1. Columns of categories are left as they
        are; so is, but for its scale, a column of a sparse matrix that is zero in most documents.
    """

    block: Literal["covariates"] = "covariates"
    observed: Literal["covariates"] = "covariates"
    formula: str = ALL
    standardise: bool = True

    @pydantic.field_validator("formula")
    @classmethod
    def _of_columns(cls, formula: str) -> str:
        """Refuse a formula that cannot be read, or calls what it should not."""
        return formula if formula == ALL else check_formula(formula)

    def columns(self, covariates: DocumentCovariates) -> Sequence[str]:
        """Return the names of the columns, or of the features that the formula makes of them."""
        return super().columns(covariates) if self.formula == ALL else fitted_formula(self.formula, covariates).names

    def scaling(self, covariates: DocumentCovariates) -> Scaling:
        """Return what standardises the columns, or leaves them as they are."""
        if self.formula != ALL:
            return scaling_of_formula(fitted_formula(self.formula, covariates), covariates.matrix, self.standardise)
        return standardising(covariates) if self.standardise else no_scaling(covariates)
