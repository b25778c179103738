"""Other programs that sample LDA, each behind the interface `common.Program`."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from common import ALPHA, BETA, Meter, Point, score

import ppl_topics as pt


class Tomotopy:
    """The LDA of tomotopy (C++): collapsed Gibbs, dense and vectorised; with several workers only approximate.

    Parameters
    ----------
    threads : int
        Its workers.
    scheme : str
        A name of ``tomotopy.ParallelScheme``, in lower case, that says how workers share the counts. "default"
        is "partition", and with one worker all are the same.
    """

    def __init__(self, threads: int, scheme: str = "partition") -> None:
        import tomotopy

        self.threads = threads
        self.scheme = tomotopy.ParallelScheme[scheme.upper()]
        self.name = "tomotopy" if threads == 1 else f"tomotopy {scheme}"

    def trajectory(self, corpus: pt.Corpus, topics: int, seed: int, marks: Iterable[int]) -> Iterator[Point]:
        """See `common.Program`."""
        meter, sweep = Meter(), 0
        with meter.untimed(), quiet():
            model = self._model(corpus, topics, seed)
        # Its documents keep the order of ours, and of their tokens, so that our function can score its topics.
        names = np.concatenate([np.asarray(doc.words) for doc in model.docs])
        assert np.array_equal(np.asarray(model.vocabs, dtype=object)[names], corpus.vocabulary[corpus.words])
        for mark in marks:
            with meter.timed(), quiet():
                if mark > sweep:
                    model.train(mark - sweep, workers=self.threads, parallel=self.scheme)
            sweep = mark
            z = np.concatenate([np.asarray(doc.topics) for doc in model.docs]).astype(np.uint16)
            yield Point(sweep, meter.seconds, score(corpus, z, topics), meter.memory)

    @staticmethod
    def _model(corpus: pt.Corpus, topics: int, seed: int) -> Any:
        import tomotopy

        model = tomotopy.LDAModel(k=topics, alpha=ALPHA, eta=BETA, seed=seed)
        model.optim_interval = 0
        words, doc_ptr = corpus.vocabulary.tolist(), corpus.doc_ptr
        for d in np.flatnonzero(np.diff(doc_ptr)):
            model.add_doc([words[w] for w in corpus.words[doc_ptr[d] : doc_ptr[d + 1]]])
        model.train(0)
        return model


class Pyrmallet:
    """MALLET's SparseLDA in Rust: exact collapsed Gibbs, one thread, all sweeps in one call.

    It keeps its topics to itself; log p(w, z) is what it reports on the way, with every normalising term, and
    the seconds that this report takes are measured afterwards and taken off.
    """

    name = "pyrmallet"
    threads = 1

    def trajectory(self, corpus: pt.Corpus, topics: int, seed: int, marks: Iterable[int]) -> Iterator[Point]:
        """See `common.Program`."""
        from pyrmallet import _rust_mallet as mallet

        wanted = list(marks)
        # Its tokens are runs of letters, so words go by their numbers, spelt in letters.
        letters = str.maketrans("0123456789", "abcdefghij")
        names = np.array([f"w{str(w).translate(letters)}" for w in range(corpus.n_words)], dtype=object)
        texts = [" ".join(names[corpus.words[a:b]]) for a, b in zip(corpus.doc_ptr, corpus.doc_ptr[1:], strict=False)]
        meter = Meter()
        stamps: dict[int, tuple[float, float]] = {}
        with meter.untimed():
            bags = mallet.Corpus.from_strings(texts)
            assert (bags.total_tokens, bags.num_types) == (corpus.n_tokens, corpus.n_words)
            started = time.perf_counter()
            model = mallet.train(
                bags,
                num_topics=topics,
                # Estimates take one sweep more, which comes after all marks.
                iterations=wanted[-1],
                num_samples=1,
                sample_interval=1,
                optimize_interval=0,
                alpha_sum=ALPHA * topics,
                beta=BETA,
                seed=seed,
                callback=lambda sweep, total, value: stamps.update({sweep: (time.perf_counter(), value)}),
                callback_interval=max(1, math.gcd(*wanted)),
            )
        reporting = time.perf_counter()
        model.log_likelihood(bags)
        reporting = time.perf_counter() - reporting
        stamps.setdefault(0, (started, float("nan")))
        order = sorted(stamps)
        for sweep in wanted:
            at, value = stamps[sweep]
            # What it does once, before the first sweep, cannot be told apart from the first sweep here.
            yield Point(sweep, at - started - reporting * order.index(sweep), value, meter.memory)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence tomotopy's warning that several workers give other draws each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def peers(threads: Iterable[int], schemes: Iterable[str]) -> list[Tomotopy | Pyrmallet]:
    """Return the peers that are installed, tomotopy with each number of workers and each of its schemes."""
    result: list[Tomotopy | Pyrmallet] = []
    for n in threads:
        for scheme in ["none"] if n == 1 else schemes:
            try:
                result.append(Tomotopy(n, scheme))
            except ImportError:
                warnings.warn("tomotopy is not installed", stacklevel=2)
    try:
        import pyrmallet  # noqa: F401

        result.append(Pyrmallet())
    except ImportError:
        warnings.warn("pyrmallet is not installed", stacklevel=2)
    return result
