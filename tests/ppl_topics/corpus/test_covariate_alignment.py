"""Covariates of new documents are given the columns of training."""

import numpy as np
import pandas as pd

from ppl_topics.corpus import Covariates
from ppl_topics.corpus.covariate_alignment import align_covariates


def test_alignment_of_references_and_numbers():
    frame = pd.DataFrame({"source": ["AP", "BBC", "CNN", "BBC"], "zip": [9, 10, 9, 11]})
    training = Covariates.from_frame(frame, drop="first", categorical=["zip"])
    # Another first category is left out, and the codes are read as numbers.
    new = Covariates.from_frame(pd.DataFrame({"zip": [10, 9, 12], "source": ["BBC", "CNN", "AP"]}), drop="first")
    assert [column.reference for column in new.columns] == [None, "AP"]
    aligned, unknown = align_covariates(new, training.columns)
    assert aligned.names.tolist() == ["source[BBC]", "source[CNN]", "zip[10]", "zip[11]"]
    assert np.array_equal(aligned.matrix, [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    assert unknown == {"zip": 1}
    assert align_covariates(training, training.columns) == (training, {})
