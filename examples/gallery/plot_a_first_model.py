"""
A first model in ten minutes
============================

From texts to topics with intervals, and to a verdict on whether the draws can be trusted.
"""

# %%
# The texts are the docstrings of the scientific Python packages that are installed, so nothing is downloaded. Texts
# of your own come from a file, ``pt.read_corpus("posts.csv", text_column="text")``, or from a list,
# ``pt.Corpus.from_texts(texts)``.

import ppl_topics as pt

corpus = pt.load_docstrings(packages=["numpy", "scipy", "pandas"])
print(corpus)

# %%
# A model is a YAML file; ``lda`` is one of those that are shipped. The plan says which kernels will draw what, why
# these, and how long a sweep takes:

print(pt.plan("lda", corpus, topics=15))

# %%
# Four chains, so that they can be compared. The seed fixes all draws, whatever the number of threads.

how = {"warmup": 150, "draws": 150, "chains": 4, "seed": 1, "progress": False}
fit = pt.sample("lda", corpus, topics=15, **how)
fit.topics(n_words=5)

# %%
# Probabilities of words with their intervals, for the four largest topics of the first chain:

largest = fit.topics(1)["topic"][:4].tolist()
fit.plot_topics(largest)

# %%
# Have the chains converged? The verdict compares them, after matching their topics, and says what to do next. Topic
# models have several modes, so "not converged" often remains however long the chains are; the last lines say what
# all chains agree on.

print(fit.verdict())

# %%
# The log posterior of the four chains, the warm-up shaded:

fit.plot_trace("lp")

# %%
# The topics of a document, and its words in the colours of their topics:

t_test = next(name for name in corpus.doc_ids if name.endswith(".ttest_ind"))
fit.plot_document(t_test)

# %%
# New texts get topics as well, and ``fit.report("report.html")`` writes all of this, and more, to one page.

print(fit.transform(["solve a linear system by factorising the matrix"]).round(2))
