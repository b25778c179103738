"""Planted bugs of the kernels of topics with a background, in the form of the table in `test_planted_bugs.py`."""

import numpy as np

import ppl_topics as pt


def rows(bug):
    """Topics with a background given z, by tokens that came from it."""

    def build(binding):
        names = binding.names
        block = binding.blocks[names["phi"]]

        def step(state, memory, key):
            if bug == "does nothing":
                return
            rng = key.generator()
            phi, background, share = (state.arrays[names[r]] for r in ("phi", "background", "background_share"))
            a, b = (block.b, block.a) if bug == "a for b" else (block.a, block.b)
            concentration = (
                1.0 if bug == "concentration of the background forgotten" else block.background_concentration
            )
            part = np.outer(background, share)
            if bug == "share of the next topic":
                part = np.roll(part, 1, axis=1)
            if bug == "share forgotten":
                part = np.tile(background[:, None], (1, len(share)))
            chance = part if bug == "part taken for the probability" else part / np.maximum(phi, 1e-300)
            split = rng.binomial(state.n_wk, np.clip(chance, 0.0, 1.0))
            if bug == "all tokens came from the background":
                split = state.n_wk.copy()
            own = state.n_wk.astype(float) - (0 if bug == "tokens of the background counted twice" else split)
            rest = state.n_k if bug == "tokens of the background in both" else own.sum(axis=0)
            share[:] = rng.beta(a + split.sum(axis=0), b + rest)
            of_words = split[:, :1] if bug == "background of the first topic" else split
            background[:] = rng.dirichlet(of_words.sum(axis=1) + concentration)
            for topic in range(len(share)):
                drawn = rng.dirichlet(own[:, topic] + state.beta)
                phi[:, topic] = (1.0 - share[topic]) * drawn + share[topic] * background

        return pt.KernelFunctions(step)

    return build


def both(bug):
    """Topics with keywords and a background given z, by tokens that came from either."""

    def build(binding):
        names = binding.names
        block = binding.blocks[names["phi"]]
        pointer, words = block.cells
        a, b, concentration = block.background_prior
        if bug == "prior of keywords for the background":
            a, b, _ = block.keyword_prior

        def step(state, memory, key):
            if bug == "does nothing":
                return
            rng = key.generator()
            roles = "phi", "keyword_weight", "background", "background_share"
            phi, weight, background, share = (state.arrays[names[role]] for role in roles)
            part = np.outer(background, share)
            split = rng.binomial(state.n_wk, np.clip(part / np.maximum(phi, 1e-300), 0.0, 1.0))
            counts = (state.n_wk - split).astype(float)
            if bug == "keywords of all tokens":
                counts = state.n_wk.astype(float)
            rest = phi - part
            before, shares = weight.copy(), share.copy()
            if bug == "background left in phi":
                rest = phi.copy()
            if bug == "background on top":
                shares = np.zeros_like(share)
            share[:] = rng.beta(a + split.sum(axis=0), b + (state.n_wk - split).sum(axis=0))
            background[:] = rng.dirichlet(split.sum(axis=1) + concentration)
            p_a, p_b, of_keywords = block.keyword_prior
            for topic in range(len(share)):
                cells = slice(pointer[topic], pointer[topic + 1])
                own, p = words[cells], 0.0
                if len(own):
                    chance = (1.0 - shares[topic]) * before[cells] / np.maximum(rest[own, topic], 1e-300)
                    found = rng.binomial(counts[own, topic].astype(int), np.clip(chance, 0.0, 1.0))
                    counts[own, topic] -= found
                    others = state.n_k[topic] - found.sum() if bug == "background in p" else counts[:, topic].sum()
                    p = rng.beta(p_a + found.sum(), p_b + others)
                    weight[cells] = p * rng.dirichlet(found + of_keywords)
                phi[:, topic] = (1.0 - p) * rng.dirichlet(counts[:, topic] + state.beta)
                if bug != "keywords after the background":
                    phi[own, topic] += weight[cells]
                phi[:, topic] = (1.0 - share[topic]) * phi[:, topic] + share[topic] * background
                if bug == "keywords after the background":
                    phi[own, topic] += weight[cells]
                    phi[:, topic] /= phi[:, topic].sum()

        return pt.KernelFunctions(step)

    return build


BOTH = {
    "extends": "lda",
    "name": "keywords_and_background",
    "blocks": {
        "phi": {
            "block": "keywords_and_background",
            "over": "word",
            "per": "topic",
            "concentration": 0.1,
            "keywords": {"first": ["0", "2"], "second": ["1", "0"]},
        }
    },
}

ROWS = {
    "updates": ("phi", "background", "background_share"),
    "reads": ("z", "beta"),
    "handles": ("background", "words"),
}
BOTH_ROWS = {
    "updates": ("phi", "keyword_weight", "background", "background_share"),
    "reads": ("z", "beta"),
    "handles": ("keywords_and_background", "words"),
}

PLANTED_BACKGROUND = {
    "background_rows": ("background_lda", ROWS, rows, {
        "quick": ["all tokens came from the background"],
        "slow": ["share of the next topic", "share forgotten", "part taken for the probability", "a for b",
                 "concentration of the background forgotten", "tokens of the background counted twice",
                 "tokens of the background in both", "background of the first topic", "does nothing"],
    }),
    "keyword_background_rows": (BOTH, BOTH_ROWS, both, {
        "quick": ["keywords after the background"],
        "slow": ["keywords of all tokens", "background left in phi", "background on top", "background in p",
                 "prior of keywords for the background", "does nothing"],
    }),
}  # fmt: skip
