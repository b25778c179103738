"""Topics with names are called by them wherever topics are shown: tables, figures, the page, JSON and the commands."""

import json

import matplotlib as mpl
import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.cli.entry import main
from ppl_topics.diagnostics.alignment import agreement_table

mpl.use("Agg")

WORDS = {"sport": ["goal", "match", "team"], "politics": ["vote", "law", "party"], "food": ["bread", "wine", "cheese"]}
MODEL = {
    "name": "named",
    "extends": "keyword_lda",
    "blocks": {
        "eta": {"block": "normal", "per": "response", "variance": 1.0},
        "y": {"block": "stick_breaking_logistic", "coefficients": "eta", "features": ["z"], "intercept": True},
    },
}
NAMES = ["sport", "politics", "", ""]


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    classes = list(WORDS) * 15
    corpus = pt.Corpus.from_texts([" ".join(rng.choice(WORDS[each], 10)) for each in classes], labels=classes)
    keywords = {"sport": ["goal"], "politics": ["vote", "law"]}
    return pt.sample(MODEL, corpus, topics=4, keywords=keywords, draws=10, warmup=10, chains=2, seed=1, progress=False)


def test_tables_have_the_names_beside_the_numbers(fit):
    tables = {
        "topics": fit.topics(),
        "coefficients": fit.coefficients(),
        "signal": fit.signal_topics(),
        "relevance": fit.topic_relevance(),
        "quality": fit.topic_quality(),
        "words": fit.to_frame(),
        "agreement": agreement_table(fit.groups),
    }
    for what, table in tables.items():
        of_topics = table.dropna(subset="topic")
        assert list(table.columns)[list(table.columns).index("topic") + 1] == "name", what
        assert of_topics["name"].tolist() == [NAMES[topic] for topic in of_topics["topic"]], what
        assert set(of_topics["topic"]) == {0, 1, 2, 3}, what
    intercepts = tables["coefficients"][tables["coefficients"]["topic"].isna()]
    assert set(intercepts["name"]) == {""}


def test_other_models_have_no_such_column():
    corpus = pt.Corpus.from_texts(["red blue", "cold warm"])
    fit = pt.sample("lda", corpus, topics=2, draws=2, warmup=1, chains=1, seed=1, progress=False)
    assert "name" not in fit.topics()
    assert "name" not in fit.topic_quality()
    assert [topic["name"] for topic in fit.topic_model()["topics"]] == ["", ""]


def test_figures(fit):
    titles = [panel.get_title() for panel in np.ravel(fit.plot_topics())]
    assert sum(title.startswith("topic 1 (politics) (") for title in titles) == 1
    panel = np.ravel(fit.plot_coefficients("food"))[0]
    labels = [label.get_text() for label in panel.get_yticklabels()]
    assert sum(label.startswith("sport: ") and label.endswith("(topic 0)") for label in labels) == 1
    assert sum(": " in label for label in labels) == 2


def test_the_page(fit, tmp_path):
    page = fit.report(tmp_path / "page.html").read_text()
    assert ">0 (sport)<" in page
    assert "topic 1 (politics)" in page
    assert '"name":"politics"' in page


def test_the_verdict_names_topics_that_chains_do_not_share(fit):
    groups = dict(fit.groups)
    constants = groups["constant_data"].copy(deep=True)
    other = constants["phi_mean"].copy(deep=True)
    other[1, 0] = 0.0
    other[1, 0, int(np.argmin(other[0, 0].values))] = 1.0
    groups["constant_data"] = constants.assign(phi_mean=other)
    assert "0 (sport)" in str(pt.Fit(groups).verdict())


def test_json_and_commands(fit, tmp_path, capsys):
    assert [topic["name"] for topic in fit.topic_model()["topics"]] == NAMES
    fit.save(tmp_path / "a.nc")
    run = str(tmp_path / "a.nc")
    for command in (["diagnose", run, "--align"], ["coefficients", run], ["topics", run, "--quality"]):
        assert main(command) == 0
        assert "politics" in capsys.readouterr().out, command
    assert main(["coefficients", run, "--json"]) == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)["coefficients"]} == set(NAMES)
