"""A kernel of one's own: declared and certified; and the same as it was once printed, refused.

    python examples/own_kernel.py

The kernel moves one token at a time by a Metropolis step: it proposes a topic of another token of the document (or,
with the weight of alpha, any topic) and accepts with the ratio of what the proposal leaves out, phi. The printed form
corrects the ratio by counts that include the token itself, as if the way back would propose from those: it does not.
"""

from __future__ import annotations

import ppl_topics as pt


def declare(name: str, as_printed: bool) -> None:
    """Register the kernel, right or with the printed acceptance."""

    @pt.kernel(
        name,
        updates="z",
        integrates_out="theta",
        reads=("alpha", "phi"),
        handles=("dirichlet", "assignments", "words"),
        exact=True,
        reference="Magnusson et al. 2018, section 3.3, corrected",
    )
    def doc_proposal(binding: pt.Binding) -> pt.KernelFunctions:
        """Metropolis-Hastings with proposals from the document's other tokens."""
        docs, words, phi_name = binding.tokens.docs, binding.tokens.words, binding.names["phi"]

        def step(state: pt.ChainState, memory: None, key: pt.Key) -> dict[str, float]:
            rng, phi, n_dk = key.generator(), state.arrays[phi_name], state.n_dk
            moved = 0
            for i in range(len(words)):
                old = state.z[i]
                n_dk[docs[i], old] -= 1
                weights = n_dk[docs[i]] + state.alpha
                new = rng.choice(len(weights), p=weights / weights.sum())
                ratio = phi[words[i], new] / phi[words[i], old]
                if as_printed and new != old:
                    ratio *= (weights[old] + 1) / weights[old]
                if rng.random() < ratio:
                    state.z[i] = new
                    moved += 1
                n_dk[docs[i], state.z[i]] += 1
            state.set_z(state.z.copy())
            return {"acceptance_rate": moved / max(1, len(words))}

        return pt.KernelFunctions(step)


def main(replicates: int = 4000, long_run: int = 20_000) -> tuple[pt.Verification, pt.Verification]:
    """Register both kernels and verify them."""
    declare("doc_proposal", as_printed=False)
    declare("doc_proposal_as_printed", as_printed=True)
    right = pt.verify("lda", kernel="doc_proposal", replicates=replicates, long_run=long_run)
    wrong = pt.verify("lda", kernel="doc_proposal_as_printed", replicates=replicates, long_run=long_run)
    print(right, wrong, sep="\n")
    return right, wrong


if __name__ == "__main__":
    main()
