"""Labelled corpora for the studies of supervised models: read from files, or simulated."""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import ppl_topics as pt

Data = Literal["pair", "classes", "levels", "threads", "senders", "numbers", "halves"]
"""Labels of a study.

Two of the classes; all of them; all levels of their names (comp, comp.sys, ...); these and the subjects of threads, of
which many are rare; all classes, with covariates; numbers; numbers above and below their mean.
"""
SUBJECT = re.compile(r"^Subject:\s*(?:re:\s*)*(.*?)\s*$", re.IGNORECASE | re.MULTILINE)
SENDER = re.compile(r"From:.*?@(?:[\w.-]*\.)?([\w-]+\.[\w-]+)")


def names_of(corpus: pt.Corpus) -> list[str | None]:
    """Return the class of each document, None where it is missing."""
    labels = corpus.labels
    assert labels is not None
    return [None if code < 0 else str(labels.classes[code]) for code in labels.values]


def labels_of(corpus: pt.Corpus) -> list[list[str]]:
    """Return the names of the labels of each document; a class is one."""
    labels = corpus.labels
    assert labels is not None
    if labels.kind != "multi_label":
        return [[name] for name in names_of(corpus) if name is not None]
    return [[str(name) for name in labels.classes[row > 0]] for row in labels.values]


def numbers_of(corpus: pt.Corpus) -> NDArray[np.float64]:
    """Return the number of each document."""
    assert corpus.labels is not None
    return np.asarray(corpus.labels.values, dtype=np.float64).ravel()


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


def levels(corpus: pt.Corpus) -> pt.Corpus:
    """Return a corpus whose labels are all levels of the names of the classes, so that a document has several."""
    parts = [name.split(".") for name in names_of(corpus) if name is not None]
    return corpus.with_labels([[".".join(p[: n + 1]) for n in range(len(p))] for p in parts], kind="multi_label")


def threads(path: str, words: Mapping[str, Any], most: int = 900, least: int = 8) -> tuple[pt.Corpus, pt.Corpus]:
    """Return postings of 20 Newsgroups, labelled by the levels of their group and by their thread.

    Groups have very different sizes. A third of the postings are for testing; labels that fewer than ``least`` of the
    others have are left out.
    """
    with gzip.open(path, "rt") as lines:
        postings = [json.loads(line) for line in lines]
    rng = np.random.default_rng(7)
    postings = [postings[place] for place in rng.permutation(len(postings))]
    names = sorted({posting["label"] for posting in postings})
    room = {names[place]: max(16, round(most * 0.8**rank)) for rank, place in enumerate(rng.permutation(len(names)))}
    chosen, labels = [], []
    for posting in postings:
        parts = posting["label"].split(".")
        if room[posting["label"]] > 0:
            room[posting["label"]] -= 1
            head, _, body = posting["text"].replace("\t", "\n").partition("\n\n")
            subject = SUBJECT.search(head)
            own = [".".join(parts[: number + 1]) for number in range(len(parts))]
            chosen.append(body)
            labels.append([*own, f"thread {subject[1].lower()}"] if subject else own)
    # Small groups are full early, so that the order is drawn again.
    order = rng.permutation(len(chosen))
    first = 2 * len(chosen) // 3
    counts = Counter(label for place in order[:first] for label in labels[place])
    kept = [[label for label in own if counts[label] >= least] for own in labels]
    parts = [([chosen[d] for d in own], [kept[d] for d in own]) for own in (order[:first], order[first:])]
    train = pt.Corpus.from_texts(parts[0][0], labels=parts[0][1], label_kind="multi_label", **words)
    known = {"labels": parts[1][1], "label_kind": "multi_label", "vocabulary": train}
    return train, pt.Corpus.from_texts(parts[1][0], **known)


def halves(corpus: pt.Corpus, mean: float) -> pt.Corpus:
    """Return a corpus with two classes: numbers above a mean, and others."""
    return corpus.with_labels(["above" if number > mean else "below" for number in numbers_of(corpus)], kind="class")


def scaled(corpus: pt.Corpus, levels: NDArray[np.float64], low: float, high: float) -> pt.Corpus:
    """Return a corpus whose numbers, which have few levels, are moved to as many equal steps from low to high."""
    steps = np.linspace(low, high, len(levels))
    return corpus.with_labels(steps[np.searchsorted(levels, numbers_of(corpus))], kind="real")


def senders(path: str, words: Mapping[str, Any], least: int = 10) -> tuple[pt.Corpus, pt.Corpus]:
    """Return 20 Newsgroups without headers; the covariate is the domain of the sender's address, if it is frequent."""
    with gzip.open(path, "rt") as lines:
        postings = [json.loads(line) for line in lines]
    found = {str(posting["id"]): SENDER.search(posting["text"]) for posting in postings}
    domains = pd.Series({name: match[1].lower() if match else "none" for name, match in found.items()})
    train = pt.load_20newsgroups(path, remove=("headers",), **words)
    test = pt.load_20newsgroups(path, subset="test", remove=("headers",), vocabulary=train)
    counts = domains[list(train.doc_ids)].value_counts()
    frequent = domains.where(domains.isin(counts.index[counts >= least]), "other")
    covariates = pt.Covariates.from_frame(pd.DataFrame({"domain": frequent[list(train.doc_ids)]}))
    new = covariates.encode(pd.DataFrame({"domain": frequent[list(test.doc_ids)]}))
    return replace(train, covariates=covariates), replace(test, covariates=new)


