"""New documents of a command: in the words of a fit, fit to test a run, and how metrics are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ppl_topics.cli.corpus_options import naming
from ppl_topics.cli.output import say
from ppl_topics.errors import CorpusError, SpecError

if TYPE_CHECKING:
    from ppl_topics.corpus import Corpus
    from ppl_topics.corpus.names import StrArray
    from ppl_topics.fit import Fit
    from ppl_topics.prediction.trained import TrainedTopics
    from ppl_topics.spec import Spec

__all__ = [
    "as_trained",
    "check_test",
    "in_words_of",
    "measure",
    "metric_lines",
    "refuse_test",
    "say_left_out",
]

METRICS = ("accuracy", "f1_micro", "f1_macro", "r2", "log_score")


def as_trained(trained: TrainedTopics, corpus: Corpus, data: str, *, with_labels: bool = True) -> Corpus:
    """Return documents of a file in the words, and with the columns of the covariates, of a fit; see `new_corpus`."""
    from ppl_topics.prediction.documents import new_corpus

    with naming(data):
        return new_corpus(corpus, trained, with_labels=with_labels)


def in_words_of(vocabulary: StrArray, corpus: Corpus, data: str) -> Corpus:
    """Return documents of a file in the words of a vocabulary."""
    from ppl_topics.prediction.documents import align_corpus

    with naming(data):
        return align_corpus(corpus, vocabulary)


def refuse_test(spec: Spec) -> None:
    """Refuse to test a model that predicts nothing."""
    if not spec.has_response:
        raise SpecError(
            f"--test: model {spec.name!r} has no response, so it makes no predictions to test; run a supervised "
            "model, such as medlda"
        )


def check_test(test: Corpus, data: str, training: Corpus) -> Corpus:
    """Return test documents in the words of the training corpus, having checked that they can test a run on it."""
    from ppl_topics.corpus.covariate_alignment import align_covariates
    from ppl_topics.prediction.documents import align_labels

    corpus = in_words_of(training.vocabulary, test, data)
    if training.covariates is not None and corpus.covariates is not None:
        with naming(f"--test {data}"):
            align_covariates(corpus.covariates, training.covariates.columns, corpus.ids)
    if training.labels is None:
        # The run itself refuses that, with a longer message.
        return corpus
    classes = training.labels.classes if len(training.labels.classes) else None
    with naming(f"--test {data}"):
        if corpus.labels is None:
            raise CorpusError("the documents have no labels to compare predictions with; give their labels")
        if align_labels(corpus.labels, training.labels.kind, classes)[0].missing.all():
            raise CorpusError("no document has a label that occurs in training, to compare its prediction with")
    return corpus


def measure(fit: Fit, test: Corpus, data: str, threads: int | None) -> dict[str, float]:
    """Return the metrics of a fit on test documents, of several responses each by its name; say what was left out."""
    from ppl_topics.spec import Model

    result: dict[str, float] = {}
    for response in Model.of(fit.spec).by_response:
        alone = fit.of_response(response) if response else fit
        found = alone.metrics(test, seed=int(fit.posterior.attrs["seed"]), threads=threads)
        say_left_out(found, data)
        result |= {f"{name}_{response}" if response else name: found[name] for name in METRICS if name in found}
    return result


def say_left_out(metrics: Mapping[str, float | int], data: str) -> None:
    """Say how many labels the metrics leave out."""
    if metrics["unknown"]:
        say(f"{data}: labels of classes that training lacks, left out: {metrics['unknown']:,}")
    if metrics["missing"]:
        say(f"{data}: missing labels, left out: {metrics['missing']:,}")


def metric_lines(metrics: Mapping[str, float | int]) -> list[str]:
    """Return a line for each metric."""
    return [f"{name} {value:.4f}" for name, value in metrics.items() if name.startswith(METRICS)]
