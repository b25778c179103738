"""What `verify` says of what it does not test."""

from ppl_topics.diagnostics.exactness import verify


def test_a_warmup_is_not_tested():
    """Only kept draws must be exact; the summary says that nothing was said of the others."""
    model = {"extends": "lda", "name": "own", "warmup": [{"z": "ad_lda"}]}
    quick = {"kernel": "dirichlet_rows", "replicates": 200, "long_run": 500}
    own, plain = verify(model, **quick), verify("lda", **quick)
    assert own.summary == f"{plain.summary}; the warmup is not tested, for only kept draws must be exact"
    assert (own.to_dict()["warmup_untested"], plain.to_dict()["warmup_untested"]) == (True, False)
    assert "warmup" not in own.certificates[0].schedule
