"""The benchmarks run, on corpora small enough for a test, and simulated corpora follow the distributions they state."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ppl_topics as pt

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
TOPICS, MARKS = 5, [1, 3]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script of the benchmarks as Python would when it is run."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return lambda name: importlib.import_module(name)


@pytest.fixture(scope="module")
def corpus() -> pt.Corpus:
    rng = np.random.default_rng(2)
    return pt.Corpus.from_tokens([[f"w{i}" for i in rng.integers(0, 30, n)] for n in (50, 0, 1, 80)] * 3)


def records(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def options(lda: ModuleType, *words: str) -> Any:
    fixed = f"--topics {TOPICS} --burn-in 1 --sweeps 2 --rounds 2 --threads 1 --peers".split()
    return lda.arguments([*fixed, "--kernels", "collapsed_gibbs", *words])


def test_the_pages_agree_with_the_figures(script: Any) -> None:
    tables = script("tables")
    found = tables.read()
    for page, text in ((tables.PAGE, tables.page_of(found)), (tables.FRONT, tables.highlights(found))):
        assert page.read_text() == tables.with_tables(page.read_text(), text), "run `make bench-tables`"


def test_the_computed_table_is_that_of_the_formulas(script: Any) -> None:
    forecast = script("cluster_forecast")
    _, _, after = (BENCHMARKS.parent / "docs" / "cluster.md").read_text().partition(forecast.HEAD)
    rows = after.splitlines(keepends=True)[1 : len(forecast.cases()) + 1]
    says = "run `python benchmarks/cluster_forecast.py docs/cluster.md`"
    assert rows == [forecast.row(case) for case in forecast.cases()], says


def test_figures_say_where_they_were_measured(script: Any) -> None:
    for record in script("tables").read():
        assert {"command", "commit", "date", "machine"} <= record.keys()
        assert {"processor", "cores"} <= record["machine"].keys()
        command = re.sub("(benchmarks|examples|examples/papers)/(?=[a-z0-9_]+[.]py)", "", record["command"])
        assert "/" not in command, record["command"]


def test_a_figure_measured_again_replaces_the_one_before(script: Any, tmp_path: Path, monkeypatch: Any) -> None:
    common, tables = script("common"), script("tables")
    words = ["--data", "/home/a/b.txt", "--vocabulary", "../c.txt", "--results", str(tmp_path), "--topics", "5"]
    monkeypatch.setattr("sys.argv", ["lda.py", *words])
    for values in ([4.0], [1.0, 2.0, 6.0]):
        results = common.Results(tmp_path, "lda", "How fast is a sweep of LDA?", corpus="b", K=5)
        results.add("ours", "seconds", values, {"theirs": 1.5})
    (record,) = tables.read(tmp_path)
    assert record["command"] == "python benchmarks/lda.py --data b.txt --vocabulary c.txt --topics 5"
    table = tables.page_of([record]).splitlines()[4:7]
    assert table == [
        "| seconds | min | max | over theirs |",
        "| ---: | ---: | ---: | ---: |",
        "| 2 | 1 | 6 | 1.5 |",
    ]


def test_simulated_corpora_are_reproducible_and_sorted(script: Any) -> None:
    simulate = script("simulate").simulate
    one, two, other = simulate(20_000, seed=3), simulate(20_000, seed=3), simulate(20_000, seed=4)
    assert one.fingerprint == two.fingerprint != other.fingerprint
    assert one.n_tokens == 20_000
    assert one.doc_lengths.min() >= 1
    steps = np.diff(one.words.astype(np.int64))
    assert (np.delete(steps, one.doc_ptr[1:-1] - 1) >= 0).all()
    assert (one.word_counts > 0).all()


def test_simulated_corpora_follow_zipf_and_heaps(script: Any) -> None:
    simulation = script("simulate")
    corpus = simulation.simulate(1_000_000)
    assert corpus.n_words == pytest.approx(simulation.expected_words(corpus.n_tokens), rel=0.02)
    assert corpus.n_words == pytest.approx(37 * corpus.n_tokens**0.5, rel=0.05)
    assert simulation.zipf_exponent(corpus.word_counts, 10, 1000) == pytest.approx(1.0, abs=0.05)
    frequent = np.count_nonzero(corpus.word_counts >= 10)
    assert simulation.zipf_exponent(corpus.word_counts, 4300, frequent) == pytest.approx(2.0, abs=0.2)
    heaps = np.log2(simulation.expected_words(4 * 10**7) / simulation.expected_words(10**7)) / 2
    assert heaps == pytest.approx(0.5, abs=0.03)
    assert corpus.n_tokens / corpus.n_docs == pytest.approx(250, rel=0.1)


def test_our_programs_run_in_rounds(script: Any, corpus: pt.Corpus) -> None:
    lda = script("lda")
    chosen = options(lda)
    (record,) = lda.summary(lda.run(corpus, TOPICS, chosen), corpus, TOPICS, chosen)
    assert record["program"] == "collapsed_gibbs"
    assert 0 < record["fastest"] <= record["seconds"] <= record["slowest"]
    assert -10 < record["score"] < 0


def test_sampling_is_timed_from_outside(script: Any, corpus: pt.Corpus) -> None:
    lda, program = script("lda"), script("common").Sampled(1)
    points = lda.measure(program, corpus, TOPICS, 1, [0, 20, 40])
    own = lda.measure(script("common").Ours("collapsed_gibbs", 1), corpus, TOPICS, 1, [20, 40])
    assert [point.sweeps for point in points] == [0, 20, 40]
    assert points[0].seconds == 0.0 < points[1].seconds < points[2].seconds
    assert points[2].score == pytest.approx(own[1].score, abs=0.3)


@pytest.mark.parametrize(("peer", "package"), [("Tomotopy", "tomotopy"), ("Pyrmallet", "pyrmallet")])
def test_peers_run_and_score_like_ours(script: Any, corpus: pt.Corpus, peer: str, package: str) -> None:
    pytest.importorskip(package)
    peers, common = script("peers"), script("common")
    program = peers.Pyrmallet() if peer == "Pyrmallet" else peers.Tomotopy(1)
    sweeps = [20, 40]
    theirs = list(program.trajectory(corpus, TOPICS, 1, sweeps))
    own = list(common.Ours("collapsed_gibbs", 1).trajectory(corpus, TOPICS, 1, sweeps))
    assert [point.sweeps for point in theirs] == [point.sweeps for point in own] == sweeps
    assert theirs[-1].score == pytest.approx(own[-1].score, abs=0.3)
    assert 0 < theirs[0].seconds < theirs[1].seconds


def test_seconds_to_a_score_are_interpolated(script: Any) -> None:
    lda, point = script("lda"), script("common").Point
    points = [point(1, 2.0, -9.0, 0.0), point(2, 4.0, -8.0, 0.0), point(3, 6.0, -7.5, 0.0)]
    assert lda.seconds_to(-8.5, points) == pytest.approx(3.0)
    assert lda.seconds_to(-9.5, points) == 2.0
    assert np.isnan(lda.seconds_to(-7.0, points))


def test_a_program_goes_on_until_it_reaches_a_score_or_its_patience_ends(script: Any, corpus: pt.Corpus) -> None:
    lda, program = script("lda"), script("common").Ours("collapsed_gibbs", 1)
    (end,) = lda.measure(program, corpus, TOPICS, 1, [20])
    points = lda.reach(program, corpus, TOPICS, 1, MARKS, end.score, np.inf)
    assert [point.sweeps for point in points[:3]] == [*MARKS, 4]
    assert points[-1].sweeps <= 20
    assert points[-1].score >= end.score > max(point.score for point in points[:-1])
    assert [point.sweeps for point in lda.reach(program, corpus, TOPICS, 1, MARKS, end.score, 0.0)] == MARKS


def test_scaling_measures_time_and_memory(script: Any, corpus: pt.Corpus, tmp_path: Path) -> None:
    corpus.with_vocabulary(corpus).save(tmp_path / "corpus")
    record = script("scaling").measure(str(tmp_path / "corpus"), "collapsed_gibbs", TOPICS, 1, 1, 2)
    assert record["tokens"] == corpus.n_tokens
    assert record["tables"] == {"n_wk": 4.0}
    assert len(record["sweeps"]) == 3


def test_forecasts_are_held_against_sweeps(script: Any, corpus: pt.Corpus, tmp_path: Path, capsys: Any) -> None:
    corpus.save(tmp_path / "corpus")
    command = ["--data", str(tmp_path / "corpus"), "--topics", "5", "--sweeps", "1", "--repeats", "1"]
    command += ["--burn-in", "collapsed_gibbs", "--results", str(tmp_path)]
    script("cost_model").main([*command, "--kernels", "collapsed_gibbs", "partially_collapsed", "--threads", "1"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[4:]]
    assert [row[:4] for row in rows] == [
        ["collapsed_gibbs", "collapsed_gibbs", "5", "1"],
        ["partially_collapsed", "partially_collapsed", "5", "1"],
        ["partially_collapsed", "dirichlet_rows", "5", "1"],
    ]
    assert all(len(row) == 10 for row in rows)


def test_supervised_trains_and_predicts(script: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    supervised = script("supervised")
    options = ["--topics", "3", "--warmup", "2", "--draws", "2", "--seeds", "1", "2", "--results", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["supervised.py", *options])
    supervised.main()
    rows = {record["measure"]: record for record in records(tmp_path, "supervised")}
    assert rows["accuracy"]["setting"]["K"] == 3
    assert rows["accuracy"]["median"] > 0.9
    assert 0 < rows["seconds of sampling"]["median"] <= rows["seconds"]["median"]
    assert rows["processor seconds"]["median"] > 0
    assert -5 < rows["log p(w, z) / N"]["median"] < -2


def test_ways_to_warm_up_are_compared(
    script: Any, corpus: pt.Corpus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    corpus.save(tmp_path / "corpus")
    words = f"--data {tmp_path}/corpus --topics 3 --sweeps 3 --seeds 1 2 --results {tmp_path}"
    monkeypatch.setattr("sys.argv", ["modes.py", *words.split()])
    script("modes").main()
    found = {(record["program"], record["measure"]): record for record in records(tmp_path, "modes")}
    ways = {"plain", "clusters of documents", "anchor words", "temperature 20", "temperature 100"}
    assert {way for way, _ in found} == ways
    assert -8 < found["plain", "log p(w, z) / N"]["median"] < -2
    assert 0 <= found["plain", "topics that recur in all"]["min"] <= 3
    monkeypatch.setattr("sys.argv", ["modes.py", *words.split(), "--ways", "plain", "--draws", "30"])
    script("modes").main()
    (effective,) = {record["measure"] for record in records(tmp_path, "modes")} - set(script("modes").MEASURES)
    found = {(record["program"], record["measure"]): record for record in records(tmp_path, "modes")}
    assert found["plain", effective]["min"] > 0


def test_anchor_words_are_those_that_one_topic_has(script: Any) -> None:
    topics = np.zeros((2, 6))
    topics[0, :4], topics[1, 2:] = (0.4, 0.2, 0.2, 0.2), (0.2, 0.2, 0.2, 0.4)
    rng = np.random.default_rng(1)
    drawn = [rng.choice(6, 40, p=share @ topics) for share in rng.dirichlet((0.3, 0.3), 2000)]
    corpus = pt.Corpus.from_tokens([[f"w{word}" for word in doc] for doc in drawn])
    (phi,) = script("starts").by_anchors(corpus, 2, 1, 3)["phi"]
    order = [corpus.vocabulary.tolist().index(f"w{word}") for word in range(6)]
    found = phi[:, order]
    found = found[np.argsort(-found[:, 0])]
    # A tenth of the start is not the anchors', but of both topics alike.
    np.testing.assert_allclose(found, 0.9 * topics + 0.1 * topics.mean(axis=0), atol=0.03)


def test_moves_between_modes_are_tried(
    script: Any, corpus: pt.Corpus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    corpus.save(tmp_path / "corpus")
    words = f"moves.py --data {tmp_path}/corpus --topics 4 --sweeps 2 --results {tmp_path}"
    monkeypatch.setattr("sys.argv", words.split())
    module = script("moves")
    module.main()
    found = {(record["program"], record["measure"]): record["median"] for record in records(tmp_path, "moves")}
    assert 0 <= found["swap in a document", "% accepted"] < 100
    assert 0 < found["swap of a word", "% accepted"] < 100
    assert found["split and merge", "log acceptance ratio"] < 0
    assert found["parallel tempering", "chains needed"] > 1
    # The ratios have to add up to the change of log p(w, z).
    monkeypatch.setattr(module, "score", lambda *_: -1.0)
    with pytest.raises(SystemExit, match="log p"):
        module.main()


def test_speed_with_more_threads_is_forecast(
    script: Any, corpus: pt.Corpus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    threads = script("threads")
    assert threads.longest_over_mean(np.array([4, 1, 1, 2]), 2) == 5 / 4
    # Of a cache of two rows: 0, 1, 2, and 0 again, after two others.
    assert threads.misses(np.array([0, 1, 1, 0, 2, 1, 2, 0]), 3, 2) == 5
    corpus.save(tmp_path / "corpus")
    words = f"threads.py --data {tmp_path}/corpus --topics 3 --sweeps 2 --results {tmp_path}"
    monkeypatch.setattr("sys.argv", words.split())
    # Other tests shall not see the clocks.
    monkeypatch.setattr(threads, "time_parallel_functions", lambda: None)
    threads.main()
    found = {record["measure"]: record["median"] for record in records(tmp_path, "threads")}
    assert found["serial, % of a sweep on one thread"] == pytest.approx(100)
    assert found["64 threads"] == pytest.approx(1)
    # All rows fit into the cache: each is read once.
    assert 10 < found["bytes a token from memory"] < 10 + 2 * 12 * corpus.n_words / corpus.n_tokens + 1e-6
    assert found["GB/s from memory"] > 0


def test_topics_of_new_documents_are_found_by_both_methods(
    script: Any, corpus: pt.Corpus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("tomotopy")
    corpus.with_labels(["x", "y"] * 6).save(tmp_path / "corpus")
    words = f"--data {tmp_path}/corpus --test {tmp_path}/corpus --results {tmp_path}"
    words += " --topics 3 --sweeps 25 --rounds 1 --threads 1"
    for more in ([], ["--model", "slda_multinomial"]):
        monkeypatch.setattr("sys.argv", ["prediction.py", *words.split(), *more])
        script("prediction").main()
    found = {(record["program"], record["measure"]): record for record in records(tmp_path, "prediction")}
    for program in ("gibbs", "cvb0", "tomotopy infer, 100 iterations"):
        assert found[program, "documents a second"]["median"] > 0
        assert -6 < found[program, "log p of a token of the second half"]["median"] < -2
    for method in ("gibbs", "cvb0"):
        assert -5 < found[method, "log score"]["median"] < 0
        assert 0 <= found[method, "accuracy"]["median"] <= 1


def test_supervised_scaling_deals_documents_to_classes(script: Any) -> None:
    scaling = script("supervised_scaling")
    given = {"data": None, "model": "dolda_normal", "topics": 3, "threads": 1, "burn_in": 1, "sweeps": 2}
    given |= {"set": ["variance=2.0"], "kernel": "partially_collapsed"}
    half, whole = (scaling.measure(given | {"share": share, "classes": 7}) for share in (0.5, 1.0))
    assert [record["documents"] for record in (half, whole)] == [200, 400]
    assert half["classes"] == 7
    assert {name.partition(":")[0] for name in half["steps"]} == {"a", "eta", "z", "phi", "rest"}
    assert "z:partially_collapsed" in half["steps"]
    assert 0 < half["seconds"] == pytest.approx(sum(half["steps"].values()), rel=0.9)
    scaling.add_growth(records := [whole, half])
    assert [("growth" in record) for record in records] == [True, False]


def test_inefficiency_factors_by_kernel(
    script: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--kernels", "collapsed_gibbs", "partially_collapsed", "--topics", "3", "--documents", "20"]
    options += ["--words", "30", "--draws", "20", "--warmup", "5", "--results", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["inefficiency.py", *options])
    script("inefficiency").main()
    theta, phi = capsys.readouterr().out.split("\n\n")[1:]
    for table in (theta, phi):
        _, header, row = table.splitlines()
        assert header.split() == ["model", "K", "collapsed_gibbs", "partially_collapsed", "IF", "ratio"]
        assert row.split()[:2] == ["lda", "3"]
        # Mean, standard deviation in brackets, of each, and their ratio.
        collapsed, _, partially, _, ratio = row.split()[2:]
        assert float(ratio) == pytest.approx(float(partially) / float(collapsed), abs=0.02)
    kept = records(tmp_path, "inefficiency")
    assert [record["measure"] for record in kept] == ["IF of theta"] * 2 + ["IF of phi"] * 2
    assert all(record["median"] > 0 for record in kept)


def test_coherences_are_those_of_gensim(
    script: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    file, names = tmp_path / "texts.jsonl", [f"word{i}" for i in range(12)]
    file.write_text("\n".join(json.dumps({"text": " ".join(rng.choice(names, 30))}) for _ in range(20)))
    options = ["--texts", str(file), "--topics", "2", "--words", "4", "--sweeps", "2", "--rounds", "1"]
    options += ["--results", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["coherence.py", *options])
    script("coherence").main()
    found = [line for line in capsys.readouterr().out.splitlines() if "largest difference" in line]
    assert [line.partition(":")[0] for line in found] == ["u_mass", "c_npmi", "c_v"]
    assert all(float(line.split()[-1]) < 1e-10 for line in found)


# Spark warns of recent versions of pandas.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("program", "package"), [("ours", "distributed"), ("gensim", "gensim"), ("online", "pyspark"), ("em", "pyspark")]
)
def test_programs_with_two_workers_learn(
    script: Any, corpus: pt.Corpus, tmp_path: Path, program: str, package: str
) -> None:
    pytest.importorskip(package)
    two_workers, common = script("two_workers"), script("common")
    results = common.Results(tmp_path, "two_workers", "What does LDA know after so many seconds?", K=TOPICS)
    two_workers.train(program, corpus, corpus, TOPICS, [1e-3, 0.5], results)
    first, second = records(tmp_path, "two_workers")[:3], records(tmp_path, "two_workers")[3:]
    measures = ["reached at", "held-out log p(w) / N", "log p(w, z) / N"]
    assert [record["measure"] for record in first] == [record["measure"] for record in second] == measures
    assert 1e-3 <= first[0]["median"] <= second[0]["median"] >= 0.5
    assert all(-5.0 < record["median"] < -2.0 for record in (first[1], second[1]))
    assert all(-10.0 < record["median"] < -2.0 for record in (first[2], second[2]))


def test_memory_is_estimated_and_measured(
    script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    estimate = script("memory_estimate")
    monkeypatch.setattr("sys.argv", ["x.py", "--topics", "3", "--threads", "1", "--one", "lda", "folder"])
    estimate.main()
    found = json.loads(capsys.readouterr().out)
    assert 0.0 < found["estimate"] < 1e8
    # Here in a process that has memory to spare.
    assert abs(found["measured"]) < 1e8
