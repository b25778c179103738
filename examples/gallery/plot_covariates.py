"""
Do two groups write about different things?
===========================================

Topics whose prevalence depends on covariates of the documents, with intervals for each difference.
"""

# %%
# The groups here are two packages. In an experiment they would be treatment and control, in a survey parties, in an
# archive years.

import pandas as pd

import ppl_topics as pt

corpus = pt.load_docstrings(packages=["numpy", "scipy"])
package = [corpus.labels.classes[label] for label in corpus.labels.values]
corpus = corpus.with_covariates(pd.DataFrame({"package": package}))
print(corpus)

# %%
# In ``dmr`` the weights of a document's topics depend on its covariates by a regression (Mimno and McCallum 2008),
# whose coefficients are drawn with everything else.

how = {"warmup": 200, "draws": 200, "chains": 1, "seed": 1, "progress": False}
fit = pt.sample("dmr", corpus, topics=15, **how)

# %%
# How much more of each topic there is in SciPy than in NumPy, with the interval of the difference:

fit.prevalence_table("package", ["numpy", "scipy"], difference=True)

# %%
# The topics that differ most:

fit.plot_prevalence("package", top=4)

# %%
# The numbers behind it are draws, so that any other contrast has its interval too: here the ratio of the expected
# shares of the first topic.

shares = fit.prevalence("package").isel(chain=0, topic=0)
ratio = shares.sel(package="scipy") / shares.sel(package="numpy")
ratio.quantile([0.05, 0.5, 0.95], "draw").round(2).to_series()
