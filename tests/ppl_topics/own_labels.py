"""Blocks of labels that are no response: that of docs/extending.md, and one with a variable of its own and no eta."""

from __future__ import annotations

import doctest
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

import ppl_topics as pt

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"

Y = {"block": "my_counts", "coefficients": "eta", "assignments": "z"}
COUNTS = {"extends": "slda_counts", "name": "counts", "blocks": {"y": Y}}
LEVELS = {"extends": "lda", "name": "levels", "blocks": {"y": {"block": "levels", "assignments": "z"}}}
SIZES = {
    "extends": "lda",
    "name": "sizes",
    "blocks": {"x": {"block": "covariates"}, "y": {"block": "sizes", "assignments": "z", "features": "x"}},
}


def register_page() -> None:
    """Register the block and the kernels of the page."""
    text = PAGE.read_text(encoding="utf-8")
    given: dict[str, Any] = {"np": np, "pt": pt, "ClassVar": ClassVar, "Literal": Literal, "__name__": "page"}
    for example in doctest.DocTestParser().get_examples(text[text.index("## Labels of any density") :]):
        if "verify" in example.source:
            return
        exec(compile(example.source, "page", "exec", dont_inherit=True), given)


def register_levels() -> None:
    """Register numbers y_dc ~ Normal(level_c n_d0 / N_d, 1), level_c ~ Normal(0, 1), and their kernels."""

    @pt.block("levels")
    class Levels(pt.Block):
        own_role: ClassVar[str | None] = "y"
        references: ClassVar[Mapping[str, str]] = {"assignments": "assignments"}

        block: Literal["levels"] = "levels"
        assignments: str

        def auxiliaries(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
            return {"level": ("level", ("response",))}

        def init(self, role: str, state: pt.ChainState) -> NDArray[Any]:
            return np.zeros(state.sizes.responses)

        def encode(self, labels: pt.Labels) -> tuple[NDArray[Any], list[str]]:
            return pt.encode_numbers(labels)

        def simulate(
            self, role: str, values: Mapping[str, NDArray[Any]], state: pt.ChainState, rng: np.random.Generator
        ) -> NDArray[Any]:
            if role == "level":
                return rng.normal(size=state.sizes.responses)
            return rng.normal(share_of(state)[:, None] * values["level"])

        def log_density(self, value: NDArray[Any], state: pt.ChainState) -> float:
            level = state.arrays["level"]
            return -0.5 * float(np.nansum((value - share_of(state)[:, None] * level) ** 2) + (level**2).sum())

    @pt.block("sizes")
    class Sizes(Levels):
        """The same, whose predictions are the first covariate."""

        handled_as: ClassVar[frozenset[str]] = frozenset({"levels"})
        references: ClassVar[Mapping[str, str]] = {"assignments": "assignments", "features": "features"}

        block: Literal["sizes"] = "sizes"
        features: str

        def expected_targets(self, features: NDArray[Any], values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
            np.testing.assert_allclose(features[:, :2].sum(axis=1), 1.0)
            assert values["level"].shape == (1,)
            return features[:, 2:]

    def declare_level(name: str, automatic: bool, prior: float) -> None:
        @pt.kernel(
            name,
            updates="level",
            reads="z",
            handles="levels",
            exact=True,
            full_conditional=True,
            automatic=automatic,
            cost="1000 * C",
        )
        def level(binding: pt.Binding) -> pt.KernelFunctions:
            """Draw the levels from their normal distribution."""

            def step(state: pt.ChainState, memory: None, key: pt.Key) -> None:
                assert state.observed is not None
                targets, share = state.observed.targets, share_of(state)[:, None]
                precision = prior + (share**2 * ~np.isnan(targets)).sum(axis=0)
                mean = np.nansum(share * targets, axis=0) / precision
                state.arrays["level"][...] = key.generator().normal(mean, precision**-0.5)

            return pt.KernelFunctions(step)

    @pt.kernel(
        "levels_z",
        updates="z",
        integrates_out=("theta", "phi"),
        reads=("alpha", "beta", "level"),
        handles=("dirichlet", "assignments", "words", "levels"),
        exact=True,
        automatic=True,
        cost="1000 * N",
    )
    def levels_z(binding: pt.Binding) -> pt.KernelFunctions:
        """Metropolis steps, a uniform topic for one token after another."""
        docs, words, block = binding.tokens.docs, binding.tokens.words, binding.blocks[binding.names["y"]]

        def step(state: pt.ChainState, memory: None, key: pt.Key) -> None:
            assert state.observed is not None
            rng, alpha, beta = key.generator(), state.alpha, state.beta
            for i, (d, w) in enumerate(zip(docs, words, strict=True)):
                old, new = int(state.z[i]), int(rng.integers(len(alpha)))
                before = block.log_density(state.observed.targets, state)
                z = state.z.copy()
                z[i] = new
                state.set_z(z)
                # Counts that include the token where it is now; where it was, they do not.
                to = np.array([state.n_dk[d, new] - 1, state.n_wk[w, new] - 1, state.n_k[new] - 1])
                since = np.array([state.n_dk[d, old], state.n_wk[w, old], state.n_k[old]]) - (new == old)
                both = [(n + alpha[k]) * (m + beta[w]) / (s + beta.sum()) for k, (n, m, s) in ((new, to), (old, since))]
                gain = np.log(both[0] / both[1]) + block.log_density(state.observed.targets, state) - before
                if np.log(rng.random()) >= gain:
                    z[i] = old
                    state.set_z(z)

        return pt.KernelFunctions(step)

    declare_level("level", True, 1.0)
    declare_level("level_without_prior", False, 0.3)


def share_of(state: pt.ChainState) -> NDArray[Any]:
    """Return the share of the first topic in each document."""
    share: NDArray[Any] = state.n_dk[:, 0] / np.maximum(state.tokens.doc_lengths, 1)
    return share
