"""A small corpus, and what is drawn on a panel, for tests of plots."""

import numpy as np

import ppl_topics as pt

FAST = {"draws": 8, "warmup": 5, "seed": 1, "threads": 1, "progress": False}


def corpus(n_docs=24, labels=True):
    rng = np.random.default_rng(1)
    words = [["$cost", "ball", "team", "goal"], ["law", "vote", "court", "judge"], ["sea", "ship", "wind", "sail"]]
    tokens = [rng.choice(words[d % 3], 5 + d % 4).tolist() for d in range(n_docs)]
    tokens[-1] = [] if n_docs > 2 else tokens[-1]
    names = [["sport", "law", "sea"][d % 3] for d in range(n_docs)]
    ids = [f"d{d}" for d in range(n_docs)]
    return pt.Corpus.from_tokens(tokens, doc_ids=ids, labels=names if labels else None)


def labels_of(panel):
    return [label.get_text() for label in panel.get_yticklabels()]


def bars_of(panel):
    return [bar.get_width() for bar in panel.patches]


def intervals_of(panel):
    (lines,) = panel.collections
    return np.array([segment[:, 0] for segment in lines.get_segments()]).reshape(-1, 2)


def words_of(panel):
    return [text.get_text() for text in panel.texts]
