"""Exports: tables, the state of MALLET and JSON hold what the trace holds, and are written whole or not at all."""

import gzip
import io
import json
import os
import re
import sys

import jsonschema
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import ppl_topics as pt
from ppl_topics._util.output_files import written_text
from ppl_topics.diagnostics.tables.export import export, to_frame
from ppl_topics.results.export import SCHEMA, document_table, mallet_state, topic_model
from ppl_topics.results.mean_topics import mean_topics
from ppl_topics.results.topic_table import topic_table

FAST = {"draws": 6, "warmup": 4, "seed": 1, "threads": 1, "progress": False}
ODD = ['"quoted"', "a,comma", "a\ttab", "a\nline", "a\rreturn", " space ", "#doc", "größe", "日本語", "NA", "\u2028"]
IDS = ["a", "b,c", 'd"e', "f\tg", "h i", "j\nk"]


def corpus():
    rng = np.random.default_rng(1)
    tokens = [rng.choice(ODD, n).tolist() for n in (20, 1, 0, 14, 9, 16)]
    return pt.Corpus.from_tokens(tokens, doc_ids=IDS, labels=["x", "y", "x", "y", "x", "x,z"])


@pytest.fixture(scope="module")
def fit():
    return pt.sample("lda_learned", corpus(), topics=3, chains=2, **FAST)


@pytest.fixture(scope="module")
def supervised():
    return pt.sample("slda_logistic", corpus(), topics=3, chains=2, record={"theta": {"docs": 2}}, **FAST)


@pytest.fixture(scope="module")
def apart():
    return pt.sample("slda_logistic_one_vs_all", corpus(), topics=2, chains=1, **FAST)


def n_dk(fit, chain, topics):
    constants = fit.groups["constant_data"]
    lengths = constants["doc_length"].values
    counts = np.zeros((len(lengths), topics))
    np.add.at(counts, (np.repeat(np.arange(len(lengths)), lengths), constants["z_last"].sel(chain=chain).values), 1)
    return counts


def test_topics_as_a_table_with_intervals(fit):
    table = fit.to_frame("topics", chain=1, n_words=4, probability=0.5)
    assert list(table) == ["topic", "share", "rank", "word", "probability", "low", "high"]
    assert table.attrs == {"chain": 1, "probability": 0.5}
    assert table["topic"].tolist() == np.repeat([0, 1, 2], 4).tolist()
    assert table["rank"].tolist() == [1, 2, 3, 4] * 3
    share = fit.posterior["topic_share"].sel(chain=1).mean("draw").values
    np.testing.assert_allclose(table["share"], np.repeat(share, 4))
    phi = fit.groups["constant_data"]["phi_mean"].sel(chain=1)
    for row in table.itertuples():
        assert row.probability == pytest.approx(float(phi.sel(topic=row.topic, word=row.word)))
        draws = fit.posterior["phi"].sel(chain=1, topic=row.topic, word=row.word).values.astype(float)
        np.testing.assert_allclose([row.low, row.high], np.quantile(draws, [0.25, 0.75]), rtol=1e-6)
    assert (table.groupby("topic")["probability"].diff().dropna() <= 0).all()
    every = topic_table(fit.groups, n_words=None)
    np.testing.assert_allclose(every.groupby("topic")["probability"].sum(), 1, atol=1e-5)


def test_intervals_are_missing_where_phi_was_not_recorded():
    some = pt.sample("lda", corpus(), topics=2, chains=1, record={"phi": {"top_words": 3}}, **FAST)
    table = some.to_frame(n_words=None)
    kept = set(some.posterior["word"].values.tolist())
    assert len(kept) == 3
    assert (table["low"].notna() == table["word"].isin(kept)).all()
    one = {**some.groups, "posterior": some.posterior.isel(draw=[0])}
    assert to_frame(one, "topics")["low"].isna().all()
    none = {**some.groups, "posterior": some.posterior.drop_vars("phi")}
    assert to_frame(none, "topics")["high"].isna().all()


