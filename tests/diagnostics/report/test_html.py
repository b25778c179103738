"""The report of a run: its structure as HTML, what it holds of hostile words, its size, and runs that lack much."""

import json
import re

import numpy as np
import pytest
import xarray as xr
from report_page import Page

import ppl_topics as pt
from ppl_topics.cli import main
from ppl_topics.diagnostics.report import report_html, write_report
from ppl_topics.diagnostics.report.svg import Line, line_chart
from ppl_topics.diagnostics.summary import seconds_by_kernel
from ppl_topics.results.mean_topics import mean_topics

FAST = {"draws": 8, "warmup": 8, "chains": 2, "seed": 1, "threads": 1, "progress": False}


# Words, ids of documents and labels that a page may show and must not obey.
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</script><script>alert(3)//",
    "{{ 7 * 7 }}",
    "it's & that",
    "line\u2028end",
    "naïve😀",
    "שלום",
]


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def checked(groups, **options):
    """Return a page, the structure of which is right."""
    text = report_html(groups, **options)
    page = Page(text)
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    # Nothing from elsewhere, and no script but ours.
    assert not [a for _, a in page.tags if {"src", "srcset", "data", "action", "onclick", "onload", "onerror"} & set(a)]
    assert page.of("link", "img", "iframe", "object", "base") == []
    assert all(re.fullmatch("#.+", a["href"]) for a in page.of("a"))
    assert "url(" not in text[: text.index("<body>")]
    assert "@import" not in text
    assert len(page.of("script")) == 2
    # Everything that names something names what is there.
    for name in ("aria-labelledby", "aria-describedby", "for"):
        assert {a[name] for _, a in page.tags if name in a} <= set(ids)
    assert {a["href"] for a in page.of("a") if not a["href"].startswith("#topic-")} <= {f"#{each}" for each in ids}
    tables = page.of("table")
    assert len(page.of("caption")) == len(tables)
    assert all(a.get("scope") in ("col", "row") for a in page.of("th"))
    assert all(a.get("aria-label") or a.get("aria-hidden") for a in page.of("svg"))
    sections = [a["id"] for a in page.of("section")]
    assert sections[0] == "summary"
    assert sections[-1] == "reproduce"
    assert "nan" not in re.split(r"[\s,:%]+", page.text.lower())
    return text, page


def texts(words="goal match team ball law vote court judge", n=20, length=9, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words.split(), length)) for _ in range(n)]


@pytest.fixture(scope="module")
def corpus():
    return pt.Corpus.from_texts(texts(), labels=["sport", "law"] * 10)


@pytest.fixture(scope="module")
def lda(corpus):
    return pt.sample("lda", corpus, topics=3, **FAST)


@pytest.mark.parametrize(
    "model",
    [
        "medlda_one_vs_all",
        "dolda_spike_slab",
        *(pytest.param(m, marks=pytest.mark.slow) for m in ("medlda", "dolda", "lda_spike_slab", "slda_gaussian")),
    ],
)
def test_every_model_has_its_page(model, corpus):
    if model == "slda_gaussian":
        corpus = corpus.with_labels(pt.Labels.infer(np.arange(20.0) + 0.5))
    if model == "medlda_one_vs_all":
        corpus = corpus.with_labels((["a", "b", "c"] * 7)[:20])
    fit = pt.sample(model, corpus, topics=3, **FAST)
    text, page = checked(fit.groups)
    supervised = model != "lda_spike_slab"
    assert ("largest coefficients" in page.text) == supervised
    assert ("that are zero" in page.text) == ("spike_slab" in model)
    data = data_of(text)
    assert len(data["views"]) == (3 if model.endswith("one_vs_all") else 1)
    assert all(len(view["topics"]) == 3 for view in data["views"])
    assert fit.posterior.attrs["model_yaml"].split("\n")[0] in page.text
    if model.endswith("one_vs_all"):
        assert [view["response"] for view in data["views"]] == ["a", "b", "c"]
        assert sum(seconds_by_kernel(fit.groups).values()) > 0


