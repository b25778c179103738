"""Topics with keywords: which words they are, what a draw of the prior is, and what a fit says of them."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.diagnostics.alignment.topics import exchangeable
from ppl_topics.engine.bind import bind
from ppl_topics.schedule.plan import make_plan

HOW = {"topics": 3, "draws": 5, "warmup": 5, "chains": 2, "seed": 1, "progress": False}
TEXTS = ["court law attorney court", "hospital health", "law terrorism terrorist", "", "health court tax"] * 6
KEYWORDS = {"law": ["court", "terror*"], "health": ["health", "hospital"]}


def corpus():
    return pt.Corpus.from_texts(TEXTS)


def bound(keywords, **parameters):
    spec = pt.load_spec("keyword_lda", {"keywords": keywords, "topics": 3, **parameters})
    return bind(make_plan(spec), corpus())


def test_wildcards_stand_for_all_words_that_fit():
    block = bound(KEYWORDS).block("phi")
    assert block.keyword_names(corpus().vocabulary) == [
        "law: court",
        "law: terrorism",
        "law: terrorist",
        "health: health",
        "health: hospital",
    ]
    assert block.cells.pointer.tolist() == [0, 3, 5, 5]


@pytest.mark.parametrize("pattern", ["c.urt", "cour", "[c]ourt", "*ourtz"])
def test_a_keyword_is_a_whole_word_and_no_expression(pattern):
    with pytest.raises(pt.SpecError, match=r"argument keywords: .*the corpus has none of the keywords of 'law'"):
        pt.sample("keyword_lda", corpus(), keywords={"law": [pattern]}, **HOW)


def test_words_that_the_corpus_lacks_are_named():
    with pytest.warns(pt.KeywordWarning, match=r"no words for the keywords 'zebra' of 'law', 'x\*' of 'health'$"):
        block = bound({"law": ["court", "zebra"], "health": ["x*", "health"]}).block("phi")
    assert block.n_keywords == 2


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "there are no keywords; name topics and list words of each"),
        ({"a": ["law"], "b": ["tax"], "c": ["court"], "d": ["health"]}, "keywords of 4 topics, but there are 3"),
        ({"a": []}, "keywords.a: "),
        ({"a": "law"}, "keywords.a: "),
        ({"law": ["cuort"]}, "did you mean 'court'"),
    ],
)
def test_wrong_keywords_are_refused(keywords, message):
    with pytest.raises(pt.SpecError) as error:
        pt.sample("keyword_lda", corpus(), keywords=keywords, **HOW)
    assert message in str(error.value)


def test_kernels_that_sum_over_phi_are_refused():
    schedule = pt.cycle(pt.step("z", "collapsed_gibbs"), pt.step("phi", "keyword_rows"))
    with pytest.raises(pt.ScheduleError, match="'collapsed_gibbs' does not handle the factor 'phi'"):
        pt.plan("keyword_lda", keywords=KEYWORDS, schedule=schedule)


def test_the_kernel_that_draws_both_variables_stands_once_in_the_plan():
    assert str(pt.plan("keyword_lda", keywords=KEYWORDS)).count("keyword_rows") == 1


@pytest.mark.parametrize("role", ["keyword_weight", "phi"])
def test_draws_from_the_prior_have_its_moments(role):
    """Means within 4 standard errors: false alarms once in 1,000 runs; an a of 2 in place of 3 is noticed."""
    model = bound(KEYWORDS, keyword_concentration=0.5)
    block, state = model.block("phi").model_copy(update={"a": 3.0, "b": 2.0}), model.initial_state(1, 0)
    rng = np.random.default_rng(1)
    values = {"beta": state.beta}
    draws = []
    for _ in range(2000):
        values["keyword_weight"] = block.simulate("keyword_weight", values, state, rng)
        phi = block.simulate("phi", values, state, rng)
        np.testing.assert_allclose(phi.sum(axis=0), 1.0)
        draws.append(
            values["keyword_weight"] if role == "keyword_weight" else phi[block.cells.words, block.cells.topics]
        )
    keywords = 0.6 / np.array([3.0, 3.0, 3.0, 2.0, 2.0])
    expected = keywords if role == "keyword_weight" else keywords + 0.4 / state.sizes.words

    def off(expected):
        return (np.mean(draws, axis=0) - expected) / (np.std(draws, axis=0) / np.sqrt(len(draws)))

    assert np.abs(off(expected)).max() < 4.0
    assert np.abs(off(expected - keywords / 6.0)).max() > 4.0


@pytest.fixture(scope="module")
def fit():
    return pt.sample("keyword_lda", corpus(), keywords=KEYWORDS, record={"phi": "all"}, debug=True, **HOW)


def test_a_trace_names_keywords_and_topics(fit):
    weight, phi = fit.posterior["keyword_weight"], fit.posterior["phi"]
    assert weight["keyword"].values[0] == "law: court"
    assert fit.groups["constant_data"]["topic_name"].values.tolist() == ["law", "health", ""]
    # The part of phi that comes from keywords is a part.
    assert (weight.sel(keyword="law: court").values <= phi.sel(topic=0, word="court").values * (1 + 1e-6)).all()
    assert ((weight > 0.0) & (weight < 1.0)).all()
    np.testing.assert_allclose(phi.sum("word"), 1.0, atol=1e-5)


def test_tables_and_labels_have_the_names(fit):
    table = fit.topics()
    assert dict(zip(table["topic"], table["name"], strict=True)) == {0: "law", 1: "health", 2: ""}
    names = fit.labelled(words=1).posterior["topic"].values
    assert names[0].startswith("0: law: ")
    assert names[1].startswith("1: health: ")
    assert ": " not in names[2].removeprefix("2: ")


def test_topics_with_names_are_not_exchanged(fit):
    classes = exchangeable(fit.groups)
    assert len(set(classes.tolist())) == 3
    plain = pt.sample("lda", corpus(), **HOW)
    assert len(set(exchangeable(plain.groups).tolist())) == 1


def test_keywords_find_their_topics():
    """Words of two topics are equally frequent, and half of each topic's words are keywords of neither."""
    rng = np.random.default_rng(3)
    texts = [" ".join(f"{'ab'[i % 2]}{w}" for w in rng.integers(0, 20, 30)) for i in range(60)]
    keywords = {"second": ["b1", "b2"], "first": ["a1", "a2"]}
    found = pt.sample(
        "keyword_lda", pt.Corpus.from_texts(texts), keywords=keywords, **HOW | {"topics": 2, "warmup": 50}
    )
    words = dict(zip(found.topics()["name"], found.topics()["words"], strict=True))
    assert {word[0] for word in words["first"].split()} == {"a"}
    assert {word[0] for word in words["second"].split()} == {"b"}


