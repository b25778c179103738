"""Runs, tables and figures that `zheng_2015.py`, `zhu_2013.py` and `dolda_2020.py` share.

A table is written after each chain, and chains that it has already are not run again: a study that was interrupted goes
on where it was.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import RidgeCV
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC
from studies import check_out, new_figure
from study_corpora import Data, add_options, labels_of, names_of, numbers_of, read_pair

import ppl_topics as pt

STEPS = ("augmentation", "scales", "eta", "z", "phi")
SCALES = ("tau", "lambda", "slab")
METRICS = ("accuracy", "f1_micro", "f1_macro", "r2", "log_score")
ENOUGH = 100
"""Draws of a chain whose effective sample size is worth a look."""
EFFECTIVE = "effective draws of eta a second"
SMALL = (5, 10)
"""Numbers of topics for the simulated corpus."""
START = "uniform"
"""The papers' first topics."""


@dataclass(frozen=True)
class Line:
    """A model under a schedule: a line of a figure, or a point of a line if x is not the number of topics.

    ``parameters`` are the model's, ``alpha`` summed over topics; ``settings`` are the line's own. The last ``draws``
    sweeps are kept, and their mean topics and coefficients predict; by default only the last one, as in most papers.
    """

    name: str
    model: str | Mapping[str, Any]
    schedule: Mapping[str, Any] | None
    sweeps: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    draws: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)

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
        fit = pt.sample(self.model, corpus, **{**fixed, **values, **options})
        if fit.posterior.attrs["stopped"]:
            raise SystemExit("stopped; the same command goes on from the chains that were done")
        return fit

    def measure(self, fits: Sequence[pt.Fit], corpus: pt.Corpus, train: pt.Corpus, **options: Any) -> dict[str, float]:
        """Return how well `run` predicts a corpus, whose documents are treated as new even if training had them.

        Without a response, a linear support vector machine is trained on the proportions of the topics.
        """
        fit = fits[-1]
        if "eta" in fit.posterior:
            found = fit.metrics(corpus, **options)
            return {name: found[name] for name in METRICS if name in found}
        machine = LinearSVC(random_state=0).fit(fit.transform(train, **options), names_of(train))
        return {"accuracy": float(machine.score(fit.transform(corpus, **options), names_of(corpus)))}

    def started(self, start: str) -> Line:
        """Return the line with the first topics of its chains, which only models of classes and labels can choose."""
        chosen = "start" not in self.parameters and "start" in pt.plan(self.model).model.spec.parameters
        return replace(self, parameters={**self.parameters, "start": start}) if chosen else self


@dataclass(frozen=True)
class Words(Line):
    """A linear model of weighted words, which knows no topics: a support vector machine, or ridge regression.

    Its penalty is chosen by cross-validation.
    """

    def run(self, train: pt.Corpus, topics: int, **options: Any) -> Sequence[pt.Fit]:
        """Run nothing."""
        return []

    def measure(self, fits: Sequence[pt.Fit], corpus: pt.Corpus, train: pt.Corpus, **options: Any) -> dict[str, float]:
        """Return how well it predicts a corpus."""
        weights = TfidfTransformer(sublinear_tf=True)
        if train.labels is not None and train.labels.kind == "real":
            ridge = make_pipeline(weights, RidgeCV(alphas=np.logspace(-2, 4, 25))).fit(
                train.to_matrix(), numbers_of(train)
            )
            return {"r2": float(ridge.score(corpus.to_matrix(), numbers_of(corpus)))}
        columns = MultiLabelBinarizer().fit(labels_of(train))
        machine = OneVsRestClassifier(make_pipeline(weights, LinearSVC(random_state=0)))
        search = GridSearchCV(machine, {"estimator__linearsvc__C": [0.1, 0.3, 1.0, 3.0]}, cv=3, scoring="f1_micro")
        search.fit(train.to_matrix(), columns.transform(labels_of(train)))
        known = columns.transform([set(labels) & set(columns.classes_) for labels in labels_of(corpus)])
        scores = search.decision_function(corpus.to_matrix())
        several = train.labels is not None and train.labels.kind == "multi_label"
        found = scores > 0 if several else scores == scores.max(axis=1, keepdims=True)
        result = {
            f"f1_{mean}": float(f1_score(known, found, average=mean, zero_division=0)) for mean in ("micro", "macro")
        }
        return result | {"accuracy": float((known == found).all(axis=1).mean())}


@dataclass(frozen=True)
class Study:
    """A figure or a table of a paper: with its numbers of topics, and columns of the table for x and for each panel."""

    title: str
    data: Data
    topics: tuple[int, ...]
    lines: tuple[Line, ...]
    x: str = "topics"
    panels: tuple[str, ...] = ("accuracy", "seconds")


