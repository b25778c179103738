"""
How many topics?
================

A grid of models, judged by the likelihood of documents that they have not seen.
"""

# %%
# Words are drawn from LDA with 12 topics, so the answer is known.

import ppl_topics as pt
from ppl_topics.diagnostics.grid_plot import plot_grid

sizes = {"documents": 400, "lengths": 80, "words": 600, "topics": 12}
truth = pt.simulate("lda", alpha=0.2, beta=0.05, seed=1, **sizes)

# %%
# Each run has the same documents to learn from, and the same fifth of them to predict. The error is that of the
# difference from the best run.

how = {"warmup": 200, "chains": 1, "seed": 1, "progress": False}
numbers = [4, 8, 12, 20, 40]
table = pt.grid("lda", truth.corpus, {"topics": numbers}, draws=100, **how)
table[["topics", "per_token", "below_best", "below_best_error", "npmi"]].round(3)

# %%
# The ring marks the best. Take the fewest topics that are not clearly worse than it.

plot_grid(table)

# %%
# ``hdp_lda`` makes the number a part of the model. It has as many topics as we allow, and uses those that the
# documents ask for: the number of topics with a share of at least one percent of the tokens, in each draw.

how["warmup"] = 300
fit = pt.sample("hdp_lda", truth.corpus, topics=40, beta=0.05, draws=200, **how)
used = (fit.posterior["topic_share"] >= 0.01).sum("topic").isel(chain=0)
used.to_series().value_counts().rename("draws").rename_axis("topics in use").to_frame()
