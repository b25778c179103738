"""How often exact moves between the modes of LDA are accepted, and what they gain.

    python benchmarks/moves.py --topics 50 --sweeps 300

From where a chain is after --sweeps sweeps of a warm-up that is not annealed, Metropolis-Hastings moves are proposed
that a Gibbs sampler cannot make token by token:

- swap in a document: the tokens of a document in topic a go to topic b, and those in b to a;
- swap of a word: the same for all tokens of a word;
- split and merge: topics b and c become one, and the tokens of a are dealt to two topics, by scans of Gibbs sampling
  restricted to these (Jain, Neal 2004); the number of topics stays what it is;
- parallel tempering: not run. How many chains it needs between temperatures 1 and 2 of log p(w | z), for neighbours to
  swap as often as is best, follows from how much this varies within a chain, if it varies as much at all of them.

Swaps are their own inverse: the acceptance ratio is that of p(w, z). Of splits and merges it also has the probability
of the last scan, and of that by which b and c would come from the merged topic. The pairs that are merged are the most
similar, which the reverse move would seldom choose: that ratio is left out, so that the figures are too favourable.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from common import ALPHA, BETA, Results, counts, load_frequent, name_of, parser, score
from numpy.typing import NDArray
from scipy.special import erfcinv, gammaln

import ppl_topics as pt
from ppl_topics.engine.log_joint import log_phi_part

SCANS = 10
"""Of a split, after tokens are dealt by documents; those who recommend such moves take 5 or so."""

SWEEPS = 200
"""In which log p(w | z) is followed."""

SWAPS = 0.234
"""Best acceptance rate of swaps between neighbours (Kone, Kofke 2005; Atchade et al. 2011)."""

Array = NDArray[np.int64]


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def relabel(z: Array, tokens: Array, a: int, b: int) -> None:
    """Swap topics a and b of tokens."""
    for token in tokens:
        if z[token] in (a, b):
            z[token] = a + b - z[token]


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def recount(z: Array, n: Array, rows: Array, sizes: Array, prior: float, tokens: Array, a: int, b: int) -> float:
    """Count tokens as if topics a and b were swapped, and return the change of one factor of log p(w, z).

    `n` has the counts by row, the word or the document of a token, and topic. Without `sizes`, the counts by topic, the
    factor has no normaliser.
    """
    change = 0.0
    for token in tokens:
        row, topic = rows[token], z[token]
        if topic in (a, b):
            n[row, topic] -= 1
            change -= math.log(n[row, topic] + prior)
            if sizes.size:
                sizes[topic] -= 1
                change += math.log(sizes[topic] + prior * len(n))
    for token in tokens:
        row, topic = rows[token], a + b - z[token]
        if topic in (a, b):
            change += math.log(n[row, topic] + prior)
            n[row, topic] += 1
            if sizes.size:
                change -= math.log(sizes[topic] + prior * len(n))
                sizes[topic] += 1
    return change


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def swap(
    z: Array, words: Array, docs: Array, order: Array, ptr: Array, n_wk: Array, n_dk: Array, rng: np.random.Generator
) -> tuple[int, float]:
    """Propose a swap for each token, among its group of tokens; return how many were accepted, and what they gained.

    The tokens of a group, a document or a word, are ``order[ptr[g]:ptr[g + 1]]``.
    """
    accepted, gain, n_k, none = 0, 0.0, n_wk.sum(axis=0), np.empty(0, np.int64)
    for group in range(ptr.size - 1):
        tokens = order[ptr[group] : ptr[group + 1]]
        for _ in range(tokens.size):
            # The reverse move finds as many tokens in b as this one finds in a.
            a, b = z[tokens[rng.integers(0, tokens.size)]], rng.integers(0, n_k.size)
            if a == b:
                continue
            ratio = recount(z, n_wk, words, n_k, BETA, tokens, a, b) + recount(z, n_dk, docs, none, ALPHA, tokens, a, b)
            relabel(z, tokens, a, b)
            if math.log(rng.random()) < ratio:
                accepted, gain = accepted + 1, gain + ratio
            else:
                recount(z, n_wk, words, n_k, BETA, tokens, a, b)
                recount(z, n_dk, docs, none, ALPHA, tokens, a, b)
                relabel(z, tokens, a, b)
    return accepted, gain


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def deal(
    tokens: Array, words: Array, docs: Array, goal: Array, shape: tuple[int, int], rng: np.random.Generator
) -> tuple[Array, float]:
    """Deal tokens to two topics; return the topic of each, 0 or 1, and the log probability of the last scan.

    With a `goal` the last scan leads there. `shape` has the numbers of words and documents.
    """
    n_wk, n_dk, n_k = np.zeros((shape[0], 2)), np.zeros((shape[1], 2)), np.zeros(2)
    half, doc, coin, value = np.empty(tokens.size, np.int64), -1, 0, 0.0
    for place, token in enumerate(tokens):
        if docs[token] != doc:
            doc, coin = docs[token], rng.integers(0, 2)
        half[place] = coin
        n_wk[words[token], coin] += 1
        n_dk[doc, coin] += 1
        n_k[coin] += 1
    for scan in range(SCANS + 1):
        for place, token in enumerate(tokens):
            word, doc, own = words[token], docs[token], half[place]
            n_wk[word, own] -= 1
            n_dk[doc, own] -= 1
            n_k[own] -= 1
            mass = (n_dk[doc] + ALPHA) * (n_wk[word] + BETA) / (n_k + BETA * shape[0])
            share = mass[1] / mass.sum()
            own = goal[place] if scan == SCANS and goal.size else int(rng.random() < share)
            if scan == SCANS:
                value += math.log(share if own else 1.0 - share)
            half[place] = own
            n_wk[word, own] += 1
            n_dk[doc, own] += 1
            n_k[own] += 1
    return half, value


def log_part(tokens: Array, words: Array, docs: Array, n_words: int) -> float:
    """Return the part of log p(w, z) that is about one topic, which has these tokens."""
    by_word, by_doc = (np.unique(of[tokens], return_counts=True)[1] for of in (words, docs))
    value = gammaln(by_word + BETA).sum() - by_word.size * gammaln(BETA)
    value += gammaln(by_doc + ALPHA).sum() - by_doc.size * gammaln(ALPHA)
    return float(value + gammaln(BETA * n_words) - gammaln(tokens.size + BETA * n_words))


def split_and_merge(z: Array, words: Array, docs: Array, n_wk: Array, n_docs: int, seed: int) -> list[float]:
    """Return the log acceptance ratios of as many proposals as there are topics."""
    n_words, n_topics = n_wk.shape
    unit = n_wk / np.linalg.norm(n_wk, axis=0)
    alike = np.triu(unit.T @ unit, 1)
    pairs = np.unravel_index(np.argsort(-alike, axis=None)[:n_topics], alike.shape)
    rng, none, ratios = np.random.default_rng(seed), np.empty(0, np.int64), []
    for b, c in np.transpose(pairs):
        a = rng.choice(np.setdiff1d(np.arange(n_topics), (b, c)))
        one, both = np.flatnonzero(z == a), np.flatnonzero((z == b) | (z == c))
        is_c = (z[both] == c).astype(np.int64)
        half, forward = deal(one, words, docs, none, (n_words, n_docs), rng)
        _, backward = deal(both, words, docs, is_c, (n_words, n_docs), rng)
        change = backward - forward
        for tokens in (both, one[half == 0], one[half == 1]):
            change += log_part(tokens, words, docs, n_words)
        for tokens in (one, both[is_c == 0], both[is_c == 1]):
            change -= log_part(tokens, words, docs, n_words)
        ratios.append(change)
    return ratios


def chains_to_temper(corpus: pt.Corpus, topics: int, z: Array, seed: int) -> float:
    """Return how many chains parallel tempering needs between temperatures 1 and 2."""
    chain = pt.Chain("lda", corpus, topics=topics, alpha=ALPHA, beta=BETA, seed=seed, init={"z": z})
    found, sweeps = [], np.arange(SWEEPS)
    for _ in sweeps:
        chain.sweep()
        found.append(log_phi_part(chain.state.n_wk, chain.state.n_k, chain.state.beta))
    # The chain has not arrived: its way is no part of how much it varies.
    way = np.polynomial.Polynomial.fit(sweeps, found, 2)(sweeps)
    # Two normal energies whose inverse temperatures differ by d swap with probability erfc(d * sd / 2).
    apart = 2 * erfcinv(SWAPS) / np.std(found - way)
    return float(1 + 0.5 / apart)


def main() -> None:
    """Do what the command line asks for."""
    arguments = parser(__doc__)
    arguments.add_argument("--data", help="corpus; by default the docstrings of the scientific Python stack")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--topics", type=int, default=50)
    arguments.add_argument("--sweeps", type=int, default=300)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    corpus = load_frequent(options.data, options.vocabulary)
    setting = {"corpus": name_of(options.data), "K": options.topics, "sweeps": options.sweeps}
    results = Results(options.results, "moves", "Are moves between modes accepted?", **setting)
    fit = pt.sample(
        "lda",
        corpus,
        topics=options.topics,
        alpha=ALPHA,
        beta=BETA,
        warmup=options.sweeps,
        draws=1,
        chains=1,
        seed=options.seed,
        progress=False,
        warmup_schedule={"temperature": 1},
    )
    z = fit.groups["constant_data"]["z_last"].values.ravel().astype(np.int64)
    words, ptr = corpus.words.astype(np.int64), corpus.doc_ptr.astype(np.int64)
    docs = np.repeat(np.arange(corpus.n_docs), np.diff(ptr))
    by_word = np.argsort(words, kind="stable"), np.cumsum([0, *np.bincount(words, minlength=corpus.n_words)])
    n_wk = counts(words, z, corpus.n_words, options.topics)
    n_dk = counts(docs, z, corpus.n_docs, options.topics)
    groups = {"swap in a document": (np.arange(corpus.n_tokens), ptr), "swap of a word": by_word}
    for name, group in groups.items():
        moved, rng = z.copy(), np.random.default_rng(options.seed)
        accepted, gain = swap(moved, words, docs, *group, n_wk.copy(), n_dk.copy(), rng)
        found = corpus.n_tokens * (score(corpus, moved, options.topics) - score(corpus, z, options.topics))
        if not math.isclose(gain, found, abs_tol=0.01):
            raise SystemExit(f"{name}: log p(w, z) has changed by {found}, the ratios say {gain}")
        results.add(name, "% accepted", 100 * accepted / corpus.n_tokens)
        results.add(name, "gain in nats", gain)
        print(f"{name}: {accepted} of {corpus.n_tokens} accepted, {gain:.0f} nats gained", flush=True)
    tempered = chains_to_temper(corpus, options.topics, z, options.seed)
    results.add("parallel tempering", "chains needed", tempered)
    print(f"parallel tempering: {tempered:.0f} chains needed", flush=True)
    ratios = split_and_merge(z, words, docs, n_wk, corpus.n_docs, options.seed)
    results.add("split and merge", "log acceptance ratio", ratios)
    print(f"split and merge: log acceptance ratios from {min(ratios):.0f} to {max(ratios):.0f}", flush=True)


if __name__ == "__main__":
    main()