def supervised(
    model: str | Mapping[str, Any], z: str | Mapping[str, Any], eta: str | Mapping[str, Any]
) -> dict[str, Any]:
    """Return the cycle of augmentation, coefficients, assignments and topics."""
    augmentation = {"omega": "polya_gamma"} if str(model).startswith("slda_logistic") else {"xi": "inverse_gaussian"}
    return {"cycle": [augmentation, {"eta": eta}, {"z": z}, {"phi": "dirichlet_rows"}]}


def sampler(z: str, model: str, sweeps: int, draws: int, **parameters: float) -> Line:
    """Return a model under a kernel of z, and a joint draw of the coefficients."""
    return Line(z, model, supervised(model, z, "joint_normal"), sweeps, parameters, draws)


def gibbs(name: str, model: str | Mapping[str, Any], sweeps: int, **parameters: float) -> Line:
    """Return a model under the papers' sampler: z from its full conditional, in O(K C), and a joint draw of eta."""
    return Line(name, model, supervised(model, "full_collapsed_gibbs", "joint_normal"), sweeps, parameters)


def ours(name: str, model: str | Mapping[str, Any], sweeps: int, **parameters: float) -> Line:
    """Return a model under the schedule that the scheduler chooses."""
    return Line(name, model, None, sweeps, parameters)


def seconds_of_steps(fits: Sequence[pt.Fit]) -> pd.Series:
    """Return the seconds of sampling, burn-in included, of each step of the cycle."""
    if not fits:
        return pd.Series(0.0, index=STEPS)
    groups = [fit.groups[name] for fit in fits for name in ("warmup_sample_stats", "sample_stats")]
    spent = pd.concat([group["step_seconds"].to_series() for group in groups if "step_seconds" in group])
    variable = spent.index.get_level_values("kernel").str.partition(":").get_level_values(0)
    named = ["scales" if name in SCALES else name if name in STEPS else "augmentation" for name in variable]
    return spent.groupby(named).sum().reindex(STEPS, fill_value=0.0)


def effective_draws(fit: pt.Fit) -> float:
    """Return the median effective sample size of the coefficients, over the seconds of the kept sweeps."""
    return float(fit.efficiency().loc["eta", "ess_bulk_median"] / fit.groups["sample_stats"]["step_seconds"].sum())


