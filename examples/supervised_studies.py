"""Runs, tables and figures that `zheng_2015.py`, `zhu_2013.py` and `dolda_2020.py` share."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.svm import LinearSVC
from studies import check_out, new_figure
from study_corpora import Data, add_text_options, names_of, read_pair

import ppl_topics as pt

STEPS = ("augmentation", "scales", "eta", "z", "phi")
SCALES = ("tau", "lambda", "slab")
SMALL = (5, 10)
"""Numbers of topics for the simulated corpus."""


@dataclass(frozen=True)
class Line:
    """A model under a schedule: a line of a figure, or a point of a line if x is not the number of topics.

    ``parameters`` are the model's, ``alpha`` summed over topics. The last ``draws`` sweeps are kept, and their mean
    topics and coefficients predict; by default only the last one, as in most papers.
    """

    name: str
    model: str | Mapping[str, Any]
    schedule: Mapping[str, Any] | None
    sweeps: int
    parameters: Mapping[str, float] = field(default_factory=dict)
    draws: int = 1

    def run(self, train: pt.Corpus, topics: int, **options: Any) -> Sequence[pt.Fit]:
        """Run one chain; all but the kept sweeps are burn-in."""
        draws = min(self.draws, self.sweeps)
        return [self.sample(train, topics, warmup=self.sweeps - draws, draws=draws, **options)]

    def sample(self, corpus: pt.Corpus, topics: int, **options: Any) -> pt.Fit:
        """Run one chain that records neither phi nor theta, which takes time: predictions use the mean topics."""
        values: dict[str, Any] = {**self.parameters, "topics": topics}
        if "alpha" in values:
            values["alpha"] = {"sum": values["alpha"]}
        record = {"phi": "none", "theta": "none"}
        fixed = {"draws": 1, "chains": 1, "schedule": self.schedule, "record": record, "progress": False}
        return pt.sample(self.model, corpus, **{**fixed, **values, **options})

    def measure(self, fits: Sequence[pt.Fit], corpus: pt.Corpus, train: pt.Corpus, **options: Any) -> dict[str, float]:
        """Return how well `run` predicts a corpus, whose documents are treated as new even if training had them.

        Without a response, a linear support vector machine is trained on the proportions of the topics.
        """
        fit = fits[-1]
        if "eta" in fit.posterior:
            found = fit.metrics(corpus, **options)
            return {name: found[name] for name in ("accuracy", "r2", "log_score") if name in found}
        machine = LinearSVC(random_state=0).fit(fit.transform(train, **options), names_of(train))
        return {"accuracy": float(machine.score(fit.transform(corpus, **options), names_of(corpus)))}


@dataclass(frozen=True)
class Study:
    """A figure or a table of a paper: with its numbers of topics, and columns of the table for x and for each panel."""

    title: str
    data: Data
    topics: tuple[int, ...]
    lines: tuple[Line, ...]
    x: str = "topics"
    panels: tuple[str, ...] = ("accuracy", "seconds")


def supervised(model: str, z: str | Mapping[str, Any], eta: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the cycle of augmentation, coefficients, assignments and topics."""
    augmentation = {"omega": "polya_gamma"} if model.startswith("slda_logistic") else {"xi": "inverse_gaussian"}
    return {"cycle": [augmentation, {"eta": eta}, {"z": z}, {"phi": "dirichlet_rows"}]}


def gibbs(name: str, model: str, sweeps: int, **parameters: float) -> Line:
    """Return a model under the samplers in O(K): collapsed, with a joint draw of the coefficients."""
    return Line(name, model, supervised(model, "collapsed_gibbs", "joint_normal"), sweeps, parameters)


def seconds_of_steps(fit: pt.Fit) -> pd.Series:
    """Return the seconds of sampling, burn-in included, of each step of the cycle."""
    groups = [fit.groups[name] for name in ("warmup_sample_stats", "sample_stats")]
    spent = pd.concat([group["step_seconds"].to_series() for group in groups if "step_seconds" in group])
    variable = spent.index.get_level_values("kernel").str.partition(":").get_level_values(0)
    named = ["scales" if name in SCALES else name if name in STEPS else "augmentation" for name in variable]
    return spent.groupby(named).sum().reindex(STEPS, fill_value=0.0)


def rows(
    study: Study, train: pt.Corpus, test: pt.Corpus, topics: tuple[int, ...], seeds: int, threads: int | None
) -> Iterator[dict[str, Any]]:
    """Yield a row for each line, number of topics and seed."""
    for line in study.lines:
        for k in topics:
            # Compiled code is loaded in the first sweep, which is not what is timed.
            line.sample(train, k, warmup=0, seed=0, threads=threads)
            for seed in range(1, seeds + 1):
                fits = line.run(train, k, seed=seed, threads=threads)
                spent = sum(map(seconds_of_steps, fits))
                found = line.measure(fits, test, train, seed=seed, threads=threads)
                if any(panel.startswith("train ") for panel in study.panels):
                    again = line.measure(fits, train, train, seed=seed, threads=threads)
                    found |= {f"train {name}": value for name, value in again.items()}
                row = {"line": line.name, "model": line.model, "topics": k, "sweeps": line.sweeps, **line.parameters}
                row |= {"seed": seed, **found, "seconds": spent.sum()}
                row |= {**spent.add_prefix("seconds of "), **(spent / spent.sum()).add_prefix("share of ")}
                shown = ", ".join(f"{name} {row[name]:.4g}" for name in study.panels if name in row)
                at = "" if study.x == "topics" else f", {study.x} = {row[study.x]:g}"
                print(f"{line.name}, K = {k}{at}, seed {seed}: {shown}", flush=True)
                yield row


