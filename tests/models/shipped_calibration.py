"""Simulation-based calibration of the models that are distributions of words and labels, and its table.

All that are shipped, and models of blocks that no shipped model has.

python tests/models/shipped_calibration.py                              # some 20 minutes
python tests/models/shipped_calibration.py --write docs/simulation.md   # and put the table into a page
python tests/models/shipped_calibration.py --models lda slda_counts --write docs/simulation.md   # only their rows
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd
from calibration import put_between

import ppl_topics as pt

SIZES = {"topics": 2, "documents": 8, "lengths": 8, "words": 6, "alpha": 0.6, "beta": 0.6}
LENGTH = {"replicates": 150, "draws": 150, "warmup": 100, "thin": 2, "seed": 1, "progress": False}

MODELS: dict[str, dict[str, Any]] = {
    "lda": {},
    "lda_collapsed": {},
    "lda_learned": {"alpha": None, "beta": None, "beta_rate": 1.0},
    "lda_spike_slab": {"inclusion": 0.6},
    "background_lda": {"background_concentration": 0.5, "a": 2.0, "b": 3.0},
    "hdp_lda": {"alpha": None, "top_rate": 1.0},
    "one_topic": {"alpha": None},
    "keyword_lda": {"keywords": {"first": ["0", "1"]}},
    "labelled_lda": {"background": 1},
    "seeded_lda": {"keywords": {"first": ["0", "1"]}, "weight": 2},
    "dmr": {"alpha": None, "covariates": 1, "intercept_variance": 1.0},
    "dmr_time": {
        "alpha": None,
        "covariates": pd.DataFrame({"year": ["2001", "2002", "2003", "2004"] * 2}),
        "intercept_variance": 1.0,
    },
    "dmr_supervised": {"alpha": None, "covariates": 1, "intercept_variance": 1.0, "responses": 2},
    "slda_gaussian": {"standardise": False, "error_shape": 3.0},
    "slda_counts": {},
    "slda_logistic": {"c": 1.0, "responses": 2},
    "slda_multinomial": {"responses": 2},
    "slda_ordinal": {"responses": 2},
    "slda_covariates": {"responses": 2, "covariates": 2},
    "dolda_normal": {"responses": 2, "variance": 1.0},
    "dolda": {"responses": 2},
    "dolda_covariates": {"responses": 2, "covariates": 1},
    "dolda_spike_slab": {"responses": 2, "inclusion": 0.6},
}
"""Arguments that differ, by shipped model; None leaves one out."""


def of_targets(response: dict[str, Any], prior: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return LDA with a response of real targets and a prior of its coefficients."""
    common = {"coefficients": "eta", "features": ["z"], "standardise": False, "observed": "labels"}
    return "lda", {"eta": {"per": "response", **prior}, "y": {**common, **response}}


NORMAL, ERRORS = {"block": "normal"}, {"block": "inverse_gamma", "shape": 3.0, "rate": 2.0}
GAUSSIAN = {"block": "gaussian", "shape": 3.0}
KEYWORDS = {"block": "keywords_and_background", "over": "word", "per": "topic", "concentration": "$beta",
            "keywords": {"first": ["0", "1"]}, "background_a": 2.0, "background_b": 3.0}  # fmt: skip

OF_BLOCKS: dict[str, tuple[str, dict[str, Any]]] = {
    "student_t": of_targets({"block": "student_t", "sigma": ERRORS}, NORMAL),
    "quantile": of_targets({"block": "quantile", "quantile": 0.3, "sigma": ERRORS}, NORMAL),
    "laplace": of_targets(GAUSSIAN, {"block": "laplace"}),
    "student_t_coefficients": of_targets(GAUSSIAN, {"block": "student_t_coefficients"}),
    "keywords_and_background": ("lda", {"phi": KEYWORDS}),
    "slda_multinomial, per doc": ("slda_multinomial", {"z": {"per": "doc"}}),
    "regularised_horseshoe": (
        "dolda_spike_slab",
        {"eta": {"block": "regularised_horseshoe", "scale": 0.1, "intercept_variance": 1.0}},
    ),
}
"""Models of blocks that no shipped model has: what they extend, and the blocks that differ."""

