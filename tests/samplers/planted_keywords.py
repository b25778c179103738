"""Planted bugs of the kernels of topics with keywords, in the form of the table in `test_planted_bugs.py`."""

import numpy as np

import ppl_topics as pt


def rows(bug):
    """Topics with keywords given z, by tokens that came from keywords."""

    def build(binding):
        names = binding.names
        block = binding.blocks[names["phi"]]
        pointer, words = block.cells

        def step(state, memory, key):
            if bug == "does nothing":
                return
            rng = key.generator()
            phi, weight = state.arrays[names["phi"]], state.arrays[names["keyword_weight"]]
            a, b = (block.b, block.a) if bug == "a for b" else (block.a, block.b)
            concentration = 1.0 if bug == "concentration of keywords forgotten" else block.keyword_concentration
            before = weight.copy()
            for topic in range(len(pointer) - 1):
                cells = slice(pointer[topic], pointer[topic + 1])
                own, counts = words[cells], state.n_wk[:, topic].astype(float)
                share = before[cells] / np.maximum(phi[own, topic], 1e-300)
                if bug == "weight taken for the share":
                    share = before[cells]
                if bug == "share of the other keyword":
                    share = np.roll(share, 1)
                split = rng.binomial(counts[own].astype(int), np.clip(share, 0.0, 1.0))
                if bug == "all tokens came from keywords":
                    split = counts[own]
                if bug != "tokens of keywords counted twice":
                    counts[own] -= split
                rest = state.n_k[topic] if bug == "tokens of keywords in both" else counts.sum()
                p = rng.beta(a + split.sum(), b + rest) if len(own) else 0.0
                if len(own):
                    weight[cells] = p * rng.dirichlet(split + concentration)
                drawn = rng.dirichlet(counts + state.beta)
                phi[:, topic] = drawn if bug == "keywords on top" else (1.0 - p) * drawn
                phi[own, topic] += weight[cells]
                if bug == "keywords on top":
                    phi[:, topic] /= phi[:, topic].sum()

        return pt.KernelFunctions(step)

    return build


def seeded(bug):
    """Topics with seed words given z."""

    def build(binding):
        name = binding.names["phi"]
        block = binding.blocks[name]
        pointer, words = block.cells

        def step(state, memory, key):
            if bug == "does nothing":
                return
            rng = key.generator()
            for topic in range(len(pointer) - 1):
                shape = state.n_wk[:, topic] + state.beta
                of = (topic + 1) % len(pointer[1:]) if bug == "seeds of the next topic" else topic
                seeds = words[pointer[of] : pointer[of + 1]]
                if bug == "first seed only":
                    seeds = seeds[:1]
                weight = {"seeds forgotten": 0, "weight shared by the seeds": block.weight / max(1, len(seeds))}
                shape[seeds] += weight.get(bug, block.weight)
                if bug == "weight in the place of the tokens":
                    shape[seeds] -= state.n_wk[seeds, topic]
                state.arrays[name][:, topic] = rng.dirichlet(shape)

        return pt.KernelFunctions(step)

    return build


ROWS = {
    "updates": ("phi", "keyword_weight"),
    "reads": ("z", "beta"),
    "handles": ("keywords", "words"),
}

SEEDED = {"updates": "phi", "reads": ("z", "beta"), "handles": ("seeded", "words")}

PLANTED_KEYWORDS = {
    "seeded_rows": ("seeded_lda", SEEDED, seeded, {
        "quick": ["seeds forgotten"],
        "slow": ["seeds of the next topic", "first seed only", "weight shared by the seeds",
                 "weight in the place of the tokens", "does nothing"],
    }),
    "keyword_rows": ("keyword_lda", ROWS, rows, {
        "quick": ["all tokens came from keywords"],
        "slow": ["weight taken for the share", "share of the other keyword", "a for b", "tokens of keywords in both",
                 "concentration of keywords forgotten", "tokens of keywords counted twice", "keywords on top",
                 "does nothing"],
    }),
}  # fmt: skip
