"""``ppl-topics warm``: compile what a run needs before it is needed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ppl_topics.cli.corpus_options import Data, Training, describe
from ppl_topics.cli.model_options import RecordedModel
from ppl_topics.cli.options import NoProgress
from ppl_topics.cli.output import say
from ppl_topics.errors import TraceError

if TYPE_CHECKING:
    from ppl_topics.api.sampling import Prepared
    from ppl_topics.corpus import Corpus
    from ppl_topics.fit import Fit

__all__ = ["warm"]

SHORT: dict[str, Any] = {"draws": 4, "warmup": 4, "chains": 2, "seed": 0}
"""A run of the fewest draws that the diagnostics read."""

NEW = 8
"""Documents to predict."""


def warm(model: RecordedModel, data: Data, corpus: Training, no_progress: NoProgress = False) -> None:
    """Compile what a run of MODEL and its predictions need, and keep it for later.

    It runs a few sweeps and writes no file. Give the options of the run that say what the model is, what is
    recorded and how the corpus is read: they decide which kernels run. What is compiled is kept beside the
    package, or in the folder that NUMBA_CACHE_DIR names, for processors of the same kind. Use it while you build
    an image.

    For example:
      ppl-topics warm lda --data posts.jsonl --set topics=100
      NUMBA_CACHE_DIR=/opt/compiled ppl-topics warm medlda --data train.csv --label-column topic
    """
    from numba.core import event

    from ppl_topics.api.sampling import prepare

    prepared = prepare(model.model, **model.given(), progress=not no_progress, **SHORT)
    train = corpus.read(data)
    say(f"{data}: {describe(train)}")
    started = time.perf_counter()
    with event.install_recorder("numba:compile") as compiled:
        fit = use(prepared, train)
    what = "compiled" if compiled.buffer else "nothing to compile"
    print(f"{fit.spec.name}: {what}; {time.perf_counter() - started:.1f} s")


def use(prepared: Prepared, corpus: Corpus) -> Fit:
    """Sample a model, look at the draws and predict by them."""
    fit = prepared.run(corpus)
    fit.efficiency(alignment=fit.verdict().alignment)
    try:
        predict_longest(fit, corpus)
    except TraceError as error:
        say(f"no predictions: {error}")
    return fit


def predict_longest(fit: Fit, corpus: Corpus) -> None:
    """Predict some documents from the topics, and from each response."""
    from ppl_topics.results.response_topics import own_topics
    from ppl_topics.spec import Model

    longest = corpus.select((-corpus.doc_lengths).argsort(kind="stable")[:NEW])
    model = Model.of(fit.spec)
    for response in model.by_response:
        of_one = fit.of_response(response) if response else fit
        of_one.transform(longest, response=next(iter(own_topics(of_one.groups)), None))
        if model.supervised:
            of_one.predict(longest)