def test_covariates_above_keywords_and_labels_below_are_one_model():
    spec = {
        "extends": "dmr_supervised",
        "name": "all",
        "blocks": {
            "phi": {
                "block": "keywords",
                "over": "word",
                "per": "topic",
                "concentration": 0.1,
                "keywords": KEYWORDS,
            }
        },
    }
    rows = [{"treated": i % 2} for i in range(len(TEXTS))]
    texts = pt.Corpus.from_texts(TEXTS, labels=["a", "b"] * 15, covariates=rows)
    found = pt.sample(spec, texts, **HOW, debug=True)
    assert {"keyword_weight", "gamma", "eta"} <= set(found.posterior)
    assert found.predict(texts).shape == (30,)


def test_a_file_of_keywords(tmp_path):
    table, plain = tmp_path / "k.csv", tmp_path / "k.json"
    table.write_text("\ufefftopic,note,keyword\nlaw,,court\nhealth,x,hospital\n\nlaw,,terror*\n")
    plain.write_text('{"law": ["court", "terror*"], "health": ["hospital"]}')
    wanted = {"law": ["court", "terror*"], "health": ["hospital"]}
    assert pt.read_keywords(table) == pt.read_keywords(plain) == wanted


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("k.csv", "name,word\n", "k.csv:1: expected the columns topic and keyword, got name, word"),
        ("k.csv", "", "k.csv:1: expected the columns topic and keyword, got nothing"),
        ("k.csv", "topic,keyword\nlaw\n", "k.csv:2: expected a topic and a keyword, got 'law'"),
        ("k.csv", 'topic,keyword\nlaw,"court\nlaw,tax\n', "k.csv:"),
        ("k.csv", "topic,keyword\n", "k.csv: there are no keywords after the header"),
        ("k.yaml", "law: court\n", "k.yaml:1:1: law: expected a list of words, got 'court'"),
        ("k.yaml", "- law\n", "expected a list of keywords for each topic"),
        ("none.csv", None, "none.csv: cannot read the keywords (No such file or directory)"),
    ],
)
def test_a_wrong_file_of_keywords_is_refused(name, text, message, tmp_path):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(pt.SpecError) as error:
        pt.read_keywords(tmp_path / name)
    assert message in str(error.value)


def test_values_of_other_keywords_are_refused(fit):
    other = {"law": ["court", "tax"], "health": ["health", "hospital", "law"]}
    with pytest.raises(pt.PplTopicsError, match="given: keyword_weight: is of other keywords than those of the model"):
        pt.sample("keyword_lda", corpus(), keywords=other, given={"phi": fit, "keyword_weight": fit}, **HOW)
    large = {"phi": fit, "keyword_weight": np.full(5, 0.5)}
    with pytest.raises(pt.PplTopicsError, match="expected probabilities whose sum is at most 1 in each topic"):
        pt.sample("keyword_lda", corpus(), keywords=KEYWORDS, given=large, **HOW)


@pytest.mark.parametrize("model", ["keyword_lda", "seeded_lda"])
def test_words_are_drawn_from_the_prior(model):
    found = pt.sample(model, corpus(), keywords=KEYWORDS, **HOW)
    assert found.prior_predictive(draws=2)["words"].sizes["draw"] == 2


@pytest.mark.parametrize("keywords", [{"": ["law"]}, {" law": ["law"]}, {"law": ["law "]}])
def test_names_and_words_with_spaces_at_the_ends_are_refused(keywords):
    with pytest.raises(pt.SpecError, match=r"keywords"):
        pt.plan("keyword_lda", keywords=keywords)
