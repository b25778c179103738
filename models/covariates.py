"""Covariates of the documents, beside their topics."""

from __future__ import annotations

from typing import Literal

from ppl_topics.core.registry import block
from ppl_topics.core.response import FixedFeatures
from ppl_topics.corpus import Covariates as DocumentCovariates
from ppl_topics.corpus.scaling import Scaling, no_scaling, standardising

__all__ = ["Covariates"]


@block("covariates")
class Covariates(FixedFeatures):
    """Observed covariates: columns of numbers, and of categories a column of 0 and 1 each.

    Attributes
    ----------
    observed : {"covariates"}
        Field of the corpus that is observed.
    standardise : bool
        Whether columns of numbers are given mean 0 and standard deviation 1. Columns of categories are left as they
        are; so is, but for its scale, a column of a sparse matrix that is zero in most documents.
    """

    block: Literal["covariates"] = "covariates"
    observed: Literal["covariates"] = "covariates"
    standardise: bool = True

    def scaling(self, covariates: DocumentCovariates) -> Scaling:
        """Return what standardises the columns, or leaves them as they are."""
        return standardising(covariates) if self.standardise else no_scaling(covariates)
