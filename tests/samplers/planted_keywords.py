"""Planted bugs of the kernel of topics with keywords, in the form of the table in `test_planted_bugs.py`."""

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


ROWS = {
    "updates": ("phi", "keyword_weight"),
    "reads": ("z", "beta"),
    "handles": ("keywords", "words"),
}

PLANTED_KEYWORDS = {
    "keyword_rows": ("keyword_lda", ROWS, rows, {
        "quick": ["all tokens came from keywords"],
        "slow": ["weight taken for the share", "share of the other keyword", "a for b", "tokens of keywords in both",
                 "concentration of keywords forgotten", "tokens of keywords counted twice", "keywords on top",
                 "does nothing"],
    }),
}  # fmt: skip
