"""Planted bugs of the kernels of one topic a document, in the form of the table in `test_planted_bugs.py`."""

import numpy as np
from planted_lda import wrong_alpha
from planted_supervised import Responses

import ppl_topics as pt

SUPERVISED = {"name": "supervised", "extends": "slda_gaussian", "blocks": {"z": {"per": "doc"}}}


def sweep_documents(binding, state, key, log_words, bug):
    """Draw every document's topic, by `log_words(words, old, n_wk, n_k)` of each topic."""
    rng, doc_ptr = key.generator(), binding.tokens.doc_ptr
    z, n_wk, n_k = state.z.copy(), state.counts_by_word.astype(float), state.n_k.astype(float)
    alpha = np.array(wrong_alpha(state.alpha.tolist(), bug))
    of_labels = None if binding.response is None else label_weights(binding, state, bug)
    for doc in range(len(doc_ptr) - 1):
        here = slice(doc_ptr[doc], doc_ptr[doc + 1])
        words = state.tokens.words[here]
        if not len(words) or (bug == "the first document stays" and doc == 0):
            continue
        old = z[here][0]
        others = 0 if bug == "counts the document itself" else 1
        np.add.at(n_wk, (words, old), -others)
        n_k[old] -= others * len(words)
        weights = (len(words) if bug == "alpha for each token" else 1) * np.log(alpha)
        weights = weights + log_words(words, n_wk, n_k)
        if of_labels is not None:
            weights = weights + of_labels[doc]
        new = rng.choice(len(alpha), p=np.exp(weights - weights.max()) / np.exp(weights - weights.max()).sum())
        np.add.at(n_wk, (words, old), others - 1)
        np.add.at(n_wk, (words, new), 1)
        n_k[old] += (others - 1) * len(words)
        n_k[new] += len(words)
        z[here] = new
    if bug != "does nothing":
        state.set_z(z)


def label_weights(binding, state, bug):
    """Log density of the labels of each document in each topic, shape (D, K)."""
    given = Responses(binding, state)
    b, omega = given.potential
    fixed = state.observed.design.toarray() @ given.eta[:, state.sizes.supervised :].T
    scores = given.eta[:, : state.sizes.supervised].T[None] + fixed[:, None]
    if bug == "share of one token":
        scores = scores / given.lengths[:, :, None]
    if bug == "square of eta forgotten":
        omega = 0 * omega
    if bug == "labels of the next document":
        b, omega = np.roll(b, -1, axis=0), np.roll(omega, -1, axis=0)
    cells = b[:, None] * scores - omega[:, None] * scores**2 / 2
    return cells[:, :, 0] if bug == "only the first response" else cells.sum(axis=2)


def given_topics(bug):
    """By the topics that the chain holds."""

    def build(binding):
        name = binding.names["phi"]

        def step(state, memory, key):
            log_phi = np.log(np.maximum(state.values[name].astype(float), 1e-300))
            if bug == "phi of the topic before":
                log_phi = np.roll(log_phi, 1, axis=1)

            def log_words(words, n_wk, n_k):
                words = np.unique(words) if bug == "words without their numbers" else words
                return log_phi[words[:1] if bug == "only the first token" else words].sum(axis=0)

            sweep_documents(binding, state, key, log_words, bug)

        return pt.KernelFunctions(step)

    return build


def collapsed(bug):
    """The topics integrated out."""

    def build(binding):
        def step(state, memory, key):
            beta = state.beta

            def log_words(words, n_wk, n_k):
                earlier = np.array([(words[:i] == word).sum() for i, word in enumerate(words)])
                if bug == "earlier tokens of the word forgotten":
                    earlier = 0 * earlier
                tokens = (0 if bug == "tokens in the total forgotten" else 1) * np.arange(len(words))
                total = 0.0 if bug == "beta forgotten in the total" else beta.sum()
                cells = n_wk[words] + (earlier + beta[words])[:, None]
                return (np.log(np.maximum(cells, 1e-9)) - np.log(n_k + tokens[:, None] + total + 1e-9)).sum(axis=0)

            sweep_documents(binding, state, key, log_words, bug)

        return pt.KernelFunctions(step)

    return build


HANDLED = ("dirichlet", "document_alpha", "document_assignments", "words", "quadratic_response")
GIVEN = {
    "updates": "z",
    "integrates_out": "theta",
    "reads": ("alpha", "phi", "eta", "augmentation"),
    "handles": HANDLED,
}
OUT = {
    "updates": "z",
    "integrates_out": ("theta", "phi"),
    "reads": ("alpha", "beta", "eta", "augmentation"),
    "handles": HANDLED,
}

PLANTED_DOCUMENTS = {
    "document_partially_collapsed": ("one_topic", GIVEN, given_topics, {
        "quick": ["alpha for each token"],
        "slow": ["phi of the topic before", "words without their numbers", "only the first token", "alpha forgotten",
                 "alpha of the next topic", "the first document stays", "does nothing"],
    }),
    "document_partially_collapsed, with a response": (SUPERVISED, GIVEN, given_topics, {
        "quick": [],
        "slow": ["share of one token", "square of eta forgotten", "labels of the next document",
                 "only the first response"],
    }),
    "document_collapsed": ("one_topic", OUT, collapsed, {
        "quick": ["counts the document itself"],
        "slow": ["earlier tokens of the word forgotten", "tokens in the total forgotten",
                 "beta forgotten in the total", "alpha for each token", "the first document stays", "does nothing"],
    }),
}  # fmt: skip
