"""The test that a schedule leaves the enumerated posterior of z invariant, and reaches all of it.

Many short chains, each started from an exact draw of the posterior: if the schedule leaves it invariant, their
last states are independent exact draws again, and a chi-square test applies directly, without burn-in or
autocorrelation. Doing nothing would pass, so one long chain must also visit every state of some probability, and
every quarter of the distribution of each continuous element that the schedule updates.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray
from ppl_topics.core.alpha import LARGEST_ALPHA, SMALLEST_ALPHA, Alpha, LogLinear
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.state import ChainState
from ppl_topics.diagnostics.exactness.enumeration import ExactPosterior, enumerate_posterior
from ppl_topics.diagnostics.exactness.goodness import chi_square
from ppl_topics.diagnostics.exactness.prior_nodes import hierarchical_nodes, prior_nodes
from ppl_topics.diagnostics.exactness.shared_draws import SharedDraws
from ppl_topics.diagnostics.exactness.statistics import REFERENCE, Sample, compare
from ppl_topics.diagnostics.exactness.tiny import TinyModel, draw_dirichlet
from ppl_topics.diagnostics.exactness.tiny_indicators import TinyIndicators
from ppl_topics.diagnostics.exactness.tiny_labels import draw_parents, redraw_targets, set_labels
from ppl_topics.diagnostics.exactness.tiny_mixture import TinyMixture
from ppl_topics.diagnostics.exactness.tiny_response import TinyResponses, moved_roles, numbers_of
from ppl_topics.diagnostics.exactness.tiny_seeds import TinySeeds
from ppl_topics.engine.placing import executor_of
from ppl_topics.models.assignments import draw_rows
from ppl_topics.models.hierarchical_dirichlet import HierarchicalDirichlet
from ppl_topics.schedule import Plan
from ppl_topics.schedule.rules import variables_of
from ppl_topics.schedule.tree import steps

__all__ = ["LongRun", "StationaryTest"]

EXPECTED_VISITS = 100
"""Expected visits from which the long chain must have been in a state."""

CHECKED_SWEEPS = 100
"""Sweeps after which each kernel is checked against its declaration."""

AT_ONCE = 200
"""Sweeps of the long chain after which it is asked where it has been."""

ALPHA_NODES = 2**12
"""Points of the prior of concentrations, or of their coefficients, that are summed over."""

EXACT_DRAWS = 400
"""Exact draws that the quarters of the continuous distributions are estimated from."""


@dataclass(frozen=True)
class LongRun:
    """Which states a long chain visited."""

    visits: IntArray  # (S,): how often in each state of z; 0 if the schedule leaves z as it is
    sweeps: int
    never_reached: int  # states expected 100 times or more that it was never in
    stuck: tuple[str, ...]  # elements of continuous variables that missed a quarter of their distribution


class StationaryTest:
    """The test of one schedule on the tiny corpus, by short chains of a number of sweeps and a long one."""

    def __init__(self, tiny: TinyModel, seed: int, sweeps: int) -> None:
        self.tiny, self.seed, self.sweeps = tiny, seed, sweeps
        self.executor = executor_of(tiny.bound)
        self.state = tiny.bound.initial_state(seed, 0)
        self.topics = self._topics()
        self.given_phi = self._given_phi()
        self.response = self._response()
        log_response = None if self.response is None else self.response.log_evidence
        priors = tiny.prior("alpha"), tiny.prior("beta")
        log_topics = None if self.topics is None else self.topics.log_evidence
        self.alpha_nodes, alpha = self._alpha_nodes()
        self.exact = enumerate_posterior(self.state, *priors, self.given_phi, log_response, log_topics, alpha)
        self.features = _features(self.exact, self.state)
        self.shared = SharedDraws(most=20)
        self._long_runs: list[tuple[Any, LongRun]] = []

    def of(self, plan: Plan, sweeps: int) -> StationaryTest:
        """Return the test of another schedule, with the same exact distribution if it moves the same variables."""
        other = copy.copy(self)
        other.sweeps = sweeps
        other.tiny = TinyModel(plan, responses=self.tiny.responses)
        other.executor = executor_of(other.tiny.bound)
        return other if other._moved() == self._moved() else StationaryTest(other.tiny, self.seed, sweeps)

    def _topics(self) -> TinyIndicators | TinyMixture | TinySeeds | None:
        """Return the distribution of topics that are no plain Dirichlet; what the schedule does not change is given."""
        given = self.tiny.bound, self.state, moved_roles(self.tiny.bound)
        rng = Key(self.seed, 0, 0, Reserved.INITIAL).generator(3)
        if "included" in self.tiny.model.names:
            return TinyIndicators(*given, rng)
        if {"background_share", "keyword_weight"} & self.tiny.model.names.keys():
            return TinyMixture(*given, rng)
        seeded = self.tiny.model.spec.blocks[self.tiny.model.names["phi"]].tokens_of_keywords > 0
        return TinySeeds(*given, rng) if seeded else None

    def _given_phi(self) -> Float32Array | None:
        """Return phi if the schedule neither updates it nor integrates it out, so that it is given."""
        if self.topics is not None:
            return self.topics.given_phi
        name = self.tiny.model.names.get("phi", "")
        if name not in self.state.arrays or "phi" in moved_roles(self.tiny.bound):
            return None
        rng = Key(self.seed, 0, 0, Reserved.INITIAL).generator(1)
        phi = rng.dirichlet(self.state.beta, size=self.state.sizes.topics).T
        self.state.arrays[name][...] = phi
        return self.state.arrays[name].copy()

    def _alpha_nodes(self) -> tuple[dict[str, FloatArray], FloatArray | None]:
        """Return points of the prior of what concentrations depend on, by role, and these by document.

        Nothing and None where there is a quadrature of them, or they are the same in all documents and fixed.
        """
        alpha, sizes = self.state.concentrations["alpha"], self.state.sizes
        if isinstance(alpha, Alpha):
            return {}, np.broadcast_to(alpha.by_doc, (1, sizes.docs, sizes.topics))
        prior = self.tiny.model.spec.blocks.get(self.tiny.model.names.get("alpha", ""))
        if isinstance(prior, HierarchicalDirichlet):
            nodes, top = hierarchical_nodes(prior, sizes.topics, ALPHA_NODES)
            by_doc = np.broadcast_to(nodes[:, None], (ALPHA_NODES, sizes.docs, sizes.topics))
            return {"alpha": nodes, "top_concentration": top}, by_doc
        if not isinstance(alpha, LogLinear):
            return {}, None
        assert isinstance(prior, CoefficientPrior), "coefficients without a prior"
        points = prior_nodes(prior, self.state, moved_roles(self.tiny.bound), ALPHA_NODES)
        with np.errstate(over="ignore"):
            by_doc = np.stack([alpha.of(each).by_doc for each in points["alpha"]])
        # Others are left out by the kernels too.
        inside = ((by_doc >= SMALLEST_ALPHA) & (by_doc <= LARGEST_ALPHA)).all(axis=(1, 2))
        return {role: values[inside] for role, values in points.items()}, by_doc[inside]

    def _moved(self) -> list[set[str]]:
        """Return the roles that are not given, with each response."""
        bound = self.tiny.bound
        return [moved_roles(bound), *(moved_roles(alone) for alone in bound.marginals.values())]

    def _response(self) -> TinyResponses | None:
        """Return the responses' distribution; what the schedule does not change is given."""
        bound = self.tiny.bound
        if any(alone.response is None or alone.observed is None for alone in bound.by_response.values()):
            return None
        rng = Key(self.seed, 0, 0, Reserved.INITIAL).generator(2)
        for response, alone in bound.by_response.items():
            names, arrays = alone.model.names, bound.seen_by(response, self.state).arrays
            given = arrays[names["eta"]]
            given[...] = rng.normal(size=given.shape)
            augmentation = arrays[names["augmentation"]]
            augmentation[...] = rng.gamma(2.0, size=augmentation.shape)
            for name in alone.block(names["eta"]).auxiliaries():
                scale = arrays[name]
                scale[...] = rng.gamma(2.0, size=scale.shape)
            for name in numbers_of(alone.model).values():
                # Ascending, as cut points are.
                arrays[name][...] = np.cumsum(rng.gamma(2.0, size=arrays[name].shape))
        return TinyResponses(bound, self.state)

    @property
    def draws_labels(self) -> bool:
        """Whether exact draws have labels of their own, since the density of these is no response's."""
        return self.tiny.model.supervised and self.response is None

    def short_chains(self, look: int, samples: int) -> dict[str, float]:
        """Run ``samples`` chains from exact draws; return p-values by feature of the last states.

        Assignments are compared with their exact distribution, and bounded statistics of all that the chain holds with
        those of the first states.
        """
        rng = Key(self.seed, look + 1, 0, Reserved.INITIAL).generator()
        before, after = Sample(self.tiny, samples), Sample(self.tiny, samples * self.sweeps)
        reference = Sample(self.tiny, REFERENCE * samples)
        last = []
        for i in self.exact_draws(samples, rng):
            before.record(self.state)
            memories = self.executor.memories(self.state)
            # Every chain has its own streams, and starts at a random phase of `every: n`.
            for number in range(i * self.sweeps, (i + 1) * self.sweeps):
                self.executor.sweep(self.state, memories, self.seed, look + 1, number)
                after.record(self.state)
            last.append(self.state.z.copy())
        for _ in self.exact_draws(reference.size, rng):
            reference.record(self.state)
        return self.distributions(np.stack(last)) | compare(before, after, reference)

    def distributions(self, z: IntArray) -> dict[str, float]:
        """Return p-values by feature of assignments, shape (n, N), as draws of the posterior."""
        numbers = self._numbers(z)
        return {name: chi_square(*self._counts(cells, numbers)) for name, cells in self.features.items()}

    def check_declarations(self) -> None:
        """Run a few sweeps from exact draws, checking after each kernel what it changed."""
        rng = Key(self.seed, 0, 3, Reserved.INITIAL).generator()
        executor = executor_of(self.tiny.bound, debug=True)
        for sweep in self.exact_draws(CHECKED_SWEEPS, rng):
            executor.sweep(self.state, executor.memories(self.state), self.seed, 0, sweep)

    def long_chain(self, sweeps: int, whole: bool = True) -> LongRun:
        """Run one chain from the least probable state, and return which states it visited.

        It has at most that many sweeps; unless the ``whole`` is asked for, it stops where it has been everywhere.
        Kernels that stand in the default schedule are all tested in the same one, which is run once.
        """
        asked = self.tiny.bound.plan.schedule, sweeps, whole
        for before, run in self._long_runs:
            if before == asked:
                return run
        run = self._run_long_chain(sweeps, whole)
        self._long_runs.append((asked, run))
        return run

    def _run_long_chain(self, sweeps: int, whole: bool) -> LongRun:
        """Run the chain of `long_chain`."""
        rng = Key(self.seed, 0, 1, Reserved.INITIAL).generator()
        exact, names = self.exact, self._updated()
        draws = [_flat(names, self.state.values) for _ in self.exact_draws(EXACT_DRAWS, rng)]
        quarters = _Quarters(self._labels(names), np.stack(draws))
        least = int(np.where(exact.probability > 0, exact.probability, np.inf).argmin())
        next(self._set_each(np.array([least]), rng))
        memories = self.executor.memories(self.state)
        visits = np.zeros(len(exact.probability), dtype=np.int64)
        z_moves = any("z" in s.kernel.updates for s in steps(self.tiny.bound.plan.schedule))
        wanted = (exact.probability * sweeps >= EXPECTED_VISITS) & z_moves
        # With labels that are drawn too, the distribution is that given the words.
        at_once = self.sweeps if self.draws_labels else AT_ONCE
        done = 0
        while done < sweeps and (whole or not done or (wanted & (visits == 0)).any() or quarters.stuck()):
            z, values = [], []
            if done and self.draws_labels:
                redraw_targets(self.tiny, self.state, rng)
                memories = self.executor.memories(self.state)
            for sweep in range(done, min(done + at_once, sweeps)):
                self.executor.sweep(self.state, memories, self.seed, 0, sweep)
                z.append(self.state.z.copy())
                values.append(_flat(names, self.state.values))
            done += len(z)
            if z_moves:
                visits += np.bincount(self._numbers(np.stack(z)), minlength=len(visits))
            quarters.visit(np.stack(values))
        return LongRun(visits, done, int((wanted & (visits == 0)).sum()), quarters.stuck())

    def _updated(self) -> list[str]:
        """Return the names of the continuous variables that the schedule updates."""
        model = self.tiny.model
        updated = {
            name
            for step in steps(self.tiny.bound.plan.schedule)
            for name in variables_of(step.variable, step.kernel.updates, model)
        }
        return [name for name in self.state.values if name in updated]

    def _labels(self, names: list[str]) -> list[str]:
        """Return names of the elements of variables."""
        held = self.state.values
        return [_element(name, index) for name in names for index in np.ndindex(held[name].shape)]

    def _numbers(self, z: NDArray[Any]) -> IntArray:
        """Return the numbers of states, shape (n,), of assignments of shape (n, N)."""
        tokens, topics = self.state.tokens, self.state.sizes.topics
        drawn = (z[:, tokens.first_tokens] if tokens.whole else z).astype(np.int64)
        return np.asarray(drawn @ topics ** np.arange(drawn.shape[1])[::-1])

    def exact_draws(self, size: int, rng: np.random.Generator) -> Iterator[int]:
        """Set the state to exact draws of the posterior, one after another; yield their numbers."""
        return self.shared.replay(str(size), self.state, rng, self._fresh_draws(size, rng))

    def _fresh_draws(self, size: int, rng: np.random.Generator) -> Iterator[int]:
        starts = rng.choice(len(self.exact.probability), size=size, p=self.exact.probability)
        yield from self._set_each(starts, rng)

    def _set_each(self, starts: IntArray, rng: np.random.Generator) -> Iterator[int]:
        """Set the state to assignments by their numbers, one after another, and all else to exact draws given them."""
        state, exact, sizes = self.state, self.exact, self.state.sizes
        nodes = draw_rows(exact.alpha_given[starts], rng)
        alpha = exact.alpha_nodes[nodes]
        beta = exact.beta_nodes[draw_rows(exact.beta_given[starts], rng)]
        one_hot = np.eye(sizes.topics)[exact.states]
        n_dk = np.stack([one_hot[:, state.tokens.docs == d].sum(axis=1) for d in range(sizes.docs)], axis=1)
        n_kw = np.stack([one_hot[:, state.tokens.words == w].sum(axis=1) for w in range(sizes.words)], axis=2)
        drawn_dk = state.tokens.drawn_counts(n_dk)
        theta = draw_dirichlet(drawn_dk[starts] + (alpha if alpha.ndim == 3 else alpha[:, None]), rng)
        phi = draw_dirichlet(n_kw[starts] + beta[:, None], rng)
        for i, start in enumerate(starts):
            state.set_z(exact.states[start])
            values: dict[str, NDArray[Any]] = {"theta": theta[i], "phi": phi[i].T}
            values |= {"beta": _fit(beta[i], state, "beta")}
            values |= {role: value[nodes[i]] for role, value in self.alpha_nodes.items()} or {
                "alpha": _fit(alpha[i], state, "alpha")
            }
            if self.topics is not None:
                values |= self.topics.draw(state.counts_by_word, rng)
            of_responses = {} if self.response is None else self.response.draw(n_dk[start], rng)
            if self.given_phi is not None:
                values["phi"] = self.given_phi
            self.tiny.set_values(state, values)
            for response, of_one in of_responses.items():
                self.tiny.set_response(state, response, of_one)
            if self.draws_labels:
                values = draw_parents(self.tiny, state, {**values, "z": state.z}, rng)
                self.tiny.set_values(state, values)
                set_labels(self.tiny, state, values, rng)
            yield i

    def _counts(self, cells: IntArray, numbers: IntArray) -> tuple[NDArray[Any], NDArray[Any]]:
        size = int(cells.max()) + 1
        return np.bincount(cells[numbers], minlength=size), np.bincount(cells, self.exact.probability, minlength=size)


