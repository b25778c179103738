"""Other runs beside the one of the report."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.diagnostics.report.beside import beside_section, similarities
from ppl_topics.diagnostics.report.html import report_html
from ppl_topics.errors import TraceError

TEXTS = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
HOW = {"draws": 10, "warmup": 20, "chains": 2, "progress": False}


@pytest.fixture(scope="module")
def fits():
    corpus = pt.Corpus.from_texts(TEXTS)
    # Other words in another order: topics are matched by their names.
    other = pt.Corpus.from_texts([*TEXTS, "a vote"], vocabulary=["vote", "team", "match", "law", "goal"])
    return {
        "this": pt.sample("lda", corpus, topics=2, seed=1, **HOW),
        "same": pt.sample("lda", corpus, topics=2, seed=1, **HOW),
        "larger": pt.sample("lda", other, topics=3, seed=2, **HOW),
    }


def test_topics_are_matched_by_their_words(fits):
    this, same, larger = (fits[name].groups for name in ("this", "same", "larger"))
    alike, shares = similarities(this, 1, same)
    phi = {name: fits[name].groups["constant_data"]["phi_mean"] for name in fits}
    roots = np.sqrt(phi["this"].sel(chain=1).transpose("topic", "word").values)
    others = np.sqrt(phi["same"].sel(chain=0).transpose("topic", "word").values)
    each = roots @ others.T
    best = max((each[0, 0], each[1, 1]), (each[0, 1], each[1, 0]), key=sum)
    np.testing.assert_allclose(alike, best, rtol=1e-5)
    np.testing.assert_allclose(shares, fits["this"].posterior["topic_share"].sel(chain=1).mean("draw"))
    np.testing.assert_allclose(similarities(this, 0, same)[0], 1.0, rtol=1e-5)
    # Two of three topics match two; one is left over.
    back, _ = similarities(larger, 0, this)
    assert (back == 0.0).sum() == 1
    words = phi["larger"]["word"].values
    ours = np.sqrt(phi["this"].sel(chain=0, word=words).transpose("topic", "word").values)
    each = ours @ np.sqrt(phi["larger"].sel(chain=0).transpose("topic", "word").values).T
    pairs = [(each[0, i], each[1, j]) for i in range(3) for j in range(3) if i != j]
    np.testing.assert_allclose(similarities(this, 0, larger)[0], max(pairs, key=sum), rtol=1e-5)


def test_the_table_has_a_row_for_each_run(fits):
    others = {"the same <again>": fits["same"].groups, "larger": fits["larger"].groups}
    section = beside_section(fits["this"].groups, 0, fits["this"].verdict(), others)
    rows = section.parts["table"].records
    assert [row["run"] for row in rows] == ["this run", *others]
    assert [row["topics"] for row in rows] == [2, 2, 3]
    assert np.isnan(rows[0]["similarity"])
    assert rows[1]["similarity"] == pytest.approx(1.0, rel=1e-5)
    assert rows[1]["lp"] == rows[0]["lp"] == pytest.approx(float(fits["this"].groups["sample_stats"]["lp"].mean()))
    page = report_html(fits["this"].groups, beside={"the same <again>": fits["same"], "larger": fits["larger"]})
    assert "the same &lt;again&gt;" in page
    assert page.index('id="beside"') > page.index('id="summary"')
    assert 'id="beside"' not in report_html(fits["this"].groups)


def test_what_is_no_run_is_refused(fits):
    with pytest.raises(TraceError, match="expected the groups of a trace, a fit"):
        report_html(fits["this"].groups, beside={"other": 3})
