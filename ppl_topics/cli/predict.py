"""``ppl-topics predict``: the predictions of a stored run for new documents."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ppl_topics.api.destinations import check_file
from ppl_topics.cli.corpus_options import Data, Reading, describe
from ppl_topics.cli.new_documents import as_trained, metric_lines, say_left_out
from ppl_topics.cli.options import AsJson, OnCluster, Overwrite, Threads
from ppl_topics.cli.output import print_json, say, write_text
from ppl_topics.cli.traces import OfResponse, Run, load_one, naming_run
from ppl_topics.errors import CorpusError

if TYPE_CHECKING:
    from ppl_topics.corpus import Corpus
    from ppl_topics.prediction.options import Options
    from ppl_topics.prediction.predictor import Predictions
    from ppl_topics.prediction.trained import TrainedResponse

__all__ = ["predict"]


@naming_run
def predict(
    run: Run,
    data: Data,
    corpus: Reading,
    out: Annotated[str | None, typer.Option(help="CSV file to write, rather than print.", metavar="FILE")] = None,
    eta: Annotated[str, typer.Option(help="Coefficients: draws (to average over), mean, last, or a number.")] = "draws",
    phi: Annotated[str, typer.Option(help="Topics: mean, or draws (with --eta draws).")] = "mean",
    method: Annotated[
        str, typer.Option(help="Topics of the new documents: gibbs, or cvb0, which is faster and not exact.")
    ] = "gibbs",
    warmup: Annotated[int | None, typer.Option(help="Sweeps over the new documents to discard; 20 by default.")] = None,
    draws: Annotated[int | None, typer.Option(help="Sweeps to average over; 100 by default.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same predictions, at any number of threads.")] = 0,
    threads: Threads = None,
    cluster: OnCluster = None,
    of_response: OfResponse = None,
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Predict the classes, labels or numbers of new documents from RUN.

    Read the file as the training file was read: give the same options, and --vocabulary for a count format. Words
    that were not seen in training are dropped. The result is CSV, a document a row: id, prediction, a score (linear
    predictor) for each class or label and, for some models, probabilities. If the file has labels, metrics are
    printed too.

    For example:
      ppl-topics predict run.nc --data new.jsonl --id-column id --out predictions.csv
      ppl-topics predict run.nc --data test.svmlight.gz --vocabulary vocab.txt --json
    """
    from ppl_topics.prediction.options import Options
    from ppl_topics.prediction.trained import TrainedResponse, TrainedTopics

    which: Any = int(eta) if eta.isdecimal() else eta
    given = {name: value for name, value in (("warmup", warmup), ("draws", draws)) if value is not None}
    how = Options(which, cast(Any, phi), cast(Any, method), seed=seed, threads=threads, cluster=cluster, **given)
    if out is not None:
        check_file(out, overwrite)
    response = TrainedResponse.of(TrainedTopics(load_one(run, of_response).groups))
    new = as_trained(response.trained, corpus.read(data), data)
    say(f"{data}: {describe(new)}")
    predictions, metrics = predict_and_measure(response, new, how, data)
    rows = list(rows_of(response, predictions, new))
    if out is not None:
        write_text(as_csv(rows), out)
    if json:
        summary = {"documents": new.n_docs, "dropped_tokens": int(new.dropped.tokens), **metrics}
        print_json({**summary, "path": out} if out is not None else {**summary, "predictions": rows})
    elif out is None:
        print(as_csv(rows), end="")
        for line in metric_lines(metrics):
            say(line)
    else:
        for line in metric_lines(metrics):
            print(line)
        print(f"written: {out}")


def predict_and_measure(
    response: TrainedResponse, corpus: Corpus, how: Options, data: str
) -> tuple[Predictions, dict[str, float | int]]:
    """Predict documents and, if they have labels that can be compared, measure how well."""
    from ppl_topics.prediction.predictor import predict_corpus
    from ppl_topics.prediction.scoring import evaluate

    if corpus.labels_of(response.block.observed_labels) is None:
        return predict_corpus(response, corpus, how), {}
    try:
        metrics, predictions, _ = evaluate(response, corpus, how)
    except CorpusError as error:
        say(f"{data}: no metrics: {error}")
        return predict_corpus(response, corpus, how), {}
    say_left_out(metrics, data)
    return predictions, metrics


def rows_of(response: TrainedResponse, predictions: Predictions, corpus: Corpus) -> Iterator[dict[str, Any]]:
    """Yield the prediction for each document, as plain data."""
    from ppl_topics.prediction.predictor import choose

    chosen = choose(response, predictions)
    names = [str(name) for name in response.responses]
    classes = names if response.classes is None else [str(name) for name in response.classes]
    likely = predictions.expectation if predictions.probability is None else predictions.probability
    for doc, doc_id in enumerate(corpus.doc_ids):
        if response.block.numeric:
            values = chosen[doc].tolist()
            prediction: Any = values[0] if response.classes is None else dict(zip(names, values, strict=True))
        elif response.kind == "multi_label":
            prediction = [name for name, holds in zip(names, chosen[doc], strict=True) if holds]
        else:
            prediction = classes[chosen[doc]]
        row = {"id": str(doc_id), "prediction": prediction}
        row["scores"] = dict(zip(names, predictions.scores[doc].tolist(), strict=True))
        if likely is not None and not response.block.numeric:
            row["probabilities"] = dict(zip(classes, likely[doc].tolist(), strict=True))
        yield row


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as CSV: id, ``prediction``, ``score:NAME`` and ``probability:NAME``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, row in enumerate(rows):
        prediction = row["prediction"]
        if isinstance(prediction, Mapping):
            cells = {f"prediction:{name}": _rounded(value) for name, value in prediction.items()}
        else:
            # As the readers take several labels.
            cells = {"prediction": ",".join(prediction) if isinstance(prediction, list) else _rounded(prediction)}
        cells |= {f"score:{name}": _rounded(value) for name, value in row["scores"].items()}
        cells |= {f"probability:{name}": _rounded(value) for name, value in row.get("probabilities", {}).items()}
        if number == 0:
            writer.writerow(["id", *cells])
        writer.writerow([row["id"], *cells.values()])
    return text.getvalue()


def _rounded(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
