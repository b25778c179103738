"""Calibration of whole runs: parameters from the prior, a corpus from the model, a fit, and where the truth lies in it.

    python tests/models/calibration.py                             # a quarter of an hour
    python tests/models/calibration.py --write docs/exactness.md   # and put the tables into a page

Data are simulated by NumPy alone, so a response that draws what it fits, and both wrong, is noticed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

import ppl_topics as pt

Array = NDArray[Any]

TOPICS, WORDS, TRAINING, NEW, LENGTH = 3, 30, 60, 25, 10
ALPHA, BETA, INTERCEPT_VARIANCE = 0.5, 0.2, 1.0
CORPORA = 200
LEVEL, BINS = 0.9, 5
RUN = {"chains": 1, "warmup": 200, "draws": 400, "threads": 1, "progress": False}
RECORD = {"z": "all", "phi": "all", "theta": "none"}
HOW = {"topics of each draw": {"phi": "draws"}, "default": {}, "plug-in": {"eta": "mean"}}
"""Ways to predict."""

BEGIN, END = "<!-- calibration -->", "<!-- end of calibration -->"


class Case(NamedTuple):
    """A response: its options, the kind of its labels, and how to draw them.

    ``draw`` takes the linear predictors, shape (D, C), the standard deviation of the errors, and a generator. ``thin``
    is larger where draws are much correlated: of too few effective draws, the middle ones are too narrow an interval.
    """

    options: dict[str, Any]
    kind: str
    draw: Callable[[Array, float, np.random.Generator], Array]
    predictors: int = 1
    variance: float = 4.0
    thin: int = 2


def _stick(s: Array, sd: float, rng: np.random.Generator) -> Array:
    stops = s + sd * rng.logistic(size=s.shape) > 0
    return np.where(stops.any(axis=1), stops.argmax(axis=1), s.shape[1])


def _count(s: Array, sd: float, rng: np.random.Generator) -> Array:
    shape = 2.0 / sd**2
    return rng.poisson(rng.gamma(shape, 2.0 * np.exp(s[:, 0]) / shape))


CASES = {
    # The prior is that of the targets themselves.
    "gaussian": Case(
        {"shape": 3.0, "rate": 2.0, "standardise": False}, "real", lambda s, sd, rng: rng.normal(s[:, 0], sd)
    ),
    "negative_binomial": Case({"dispersion": 2.0}, "count", _count, variance=0.5),
    "probit_do": Case(
        {"start": "uniform"},
        "class",
        lambda s, sd, rng: (rng.normal(s[:, 0], sd) > 0).astype(int),
        variance=2.0,
        thin=6,
    ),
    "logistic": Case(
        {"c": 1.0, "start": "uniform"}, "class", lambda s, sd, rng: (rng.logistic(s[:, 0], sd) > 0).astype(int)
    ),
    "stick_breaking_logistic": Case({"start": "uniform"}, "class", _stick, predictors=2),
}


class Data(NamedTuple):
    """Documents of a model with known parameters."""

    train: pt.Corpus
    new: pt.Corpus
    fixed: Array
    """Features beside the topics: a covariate, and the constant."""
    targets: Array
    """Of the new documents."""
    truth: dict[str, float]


class Result(NamedTuple):
    """Of each corpus: which intervals hold the truth, by name, and the predictions by `HOW` with what was true."""

    covered: dict[str, Array]
    predicted: dict[str, Array]
    """Probabilities of classes, shape (corpora, NEW, classes)."""
    holds: Array


def pick(shares: Array, rng: np.random.Generator) -> Array:
    """Draw a category from each row of probabilities."""
    return (rng.random((*shares.shape[:-1], 1)) > shares.cumsum(axis=-1)).sum(axis=-1)


def summary(eta: Array, zbar: Array, features: Array) -> dict[str, Array]:
    """Functions of coefficients (..., F) and topic shares (..., D, K) that do not depend on the numbers of topics."""
    slopes, fixed = eta[..., :TOPICS], eta[..., TOPICS:]
    return {
        "linear predictor": (zbar[..., 0, :] * slopes).sum(axis=-1) + fixed @ features[0],
        "covariate's coefficient": fixed[..., 0],
        "intercept": fixed[..., 1],
        "range of topics' coefficients": np.ptp(slopes, axis=-1),
        "largest topic": zbar.mean(axis=-2).max(axis=-1),
    }


def simulate(case: Case, rng: np.random.Generator, errors: float) -> Data:
    """Draw parameters from the prior and documents given them, errors scaled by the factor of a planted bug."""
    while True:
        phi = rng.dirichlet(np.full(WORDS, BETA), TOPICS)
        theta = rng.dirichlet(np.full(TOPICS, ALPHA), TRAINING + NEW)
        z = pick(np.repeat(theta[:, None], LENGTH, axis=1), rng)
        words = pick(phi[z], rng)
        counts = (words[..., None] == np.arange(WORDS)).sum(axis=1)
        zbar = (z[..., None] == np.arange(TOPICS)).mean(axis=1)
        fixed = np.column_stack([rng.normal(size=len(z)), np.ones(len(z))])
        sd = np.sqrt([case.variance] * (TOPICS + 1) + [INTERCEPT_VARIANCE])
        eta = sd * rng.normal(size=(case.predictors, len(sd)))
        sigma2 = case.options["rate"] / rng.gamma(case.options["shape"]) if case.kind == "real" else 1.0
        y = case.draw(np.hstack([zbar, fixed]) @ eta.T, errors * np.sqrt(sigma2), rng)
        # Of a single class there is nothing to learn. What the data exclude leaves the posterior given others alone.
        if case.kind != "class" or len(np.unique(y[:TRAINING])) > 1:
            break
    truth = {name: float(value) for name, value in summary(eta[0], zbar[:TRAINING], fixed).items()}
    names = np.array(["a", "b", "c"][: case.predictors + 1] if case.kind == "class" else [], dtype=object)
    corpora = [
        pt.Corpus.from_matrix(counts[part], labels=pt.Labels(case.kind, y[part], names), covariates=fixed[part, :1])
        for part in (slice(TRAINING), slice(TRAINING, None))
    ]
    truth |= {"sigma2": sigma2} if case.kind == "real" else {}
    truth |= {} if case.kind == "class" else {"new target": float(y[TRAINING])}
    return Data(*corpora, fixed, y[TRAINING:], truth)


def fit_to(name: str, data: Data, seed: int) -> pt.Fit:
    """Run the model that the data are from."""
    case = CASES[name]
    eta = {"block": "normal", "per": "response", "variance": case.variance, "intercept_variance": INTERCEPT_VARIANCE}
    y = {"block": name, "coefficients": "eta", "features": ["z", "x"], "intercept": True, "observed": "labels"}
    model = {
        "name": "calibration",
        "extends": "lda",
        "blocks": {
            "x": {"block": "covariates", "observed": "covariates", "standardise": False},
            "eta": eta,
            "y": y | case.options,
        },
    }
    how = {"topics": TOPICS, "alpha": ALPHA, "beta": BETA, "record": RECORD, "seed": seed, "thin": case.thin}
    return pt.sample(model, data.train, **how, **RUN)


def holds(truth: float, draws: Array, rng: np.random.Generator) -> bool:
    """Whether the truth is among the middle draws, ties in random order: an interval of exactly that probability."""
    rank = (draws < truth).sum() + rng.integers(np.sum(draws == truth) + 1)
    return bool((1 - LEVEL) / 2 <= (rank + rng.random()) / (len(draws) + 1) < (1 + LEVEL) / 2)


def draws_of(fit: pt.Fit, data: Data) -> dict[str, Array]:
    """Return draws of what `Data.truth` holds, by name."""
    posterior = fit.posterior.isel(chain=0)
    z = posterior["z"].values.reshape(-1, TRAINING, LENGTH)
    eta = posterior["eta"].isel(response=0).transpose("draw", "coefficient").values
    draws = summary(eta, (z[..., None] == np.arange(TOPICS)).mean(axis=2), data.fixed)
    if "sigma2" in data.truth:
        draws["sigma2"] = posterior["sigma2"].values[:, 0]
    if "new target" in data.truth:
        draws["new target"] = fit.predictive(data.new, phi="draws", threads=1)["target"].values[0, :, 0, 0]
    return draws


def calibrate(response: str, corpora: int = CORPORA, errors: float = 1.0) -> Result:
    """Fit corpora of a response, and compare with what they came from."""
    case = CASES[response]
    covered: dict[str, list[bool]] = {}
    predicted: dict[str, list[Array]] = {how: [] for how in HOW}
    true = []
    for number in range(corpora):
        rng = np.random.default_rng((list(CASES).index(response), number))
        data = simulate(case, rng, errors)
        fit = fit_to(response, data, number)
        for name, draws in draws_of(fit, data).items():
            covered.setdefault(name, []).append(holds(data.truth[name], draws, rng))
        if case.kind == "class":
            true.append(data.targets[:, None] == np.arange(case.predictors + 1))
            for how, options in HOW.items():
                predicted[how].append(fit.predict_proba(data.new, seed=number, threads=1, **options))
    return Result(
        {name: np.array(values) for name, values in covered.items()},
        {how: np.array(values) for how, values in predicted.items() if values},
        np.array(true),
    )


def coverage_error(covered: Array) -> float:
    """Return how far the share of intervals that hold the truth is from `LEVEL`, in binomial standard errors."""
    return float((covered.mean() - LEVEL) / np.sqrt(LEVEL * (1.0 - LEVEL) / len(covered)))


def of_interest(values: Array) -> Array:
    """Return one row for each corpus; of two classes only the second, whose probability says all."""
    return values[..., 1 if values.shape[-1] == 2 else 0 :].reshape(len(values), -1)


def bins(predicted: Array, true: Array) -> list[tuple[float, float, float]]:
    """Return, by predicted probability, its mean, the share that holds, and the standard error of their difference.

    Labels of one corpus have a fit in common, so the corpora are the independent units.
    """
    p, y = of_interest(predicted), of_interest(true)
    place = np.minimum(np.floor(p * BINS), BINS - 1)
    found = []
    for number in range(BINS):
        inside = place == number
        n = inside.sum()
        error = np.sqrt((((y - p) * inside).sum(axis=1) ** 2).sum())
        found.append(((p * inside).sum() / n, (y * inside).sum() / n, error / n))
    return found


def slope(predicted: Array, true: Array) -> tuple[float, float]:
    """Return the coefficient of logit p in a logistic regression of what holds, and its standard error by corpora."""
    p, y = of_interest(predicted), of_interest(true)
    x = np.stack([np.ones_like(p), logit(np.clip(p, 1e-9, 1.0 - 1e-9))], axis=-1)
    beta = np.array([0.0, 1.0])
    for _ in range(20):
        fitted = expit(x @ beta)
        curvature = np.einsum("nd,ndi,ndj->ij", fitted * (1.0 - fitted), x, x)
        gradients = np.einsum("nd,ndi->ni", y - fitted, x)
        beta += np.linalg.solve(curvature, gradients.sum(axis=0))
    spread = np.linalg.solve(curvature, np.linalg.solve(curvature, gradients.T @ gradients).T)
    return float(beta[1]), float(np.sqrt(spread[1, 1]))


def coverage_table(results: dict[str, Result]) -> str:
    """Return shares of intervals, a row for each function."""
    names = list(dict.fromkeys(name for result in results.values() for name in result.covered))
    lines = [f"| | {' | '.join(f'`{response}`' for response in results)} |", f"|---|{'---:|' * len(results)}"]
    for name in names:
        cells = (f"{r.covered[name].mean():.3f}" if name in r.covered else "" for r in results.values())
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def calibration_table(results: dict[str, Result]) -> str:
    """Return slopes by way to predict, and what came true of the predictions by default."""
    heads = [f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}" for place in range(BINS)]
    lines = [f"| | {' | '.join(f'slope, {how}' for how in HOW)} | {' | '.join(heads)} |"]
    lines.append(f"|---|{'---:|' * (len(HOW) + BINS)}")
    for response, result in results.items():
        if not result.predicted:
            continue
        slopes = ["{:.2f} ± {:.2f}".format(*slope(p, result.holds)) for p in result.predicted.values()]
        held = [f"{p:.3f}: {y:.3f} ± {error:.3f}" for p, y, error in bins(result.predicted["default"], result.holds)]
        lines.append(f"| `{response}` | {' | '.join(slopes + held)} |")
    return "\n".join(lines)


def main() -> None:
    """Calibrate all responses, and print the tables or put them into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    page = parser.parse_args().write
    results = {response: calibrate(response) for response in CASES}
    tables = f"{coverage_table(results)}\n\n{calibration_table(results)}\n"
    if page is None:
        print(tables)
    else:
        put_between(page, BEGIN, tables, END)


def put_between(page: Path, begin: str, text: str, end: str) -> None:
    """Put a text between two lines of a page."""
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{page}: expected the lines {begin} and {end}")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")


if __name__ == "__main__":
    main()
