"""A trace made by hand of nine documents, for tests of what is said of documents."""

import json

import numpy as np
import xarray as xr

C, T, K, D = 2, 40, 3, 9

LENGTHS = np.array([4, 2, 0, 9, 5, 5, 7, 3, 6])
"""Document 2 has no token."""

IDS = [f"d{d}" for d in range(D)]
WORDS = ["goal", "law", "sea", "team"]
PARTY = ["left", "right", "left", "left", "right", "right", "centre", "centre", "left"]
YEAR = [1990, 1991, 1990, 1992, 1990, 1991, 1991, 1992, 1990]


def trace(seed=1):
    """Return the groups of a trace with theta of all documents, covariates and labels."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet([0.5] * K, size=(C, T, D)).astype(np.float32)
    phi = rng.dirichlet([1.0] * len(WORDS), size=(C, K)).astype(np.float32)
    z = rng.integers(K, size=(C, LENGTHS.sum())).astype(np.uint8)
    share = rng.dirichlet([5.0] * K, size=(C, T))
    chains, topics = {"chain": np.arange(C)}, {"topic": np.arange(K)}
    rows = [[year, party == "right", party == "centre"] for year, party in zip(YEAR, PARTY, strict=True)]
    columns = [["year", None, None], ["party", ["left", "right", "centre"], "left"]]
    return {
        "posterior": xr.Dataset(
            {
                "theta": (("chain", "draw", "doc", "topic"), theta),
                "topic_share": (("chain", "draw", "topic"), share),
            },
            {**chains, "draw": np.arange(T), "doc": IDS, **topics},
        ),
        "observed_data": xr.Dataset(
            {
                "words": ("token", rng.integers(len(WORDS), size=LENGTHS.sum()).astype(np.uint32)),
                "labels": ("doc", np.array([0, 1, 1, 0, -1, 1, 0, 0, 1], np.int32), {"kind": "class"}),
                "labels_tags": (
                    ("doc", "response_tags"),
                    np.array([[1, 1], [0, 1], [1, 1], [0, 0], [-1, -1], [1, 0], [0, 1], [0, 0], [1, 1]], np.int8),
                    {"kind": "multi_label"},
                ),
                "labels_rating": ("doc", np.array([1.5, 2.0, 9.0, np.nan, 2.5, 3.0, 3.5, 4.0, 8.0]), {"kind": "real"}),
            },
            {"doc": IDS, "class": ["no", "yes"], "response_tags": ["new", "old"]},
        ),
        "constant_data": xr.Dataset(
            {
                "doc_length": ("doc", LENGTHS),
                "phi_mean": (("chain", "topic", "word"), phi),
                "z_last": (("chain", "token"), z),
                "alpha": ("topic", np.array([0.1, 0.2, 0.3])),
                "covariates": (("doc", "covariate"), np.array(rows, float)),
                "covariate_columns": ((), json.dumps(columns)),
            },
            {**chains, **topics, "doc": IDS, "word": WORDS, "covariate": ["year", "party[right]", "party[centre]"]},
        ),
    }


def without_theta(groups):
    return {**groups, "posterior": groups["posterior"].drop_vars(["theta", "doc"])}


def first_documents(groups, n):
    """Return the trace with theta of the first documents only."""
    return {**groups, "posterior": groups["posterior"].isel(doc=slice(n))}
