"""
Predict a class, and say why
============================

Classes that depend on the topics: accuracy on new documents, and what each class depends on.
"""

# %%
# Which package is a docstring from? A fifth of them is kept for testing.

import ppl_topics as pt

corpus = pt.load_docstrings(packages=["numpy", "scipy", "pandas", "matplotlib"])
train, test = corpus.split(test=0.2, seed=1)
print(train)

# %%
# ``slda_multinomial`` has a distribution of exclusive classes below the topics; ``medlda`` would have a hinge loss.

how = {"warmup": 100, "draws": 100, "chains": 1, "seed": 1, "progress": False}
fit = pt.sample("slda_multinomial", train, topics=20, **how)
metrics = fit.metrics(test)
print({name: round(float(metrics[name]), 3) for name in ("accuracy", "log_score")})

# %%
# Coefficients are log odds of a class against those after it, with intervals; those that exclude 0 are dark.

fit.plot_coefficients(top=8)

# %%
# Probabilities of the classes of a new text:

dict(
    zip(
        fit.classes,
        fit.predict_proba(["draw the axes of a figure, with a colour for each line"])[0].round(3),
        strict=True,
    )
)
