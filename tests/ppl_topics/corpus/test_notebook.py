"""What a notebook shows of a corpus: the right numbers, and whatever words it has, no markup but ours."""

import numpy as np
import pandas as pd
from report_page import Page

from ppl_topics.corpus import Corpus, notebook

HOSTILE = ["<script>alert(1)</script>", '"><img/src=x>', "a&b", "שלום", "long" * 1000]


def cells(html: str) -> dict[str, list[str]]:
    """Return the cells of each row by that of the first column."""
    page = Page(html)
    assert page.of("script", "img", "style", "link") == []
    rows = [row.split("</td>")[:-1] for row in html.split("<tr>")[2:]]
    texts = [[Page(cell + "</td>").text.replace(" ,", ",") for cell in row] for row in rows]
    return {name: rest for name, *rest in texts}


def test_sizes_labels_covariates_and_frequent_words():
    tokens = [["b", "a", "b"], [], ["c"], ["a", "b", "a", "d"]]
    frame = pd.DataFrame({"year": [1.0, 2.0, 3.0, 4.0], "source": ["x", "y", "x", "y"]})
    corpus = Corpus.from_tokens(tokens, labels=["law", "sport", None, "sport"], covariates=frame, name="tiny")
    html = corpus.with_labels([1.5, 2.0, None, 4.0], name="rating")._repr_html_()
    page = Page(html)
    assert page.text.startswith("Corpus tiny documents 4 tokens 8 words 4 empty documents 1 part kind values")
    rows = cells(html)
    assert rows["labels"] == ["2 classes, 1 missing", "sport (2), law (1)"]
    assert rows["rating"] == ["real labels, 1 missing", "1.5 to 4"]
    assert rows["covariates"] == ["3 columns", "year, source[x], source[y]"]
    assert rows["frequent words"] == ["", "a, b, c, d"]
    assert "dropped" not in page.text
    assert "tokens dropped 2" in Page(corpus.with_vocabulary(["a", "b"])._repr_html_()).text


def test_labels_of_other_kinds():
    corpus = Corpus.from_tokens([["a"], ["b"], ["a"]], labels=[["x", "y"], ["y"], []])
    assert cells(corpus._repr_html_())["labels"] == ["2 labels", "y (2), x (1)"]
    counts = corpus.with_labels([3, 0, 12], kind="count")
    assert cells(counts._repr_html_())["labels"] == ["count labels", "0 to 12"]
    unknown = corpus.with_labels(np.full(3, np.nan), kind="real")
    assert cells(unknown._repr_html_())["labels"] == ["real labels, 3 missing", ""]
    many = corpus.with_labels(["c1", "c2", "c3"]).select([0, 1, 2])
    assert cells(many._repr_html_())["labels"][1] == "c1 (1), c2 (1), c3 (1)"


def test_more_classes_than_are_named():
    corpus = Corpus.from_tokens([["a"]] * 11, labels=[f"c{i:02}" for i in range(11)])
    assert cells(corpus._repr_html_())["labels"][1].endswith("c07 (1), and 3 more")


def test_hostile_words_are_shown_and_not_obeyed():
    corpus = Corpus.from_tokens([HOSTILE], labels=["<b>bold"], name="<i>half\ud83d")
    html = corpus._repr_html_()
    html.encode("utf-8")
    rows = cells(html)
    words = rows["frequent words"][1]
    assert "<script>alert(1)</script>" in words
    assert "שלום" in words
    assert len(html) < 3000, "a word of thousands of letters is cut"
    assert rows["labels"][1] == "<b>bold (1)"
    assert Page(html).text.startswith(r"Corpus <i>half\ud83d")


def test_words_of_a_large_corpus_are_counted_in_its_first_tokens(monkeypatch):
    monkeypatch.setattr(notebook, "COUNTED", 4)
    html = Corpus.from_tokens([["a", "a", "b", "c"], ["d"] * 9])._repr_html_()
    assert cells(html)["frequent words"][1] == "a, b, c"
    assert "The frequent words are those of the first 4 tokens." in Page(html).text
