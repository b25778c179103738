"""Simulate corpora of any size that follow the laws of Zipf and Heaps, and have topics.

    python benchmarks/simulate.py --tokens 1000000

Words. The probability of the r-th most frequent word is proportional to 1/r up to r = b = 4300 and to b/r^2 beyond,
the two regimes of Gerlach and Altmann (2013), here with 2 for their tail exponent 1.77. Then the number of words
that occur among N tokens grows as N^(1/2): V is about 37 sqrt(N) for N of a million and more, as on 20 Newsgroups
(61,188 words, 2.8 million tokens). Ranks end at 16 times that; the words beyond are 2% of the vocabulary.

Topics. A word of rank r belongs to two of T topics, at random. Of its tokens, a share 0.9 r / (r + 100) comes from
these topics and the rest from a background that all topics share, so that the frequent words are those of all
topics. Topics have the masses of their words, hence Zipf's law holds exactly for the whole. The topics of a
document come from Polya's urn: a token has a new topic with probability a / (a + i) after i tokens, else that of an
earlier one. This is LDA with alpha_k = a times the mass of k: with a = 2, about 10 topics in a document of 250 tokens.

Lengths are log-normal with sigma = 1 and the given mean. Every document has its own random stream, so a corpus depends
on its parameters and seed only, not on threads. 100 million tokens take half a minute on two cores.

M. Gerlach, E. G. Altmann (2013). Stochastic model for the vocabulary growth in natural languages. Physical
Review X 3, 021006.
"""

from __future__ import annotations

import itertools
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import numpy as np
from common import Results, parser, resident

import ppl_topics as pt
from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray, UInt32Array
from ppl_topics._util.compiled import compiled
from ppl_topics.core.keys import Key
from ppl_topics.corpus.token_arrays import count_words
from ppl_topics.samplers.variates.alias import build_alias, draw_alias
from ppl_topics.samplers.variates.streams import new_stream, start, uniform

BEND = 4300
TOPIC_SHARE, BACKGROUND_RANKS = 0.9, 100
AFFILIATIONS = 2
CONCENTRATION = 2.0
CHUNK_TOKENS = 1_000_000


def word_distribution(n_tokens: int) -> FloatArray:
    """Return the probability of each rank, for a corpus of N tokens."""
    n_ranks = max(20 * BEND, int(16 * 37 * n_tokens**0.5))
    rank = np.arange(1.0, n_ranks + 1)
    weights = np.where(rank <= BEND, 1 / rank, BEND / rank**2)
    return weights / weights.sum()


def expected_words(n_tokens: int) -> float:
    """Return the expected size of the vocabulary of N tokens."""
    return float(-np.expm1(-n_tokens * word_distribution(n_tokens)).sum())


def document_pointer(rng: np.random.Generator, n_tokens: int, mean_length: float) -> IntArray:
    """Draw lengths until N tokens are reached, at least one token each; the last document is cut."""
    n_docs = int(1.2 * n_tokens / mean_length) + 100
    while True:
        lengths = np.maximum(1, np.rint(rng.lognormal(np.log(mean_length) - 0.5, 1.0, n_docs))).astype(np.int64)
        ends = np.cumsum(lengths)
        if ends[-1] >= n_tokens:
            n_docs = int(np.searchsorted(ends, n_tokens)) + 1
            return np.concatenate([[0], ends[: n_docs - 1], [n_tokens]]).astype(np.int64)
        n_docs *= 2


@compiled
def build_tables(pointer, weights, probability, alias):  # type: ignore[no-untyped-def]
    """Build one alias table for each stretch of the weights."""
    for table in range(pointer.size - 1):
        first, last = pointer[table], pointer[table + 1]
        scratch = np.empty(last - first, dtype=np.uint32)
        build_alias(weights[first:last], probability[first:last], alias[first:last], scratch)


class Tables(NamedTuple):
    """Alias tables one after another: table 0 draws topics, 1 background words, 2 + k words of topic k.

    Table t is the stretch from ``pointer[t]`` to ``pointer[t + 1]`` of ``probability`` and ``alias``, and its outcomes
    are the same stretch of ``members``: ranks of words, from 0. Topics draw a share ``topic_share`` of the tokens.
    """

    pointer: IntArray
    members: UInt32Array
    probability: Float32Array
    alias: UInt32Array
    topic_share: float


@compiled
def draw_documents(first, last, doc_ptr, seed, tables, words):  # type: ignore[no-untyped-def]
    """Draw the words of documents ``first`` to ``last`` - 1, as ranks from 0."""
    pointer, members, probability, alias, topic_share = tables
    stream, key = new_stream(), Key(seed, 0, 0, 0, 0)
    topics = np.empty(np.diff(doc_ptr[first : last + 1]).max(), dtype=np.int64)
    for doc in range(first, last):
        start(stream, key, doc)
        for i in range(doc_ptr[doc + 1] - doc_ptr[doc]):
            place = uniform(stream) * (CONCENTRATION + i)
            if place < i:
                topics[i] = topics[int(place)]
            else:
                topics[i] = draw_alias(stream, probability[: pointer[1]], alias[: pointer[1]])
            table = 2 + topics[i] if uniform(stream) < topic_share else 1
            a, b = pointer[table], pointer[table + 1]
            words[doc_ptr[doc] + i] = members[a + draw_alias(stream, probability[a:b], alias[a:b])]


