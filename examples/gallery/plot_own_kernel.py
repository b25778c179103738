"""
Write a kernel, and have it certified
=====================================

A kernel declares what it updates, integrates out and reads. The scheduler relies on this, and ``verify`` tests it.
"""

# %%
# This is collapsed Gibbs sampling (Griffiths and Steyvers 2004), written to be read. The flag plants a mistake that
# is easily made: the token that is drawn is left in the counts.

import ppl_topics as pt


def declare(name, leave_in=False):
    @pt.kernel(
        name,
        updates="z",
        integrates_out=("theta", "phi"),
        reads=("alpha", "beta"),
        handles=("dirichlet", "assignments", "words"),
        exact=True,
    )
    def plain_gibbs(binding):
        """Draw the topic of one token after another."""
        docs, words = binding.tokens.docs, binding.tokens.words

        def step(state, memory, key):
            rng, alpha, beta, n_dk = key.generator(), state.alpha, state.beta, state.n_dk

            def count(i, change):
                n_dk[docs[i], state.z[i]] += change
                state.n_wk[words[i], state.z[i]] += change
                state.n_k[state.z[i]] += change

            for i in range(len(words)):
                left_out = 0 if leave_in else 1
                count(i, -left_out)
                p = (n_dk[docs[i]] + alpha) * (state.n_wk[words[i]] + beta[words[i]])
                p = p / (state.n_k + beta.sum())
                new = rng.choice(len(p), p=p / p.sum())
                count(i, left_out - 1)
                state.z[i] = new
                count(i, +1)

        return pt.KernelFunctions(step)


declare("plain_gibbs")
declare("plain_gibbs_left_in", leave_in=True)

# %%
# ``verify`` runs it on corpora so small that the posterior can be summed exactly, and compares. Its false-alarm
# rate is one in a hundred thousand.

print(pt.verify("lda", kernel="plain_gibbs", replicates=2000, long_run=10_000))

# %%
# The other one is found out:

print(pt.verify("lda", kernel="plain_gibbs_left_in", replicates=2000, long_run=10_000))

# %%
# A certified kernel composes with any other: here a sweep is ours or, three times as often, the one of the library,
# which also works with other blocks.

schedule = pt.cycle(
    pt.mixture(pt.step("z", "plain_gibbs"), pt.step("z", "collapsed_gibbs"), weights=[1, 3]),
    pt.step("phi", "dirichlet_rows"),
)
texts = ["the chain mixes", "a sampler draws from the posterior", "bread and butter", "butter the bread"] * 3
corpus = pt.Corpus.from_texts(texts, stop_words="english")
fit = pt.sample("lda", corpus, topics=2, schedule=schedule, draws=100, warmup=20, seed=1, progress=False)
fit.topics(4)