def test_documents_as_a_table_say_what_they_are_from(fit, supervised):
    # All documents have draws of theta.
    table = fit.to_frame("theta", chain=1)
    assert list(table) == ["doc", "tokens", "estimate", "topic 0", "topic 1", "topic 2"]
    assert set(table["estimate"]) == {"draws"}
    assert table.attrs == {"chain": 1, "estimate": "draws"}
    assert table["doc"].tolist() == IDS
    assert table["tokens"].tolist() == [20, 1, 0, 14, 9, 16]
    np.testing.assert_allclose(table.iloc[:, 3:], fit.posterior["theta"].sel(chain=1).mean("draw"), atol=1e-6)
    # With sampled alpha: of the last draw, which the last assignments belong to.
    table = fit.to_frame("theta", chain=1, estimate="z_last")
    alpha = fit.posterior["alpha"].sel(chain=1).isel(draw=-1).values
    counts = n_dk(fit, 1, 3)
    expected = (counts + alpha) / (counts.sum(axis=1, keepdims=True) + alpha.sum())
    np.testing.assert_allclose(table.iloc[:, 3:], expected)
    np.testing.assert_allclose(table.iloc[2, 3:].astype(float), alpha / alpha.sum())
    # Only two of six documents have draws: by default all are of the last state, and never some of each.
    table = supervised.to_frame("theta")
    assert (len(table), set(table["estimate"])) == (6, {"z_last"})
    np.testing.assert_allclose(table.iloc[:, 3:].sum(axis=1), 1)
    table = supervised.to_frame("theta", estimate="draws")
    assert (table["doc"].tolist(), set(table["estimate"])) == (IDS[:2], {"draws"})


def test_coefficients_are_those_of_the_reading(supervised):
    table = supervised.to_frame("eta", chain=1, response="y", n_words=2)
    pd.testing.assert_frame_equal(table, supervised.coefficients("y", chain=1, n_words=2))


def test_topics_of_their_own(apart):
    topics = apart.to_frame("topics", n_words=2)
    assert topics["response"].unique().tolist() == ["x", "x,z", "y"]
    assert len(topics) == 3 * 2 * 2
    pd.testing.assert_frame_equal(
        apart.to_frame("topics", n_words=2, response="y"), topics[topics["response"] == "y"].reset_index(drop=True)
    )
    documents = apart.to_frame("theta")
    assert len(documents) == 3 * 6
    phi = apart.groups["constant_data"]["phi_mean"].sel(chain=0, response="y", topic=0).values
    assert topics.loc[topics["response"] == "y", "probability"].iloc[0] == pytest.approx(phi.max())
    for what in ("state", "json"):
        with pytest.raises(pt.TraceError, match="name one of them"):
            apart.export(what, {"state": "s.gz", "json": "m.json"}[what])
    assert apart.topic_model(response="y")["response"] == "y"
    z = [line.split(" ")[5] for line in lines_of(mallet_state(apart.groups, response="x,z"))[3:]]
    assert list(map(int, z)) == apart.groups["constant_data"]["z_last"].sel(chain=0, response="x,z").values.tolist()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet"])
