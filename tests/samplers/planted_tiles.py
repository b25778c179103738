"""Planted bugs of the kernels that sweep tiles: plain Python variants of `block_collapsed` and `sparse_collapsed`."""

import numpy as np

import ppl_topics as pt

BLOCKS = 2
BY_WORD = "by word: "


def draw(weights, uniform):
    """Draw an index in proportion to a list of weights; all zero means any."""
    total = sum(weights)
    if total <= 0:
        return int(uniform * len(weights))
    target = uniform * total
    for index, weight in enumerate(weights):
        target -= weight
        if target < 0:
            return index
    return len(weights) - 1


class Counts:
    """Counts of z as lists, and the step of a token from one topic to another."""

    def __init__(self, binding, state):
        self.docs, self.words = binding.tokens.docs.tolist(), binding.tokens.words.tolist()
        self.z, self.n_dk, self.n_wk = state.z.tolist(), state.n_dk.tolist(), state.n_wk.tolist()

    def move(self, token, topic, change):
        self.n_dk[self.docs[token]][topic] += change
        self.n_wk[self.words[token]][topic] += change

    def in_words(self, words, topic):
        return sum(self.n_wk[word][topic] for word in words)


def blocks(bug):
    def build(binding):
        n_words, n_topics = binding.sizes.words, binding.sizes.topics
        members = [[w for w in range(n_words) if w % BLOCKS == block] for block in range(BLOCKS)]

        def masses(rng, counts, beta):
            if bug == "masses equal":
                return np.full((BLOCKS, n_topics), 1 / BLOCKS)
            shape = np.array([[counts.in_words(words, k) for k in range(n_topics)] for words in members], float)
            if bug != "masses without their prior":
                shape += np.array([sum(beta[w] for w in words) for words in members])[:, None]
            else:
                shape += 1e-9
            if bug == "masses twice too sure":
                shape *= 2
            if bug == "masses at their mean":
                return shape / shape.sum(axis=0)
            gammas = rng.standard_gamma(shape) + 1e-300
            return gammas / gammas.sum(axis=0)

        def init(state):
            return {}

        def step(state, memory, key):
            rng, counts = key.generator(), Counts(binding, state)
            alpha, beta = state.alpha.tolist(), state.beta.tolist()
            now = masses(rng, counts, beta)
            mass = memory.get("mass", now) if bug == "masses of the sweep before" else now
            memory["mass"] = now

            def counted(token, topic):
                return bug == "counts the token in its block" and topic == counts.z[token]

            for block in range(BLOCKS):
                for token, word in enumerate(counts.words):
                    if word % BLOCKS != block:
                        continue
                    if bug == "the last block stays" and block == BLOCKS - 1:
                        continue
                    counts.move(token, counts.z[token], -1)
                    own = members[1 - block] if bug == "total of the other block" else members[block]
                    if bug == "total of all blocks":
                        own = range(n_words)
                    prior = sum(beta[w] for w in own)
                    weights = [
                        (counts.n_dk[counts.docs[token]][k] + alpha[k])
                        * (1.0 if bug == "masses forgotten" else mass[block][k])
                        * (counts.n_wk[word][k] + beta[word])
                        / (counts.in_words(own, k) + counted(token, k) + prior)
                        for k in range(n_topics)
                    ]
                    counts.z[token] = draw(weights, rng.random())
                    counts.move(token, counts.z[token], +1)
            state.set_z(np.array(counts.z))

        return pt.KernelFunctions(step, init, scratch="before" not in bug)

    return build


def lists(bug):
    """Lists of the topics of words, or those of documents, one word after another."""
    by_word, bug = bug.startswith(BY_WORD), bug.removeprefix(BY_WORD)

    def build(binding):
        n_words, n_topics = binding.sizes.words, binding.sizes.topics

        def step(state, memory, key):
            rng, counts = key.generator(), Counts(binding, state)
            alpha, beta = state.alpha.tolist(), state.beta.tolist()
            by_row, others = (counts.n_dk, counts.n_wk) if by_word else (counts.n_wk, counts.n_dk)
            listed = [[k for k in range(n_topics) if row[k]] for row in by_row]
            stale, tokens = None, range(len(counts.words))
            for token in sorted(tokens, key=lambda i: counts.words[i]) if by_word else tokens:
                doc, word, old = counts.docs[token], counts.words[token], counts.z[token]
                row, other = (doc, word) if by_word else (word, doc)
                counts.move(token, old, -1)
                if bug != "an emptied topic stays listed" and not by_row[row][old]:
                    listed[row].remove(old)
                priors, factors = [beta[word]] * n_topics, alpha
                if by_word:
                    priors, factors = factors, priors
                weight = [
                    (others[other][k] + factors[k]) / (counts.in_words(range(n_words), k) + sum(beta))
                    for k in range(n_topics)
                ]
                smooth = [prior * x for prior, x in zip(priors, weight, strict=True)]
                if bug == "the smoothing part without its prior":
                    smooth = weight
                if bug == "the smoothing part of the token before":
                    smooth, stale = stale or smooth, smooth
                if bug == "the smoothing part only over the list":
                    smooth = [x if k in listed[row] else 0.0 for k, x in enumerate(smooth)]
                part = {k: max(by_row[row][k], bug == "an emptied topic stays listed") for k in listed[row]}
                if bug == "the last listed topic is missing" and part:
                    del part[listed[row][-1]]
                total = list(smooth)
                for k, n in part.items():
                    total[k] += n * weight[k]
                new = draw(total, rng.random())
                counts.z[token] = new
                counts.move(token, new, +1)
                if new not in listed[row]:
                    listed[row].append(new)
            state.set_z(np.array(counts.z))

        return pt.KernelFunctions(step)

    return build


