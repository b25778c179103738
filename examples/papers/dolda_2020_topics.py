"""Coefficients and topics of DOLDA, after Figures 4 to 8 of Magnusson, Jonsson, Villani 2020.

    python examples/papers/dolda_2020_topics.py --data train.svmlight.gz --vocabulary vocab.txt --stop-words \
        --min-count 10 --topics 50 --out topics.csv fig4.png fig5.png fig6.png fig7.png fig8.png

The same corpus under horseshoe coefficients, normal ones, and LDA without labels. Figures go by the end of their name:

fig4     all coefficients, by prior
fig5     coefficients of one class (--response; the smallest one by default), with the words of the topics
fig6     coefficients of the class that the topic with the largest coefficient of fig5 speaks for most
fig7     document entropy and coherence of the topics, by model
fig8     both against r_k, the sum over classes of the coefficients' absolute values

The .csv has a row for each model and topic. Without --data it runs on simulated documents.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from studies import check_out, new_figure
from study_corpora import add_text_options, read_labelled, simulated

import ppl_topics as pt

MODELS = {"horseshoe": "dolda", "normal": "dolda_normal", "LDA": "lda"}
MEASURES = ("document entropy", "coherence")


def fits(corpus: pt.Corpus, options: argparse.Namespace) -> dict[str, pt.Fit]:
    """Run each model."""
    how = {"topics": options.topics, "warmup": options.warmup, "draws": options.draws, "chains": 1}
    how |= {"seed": options.seed, "threads": options.threads, "progress": False}
    return {
        name: pt.sample(model, corpus, record={"phi": "none", "theta": "none"}, **how) for name, model in MODELS.items()
    }


def topic_table(name: str, fit: pt.Fit) -> pd.DataFrame:
    """Return a row for each topic: its share, document entropy, coherence, words and r_k."""
    table = fit.topic_quality(measures=["entropy", "umass"])
    table = table.rename(columns={"entropy": "document entropy", "umass": "coherence"})
    table.insert(0, "model", name)
    if "eta" in fit.posterior:
        table["r_k"] = fit.topic_relevance().set_index("topic")["relevance"].reindex(table["topic"]).to_numpy()
    return table


def draw(path: Path, runs: dict[str, pt.Fit], table: pd.DataFrame, response: str) -> None:
    """Draw the figure that the end of a file's name asks for."""
    if path.stem.endswith("fig6"):
        response = spoken_for(runs["horseshoe"], response)
    figure = new_figure(figsize=(10, 8 if path.stem.endswith(("fig5", "fig6")) else 4), layout="constrained")
    panels = figure.subplots(1, 2)
    supervised = {name: fit for name, fit in runs.items() if "eta" in fit.posterior}
    if path.stem.endswith("fig4"):
        _all_coefficients(panels, supervised)
    elif path.stem.endswith(("fig5", "fig6")):
        for panel, (name, fit) in zip(panels, supervised.items(), strict=True):
            fit.plot_coefficients(response=response, axes=panel)
            panel.set_title(f"{name}\n{response}")
    elif path.stem.endswith("fig7"):
        for panel, measured in zip(panels, MEASURES, strict=True):
            groups = dict(list(table.groupby("model", sort=False)[measured]))
            panel.boxplot(list(groups.values()))
            panel.set_xticks(range(1, len(groups) + 1), list(groups))
            panel.set_ylabel(measured)
    elif path.stem.endswith("fig8"):
        for panel, measured in zip(panels, MEASURES, strict=True):
            for name in supervised:
                rows = table[table["model"] == name]
                panel.plot(rows["r_k"], rows[measured], "o", label=name)
            panel.set(xlabel="r_k", ylabel=measured)
        panels[0].legend()
    else:
        raise SystemExit(f"--out {path}: give a name that ends in fig4, fig5, fig6, fig7 or fig8")
    figure.savefig(path, dpi=80)


def _all_coefficients(panels: Any, supervised: dict[str, pt.Fit]) -> None:
    for panel, (name, fit) in zip(panels, supervised.items(), strict=True):
        mean = fit.posterior["eta"].mean(("chain", "draw"))
        slopes = mean.sel(coefficient=mean["coefficient"] != "intercept").values.ravel()
        panel.plot(np.sort(slopes), ".", markersize=2)
        panel.set(title=name, xlabel="coefficient, by size", ylabel="posterior mean")


def spoken_for(fit: pt.Fit, response: str) -> str:
    """Return the other class with the largest coefficient of the topic that has the largest one of a class."""
    mean = fit.posterior["eta"].mean(("chain", "draw"))
    slopes = mean.sel(coefficient=mean["coefficient"] != "intercept")
    topic = slopes["coefficient"].values[np.abs(slopes.sel(response=response).values).argmax()]
    return str(slopes.sel(coefficient=topic).drop_sel(response=response).idxmax().item())


def smallest_class(corpus: pt.Corpus) -> str:
    """Return the class of fewest documents."""
    labels = corpus.labels
    assert labels is not None
    return str(labels.classes[np.bincount(labels.values[labels.values >= 0]).argmin()])


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="labelled corpus; a simulated one by default")
    add_text_options(parser)
    parser.add_argument("--topics", type=int, default=50, metavar="K")
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, help="all cores by default; the draws do not depend on it")
    parser.add_argument("--response", help="class of fig5; the smallest one by default")
    parser.add_argument("--out", type=Path, nargs="+", default=[], help="files to write: .csv, and .png by figure")
    options = parser.parse_args()
    check_out(options.out, ".csv", ".png")
    if options.data is None:
        corpus = simulated("classes")[0]
    else:
        corpus = read_labelled(options, options.data, "class", min_count=options.min_count)
    print(corpus, flush=True)
    runs = fits(corpus, options)
    table = pd.concat([topic_table(name, fit) for name, fit in runs.items()], ignore_index=True)
    kept = [*MEASURES, "r_k"]
    print(table.groupby("model", sort=False)[kept].describe().loc[:, (slice(None), ["25%", "50%", "75%"])].round(3))
    for name, rows in table.dropna(subset=["r_k"]).groupby("model", sort=False):
        related = rows[kept].corr(method="spearman")["r_k"]
        print(f"{name}: " + ", ".join(f"rank correlation of r_k with {m} {related[m]:.2f}" for m in MEASURES))
        signal = runs[str(name)].signal_topics()
        print(f"{name}: {signal['signal'].sum()} of {len(signal)} topics have an interval that excludes 0")
    for path in options.out:
        if path.suffix == ".csv":
            table.to_csv(path, index=False)
        else:
            draw(path, runs, table, options.response or smallest_class(corpus))


if __name__ == "__main__":
    main()