def simulated(data: Data, docs: int = 240, words: int = 150, topics: int = 6) -> tuple[pt.Corpus, pt.Corpus]:
    """Simulate a training and a test corpus from LDA; labels follow the proportions of the topics."""
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(words, 0.2), topics)
    theta = rng.dirichlet(np.full(topics, 0.3), docs)
    counts = np.stack([rng.multinomial(40, share @ phi) for share in theta])
    scores = theta @ rng.normal(scale=3.0, size=(topics, 4)) + rng.normal(scale=0.2, size=(docs, 4))
    numbers = (scores[:, 0] - scores[:, 0].mean()) / scores[:, 0].std()
    labels = (
        numbers if data == "numbers" else [f"class{'.' * (data == 'levels') or ' '}{n}" for n in scores.argmax(axis=1)]
    )
    corpus = pt.Corpus.from_matrix(counts, labels=labels, name="simulated")
    if data == "senders":
        # A covariate that knows a little about the class.
        told = np.where(rng.random(docs) < 0.3, scores.argmax(axis=1), rng.integers(4, size=docs))
        corpus = replace(corpus, covariates=pt.Covariates.from_frame(pd.DataFrame({"domain": told.astype(str)})))
    return corpus.split(1 / 3, seed=1)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which labelled texts are read."""
    parser.add_argument("--train", help="labelled corpus; a simulated one by default")
    parser.add_argument("--test", help="labelled corpus to predict")
    parser.add_argument("--postings", help="20 Newsgroups as raw texts, for studies of their senders and threads")
    parser.add_argument("--classes", nargs=2, metavar=("FIRST", "SECOND"), help="of a binary task (first and last)")
    parser.add_argument("--docs", type=int, help="train on so many documents, at random")
    parser.add_argument("--scale", type=float, nargs=2, metavar=("LOW", "HIGH"), help="move numbers to equal steps")
    add_text_options(parser)


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how files of labelled texts are read."""
    parser.add_argument("--vocabulary", help="the words of files that have only their ids, one a line")
    parser.add_argument("--label-column", help="column of the labels, if the files have columns")
    parser.add_argument("--class-names", help="the names of classes that are numbered from 1, one a line")
    parser.add_argument("--stop-words", action="store_true", help="remove scikit-learn's list of English stop words")
    parser.add_argument("--min-count", type=int, default=1, help="drop words that occur less often in training (1)")


def read_labelled(options: argparse.Namespace, path: str, kind: Any, **how: Any) -> pt.Corpus:
    """Read a file of labelled texts."""
    stop_words = "english" if options.stop_words else None
    how |= {"vocabulary": options.vocabulary, "label_column": options.label_column, "stop_words": stop_words}
    corpus = pt.read_corpus(path, label_kind=kind, **how)
    if options.class_names is None or kind != "class":
        return corpus
    listed = Path(options.class_names).read_text().split()
    return corpus.with_labels([name and listed[int(name) - 1] for name in names_of(corpus)], kind="class")


def read_pair(options: argparse.Namespace, data: Data) -> tuple[pt.Corpus, pt.Corpus]:
    """Return the training and the test corpus that were asked for."""
    train, test = _read_pair(options, data)
    if options.scale is not None:
        found = np.unique(numbers_of(train))
        train, test = scaled(train, found, *options.scale), scaled(test, found, *options.scale)
    if data == "halves":
        mean = float(numbers_of(train).mean())
        train, test = halves(train, mean), halves(test, mean)
    if options.docs is not None:
        train = train.select(np.random.default_rng(0).permutation(train.n_docs)[: options.docs])
    # Words that do not occur would only cost time.
    kept = train.vocabulary[train.word_counts >= options.min_count]
    train, test = train.with_vocabulary(kept), test.with_vocabulary(kept)
    print(train, test, sep="\n", flush=True)
    return train, test


def _read_pair(options: argparse.Namespace, data: Data) -> tuple[pt.Corpus, pt.Corpus]:
    if options.postings is not None and data in ("senders", "threads"):
        words = {"stop_words": "english" if options.stop_words else None}
        return (senders if data == "senders" else threads)(options.postings, words)
    if (options.train is None) != (options.test is None):
        raise SystemExit("give both --train and --test, or neither for a simulated corpus")
    if options.train is None:
        train, test = simulated(data)
    else:
        kind = "real" if data in ("numbers", "halves") else "class"
        train, test = (read_labelled(options, path, kind) for path in (options.train, options.test))
    if data == "pair":
        return two_classes(train, options.classes), two_classes(test, options.classes)
    if data in ("levels", "threads"):
        return levels(train), levels(test)
    return train, test