def test_what_the_page_of_lda_says(lda, tmp_path):
    text, page = checked(lda.groups, chain=1, title="My run", source="run.nc")
    assert "My run" in page.text
    assert "Factor graph of lda" in page.text
    assert "Topics of chain 1" in page.text
    assert "--warmup 8 --draws 8 --chains 2 --thin 1 --seed 1" in page.text
    assert "has no response and so no coefficients" in page.text
    assert "z:collapsed_gibbs" in page.text
    data = data_of(text)
    assert (data["chain"], data["tokens"]) == (1, 180)
    phi = mean_topics(lda.groups, 1).values
    share = lda.posterior["topic_share"].sel(chain=1).mean("draw").values
    for k, topic in enumerate(data["views"][0]["topics"]):
        words = [data["words"][place] for place in topic["words"]]
        assert words == [str(w) for w in np.array(lda.groups["constant_data"]["word"])[np.argsort(-phi[k])]]
        np.testing.assert_allclose(topic["phi"], np.sort(phi[k])[::-1], rtol=1e-4)
        assert topic["share"] == pytest.approx(share[k], rel=1e-4)
        shares = [each["share"] for each in topic["documents"]]
        theta = lda.posterior["theta"].sel(chain=1).mean("draw").values[:, k]
        np.testing.assert_allclose(shares, np.sort(theta)[::-1][:6], rtol=1e-3)
        ids = [str(d) for d in np.argsort(-theta, kind="stable")[:6]]
        assert [each["id"] for each in topic["documents"]] == ids
        for each in topic["documents"]:
            assert each["n"] == 9
            assert each["label"] == ["sport", "law"][int(each["id"]) % 2]
            assert sum(n for _, n in each["topic_words"] + each["other_words"]) == 9
    path = lda.report(tmp_path / "page.html", chain=1, title="My run", source="run.nc")
    assert path.read_text(encoding="utf-8") == text
    assert write_report(lda.groups, tmp_path / "page.html") == path
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_without_theta_documents_are_those_of_the_last_draw(lda):
    text, _ = checked({**lda.groups, "posterior": lda.posterior.drop_vars("theta")}, chain=0)
    constants = lda.groups["constant_data"]
    z = constants["z_last"].sel(chain=0).values.reshape(20, 9)
    alpha = constants["alpha"].values
    for k, topic in enumerate(data_of(text)["views"][0]["topics"]):
        expected = ((z == k).sum(axis=1) + alpha[k]) / (9 + alpha.sum())
        np.testing.assert_allclose([e["share"] for e in topic["documents"]], np.sort(expected)[::-1][:6], rtol=1e-3)
        for each in topic["documents"]:
            assert sum(n for _, n in each["topic_words"]) == (z[int(each["id"])] == k).sum()


def test_hostile_words_are_shown_and_not_obeyed():
    rng = np.random.default_rng(1)
    tokens = [[str(word) for word in rng.choice(HOSTILE, 10)] for _ in range(16)]
    labels = [str(label) for label in rng.choice(HOSTILE[:3], 16)]
    ids = [f"{HOSTILE[i % 8]} {i}" for i in range(16)]
    corpus = pt.Corpus.from_tokens(tokens, labels=labels, doc_ids=ids)
    fit = pt.sample("medlda", corpus, topics=2, **FAST)
    named = {name: group.assign_attrs(corpus_name=HOSTILE[0]) for name, group in fit.groups.items()}
    text, page = checked(named, title=HOSTILE[2])
    data = data_of(text)
    assert set(data["words"]) == set(corpus.vocabulary.tolist())
    assert "49" not in page.text.split()
    for each in (HOSTILE[0], HOSTILE[2], HOSTILE[7]):
        assert each in page.text
    assert "\u2028" not in text[text.index('id="data"') :]
    assert {each["id"] for each in data["views"][0]["topics"][0]["documents"]} <= set(ids)


def test_halves_of_surrogates_can_be_written(lda, tmp_path):
    path = write_report(lda.groups, tmp_path / "page.html", title="half \ud83d")
    assert "half ?" in path.read_text(encoding="utf-8")