def semi(bug):
    """Words 0 and 1 given their phi, words 2 and 3 collapsed given the mass of both."""
    frequent, rare = (0, 1), (2, 3)

    def build(binding):
        n_topics = binding.sizes.topics

        def shares(rng, counts, beta):
            """phi of the frequent words, and the mass of the rare ones, by topic."""
            priors = [*(beta[w] for w in frequent), sum(beta[w] for w in rare)]
            if bug == "rare mass without the word that never occurs":
                priors[-1] = beta[2]
            in_words = [[counts.n_wk[w][k] for k in range(n_topics)] for w in frequent]
            in_words.append(
                [0 if bug == "rare mass without its tokens" else counts.in_words(rare, k) for k in range(n_topics)]
            )
            gammas = rng.standard_gamma(np.array(in_words) + np.array(priors)[:, None]) + 1e-300
            return gammas / gammas.sum(axis=0)

        def init(state):
            return {}

        def step(state, memory, key):
            rng, counts = key.generator(), Counts(binding, state)
            alpha, beta = state.alpha.tolist(), state.beta.tolist()
            now = shares(rng, counts, beta)
            drawn = memory.get("shares", now) if bug == "shares of the sweep before" else now
            memory["shares"] = now
            tokens = sorted(range(len(counts.words)), key=lambda i: counts.words[i] in rare)
            for token in tokens:
                word, doc = counts.words[token], counts.docs[token]
                if bug == "rare tokens stay" and word in rare:
                    continue
                counts.move(token, counts.z[token], -1)
                for_topic = (
                    drawn[word]
                    if word in frequent
                    else [
                        (1.0 if bug == "rare mass forgotten" else drawn[-1][k])
                        * (counts.n_wk[word][k] + beta[word])
                        / (counts.in_words(rare, k) + sum(beta[w] for w in rare))
                        for k in range(n_topics)
                    ]
                )
                weights = [(counts.n_dk[doc][k] + alpha[k]) * for_topic[k] for k in range(n_topics)]
                counts.z[token] = draw(weights, rng.random())
                counts.move(token, counts.z[token], +1)
            state.set_z(np.array(counts.z))

        return pt.KernelFunctions(step, init, scratch="before" not in bug)

    return build


OUT = {
    "updates": "z",
    "handles": ("dirichlet", "assignments", "words"),
    "integrates_out": ("theta", "phi"),
    "reads": ("alpha", "beta"),
}

PLANTED_TILES = {
    "block_collapsed": ("lda_collapsed", OUT, blocks, {
        "quick": ["masses without their prior"],
        "slow": ["the last block stays", "masses equal", "total of all blocks", "masses forgotten",
                 "masses twice too sure",
                 "masses at their mean", "masses of the sweep before", "total of the other block",
                 "counts the token in its block"],
    }),
    "sparse_collapsed": ("lda_collapsed", OUT, lists, {
        "quick": ["the last listed topic is missing"],
        "slow": ["the smoothing part without its prior", "the smoothing part only over the list",
                 "an emptied topic stays listed", "the smoothing part of the token before",
                 "by word: the last listed topic is missing", "by word: the smoothing part without its prior",
                 "by word: an emptied topic stays listed", "by word: the smoothing part of the token before"],
    }),
    "semi_collapsed": ("lda_collapsed", OUT, semi, {
        "quick": ["rare tokens stay"],
        "slow": ["rare mass without its tokens", "rare mass forgotten", "shares of the sweep before",
                 "rare mass without the word that never occurs"],
    }),
}  # fmt: skip
