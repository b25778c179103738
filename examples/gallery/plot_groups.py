"""
Topics, documents and groups of them
====================================

Which topics are alike, which documents are typical, and who writes about what.
"""

# %%
# Plain LDA knows nothing of the packages that the documents are from. Theta is recorded for all documents, so that what
# follows has intervals.

import ppl_topics as pt

corpus = pt.load_docstrings(packages=["numpy", "scipy", "pandas"])
how = {"warmup": 150, "draws": 60, "chains": 1, "seed": 1, "progress": False, "record": {"theta": "all"}}
fit = pt.sample("lda", corpus, topics=12, **how)

# %%
# Mean shares of the topics in the documents of each package:

fit.plot_prevalence_over("labels", top=4)

# %%
# Topics that have similar words, as a tree. The number at a merge is the share of draws whose own tree has it.

fit.plot_hierarchy()

# %%
# The two topics that are merged first, word by word:

first = fit.topic_hierarchy().iloc[0]
pair = [*first["left"], *first["right"]]
fit.plot_contrast(*pair)

# %%
# The documents with the largest shares of these:

fit.typical_documents(pair, n=3)

# %%
# All documents, those with similar topics side by side. Only neighbours mean something here: distances between clusters
# do not.

fit.plot_document_map("labels")
