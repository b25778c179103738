"""Corpora, runs and tables that `zheng_2015.py`, `zhu_2013.py` and `dolda_2020.py` share."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.svm import LinearSVC
from studies import check_out, new_figure

import ppl_topics as pt

Data = Literal["pair", "classes", "numbers"]
"""Labels of a study: two of the classes, all classes, or numbers."""

STEPS = ("augmentation", "scales", "eta", "z", "phi")
SCALES = ("tau", "lambda", "slab")
SMALL = (5, 10)
"""Numbers of topics for the simulated corpus."""


@dataclass(frozen=True)
class Line:
    """A model under a schedule: a line of a figure, or a point of one where x is not the number of topics.

    ``parameters`` are the model's, ``alpha`` summed over topics. Of the sweeps, the last ``draws`` are kept, whose mean
    topics and coefficients predict; as in most papers only the last one.
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
        """Run one chain, which keeps nothing that takes time to draw: predictions use the mean topics."""
        values: dict[str, Any] = {**self.parameters, "topics": topics}
        if "alpha" in values:
            values["alpha"] = {"sum": values["alpha"]}
        record = {"phi": "none", "theta": "none"}
        fixed = {"draws": 1, "chains": 1, "schedule": self.schedule, "record": record, "progress": False}
        return pt.sample(self.model, corpus, **{**fixed, **values, **options})

    def measure(self, fits: Sequence[pt.Fit], corpus: pt.Corpus, train: pt.Corpus, **options: Any) -> dict[str, float]:
        """Return how well `run` predicts a corpus, whose documents count as new even where they are those of training.

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
    """Return the cycle of augmentation, coefficients, assignments, and topics given these."""
    augmentation = {"omega": "polya_gamma"} if model.startswith("slda_logistic") else {"xi": "inverse_gaussian"}
    return {"cycle": [augmentation, {"eta": eta}, {"z": z}, {"phi": "dirichlet_rows"}]}


def gibbs(name: str, model: str, sweeps: int, **parameters: float) -> Line:
    """Return a model under the samplers in O(K): collapsed, with a joint draw of the coefficients."""
    return Line(name, model, supervised(model, "collapsed_gibbs", "joint_normal"), sweeps, parameters)


def two_classes(corpus: pt.Corpus, names: tuple[str, str] | None) -> pt.Corpus:
    """Return the documents of two classes, by default the first and the last."""
    labels = corpus.labels
    assert labels is not None
    pair = names or (str(labels.classes[0]), str(labels.classes[-1]))
    unknown = set(pair) - set(labels.classes)
    if unknown or pair[0] == pair[1]:
        raise SystemExit(f"--classes {' '.join(pair)}: expected two of {', '.join(labels.classes)}")
    held = names_of(corpus)
    chosen = [place for place, name in enumerate(held) if name in pair]
    return corpus.select(chosen).with_labels([held[place] for place in chosen], kind="class")


def simulated(data: Data, docs: int = 240, words: int = 150, topics: int = 6) -> tuple[pt.Corpus, pt.Corpus]:
    """Simulate a training and a test corpus from LDA; labels follow the proportions of the topics."""
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(words, 0.2), topics)
    theta = rng.dirichlet(np.full(topics, 0.3), docs)
    counts = np.stack([rng.multinomial(40, share @ phi) for share in theta])
    scores = theta @ rng.normal(scale=3.0, size=(topics, 4)) + rng.normal(scale=0.2, size=(docs, 4))
    numbers = (scores[:, 0] - scores[:, 0].mean()) / scores[:, 0].std()
    labels = numbers if data == "numbers" else [f"class {number}" for number in scores.argmax(axis=1)]
    return pt.Corpus.from_matrix(counts, labels=labels, name="simulated").split(1 / 3, seed=1)


def read(options: argparse.Namespace, data: Data) -> tuple[pt.Corpus, pt.Corpus]:
    """Return the training and the test corpus that were asked for."""
    if (options.train is None) != (options.test is None):
        raise SystemExit("give both --train and --test, or neither for a simulated corpus")
    if options.train is None:
        train, test = simulated(data)
    else:
        how = {"vocabulary": options.vocabulary, "label_column": options.label_column}
        how["stop_words"] = "english" if options.stop_words else None
        kind: Any = "real" if data == "numbers" else "class"
        train, test = (pt.read_corpus(path, label_kind=kind, **how) for path in (options.train, options.test))
    if data == "pair":
        train, test = two_classes(train, options.classes), two_classes(test, options.classes)
    # Words that do not occur would only cost time.
    kept = train.vocabulary[train.word_counts >= options.min_count]
    train, test = train.with_vocabulary(kept), test.with_vocabulary(kept)
    print(train, test, sep="\n", flush=True)
    return train, test


def seconds_of_steps(fit: pt.Fit) -> dict[str, float]:
    """Return the seconds of sampling, burn-in included, of each step of the cycle."""
    result = dict.fromkeys(STEPS, 0.0)
    groups = (fit.groups[name] for name in ("warmup_sample_stats", "sample_stats"))
    for spent in (group["step_seconds"] for group in groups if "step_seconds" in group):
        total = spent.sum([dim for dim in spent.dims if dim != "kernel"])
        for label, seconds in zip(total["kernel"].values, total.values, strict=True):
            variable = str(label).partition(":")[0]
            step = "scales" if variable in SCALES else variable if variable in STEPS else "augmentation"
            result[step] += float(seconds)
    return result


def names_of(corpus: pt.Corpus) -> list[str | None]:
    """Return the class of each document, None where it is missing."""
    labels = corpus.labels
    assert labels is not None
    return [None if code < 0 else str(labels.classes[code]) for code in labels.values]


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
                spent = pd.DataFrame([seconds_of_steps(fit) for fit in fits]).sum().to_dict()
                total = sum(spent.values())
                found = line.measure(fits, test, train, seed=seed, threads=threads)
                if any(panel.startswith("train ") for panel in study.panels):
                    again = line.measure(fits, train, train, seed=seed, threads=threads)
                    found |= {f"train {name}": value for name, value in again.items()}
                row = {"line": line.name, "model": line.model, "topics": k, "sweeps": line.sweeps, **line.parameters}
                row |= {"seed": seed, **found, "seconds": total}
                row |= {f"seconds of {step}": seconds for step, seconds in spent.items()}
                row |= {f"share of {step}": seconds / total for step, seconds in spent.items()}
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
    have at most ``sweeps``; where these are what is varied, longer ones are left out.
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
    parser.add_argument("--train", help="labelled corpus; a simulated one without it")
    parser.add_argument("--test", help="labelled corpus to predict")
    parser.add_argument("--vocabulary", help="their words, one a line, where they have ids alone")
    parser.add_argument("--label-column", help="column of the labels, where the files have columns")
    parser.add_argument("--classes", nargs=2, metavar=("FIRST", "SECOND"), help="of a binary task (first and last)")
    parser.add_argument("--stop-words", action="store_true", help="remove scikit-learn's list of English stop words")
    parser.add_argument("--min-count", type=int, default=1, help="drop words that training has less often (1)")
    parser.add_argument("--lines", nargs="+", metavar="NAME", help="some lines of the figure alone")
    parser.add_argument("--topics", type=int, nargs="+", metavar="K", help="those of the paper; of a simulation 5, 10")
    parser.add_argument("--seeds", type=int, default=5, help="chains for each point (5)")
    parser.add_argument("--sweeps", type=int, help="at most; those of the paper by default")
    parser.add_argument("--threads", type=int, help="all cores by default; the draws do not depend on it")
    parser.add_argument("--out", type=Path, nargs="+", default=[], help="files to write: .csv, or .png for a figure")
    options = parser.parse_args()
    study = only(studies[options.study], options.lines)
    check_out(options.out, ".csv", ".png")
    train, test = read(options, study.data)
    topics = tuple(options.topics or (study.topics if options.train else SMALL))
    how = {"seeds": options.seeds, "sweeps": options.sweeps, "threads": options.threads}
    table = run(study, train, test, topics=topics, **how)
    keys = list(dict.fromkeys(["line", "topics", study.x]))
    print(table.groupby(keys, sort=False)[list(study.panels)].agg(["mean", "std"]).round(4).to_string())
    write(study, table, options.out)
