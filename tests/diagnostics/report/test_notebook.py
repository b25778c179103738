"""What a notebook shows of a fit and of its parts: what was run, the verdict if it is quick, topics; nothing obeyed."""

import re

import pytest
import xarray as xr
from report_page import Page

import ppl_topics as pt
from ppl_topics._util.notebook import shown
from ppl_topics.diagnostics.report import notebook
from ppl_topics.diagnostics.report.formats import percent

FAST = {"draws": 25, "warmup": 20, "chains": 2, "seed": 1, "threads": 1, "progress": False}

TAGS = {"div", "span", "small", "b", "bdi", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "pre"}

HOSTILE = ["<script>alert(1)</script>", "<img/src=x/onerror=alert(2)>", "a&b"]


def checked(html):
    """Return a page whose markup is ours: nothing that runs, is fetched, or has a colour of its own."""
    page = Page(html)
    assert {tag for tag, _ in page.tags} <= TAGS
    assert all(set(attributes) <= {"style"} for _, attributes in page.tags)
    styles = " ".join(attributes.get("style", "") for _, attributes in page.tags)
    assert not re.search(r"url|#|rgb|background:(?!none)|color:(?!inherit)", styles)
    return page


def rows_of(html):
    table = html[html.index("<tbody>") :]
    rows = [[Page(cell + "</td>").text for cell in row.split("</td>")[:-1]] for row in table.split("<tr>")[1:]]
    return [[cell.replace(" ,", ",") for cell in row] for row in rows]


@pytest.fixture(scope="module")
def corpus():
    texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
    return pt.Corpus.from_texts(texts, labels=["sport", "sport", "politics", "politics"] * 5, name="news")


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample("lda_collapsed", corpus, topics=2, **FAST)


def test_a_fit(fit):
    html = fit._repr_html_()
    page = checked(html)
    assert page.text.startswith("lda_collapsed on news Topics 2 Documents 20 Words 6 Tokens 65 Draws 2 chains of 25")
    assert "Sampling time, all chains" in page.text
    kernels = ", ".join(str(each).replace(":", ": ") for each in fit.groups["sample_stats"]["kernel"].values)
    assert f"Kernels {kernels} Exact yes" in page.text.replace(" ,", ",")
    verdict = fit.verdict()
    assert verdict.summary in page.text
    assert all(str(finding) in page.text for finding in verdict.findings)
    table = fit.topics(8, verdict.alignment.reference)
    expected = [
        [str(row["topic"]), percent(row["share"]), "2 of 2", ", ".join(row["words"].split(" "))]
        for row in table.to_dict("records")
    ]
    assert rows_of(html) == expected
    assert len(html) < 10_000


def test_only_the_largest_of_many_topics(corpus):
    fit = pt.sample("lda", corpus, topics=25, **{**FAST, "chains": 1})
    page = checked(fit._repr_html_())
    assert len(rows_of(fit._repr_html_())) == 20
    assert "20 of 25 topics: fit.topics() has all." in page.text
    assert [int(row[0]) for row in rows_of(fit._repr_html_())] == fit.topics()["topic"].tolist()[:20]
    assert "in chains" not in page.text, "there is one chain"


def test_a_large_trace_is_not_judged(fit, monkeypatch):
    def refuse(groups):
        raise AssertionError("judged")

    monkeypatch.setattr(notebook, "verdict", refuse)
    for name in ("JUDGED", "COMPARED"):
        with monkeypatch.context() as patch:
            patch.setattr(notebook, name, 10)
            page = checked(fit._repr_html_())
        assert "fit.verdict()" in page.text
        assert "goal" in page.text
    with pytest.raises(AssertionError, match="judged"):
        fit._repr_html_()


def test_hostile_words_are_shown_and_not_obeyed():
    tokens = [HOSTILE * 3, HOSTILE[:1] * 4] * 4
    fit = pt.sample("medlda", pt.Corpus.from_tokens(tokens, labels=["<b>x", "y"] * 4), topics=2, **FAST)
    named = {name: group.assign_attrs(corpus_name="<i>c") for name, group in fit.groups.items()}
    page = checked(pt.Fit(named)._repr_html_())
    for text in (*HOSTILE, "<i>c"):
        assert text in page.text


def test_each_response_has_its_own_topics(corpus):
    three = corpus.with_labels((["a", "b", "c"] * 7)[:20])
    fit = pt.sample("medlda_one_vs_all", three, topics=2, **FAST)
    rows = rows_of(fit._repr_html_())
    assert [row[0] for row in rows] == ["a", "a", "b", "b", "c", "c"]
    assert [int(row[1]) for row in rows] == fit.topics(8, fit.verdict().alignment.reference)["topic"].tolist()
    assert {row[3] for row in rows} <= {"1 of 2", "2 of 2"}


def test_traces_that_lack_things(fit):
    bare = {"posterior": fit.posterior[["topic_share"]].drop_attrs()}
    page = checked(pt.Fit(bare)._repr_html_())
    assert page.text.startswith("Posterior draws")
    assert "No topics: the trace holds no `phi_mean`" in page.text
    assert "Exact" not in page.text
    assert "No topics: the trace has no chains." in checked(pt.Fit({"posterior": xr.Dataset()})._repr_html_()).text
    assert "no group posterior" in checked(pt.Fit({"prior": xr.Dataset()})._repr_html_()).text


def test_a_verdict_a_model_and_a_plan(fit, corpus):
    verdict = fit.verdict()
    text = checked(verdict._repr_html_()).text
    assert text.startswith(verdict.level)
    assert all(str(finding) in text for finding in verdict.findings)
    assert "Alignment" not in repr(verdict)
    assert checked(fit.spec._repr_html_()).text.startswith("Model lda_collapsed name: lda_collapsed")
    plan = pt.plan("lda_collapsed", topics=3)
    assert " ".join(str(plan).split()) in checked(plan._repr_html_()).text
    assert (
        str(pt.plan("lda", corpus, topics=3).forecast).split("\n")[0] in pt.plan("lda", corpus, topics=3)._repr_html_()
    )


def test_a_text_that_turns_the_direction_is_escaped():
    assert shown("a\u202eb") == r"<bdi>a\u202eb</bdi>"