def made(k, v, d, seed=0):
    """Groups of a trace of many topics, made without sampling."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(v, 0.02), size=(2, k)).astype(np.float32)
    n = 80
    z = rng.integers(0, k, size=(2, d * n)).astype(np.uint8)
    words = np.sort(rng.integers(0, v, size=(d, n)), axis=1).ravel().astype(np.uint32)
    chains, draws = {"chain": [0, 1]}, {"draw": np.arange(4)}
    names = [f"word{i:07d}" for i in range(v)]
    ids = [f"some/document/{i}" for i in range(d)]
    share = rng.dirichlet(np.full(k, 5.0), size=(2, 4))
    constants = {
        "phi_mean": (("chain", "topic", "word"), phi),
        "z_last": (("chain", "token"), z),
        "doc_length": ("doc", np.full(d, n)),
        "word_count": ("word", np.bincount(words, minlength=v)),
        "alpha": ("topic", np.full(k, 0.1)),
    }
    coords = {**chains, "topic": np.arange(k), "word": names, "doc": ids}
    return {
        "posterior": xr.Dataset({"topic_share": (("chain", "draw", "topic"), share)}, {**chains, **draws}),
        "sample_stats": xr.Dataset({"lp": (("chain", "draw"), rng.normal(size=(2, 4)))}, {**chains, **draws}),
        "observed_data": xr.Dataset({"words": ("token", words)}, {"doc": ids}),
        "constant_data": xr.Dataset(constants, coords),
    }


@pytest.mark.parametrize("size", [(100, 1500, 200), pytest.param((100, 60_000, 11_000), marks=pytest.mark.slow)])
def test_a_large_page_stays_small(size):
    text, _ = checked(made(*size))
    assert len(text.encode()) < 5e6
    assert all(len(topic["words"]) >= 30 for topic in data_of(text)["views"][0]["topics"])


@pytest.mark.parametrize(
    ("words", "options", "says"),
    [
        (None, {"draws": 1, "chains": 1}, "There is only one chain; run at least two"),
        (None, {"topics": 1}, "Topics"),
        (["goal match goal team"], {}, "1 document"),
        (["goal"], {"chains": 1}, "Topics"),
        (["goal match", "team"], {"topics": 12}, "Topics"),
        (["goal match", "", "team"], {}, "had no token in the vocabulary"),
        (None, {"record": {"phi": "none", "theta": "none"}}, "expected values given the assignments of the last draw"),
        (None, {"warmup": 0, "thin": 2}, "no warm-up"),
    ],
)
def test_degenerate_runs_have_pages(words, options, says, corpus):
    made_of = corpus if words is None else pt.Corpus.from_texts(words)
    fit = pt.sample("lda", made_of, **{**FAST, "topics": 2, **options})
    text, page = checked(fit.groups)
    assert says in page.text + text or says == "1 document"
    topics = data_of(text)["views"][0]["topics"]
    assert len(topics) == fit.posterior.sizes["topic"]
    assert min(len(topic["words"]) for topic in topics) > 0


def test_a_supervised_run_of_one_draw(corpus):
    fit = pt.sample("medlda", corpus, topics=2, **{**FAST, "draws": 1, "chains": 1, "warmup": 0})
    _, page = checked(fit.groups)
    assert "There is only one draw, so there are no intervals." in page.text
    for variable in fit.posterior.data_vars:
        checked({**fit.groups, "posterior": fit.posterior.drop_vars(variable)})


def test_what_a_trace_lacks_is_said(lda):
    groups = lda.groups
    without = [name for name in groups if name != "posterior"]
    for name in without:
        checked({key: group for key, group in groups.items() if key != name})
    for variable in groups["constant_data"].data_vars:
        checked({**groups, "constant_data": groups["constant_data"].drop_vars(variable)})
    for variable in groups["posterior"].data_vars:
        checked({**groups, "posterior": groups["posterior"].drop_vars(variable)})
    _, page = checked({name: group.drop_attrs() for name, group in groups.items()})
    assert "The trace does not hold the resolved YAML of the model." in page.text
    _, page = checked({"posterior": groups["posterior"].drop_attrs()})
    assert "The trace holds no statistics of its sweeps" in page.text
    assert "Documents by topic are not available" not in page.text  # theta was recorded


def test_traces_of_other_programs():
    rng = np.random.default_rng(0)
    draws = {"mu": (("chain", "draw"), rng.normal(size=(4, 50))), "name": (("chain", "draw"), np.full((4, 50), "x"))}
    eight = xr.Dataset({**draws, "theta": (("chain", "draw", "school"), rng.normal(size=(4, 50, 8)))})
    text, page = checked({"posterior": eight, "sample_stats": eight[["mu"]].rename(mu="lp")})
    assert "Log posterior" in page.text
    assert "the trace holds no topics" in page.text.lower()
    assert data_of(text) is None
    for posterior in (xr.Dataset({"mu": 3.0}), xr.Dataset(), eight.isel(draw=slice(0, 0))):
        _, page = checked({"posterior": posterior})
        assert "The verdict on convergence is not available" in page.text or "Cannot tell" in page.text
    with pytest.raises(pt.TraceError, match="no group `posterior`"):
        report_html({})


def test_an_infinite_or_constant_statistic_is_drawn():
    x = np.arange(1.0, 9.0)
    for y in (np.full(8, 3.0), np.r_[np.nan, np.arange(7.0)], np.zeros(8), np.r_[np.inf, np.arange(7.0)]):
        svg, _ = line_chart([Line("chain 0", x, y, 0)], "a < b", x_label="sweep", shade_to=4.0)
        Page(svg)
        assert "nan" not in svg.lower()
        assert "inf" not in svg.lower()
    svg, cut = line_chart([Line("chain 0", np.ones(1), np.ones(1), 7)], "dot", x_label="sweep")
    assert "<circle" in svg
    assert not cut
    long = np.sin(np.arange(100_000.0))
    assert len(line_chart([Line("chain 0", np.arange(100_000.0), long, 0)], "long", x_label="sweep")[0]) < 10_000


def test_command_line(lda, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lda.save("run.nc")
    assert main(["report", "run.nc", "-o", "page.html", "--title", "A <b>"]) == 0
    assert re.fullmatch(r"page.html: \d+ kB\n", capsys.readouterr().out)
    assert "A &lt;b&gt;" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert main(["report", "run.nc", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"path": "run.html", "bytes": (tmp_path / "run.html").stat().st_size}
    for arguments, message in (
        (["run.nc", "--overwrite", "--chain", "9"], "the trace has no chain 9; it has 0, 1"),
        (["run.nc", "--overwrite", "--probability", "90"], "between 0 and 1"),
        (["run.nc", "-o", "no/such/folder.html"], "is missing or not writable"),
        (["run.nc"], "run.html: the file already exists; choose another --out, or give --overwrite"),
        (["run.nc", "--overwrite", "-o", "run.nc"], "that is the run itself"),
        (["run.nc", "--overwrite", "-o", "/dev/null"], "exists and is neither a file nor a folder"),
        (["run.nc", "-o", ""], "--out: the name is empty"),
        (["none.nc"], "no such file"),
    ):
        assert main(["report", *arguments]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line
