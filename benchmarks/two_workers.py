"""LDA on two workers: what it has learned after so many seconds, ours on Dask beside Spark MLlib and gensim.

    python benchmarks/two_workers.py --data train.svmlight.gz --test test.svmlight.gz --vocabulary vocab.txt
    python benchmarks/two_workers.py --tokens 1e8 --seconds 100 300 1000 3000

Without --data the corpus is simulated, see simulate.py. The programs are `block_collapsed` on two Dask workers, the
LdaMulticore of gensim with two workers, and Spark's LDA on local[2] with each of its optimizers. Each has a process of
its own, and goes on until the last of --seconds; a row is its first state after as many. The clock runs only while a
program trains: not while it starts (the JVM, the workers), reads or converts the corpus, sets its first topics, or is
judged. What is compiled was loaded by a step over a few documents.

All are judged given their topics by our document completion, on the same halves of the same test documents. log p(w, z)
/ N is that of the training documents. The variational programs have no z: it is drawn given their topics by sweeps of
`partially_collapsed`.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from multiprocessing import get_context
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from cluster import Chain
from common import ALPHA, BETA, Results, bound_model, load, name_of, parser, score
from simulate import simulate
from sklearn.datasets import dump_svmlight_file

import ppl_topics as pt
from ppl_topics._util.threads import use_threads
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.engine.cluster.connection import connected
from ppl_topics.engine.cluster.sharded import ShardedExecutor
from ppl_topics.engine.cluster.workers import Workers
from ppl_topics.engine.executor import Executor
from ppl_topics.prediction.likelihood import HALVES
from ppl_topics.samplers.held_out.completion import estimate_completion, split_tokens

WORKERS = 2
HEAP = "12g"
"""Of the JVM."""
UPDATES = 10
"""Of gensim's topics, in a step at most: each step starts its workers anew."""
SWEEPS = 20
"""Which draw z given topics."""


class Training(NamedTuple):
    """A program under way: what goes on by a step, and what returns its topics, V x K in any scale, and its z."""

    step: Callable[[], Any]
    topics: Callable[[], np.ndarray]
    z: Callable[[], np.ndarray] | None = None


Begin = Callable[[pt.Corpus], Training]


@contextmanager
def ours(topics: int) -> Iterator[Begin]:
    """Start Dask workers for `block_collapsed`, which the scheduler chooses."""
    with connected(f"local:{WORKERS}") as cluster:
        assert cluster is not None

        def begin(corpus: pt.Corpus) -> Training:
            chain = Chain(ShardedExecutor(bound_model(corpus, "block_collapsed", topics), Workers(cluster), 1))

            def settled() -> Any:
                chain.executor.settle(chain.state, chain.memories, 1, 0, chain.done)
                return chain.state

            return Training(lambda: chain.seconds(1), lambda: settled().n_wk + BETA, lambda: settled().z)

        yield begin