@pytest.mark.parametrize("what", ["topics", "theta", "eta"])
def test_tables_read_back(supervised, tmp_path, what, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = supervised.export(what, tmp_path / f"t{suffix}", chain=1)
    table = supervised.to_frame(what, chain=1)
    if suffix == ".parquet":
        read = pd.read_parquet(path)
        assert read.attrs == table.attrs
        pd.testing.assert_frame_equal(read, table, check_dtype=False)
    else:
        separator = "\t" if "tsv" in suffix else ","
        # A word may be called NA.
        read = pd.read_csv(path, sep=separator, keep_default_na=False, na_values={"low": "", "high": ""})
        assert list(read) == list(table)
        for name in table:
            if table[name].dtype.kind == "f":
                np.testing.assert_allclose(pd.to_numeric(read[name]), table[name], rtol=1e-8)
            else:
                assert read[name].astype(str).tolist() == table[name].astype(str).replace("<NA>", "").tolist(), name
    # The same fit gives the same bytes.
    before = path.read_bytes()
    supervised.export(what, path, chain=1)
    assert path.read_bytes() == before


def lines_of(state):
    return "".join(state).removesuffix("\n").split("\n")


def test_the_state_of_mallet_reads_back_as_mallet_reads_it(fit, tmp_path):
    path = fit.export("state", tmp_path / "state.gz", chain=1)
    lines = gzip.decompress(path.read_bytes()).decode().removesuffix("\n").split("\n")
    assert lines[0] == "#doc source pos typeindex type topic"
    # As MALLET's own: words "#alpha :", a number for each topic, a blank at the end; one beta.
    assert re.fullmatch(r"#alpha : (\S+ ){3}", lines[1])
    last = fit.posterior.sel(chain=1).isel(draw=-1)
    assert [float(value) for value in lines[1].split(" ")[2:5]] == last["alpha"].values.tolist()
    assert lines[2] == f"#beta : {float(last['beta'])!r}"
    # MALLET takes the lines apart at single blanks: six fields, whatever the words.
    rows = [line.split(" ") for line in lines[3:]]
    assert {len(row) for row in rows} == {6}
    assert not any(re.search(r"\s", field) for row in rows for field in row)
    made = corpus()
    lengths = np.diff(made.doc_ptr)
    assert [int(row[0]) for row in rows] == np.repeat(np.arange(6), lengths).tolist()
    assert [int(row[2]) for row in rows] == [place for length in lengths for place in range(length)]
    assert [int(row[3]) for row in rows] == made.words.tolist()
    assert [int(row[5]) for row in rows] == fit.groups["constant_data"]["z_last"].sel(chain=1).values.tolist()
    # Words and ids are as they were but for white space.
    assert [row[4] for row in rows] == [re.sub(r"\s", "_", str(made.vocabulary[word])) for word in made.words]
    assert {row[1] for row in rows} == {"a", "b,c", "f_g", "h_i", "j_k"}  # 'd"e' has no token
    # The counts of words in topics, as a reader makes them.
    table = pd.read_csv(io.StringIO("\n".join(lines[3:])), sep=" ", header=None, quoting=3, keep_default_na=False)
    assert len(table) == made.n_tokens
    np.testing.assert_array_equal(pd.crosstab(table[0], table[5]).values, n_dk(fit, 1, 3)[lengths > 0])


def test_betas_that_differ_are_written_as_their_mean(fit):
    beta = np.arange(1.0, 1 + fit.groups["constant_data"].sizes["word"])
    constants = fit.groups["constant_data"].assign(beta=("word", beta), alpha=("topic", [0.1, 0.2, 0.3]))
    lines = lines_of(mallet_state({**fit.groups, "constant_data": constants}))
    assert lines[1:3] == ["#alpha : 0.1 0.2 0.3 ", f"#beta : {float(beta.mean())!r}"]
    # An empty id or word keeps its place.
    named = constants.assign_coords(doc=[""] * 6)
    assert {line.split(" ")[1] for line in lines_of(mallet_state({**fit.groups, "constant_data": named}))[3:]} == {"NA"}


def test_a_topic_model_as_json_obeys_its_schema(supervised, fit, tmp_path):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for each, name in ((supervised, "m.json"), (fit, "m.json.gz")):
        path = each.export("json", tmp_path / name, chain=1, n_words=3)
        raw = path.read_bytes()
        found = json.loads(gzip.decompress(raw) if name.endswith("gz") else raw)
        jsonschema.validate(found, SCHEMA)
        assert found == json.loads(json.dumps(each.topic_model(chain=1, n_words=3)))
        assert (found["format"], found["version"], found["chain"]) == ("ppl-topics topic model", 1, 1)
        assert found["corpus"]["tokens"] == 60
        assert [topic["topic"] for topic in found["topics"]] == [0, 1, 2]
        table = each.to_frame("topics", chain=1, n_words=3)
        rows = [row for topic in found["topics"] for row in topic["words"]]
        assert [row["word"] for row in rows] == table["word"].tolist()
        np.testing.assert_allclose([row["probability"] for row in rows], table["probability"], rtol=1e-8)
        np.testing.assert_allclose([row["low"] for row in rows], table["low"], rtol=1e-8)
        shares = each.to_frame("theta", chain=1)
        assert [document["id"] for document in found["documents"]] == IDS
        assert found["shares_from"] == shares["estimate"].iloc[0]
        np.testing.assert_allclose(
            [document["shares"] for document in found["documents"]], shares.iloc[:, 3:], rtol=1e-8
        )
        # The model in it can be run again.
        (tmp_path / "again.yaml").write_text(found["model"]["yaml"])
        assert pt.load_spec(tmp_path / "again.yaml").name == found["model"]["name"]
    alpha = fit.posterior["alpha"].sel(chain=1).mean("draw").values
    np.testing.assert_allclose(found["alpha"], alpha, rtol=1e-8)
    assert found["coefficients"] is None
    coefficients = supervised.topic_model()["coefficients"]
    np.testing.assert_allclose([row["mean"] for row in coefficients], supervised.coefficients()["mean"], rtol=1e-8)
    assert [row["topic"] for row in coefficients] == supervised.coefficients()["topic"].tolist()


def test_topics_with_zeros_one_topic_one_document_one_draw():
    one = pt.Corpus.from_tokens([["a", "b", "a"]])
    fit = pt.sample("lda", one, topics=1, chains=1, **{**FAST, "draws": 1})
    found = fit.topic_model()
    jsonschema.validate(found, SCHEMA)
    assert [document["shares"] for document in found["documents"]] == [[1.0]]
    assert found["topics"][0]["words"][0]["low"] is None
    assert lines_of(mallet_state(fit.groups))[3:] == ["0 0 0 0 a 0", "0 0 1 0 a 0", "0 0 2 1 b 0"]
    zeros = pt.sample("lda_spike_slab", corpus(), topics=4, chains=1, inclusion=0.2, **FAST)
    table = zeros.to_frame(n_words=None)
    phi = zeros.groups["constant_data"]["phi_mean"].values
    assert (phi == 0).any()
    assert len(table) == (phi > 0).sum()
    jsonschema.validate(zeros.topic_model(n_words=None), SCHEMA)


def test_topics_that_are_stored_as_lists():
    fit = pt.sample("lda_spike_slab", corpus(), topics=3, chains=2, storage="sparse", **FAST)
    assert "phi_mean" not in fit.groups["constant_data"]
    phi = mean_topics(fit.groups, 1)
    table = fit.to_frame(chain=1, n_words=2)
    for row in table.itertuples():
        assert row.probability == pytest.approx(float(phi.sel(topic=row.topic, word=row.word)))
    jsonschema.validate(fit.topic_model(chain=1), SCHEMA)


def test_an_empty_topic_has_its_prior():
    fit = pt.sample("lda", pt.Corpus.from_tokens([["a"], ["b"]]), topics=8, chains=1, **FAST)
    table = fit.to_frame("topics")
    assert table["topic"].unique().tolist() == list(range(8))
    assert table["probability"].notna().all()
    jsonschema.validate(fit.topic_model(), SCHEMA)


def test_what_cannot_be_exported_is_said(fit, apart, tmp_path):
    constants, posterior = fit.groups["constant_data"], fit.posterior
    less = posterior.drop_vars(["theta", "alpha"])
    for call, words in (
        (lambda: fit.to_frame("phi"), "there is no table 'phi'"),
        (lambda: fit.to_frame("thetas"), "did you mean 'theta'"),
        (lambda: fit.to_frame(chain=9), "no chain 9; it has 0, 1"),
        (lambda: fit.to_frame(chain=True), "chain: must be a whole number"),
        (lambda: fit.to_frame(n_words=0), "n_words"),
        (lambda: fit.to_frame(probability=0), "between 0 and 1"),
        (lambda: fit.to_frame("theta", estimate="mean"), "estimate: expected one of"),
        (lambda: fit.to_frame("theta", estimate=np.zeros(2)), "estimate: expected one of auto, draws, z_last, got '[0"),
        (lambda: fit.to_frame("theta", estimate=posterior["theta"]), "estimate: expected one of auto, draws, z_last"),
        (lambda: fit.to_frame(response="x"), "share the topics"),
        (lambda: fit.to_frame("eta"), "has no response"),
        (lambda: fit.to_frame("eta", n_words=None), "eta needs a number of words, at least 1"),
        (lambda: apart.to_frame(response="q"), "no response 'q'"),
        (lambda: apart.to_frame(response=np.array(["x", "y"])), "the trace has no response"),
        (lambda: topic_table({"posterior": posterior}), "no `phi_mean`"),
        (lambda: document_table({**fit.groups, "posterior": less}), "does not hold alpha"),
        (lambda: document_table({"posterior": less, "constant_data": constants.drop_vars("z_last")}), "no `z_last`"),
        (lambda: mallet_state({**fit.groups, "observed_data": xr.Dataset()}), "no `words`"),
        (lambda: mallet_state({"posterior": posterior}), "no `doc_length`"),
        (lambda: topic_model({"posterior": posterior}), "no `phi_mean`"),
        (lambda: fit.export("phi", tmp_path / "x.csv"), "nothing called 'phi' to export"),
    ):
        with pytest.raises(pt.TraceError, match=re.escape(words)):
            call()
    assert not list(tmp_path.iterdir())


def test_files_are_written_whole_or_not_at_all(fit, tmp_path, monkeypatch):
    (tmp_path / "folder.csv").mkdir()
    kept = tmp_path / "kept.csv"
    kept.write_text("before")
    for what, path, words in (
        ("topics", tmp_path / "folder.csv", "this is a folder"),
        ("topics", tmp_path / "none" / "t.csv", "does not exist; create it first"),
        ("topics", tmp_path / "t.xls", "a file that ends in .csv, .csv.gz, .tsv, .tsv.gz, .parquet"),
        ("topics", tmp_path / ".csv", "a file that ends in"),
        ("state", tmp_path / "state.txt", "a file that ends in .gz"),
        ("json", tmp_path / "m.csv", "a file that ends in .json, .json.gz"),
        ("topics", 7, "expected the path"),
        ("topics", tmp_path / f"{'x' * 300}.csv", "longer than"),
    ):
        with pytest.raises(pt.PplTopicsError, match=words):
            fit.export(what, path)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    for what, path in (("topics", kept), ("state", tmp_path / "s.gz"), ("json", tmp_path / "m.json")):
        with pytest.raises(pt.PplTopicsError, match="cannot be written \\(No space left on device\\)"):
            fit.export(what, path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.csv", "kept.csv"]
    assert kept.read_text() == "before"
    monkeypatch.undo()
    assert export(fit.groups, "topics", str(kept)) == kept
    assert kept.read_text().startswith("topic,share") or kept.read_text().startswith('"topic","share"')


def test_what_is_no_file_is_not_replaced(fit, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(pt.PplTopicsError, match=r"pipe\.csv: exists and is neither a file nor a folder"):
        fit.export("topics", tmp_path / "pipe.csv")
    assert (tmp_path / "pipe.csv").is_fifo()


def test_text_that_is_no_utf_8_is_named(tmp_path):
    with pytest.raises(pt.PplTopicsError, match="UTF-8 cannot encode"), written_text(tmp_path / "t.csv") as text:
        text.write("a\ud800")
    assert not list(tmp_path.iterdir())


def test_parquet_without_pyarrow(fit, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(pt.PplTopicsError, match=r"pip install 'ppl-topics\[parquet\]'"):
        fit.export("topics", tmp_path / "t.parquet")
    assert not list(tmp_path.iterdir())
