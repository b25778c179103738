"""Predictions by documents on the workers of a cluster: the numbers of one process, bit for bit."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.prediction import by_documents

# Some of the new documents have no word that was seen in training.
pytestmark = pytest.mark.filterwarnings("ignore::ppl_topics.UnknownWordsWarning")

distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice([f"w{i}" for i in range(30)], RNG.integers(0, 40))) for _ in range(120)]
CORPUS = pt.Corpus.from_texts(TEXTS, labels=["a", "b", "c"] * 40)
NEW = pt.Corpus.from_texts([*TEXTS, "unseen words"], labels=[*["a", "b", "c"] * 40, "a"])
TARGETS = RNG.normal(size=NEW.n_docs)
HOW = {"topics": 4, "draws": 6, "warmup": 5, "seed": 1, "chains": 2, "progress": False}


@pytest.fixture(scope="module")
def cluster() -> Iterator["distributed.LocalCluster"]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fits() -> dict[str, pt.Fit]:
    numbers = CORPUS.with_labels(RNG.normal(size=len(TEXTS)))
    return {
        "medlda": pt.sample("medlda", CORPUS, record={"phi": "all"}, **HOW),
        "medlda_one_vs_all": pt.sample("medlda_one_vs_all", CORPUS, **HOW),
        "slda_logistic": pt.sample("slda_logistic", CORPUS, **HOW),
        "slda_gaussian": pt.sample("slda_gaussian", numbers, **HOW),
    }


@pytest.fixture(autouse=True)
def many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_documents, "FEWEST_TOKENS", 200)
    assert len(by_documents._cuts(NEW.doc_ptr, 8)) == 9


def everything(fit: pt.Fit, new: pt.Corpus = NEW, **how: Any) -> dict[str, Any]:
    """Return all that a fit says about new documents."""
    found: dict[str, Any] = {}
    apart = {"response": fit.classes[0]} if fit.spec.name == "medlda_one_vs_all" else {}
    found["transform"] = fit.transform(new, chain=1, draws=5, **apart, **how)
    for eta in ("draws", "mean", "last"):
        found[eta] = fit.decision_function(new, eta=eta, draws=5, **how)
    found["predictive"] = fit.predictive(new, draws=5, **how)["score"].values
    for method in ("left_to_right", "document_completion"):
        held_out = fit.held_out(new, method=method, particles=4, **apart, **how)
        found |= {
            f"{method} {name}": getattr(held_out, name) for name in ("values", "errors", "biases", "tokens", "ids")
        }
        found[f"{method} unknown"] = held_out.unknown_tokens
    if fit.spec.name == "medlda":
        found["phi"] = fit.decision_function(new, phi="draws", **how)
    if fit.spec.name == "slda_gaussian":
        found["metrics"] = [fit.metrics(new, TARGETS, draws=5, **how)[name] for name in ("r2", "log_score")]
    if fit.spec.name == "slda_logistic":
        found["probability"] = fit.predict_proba(new, draws=5, **how)
    return found


@pytest.mark.parametrize("model", ["medlda", "medlda_one_vs_all", "slda_logistic", "slda_gaussian"])
def test_predictions_are_those_of_one_process(
    model: str, fits: dict[str, pt.Fit], cluster: "distributed.LocalCluster"
) -> None:
    alone, spread = everything(fits[model]), everything(fits[model], cluster=cluster)
    for name, value in alone.items():
        np.testing.assert_array_equal(spread[name], value, err_msg=name)


def test_documents_numbered_from_zero_would_be_noticed(fits: dict[str, pt.Fit]) -> None:
    fit, rest = fits["medlda"], slice(NEW.n_docs // 2, None)
    alone, numbered = everything(fit), everything(fit, NEW.select(rest))
    for name in ("transform", "draws", "mean", "left_to_right values", "document_completion values"):
        assert not np.array_equal(numbered[name], alone[name][rest]), name


def test_long_corpora_are_cut_where_documents_end() -> None:
    doc_ptr = np.array([0, 0, 100, 5_000_000, 5_000_001, 5_000_001])
    np.testing.assert_array_equal(by_documents._cuts(doc_ptr, 1), [0, 3, 5])
    np.testing.assert_array_equal(by_documents._cuts(np.array([0, 0]), 8), [0, 1])


@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_topics_of_a_dask_series_whatever_its_partitions(partitions: int, fits: dict[str, pt.Fit]) -> None:
    frames = pytest.importorskip("dask.dataframe")
    import pandas as pd

    fit, frame = fits["medlda"], pd.DataFrame({"text": [*TEXTS, "unseen words"]})
    spread = frames.from_pandas(frame, npartitions=partitions)
    # One partition is empty.
    texts = (
        spread["text"] if partitions < 8 else frames.concat([spread["text"], spread[spread["text"] == "none"]["text"]])
    )
    found = fit.transform(texts, draws=5)
    assert found.shape == (NEW.n_docs, 4)
    np.testing.assert_array_equal(found.compute(), fit.transform(list(frame["text"]), draws=5))
    with pytest.raises(pt.CorpusError, match="give one of its columns"):
        fit.transform(spread)


def test_topics_of_a_dask_bag(fits: dict[str, pt.Fit], cluster: "distributed.LocalCluster") -> None:
    bags = pytest.importorskip("dask.bag")
    fit = fits["medlda"]
    with cluster.get_client():
        found = fit.transform(bags.from_sequence(TEXTS, npartitions=4).map(str), draws=5).compute()
    np.testing.assert_array_equal(found, fit.transform(TEXTS, draws=5))
    with pytest.raises(pt.PplTopicsError, match="leave it out"):
        fit.transform(bags.from_sequence(TEXTS), cluster="local:2")