def key_of(study: Study, row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what tells a chain from all others of a study."""
    return (row["line"], row["start"], row["topics"], row[study.x], row["seed"])


def row_of(
    study: Study, line: Line, train: pt.Corpus, test: pt.Corpus, known: Mapping[str, Any], threads: int | None
) -> dict[str, Any]:
    """Run one chain; return its row, to which what is known of it belongs."""
    topics, seed = known["topics"], known["seed"]
    fits = line.run(train, topics, seed=seed, threads=threads)
    spent = seconds_of_steps(fits)
    found = line.measure(fits, test, train, seed=seed, threads=threads)
    if line.draws >= ENOUGH and fits:
        found[EFFECTIVE] = effective_draws(fits[-1])
    if any(panel.startswith("train ") for panel in study.panels):
        again = line.measure(fits, train, train, seed=seed, threads=threads)
        found |= {f"train {name}": value for name, value in again.items()}
    row = {**known, **found, "seconds": spent.sum(), **spent.add_prefix("seconds of ")}
    return row | dict((spent / spent.sum()).add_prefix("share of "))


def run(
    study: Study,
    train: pt.Corpus,
    test: pt.Corpus,
    *,
    topics: tuple[int, ...] | None = None,
    seeds: int = 3,
    starts: Sequence[str] = (START,),
    sweeps: int | None = None,
    threads: int | None = None,
    table: Path | None = None,
) -> pd.DataFrame:
    """Run a study; return a row for each line, start, number of topics and seed, those of the table included.

    A row has the metrics, and the seconds of sampling, in all and by step, without compilation and prediction. Chains
    have at most ``sweeps``; if the study varies the sweeps, longer chains are left out.
    """
    if sweeps is not None and study.x == "sweeps":
        study = replace(study, lines=tuple(line for line in study.lines if line.sweeps <= sweeps))
    elif sweeps is not None:
        study = replace(study, lines=tuple(replace(line, sweeps=min(line.sweeps, sweeps)) for line in study.lines))
    found = [] if table is None or not table.exists() else pd.read_csv(table).to_dict("records")
    done, loaded = {key_of(study, row) for row in found}, set[str]()
    chains = itertools.product(range(1, seeds + 1), topics or study.topics, starts, study.lines)
    for seed, k, start, line in chains:
        chain = line.started(start)
        known = {"line": line.name, "start": chain.parameters.get("start", "uniform"), "topics": k}
        known |= {"sweeps": line.sweeps, **line.parameters, **line.settings, "seed": seed}
        if key_of(study, known) in done:
            continue
        if line.name not in loaded:
            # Compiled code is loaded in the first sweep, which is not what is timed.
            replace(chain, sweeps=1).run(train, k, seed=0, threads=threads)
            loaded.add(line.name)
        row = row_of(study, chain, train, test, known, threads)
        found.append(row)
        done.add(key_of(study, row))
        if table is not None:
            pd.DataFrame(found).to_csv(table, index=False, float_format="%.5g")
        shown = ", ".join(f"{name} {row[name]:.4g}" for name in study.panels if name in row)
        at = "" if study.x == "topics" else f", {study.x} = {row[study.x]:g}"
        print(f"{line.name}, {row['start']} start, K = {k}{at}, seed {seed}: {shown}", flush=True)
    return pd.DataFrame(found)


def borrow(topics: tuple[int, ...], table: Path, source: Path, line: str, name: str) -> None:
    """Start a table with the chains of another study's line that are the same as those of a line of this one."""
    if source.exists() and not table.exists():
        rows = pd.read_csv(source)
        chosen = (rows["line"] == line) & rows["topics"].isin(topics)
        rows[chosen].assign(line=name).to_csv(table, index=False)


def only(study: Study, lines: list[str] | None) -> Study:
    """Return a study with only some of its lines."""
    known = dict.fromkeys(line.name for line in study.lines)
    if unknown := set(lines or ()) - set(known):
        raise SystemExit(f"--lines: {', '.join(sorted(unknown))}: there are {'; '.join(known)}")
    return replace(study, lines=tuple(line for line in study.lines if not lines or line.name in lines))


def draw(study: Study, table: pd.DataFrame, path: Path) -> None:
    """Draw the means and standard deviations over seeds, a panel for each measure."""
    varied, started = study.x != "topics", table["start"].nunique() > 1
    figure = new_figure(figsize=(3.6 * len(study.panels) + 2, 3), layout="constrained")
    figure.suptitle(study.title)
    panels = figure.subplots(1, len(study.panels), squeeze=False)[0]
    for panel, measured in zip(panels, study.panels, strict=True):
        panel.set(xlabel=study.x, ylabel=measured, xscale="log" if study.x == "sweeps" else "linear")
        for (name, start, topics), group in table.groupby(
            ["line", "start", "topics" if varied else "line"], sort=False
        ):
            values = group.groupby(study.x)[measured].agg(["mean", "std"])
            label = f"{name}, {start} start" if started else name
            label += f", K = {topics}" if varied else ""
            panel.errorbar(values.index, values["mean"], values["std"].fillna(0.0), label=label, capsize=2)
    panels[-1].legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
    figure.savefig(path, dpi=80)


def main(description: str | None, studies: Mapping[str, Study]) -> None:
    """Run the study that the command line names."""
    listed = "\n".join(f"  {name:8}{study.title}" for name, study in studies.items())
    parser = argparse.ArgumentParser(
        description=f"{(description or '').partition(chr(10))[0]}\n\nstudies:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--study", choices=list(studies), default=next(iter(studies)), help="the first by default")
    add_options(parser)
    parser.add_argument("--lines", nargs="+", metavar="NAME", help="only some lines of the figure")
    parser.add_argument(
        "--with",
        dest="borrowed",
        nargs=3,
        metavar=("TABLE", "LINE", "NAME"),
        help="chains of LINE in the .csv of another study, which are not run again: they are those of NAME here",
    )
    parser.add_argument("--topics", type=int, nargs="+", metavar="K", help="those of the paper; of a simulation 5, 10")
    parser.add_argument("--seeds", type=int, default=3, help="chains for each point (3)")
    parser.add_argument(
        "--start",
        nargs="+",
        choices=("uniform", "labels"),
        default=[START],
        help="first topics (uniform, as the papers')",
    )
    parser.add_argument("--sweeps", type=int, help="at most; those of the paper by default")
    parser.add_argument("--threads", type=int, help="all cores by default; the draws do not depend on it")
    parser.add_argument("--out", type=Path, nargs="+", default=[], help="files to write: one .csv, or .png for figures")
    options = parser.parse_args()
    study = only(studies[options.study], options.lines)
    check_out(options.out, ".csv", ".png")
    train, test = read_pair(options, study.data)
    topics = tuple(options.topics or (study.topics if options.train or options.postings else SMALL))
    how = {"seeds": options.seeds, "sweeps": options.sweeps, "threads": options.threads, "starts": options.start}
    csv = next((path for path in options.out if path.suffix == ".csv"), None)
    if options.borrowed and csv is not None:
        source, line, name = options.borrowed
        only(study, [name])
        borrow(topics, csv, Path(source), line, name)
    table = run(study, train, test, topics=topics, table=csv, **how)
    keys = list(dict.fromkeys(["line", "start", "topics", study.x]))
    print(table.groupby(keys, sort=False)[list(study.panels)].agg(["mean", "std"]).round(4).to_string())
    for path in options.out:
        if path.suffix == ".png":
            draw(study, table, path)