def simulate(
    n_tokens: int, mean_length: float = 250.0, topics: int = 200, seed: int = 1, words: UInt32Array | None = None
) -> pt.Corpus:
    """Simulate a corpus; its tokens can be written into an array that is given."""
    rng = np.random.default_rng([seed, n_tokens])
    doc_ptr = document_pointer(rng, n_tokens, mean_length)
    words = np.empty(n_tokens, dtype=np.uint32) if words is None else words
    tables = make_tables(rng, word_distribution(n_tokens), topics)
    ends = np.searchsorted(doc_ptr, np.arange(CHUNK_TOKENS, n_tokens, CHUNK_TOKENS)).tolist()
    cuts = sorted({0, *ends, len(doc_ptr) - 1})
    chunks = list(itertools.pairwise(cuts))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda chunk: draw_documents(*chunk, doc_ptr, seed, tables, words), chunks))
        present = np.flatnonzero(count_words(words, int(tables.members.max()) + 1))
        # Word ids say nothing of frequency, as in a vocabulary in alphabetical order.
        ids = np.zeros(int(present[-1]) + 1, dtype=np.uint32)
        ids[present] = rng.permutation(len(present))
        list(pool.map(lambda chunk: _rename(doc_ptr[chunk[0] : chunk[1] + 1], ids, words), chunks))
    vocabulary = np.array([f"w{i}" for i in range(len(present))], dtype=object)
    return pt.Corpus(doc_ptr, words, vocabulary, name="simulated")


def make_tables(rng: np.random.Generator, frequency: FloatArray, topics: int) -> Tables:
    """Make the tables from the probability of each rank; two random topics share a word's topical part."""
    rank = np.arange(len(frequency), dtype=np.uint32)
    topical = TOPIC_SHARE * frequency * (rank + 1.0) / (rank + 1.0 + BACKGROUND_RANKS)
    topic = rng.integers(topics, size=AFFILIATIONS * len(frequency))
    words_by_topic = np.tile(rank, AFFILIATIONS)[np.argsort(topic, kind="stable")]
    sizes = np.bincount(topic, minlength=topics)
    mass = np.bincount(topic, np.tile(topical, AFFILIATIONS), topics)
    pointer = np.cumsum([0, topics, len(frequency), *sizes])
    members = np.concatenate([np.arange(topics, dtype=np.uint32), rank, words_by_topic])
    weights = np.concatenate([mass, frequency - topical, topical[words_by_topic]])
    probability, alias = np.empty(len(weights), np.float32), np.empty(len(weights), np.uint32)
    build_tables(pointer, weights, probability, alias)
    return Tables(pointer, members, probability, alias, float(topical.sum()))


def _rename(doc_ptr: IntArray, ids: UInt32Array, words: UInt32Array) -> None:
    """Replace ranks by ids, and sort the tokens of each document by them."""
    part = words[doc_ptr[0] : doc_ptr[-1]]
    keys = np.repeat(np.arange(len(doc_ptr) - 1, dtype=np.uint64) << np.uint64(32), np.diff(doc_ptr))
    keys |= ids[part]
    keys.sort()
    part[:] = keys.astype(np.uint32)


def zipf_exponent(counts: IntArray, first: int, last: int) -> float:
    """Return minus the slope of log count over log rank, by least squares over ranks evenly spaced in the log."""
    ranks = np.unique(np.geomspace(first, last, 50).astype(np.int64))
    ordered = np.sort(counts)[::-1]
    return float(-np.polyfit(np.log(ranks), np.log(ordered[ranks - 1]), 1)[0])


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--tokens", type=lambda text: int(float(text)), default=1_000_000)
    arguments.add_argument("--mean-length", type=float, default=250.0)
    arguments.add_argument("--topics", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--out", help="save the corpus as this folder")
    options = arguments.parse_args()
    started = time.perf_counter()
    words = None
    if options.out:
        # On disk, a million tokens at a time, so that the corpus may be larger than memory.
        with TemporaryFile(dir=Path(options.out).parent) as file:
            words = np.memmap(file, np.uint32, shape=options.tokens)
    corpus = simulate(options.tokens, options.mean_length, options.topics, options.seed, words)
    seconds = time.perf_counter() - started
    print(f"{corpus}: {seconds:.1f} s, at most {resident('VmHWM') / 1e6:.0f} MB")
    print(f"vocabulary: {corpus.n_words:,} words, {expected_words(corpus.n_tokens):,.0f} expected")
    head = zipf_exponent(corpus.word_counts, 10, 1000)
    line = f"Zipf's exponent: {head:.2f} for ranks 10 to 1,000"
    frequent = np.count_nonzero(corpus.word_counts >= 10)
    if frequent > 1.2 * BEND:
        tail = zipf_exponent(corpus.word_counts, BEND, frequent)
        line += f", {tail:.2f} for ranks {BEND:,} to {frequent:,}, of words that occur 10 times"
    print(line)
    part = corpus.doc_ptr[np.searchsorted(corpus.doc_ptr, corpus.n_tokens // 4)]
    fewer = np.count_nonzero(count_words(corpus.words[:part], corpus.n_words))
    heaps = np.log(corpus.n_words / fewer) / np.log(corpus.n_tokens / part)
    print(f"Heaps' exponent, from a quarter of the tokens to all: {heaps:.2f}")
    if options.out:
        corpus.save(options.out)
    else:
        million = {"million tokens": corpus.n_tokens / 1e6}
        results = Results(options.results, "simulate", "How fast is a corpus simulated?", **million)
        results.add("simulate.py", "seconds", seconds)
        results.add("simulate.py", "MB at most", resident("VmHWM") / 1e6)


if __name__ == "__main__":
    main()
