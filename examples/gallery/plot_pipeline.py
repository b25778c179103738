"""
Topics in a scikit-learn pipeline
=================================

Choose the number of topics by cross-validation of whatever comes after them.
"""

# %%
# Texts come in as they are, with a class each.

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import ppl_topics as pt
from ppl_topics.sklearn import TopicModel

corpus = pt.load_docstrings(packages=["scipy"], label="module")
words, classes = corpus.vocabulary, corpus.labels.classes
common = [d for d, label in enumerate(corpus.labels.values) if (corpus.labels.values == label).sum() >= 40]
texts = [" ".join(words[corpus.tokens(d)]) for d in common]
modules = [classes[corpus.labels.values[d]] for d in common]
print(len(texts), "docstrings of", ", ".join(sorted(set(modules))))

# %%
# The grid search fits topics anew in each fold, so the held-out texts have no part in them.

pipeline = make_pipeline(TopicModel(draws=20, random_state=1), LogisticRegression(C=100.0, max_iter=1000))
search = GridSearchCV(pipeline, {"topicmodel__topics": [5, 10, 20]}, cv=3).fit(texts, modules)
scores = zip(search.cv_results_["param_topicmodel__topics"], search.cv_results_["mean_test_score"], strict=True)
print({int(topics): round(float(score), 3) for topics, score in scores})

# %%
# ``fit_`` is the whole fit, with its tables, plots and verdict.

best = search.best_estimator_.named_steps["topicmodel"].fit_
best.plot_topic_correlations()