def run(
    study: Study,
    train: pt.Corpus,
    test: pt.Corpus,
    *,
    topics: tuple[int, ...] | None = None,
    seeds: int = 5,
    sweeps: int | None = None,
    threads: int | None = None,
) -> pd.DataFrame:
    """Run a study; return a row for each line, number of topics and seed.

    A row has the metrics, and the seconds of sampling, in all and by step, without compilation and prediction. Chains
    have at most ``sweeps``; if the study varies the sweeps, longer chains are left out.
    """
    if sweeps is not None and study.x == "sweeps":
        study = replace(study, lines=tuple(line for line in study.lines if line.sweeps <= sweeps))
    elif sweeps is not None:
        study = replace(study, lines=tuple(replace(line, sweeps=min(line.sweeps, sweeps)) for line in study.lines))
    return pd.DataFrame(rows(study, train, test, topics or study.topics, seeds, threads))


def only(study: Study, lines: list[str] | None) -> Study:
    """Return a study with only some of its lines."""
    known = dict.fromkeys(line.name for line in study.lines)
    if unknown := set(lines or ()) - set(known):
        raise SystemExit(f"--lines: {', '.join(sorted(unknown))}: there are {'; '.join(known)}")
    return replace(study, lines=tuple(line for line in study.lines if not lines or line.name in lines))


def write(study: Study, table: pd.DataFrame, out: list[Path]) -> None:
    """Write the table as .csv, or its means and standard deviations as .png, a panel for each measure."""
    varied = study.x != "topics"
    for path in out:
        if path.suffix == ".csv":
            table.to_csv(path, index=False)
            continue
        figure = new_figure(figsize=(4.5 * len(study.panels) + 2, 3.5), layout="constrained")
        figure.suptitle(study.title)
        panels = figure.subplots(1, len(study.panels), squeeze=False)[0]
        for panel, measured in zip(panels, study.panels, strict=True):
            panel.set(xlabel=study.x, ylabel=measured, xscale="log" if study.x == "sweeps" else "linear")
            for (name, topics), group in table.groupby(["line", "topics" if varied else "line"], sort=False):
                values = group.groupby(study.x)[measured].agg(["mean", "std"])
                label = f"{name}, K = {topics}" if varied else name
                panel.errorbar(values.index, values["mean"], values["std"].fillna(0.0), label=label, capsize=2)
        panels[-1].legend(loc="upper left", bbox_to_anchor=(1, 1))
        figure.savefig(path, dpi=150)


def main(description: str | None, studies: Mapping[str, Study]) -> None:
    """Run the study that the command line names."""
    listed = "\n".join(f"  {name:8}{study.title}" for name, study in studies.items())
    parser = argparse.ArgumentParser(
        description=f"{(description or '').partition(chr(10))[0]}\n\nstudies:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--study", choices=list(studies), default=next(iter(studies)), help="the first by default")
    parser.add_argument("--train", help="labelled corpus; a simulated one by default")
    parser.add_argument("--test", help="labelled corpus to predict")
    parser.add_argument("--classes", nargs=2, metavar=("FIRST", "SECOND"), help="of a binary task (first and last)")
    add_text_options(parser)
    parser.add_argument("--lines", nargs="+", metavar="NAME", help="only some lines of the figure")
    parser.add_argument("--topics", type=int, nargs="+", metavar="K", help="those of the paper; of a simulation 5, 10")
    parser.add_argument("--seeds", type=int, default=5, help="chains for each point (5)")
    parser.add_argument("--sweeps", type=int, help="at most; those of the paper by default")
    parser.add_argument("--threads", type=int, help="all cores by default; the draws do not depend on it")
    parser.add_argument("--out", type=Path, nargs="+", default=[], help="files to write: .csv, or .png for a figure")
    options = parser.parse_args()
    study = only(studies[options.study], options.lines)
    check_out(options.out, ".csv", ".png")
    train, test = read_pair(options, study.data)
    topics = tuple(options.topics or (study.topics if options.train else SMALL))
    how = {"seeds": options.seeds, "sweeps": options.sweeps, "threads": options.threads}
    table = run(study, train, test, topics=topics, **how)
    keys = list(dict.fromkeys(["line", "topics", study.x]))
    print(table.groupby(keys, sort=False)[list(study.panels)].agg(["mean", "std"]).round(4).to_string())
    write(study, table, options.out)
