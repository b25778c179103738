"""A predictor gives the numbers of its fit without the trace, and from a file."""

import json
import runpy
import socket
import threading
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import ppl_topics as pt

# Some of the new documents have no word that was seen in training.
pytestmark = pytest.mark.filterwarnings("ignore::ppl_topics.UnknownWordsWarning")

RNG = np.random.default_rng(3)
TEXTS = [" ".join(f"w{i}" for i in RNG.integers(0, 9, 12) + 9 * (d % 2)) for d in range(40)]
NEW = ["w1 w2 w3 w4", "w12 w13 w14 unseen", "", "nothing known"]
HOW = {"topics": 3, "draws": 12, "warmup": 10, "chains": 2, "seed": 1, "progress": False}
MODELS = ["medlda", "medlda_one_vs_all", "slda_multinomial", "slda_gaussian", "slda_counts"]
LABELS = {"slda_gaussian": np.linspace(-1.0, 1.0, 40), "slda_counts": np.arange(40) % 5}


@pytest.fixture(scope="module")
def fits():
    def fitted(model):
        labels = LABELS.get(model, list("abcd") * 10)
        kind = "count" if model == "slda_counts" else None
        corpus = pt.Corpus.from_texts(TEXTS, labels=labels, label_kind=kind)
        return pt.sample(model, corpus, **HOW, record={"phi": "all"})

    return {model: fitted(model) for model in MODELS}


@pytest.mark.parametrize("model", MODELS)
def test_numbers_are_those_of_the_fit(fits, model, tmp_path):
    fit = fits[model]
    kept = fit.predictor()
    loaded = pt.load_predictor(kept.save(tmp_path / "predictor.nc"))
    apart = {"response": kept.classes[0]} if model == "medlda_one_vs_all" else {}
    for predictor in (kept, loaded):
        # Twice: what is kept from the first call is what the second one needs.
        for _ in range(2):
            np.testing.assert_array_equal(predictor.predict(NEW), fit.predict(NEW))
            np.testing.assert_array_equal(predictor.decision_function(NEW), fit.decision_function(NEW))
            np.testing.assert_array_equal(predictor.transform(NEW, **apart), fit.transform(NEW, **apart))
        if model == "slda_multinomial":
            np.testing.assert_array_equal(predictor.predict_proba(NEW), fit.predict_proba(NEW))


@pytest.mark.parametrize("model", ["slda_multinomial", "slda_gaussian"])
def test_documents_do_not_depend_on_those_beside_them(fits, model):
    """Some documents have all sweeps in one call, and others each sweep in a call of its own."""
    predictor = fits[model].predictor()
    many = [*NEW, *TEXTS * 60]
    np.testing.assert_array_equal(predictor.decision_function(many)[:4], predictor.decision_function(NEW))
    np.testing.assert_array_equal(predictor.transform(many)[:4], predictor.transform(NEW))


def test_it_holds_no_draw_of_topics(fits, tmp_path):
    fit = fits["slda_multinomial"]
    small, whole = fit.predictor().save(tmp_path / "small.nc"), fit.save(tmp_path / "whole.nc")
    assert small.stat().st_size < whole.stat().st_size / 2
    assert "phi" not in pt.load_fit(small).posterior
    with pytest.raises(pt.TraceError, match="does not hold all of phi in each draw"):
        fit.predictor().predict(NEW, phi="draws")
    # That of a fit will do.
    np.testing.assert_array_equal(pt.load_predictor(whole).predict(NEW), fit.predict(NEW))


def test_without_labels_it_knows_topics_only():
    fit = pt.sample("lda", pt.Corpus.from_texts(TEXTS), **HOW)
    predictor = fit.predictor()
    assert repr(predictor) == "Predictor: lda, 2 chains, 3 topics, 18 words"
    np.testing.assert_array_equal(predictor.transform(NEW), fit.transform(NEW))
    with pytest.raises(pt.TraceError, match="has no response"):
        predictor.predict(NEW)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(pt.TraceError, match="no such file"):
        pt.load_predictor(tmp_path / "none.nc")


def test_it_answers_over_http(fits):
    """`examples/serve.py`, on this machine."""
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    fit = fits["slda_multinomial"]
    script = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "serve.py"), run_name="example")
    server = uvicorn.Server(uvicorn.Config(script["application"](fit.predictor()), log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/predict"
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            found = posted(address, NEW)
            for wrong in ("a text", [], [1], {"texts": NEW}):
                with pytest.raises(urllib.error.HTTPError, match="422"):
                    posted(address, wrong)
        finally:
            server.should_exit = True
            thread.join()
    expected = fit.predict_proba(NEW)
    assert [each["class"] for each in found] == fit.predict(NEW).tolist()
    probability = [[each["probabilities"][name] for name in fit.classes] for each in found]
    assert np.array(probability) == pytest.approx(expected, rel=1e-12)


def posted(address, content):
    request = urllib.request.Request(address, json.dumps(content).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)
