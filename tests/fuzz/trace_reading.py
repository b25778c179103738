"""Small runs of some models, and the ways that users read them: what targets of stored runs share."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spec_targets import check_exit

import ppl_topics as pt
from ppl_topics.fit import Fit

RUNS: dict[str, dict[str, Any]] = {
    "lda": {"record": {"z": "all"}},
    "medlda": {},
    "slda_covariates": {},
    "dmr_supervised": {},
    "lda_spike_slab": {},
    "medlda_one_vs_all": {},
    "medlda_regression": {"record": {"phi": {"top_words": 3}, "theta": {"docs": 2}}},
}
"""Models whose traces are damaged, and how they are run."""

TEXTS = [["red", "green", "red"], ["green", "blue"], [], ["blue", "vote", "law", "law"], ["red"]] * 2
LABELS = ["a", "b", "a", "c", "b"] * 2
NUMBERS = [0.5, 1.5, None, 2.0, -1.0] * 2


def small_corpus(model: str) -> pt.Corpus:
    """Return the corpus that a model is run on, of a few documents."""
    real = model in ("medlda_regression", "slda_gaussian")
    covariates = [[i, i % 3] for i in range(len(TEXTS))] if "x" in pt.load_spec(model).blocks else None
    return pt.Corpus.from_tokens(TEXTS, labels=NUMBERS if real else LABELS, covariates=covariates)


def _reading(rng: random.Random, place: Path) -> list[tuple[str, Callable[[Fit], Any]]]:
    new = ["red green blue", "vote law unseen"]
    exported = place / f"out{rng.choice(('.csv', '.tsv.gz', '.json', '.gz'))}"
    what = rng.choice(("topics", "theta", "eta", "state", "json"))
    phi: Any = rng.choice(("mean", "draws"))
    options: dict[str, Any] = {"warmup": 1, "draws": 2, "seed": 1, "threads": 1}
    return [
        ("topics", lambda fit: fit.topics(rng.choice((1, 10)), chain=rng.choice((0, 1)))),
        ("efficiency", lambda fit: fit.efficiency()),
        ("verdict", lambda fit: str(fit.verdict())),
        ("aligned", lambda fit: repr(fit.aligned())),
        ("coefficients", lambda fit: fit.coefficients()),
        ("topic_relevance", lambda fit: fit.topic_relevance()),
        ("signal_topics", lambda fit: fit.signal_topics()),
        ("effective_coefficients", lambda fit: fit.effective_coefficients()),
        ("zeros_in_phi", lambda fit: fit.zeros_in_phi()),
        ("report", lambda fit: fit.report(place / "page.html")),
        ("export", lambda fit: fit.export(what, exported)),
        ("to_frame", lambda fit: fit.to_frame(rng.choice(("topics", "theta", "eta")))),
        ("topic_model", lambda fit: fit.topic_model()),
        ("transform", lambda fit: fit.transform(new, **options)),
        ("predict", lambda fit: fit.predict(new, **options)),
        ("predict_proba", lambda fit: fit.predict_proba(new, **options)),
        ("decision_function", lambda fit: fit.decision_function(new, **options)),
        ("predictive", lambda fit: fit.predictive(new, **options)),
        ("classes", lambda fit: fit.classes),
        ("held_out", lambda fit: fit.held_out(new, particles=2, seed=1, threads=1, phi=phi)),
        ("spec", lambda fit: fit.spec),
        ("exact", lambda fit: fit.exact),
        ("idata", lambda fit: repr(fit.idata)),
        ("topic_quality", lambda fit: fit.topic_quality()),
        ("frex_words", lambda fit: fit.frex_words()),
        ("topic_diversity", lambda fit: fit.topic_diversity()),
        ("relevance_terms", lambda fit: fit.relevance_terms()),
        ("to_pyldavis", lambda fit: fit.to_pyldavis()),
        ("predictive_checks", lambda fit: fit.predictive_checks(replications=2)),
        ("save", lambda fit: fit.save(place / "again.nc")),
        ("topic_agreement", lambda fit: fit.topic_agreement()),
        ("notebook", lambda fit: fit._repr_html_()),
    ]


def use_fit(fit: Fit, rng: random.Random, place: Path, times: int = 4) -> None:
    """Read a fit in some ways; each may refuse what it cannot read."""
    repr(fit)
    refused = None
    for _, read in rng.sample(_reading(rng, place), times):
        try:
            read(fit)
        except pt.PplTopicsError as error:
            if "\n" in str(error):
                raise
            refused = error
    if refused is not None:
        raise refused


def read_in_all_ways(fit: Fit, place: Path) -> None:
    """Read a sound fit, so that what is compiled and imported is there before the first case."""
    for _, read in _reading(random.Random(0), place):
        with contextlib.suppress(pt.PplTopicsError):
            read(fit)


def use_command(rng: random.Random, run: Path, place: Path, data: Path, sound: Path) -> None:
    """Read a run by the command line."""
    out = ["--out", str(place / "out.csv")]
    check_exit(
        rng.choice(
            (
                ["diagnose", str(run)],
                ["diagnose", str(run), "--align", "--json"],
                ["topics", str(run), "--chain", rng.choice("01")],
                ["topics", str(run), "--quality", "--json"],
                ["report", str(run), "--out", str(place / "page.html")],
                ["compare", str(run), str(sound)],
                ["compare", str(sound), str(run), "--json"],
                ["coefficients", str(run)],
                ["export", str(run), "--what", rng.choice(("topics", "theta", "eta")), *out],
                ["predict", str(run), "--data", str(data)],
                ["predict", str(run), "--data", str(data), "--json", "--eta", rng.choice(("last", "draws", "0"))],
            )
        )
    )
