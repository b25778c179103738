"""Planted bugs of the kernel of topics with a background, in the form of the table in `test_planted_bugs.py`."""

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


ROWS = {
    "updates": ("phi", "background", "background_share"),
    "reads": ("z", "beta"),
    "handles": ("background", "words"),
}

PLANTED_BACKGROUND = {
    "background_rows": ("background_lda", ROWS, rows, {
        "quick": ["all tokens came from the background"],
        "slow": ["share of the next topic", "share forgotten", "part taken for the probability", "a for b",
                 "concentration of the background forgotten", "tokens of the background counted twice",
                 "tokens of the background in both", "background of the first topic", "does nothing"],
    }),
}  # fmt: skip