MODELS |= {name: {} for name in OF_BLOCKS} | {"regularised_horseshoe": MODELS["dolda_spike_slab"]}

HORSESHOES = ("dolda", "dolda_covariates", "dolda_spike_slab")
PRIORS: dict[str, dict[str, Any]] = {
    # Of concentrations that add up to some thousandths theta has zeros in float32, and its entropy is rounded.
    "one_topic": {"alpha": {"rate": 1.0}},
    "dolda_normal": {"eta": {"intercept_variance": 1.0}},
    **{name: {"eta": {"scale": 0.1, "intercept_variance": 1.0}} for name in HORSESHOES},
}
"""Blocks that differ: with an intercept of variance 100 labels are often all alike, and chains hardly move."""

LONGER: dict[str, dict[str, int]] = {
    "slda_ordinal": {"warmup": 500, "thin": 10},
    **{name: {"warmup": 1000, "thin": 20} for name in (*HORSESHOES, "regularised_horseshoe")},
}
"""They mix slowly: too long for a test."""

BEGIN, END = "<!-- shipped models -->", "<!-- end of shipped models -->"


def arguments(model: str) -> dict[str, Any]:
    """Return sizes and parameters of a model."""
    return {name: value for name, value in {**SIZES, **MODELS[model]}.items() if value is not None}


def calibrate(model: str, **how: Any) -> pt.Calibration:
    """Calibrate a model."""
    base, blocks = OF_BLOCKS.get(model, (model, PRIORS.get(model)))
    spec: Any = {"name": "differs", "extends": base, "blocks": blocks} if blocks else base
    return pt.calibrate(spec, **{**arguments(model), **LENGTH, **LONGER.get(model, {}), **how})


def row(model: str, result: pt.Calibration) -> str:
    """Return the row of a model: the most suspicious quantity, and what all intervals hold together."""
    table = result.table()
    least = table["p"].idxmin()
    differs = {name: value for name, value in MODELS[model].items() if value is not None}
    differs |= {f"{name}.{key}": value for name, block in PRIORS.get(model, {}).items() for key, value in block.items()}
    how = ", ".join(f"`{name}={spelled(value)}`" for name, value in differs.items())
    if model in OF_BLOCKS:
        how = f"in `{OF_BLOCKS[model][0]}`"
    cells = [
        f"`{model}`",
        how,
        f"{len(table)}",
        f"{table['p'].min():.3f} ({str(least).replace('|', chr(92) + '|')})",
        ", ".join(result.refused) or "none",
    ]
    return f"| {' | '.join([*cells, *(f'{table[name].mean():.3f}' for name in ('coverage_50', 'coverage_90'))])} |"


def spelled(value: Any) -> str:
    """Return a value as the table has it: of covariates their names."""
    return f"[{', '.join(value.columns)}]" if isinstance(value, pd.DataFrame) else str(value)


def main() -> None:
    """Calibrate models, and print the table or put it into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    head = [
        "| model | differs in | quantities | smallest p | refused | 50% intervals hold | 90% intervals hold |",
        "|---|---|---:|---|---|---:|---:|",
    ]
    found = {}
    for model in given.models:
        found[model] = row(model, calibrate(model))
        print(found[model], flush=True)
    if given.write is not None:
        _, _, rest = given.write.read_text().partition(BEGIN)
        before = rest.partition(END)[0].splitlines()
        kept = {model: line for model in MODELS for line in before if line.startswith(f"| `{model}` |")}
        rows = [(kept | found)[model] for model in MODELS if model in kept | found]
        put_between(given.write, BEGIN, "\n".join([*head, *rows]), END)


if __name__ == "__main__":
    main()