class _Quarters:
    """Which quarters of their distributions some elements have visited, given exact draws of shape (n, elements)."""

    def __init__(self, labels: list[str], draws: FloatArray) -> None:
        self.labels = labels
        self.edges = np.quantile(draws, [0.25, 0.5, 0.75], axis=0)
        # If many draws are equal, as with probabilities that underflow to zero, a quarter may be empty.
        self.missed = self._visits(draws) >= 0.1 * len(draws)

    def visit(self, values: FloatArray) -> None:
        """Record where the elements are, shape (n, elements)."""
        self.missed &= self._visits(values) == 0

    def stuck(self) -> tuple[str, ...]:
        """Return the elements that missed a quarter."""
        return tuple(label for label, missed in zip(self.labels, self.missed, strict=True) if missed.any())

    def _visits(self, values: FloatArray) -> IntArray:
        """Count the visits to each quarter, shape (elements, 4)."""
        cells = (values > self.edges[:, None]).sum(axis=0)
        return np.stack([(cells == quarter).sum(axis=0) for quarter in range(4)], axis=1)


def _flat(names: list[str], arrays: Mapping[str, NDArray[Any]]) -> FloatArray:
    return np.concatenate([np.zeros(0), *(arrays[name].ravel() for name in names)])


def _element(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _fit(vector: FloatArray, state: ChainState, role: str) -> FloatArray:
    """Return the value of a concentration's variable, a single number if it is shared."""
    name = state.concentrations[role]
    shared = isinstance(name, str) and state.arrays[name].ndim == 0
    return vector[0] if shared else vector


def _features(exact: ExactPosterior, state: ChainState) -> dict[str, IntArray]:
    """Return coarser and coarser cells of the states: coarse ones show small errors that fine ones hide."""
    states, docs, words = exact.states, state.tokens.docs, state.tokens.words
    topics = range(state.sizes.topics)

    def cells(columns: list[NDArray[Any]]) -> IntArray:
        _, number = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        return np.asarray(number, dtype=np.int64).reshape(-1)

    features = {"z": np.arange(len(states))}
    for d in range(state.sizes.docs):
        if (docs == d).any():
            features[f"n_dk[{d}]"] = cells([(states[:, docs == d] == k).sum(axis=1) for k in topics])
    for w in np.unique(words):
        features[f"n_wk[{w}]"] = cells([(states[:, words == w] == k).sum(axis=1) for k in topics])
    features["n_k"] = cells([(states == k).sum(axis=1) for k in topics])
    pairs = [(states[:, i] == states[:, j]) for i, j in itertools.combinations(range(states.shape[1]), 2)]
    features["tokens together"] = cells([np.sum(pairs, axis=0)])
    return features