@contextmanager
def gensim(topics: int) -> Iterator[Begin]:
    """Prepare LdaMulticore, whose step is a pass, or a part of one over many documents."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaMulticore

    # It warns that one step is too few.
    logging.getLogger("gensim").setLevel(logging.ERROR)

    def begin(corpus: pt.Corpus) -> Training:
        counts, parts = corpus.to_matrix(), list[Any]()
        how: dict[str, Any] = {"alpha": ALPHA, "eta": BETA, "eval_every": None, "random_state": 1}
        model = LdaMulticore(num_topics=topics, id2word=dict(enumerate(corpus.vocabulary)), workers=WORKERS, **how)

        def step() -> None:
            if not parts:
                size = UPDATES * WORKERS * model.chunksize
                parts.extend(counts[first : first + size] for first in range(0, corpus.n_docs, size))
            part = parts.pop(0)
            # It takes the documents of each call for new ones; they are part of the same corpus.
            model.state.numdocs = corpus.n_docs - part.shape[0]
            model.update(Sparse2Corpus(part, documents_columns=False))

        return Training(step, lambda: model.get_topics().T)

    yield begin


@contextmanager
def spark(topics: int, optimizer: str) -> Iterator[Begin]:
    """Start Spark; its optimizers go on step by step as its `LDA.run` lets them, which cannot be interrupted."""
    from pyspark.mllib.common import _java2py
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{WORKERS}]").config("spark.driver.memory", HEAP)
    options = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.maxResultSize": "0"}
    with TemporaryDirectory() as folder, builder.config(map=options).getOrCreate() as session:
        context, jvm = session.sparkContext, session._jvm.org.apache.spark
        context.setLogLevel("ERROR")
        # Else each iteration of EM would remember all before it.
        context.setCheckpointDir(folder)

        def begin(corpus: pt.Corpus) -> Training:
            path = f"{folder}/{corpus.n_docs}.svmlight"
            dump_svmlight_file(corpus.to_matrix(), np.zeros(corpus.n_docs), path, zero_based=False)
            frame = session.read.format("libsvm").option("numFeatures", corpus.n_words).load(path)
            convert = getattr(getattr(jvm.ml.clustering, "LDA$"), "MODULE$").getOldDataset
            documents = convert(frame.repartition(WORKERS)._jdf, "features")
            documents.persist(jvm.storage.StorageLevel.MEMORY_AND_DISK()).count()
            # EM looks for the mode, at which concentrations count one less (Asuncion et al. 2009).
            more = 1.0 if optimizer == "EM" else 0.0
            model = jvm.mllib.clustering.LDA().setK(topics).setSeed(1)
            model.setDocConcentration(more + ALPHA).setTopicConcentration(more + BETA)
            run = getattr(jvm.mllib.clustering, f"{optimizer}LDAOptimizer")().initialize(documents, model)
            no_times = context._gateway.new_array(context._jvm.double, 0)

            def found() -> np.ndarray:
                # EM returns counts, and the online optimizer these with the concentration.
                return _java2py(context, run.getLDAModel(no_times).topicsMatrix()).toArray() + more * BETA

            return Training(run.next, found)

        yield begin


PROGRAMS: dict[str, tuple[str, Callable[[int], AbstractContextManager[Begin]]]] = {
    "ours": ("block_collapsed on Dask", ours),
    "gensim": ("gensim, LdaMulticore", gensim),
    "online": ("Spark, online", partial(spark, optimizer="Online")),
    "em": ("Spark, EM", partial(spark, optimizer="EM")),
}


def held_out(test: pt.Corpus, phi: np.ndarray) -> float:
    """Return the log likelihood of a token of the second halves of documents given the first halves."""
    doc_ptr, alpha = np.array(test.doc_ptr), Alpha.shared(np.full(phi.shape[1], ALPHA))
    halves = split_tokens(doc_ptr, np.array(test.words), HALVES)
    each = estimate_completion(doc_ptr, halves, phi, alpha, 1, Key(1, 0, 0).reserved(Reserved.COMPLETION))
    return float(np.log(each.mean(axis=0)).sum() / (test.doc_lengths - test.doc_lengths // 2).sum())


def draw_z(corpus: pt.Corpus, phi: np.ndarray) -> np.ndarray:
    """Draw the topics of all tokens given phi."""
    executor = Executor(bound_model(corpus, "partially_collapsed", phi.shape[1]))
    state = executor.bound.initial_state(1, 0)
    state.arrays["phi"][:] = phi
    for sweep in range(SWEEPS):
        executor.draw(0, state, None, Key(1, 0, sweep, 1))
    return state.z


def train(program: str, corpus: pt.Corpus, test: pt.Corpus, topics: int, marks: list[float], results: Results) -> None:
    """Let a program train, and append what it has learned after so many seconds."""
    use_threads(WORKERS)
    name, start = PROGRAMS[program]
    with start(topics) as begin:
        begin(corpus.select(slice(0, 100))).step()
        training, seconds, steps = begin(corpus), 0.0, 0
        for mark in sorted(marks):
            judged = seconds >= mark
            while seconds < mark:
                started = time.perf_counter()
                training.step()
                seconds, steps = seconds + time.perf_counter() - started, steps + 1
            if not judged:
                learned = training.topics()
                phi = np.ascontiguousarray(learned / learned.sum(axis=0), dtype=np.float32)
                z = training.z() if training.z else draw_z(corpus, phi)
                likelihood, joint = held_out(test, phi), score(corpus, z, topics)
            line = f"{name}, {mark:g} s: {seconds:.4g} s, {steps} steps, held-out {likelihood:.4f}"
            print(f"{line}, log p(w, z) / N {joint:.4f}", flush=True)
            results.add(name, "reached at", seconds, seconds=mark)
            results.add(name, "held-out log p(w) / N", likelihood, seconds=mark)
            results.add(name, "log p(w, z) / N", joint, seconds=mark)


def installed() -> list[str]:
    """Return the programs that are installed."""
    found = {"ours": True, "gensim": importlib.util.find_spec("gensim") is not None}
    found["online"] = found["em"] = importlib.util.find_spec("pyspark") is not None and shutil.which("java") is not None
    return [program for program in PROGRAMS if found[program]]


def corpora(options: argparse.Namespace) -> tuple[pt.Corpus, pt.Corpus]:
    """Return the training documents, and those that topics are judged by."""
    if options.data:
        corpus = load(options.data, options.vocabulary)
        test = pt.read_corpus(options.test, vocabulary=options.vocabulary)
        test = test.select(np.random.default_rng(1).permutation(test.n_docs)[: options.documents])
    else:
        corpus, test = simulate(options.tokens).split(options.documents, seed=1)
        corpus = corpus.with_vocabulary(corpus.vocabulary[corpus.word_counts > 0])
    return corpus, test.with_vocabulary(corpus.vocabulary)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data")
    arguments.add_argument("--test")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--tokens", type=lambda text: int(float(text)), default=100_000)
    arguments.add_argument("--documents", type=int, default=500, help="for testing, at random")
    arguments.add_argument("--topics", type=int, default=100)
    arguments.add_argument("--seconds", type=float, nargs="+", default=[1.0, 3.0])
    arguments.add_argument("--programs", nargs="+", choices=PROGRAMS, default=installed())
    options = arguments.parse_args()
    corpus, test = corpora(options)
    print(f"{corpus}; {test.n_docs:,} documents for testing, {test.n_tokens:,} tokens; K = {options.topics}")
    name = name_of(options.data, f"{options.tokens / 1e6:g} million simulated tokens")
    setting = {"corpus": name, "K": options.topics}
    results = Results(options.results, "two_workers", "What does LDA know after so many seconds?", **setting)
    for program in options.programs:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            pool.submit(train, program, corpus, test, options.topics, options.seconds, results).result()


if __name__ == "__main__":
    main()
