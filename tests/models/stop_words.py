"""A corpus half of which is stop words."""

import numpy as np

import ppl_topics as pt

STOP = ["the", "of", "and"]


def stop_words_corpus(documents=60):
    """Two topics of ten words each, and half of all tokens stop words."""
    rng = np.random.default_rng(3)
    texts = []
    for number in range(documents):
        own = [f"{'ab'[number % 2]}{word}" for word in rng.integers(0, 10, 20)]
        texts.append(" ".join([*own, *rng.choice(STOP, 20)]))
    return pt.Corpus.from_texts(texts)
