"""Planted kernels whose draws may be right, but not by their declaration: what `verify` refuses, by which part and why.

Each is a right kernel with one thing changed; the default schedule hides most of them.
"""

import numpy as np
from planted_lda import GIVEN, HELD, OF_Z, OUT, ROWS, partially, rows

import ppl_topics as pt
from ppl_topics.samplers.assignments.collapsed_gibbs import collapsed_gibbs
from ppl_topics.samplers.assignments.partially_collapsed import partially_collapsed
from ppl_topics.samplers.augmentation.inverse_gamma import inverse_gamma
from ppl_topics.samplers.topics.dirichlet_rows import dirichlet_rows


def as_it_is(build):
    """The kernel, to be registered with another declaration."""
    return lambda binding: build(binding)


def after(build, then):
    """The kernel with something done after each step: ``then(state, memory, key, binding)``."""

    def planted(binding):
        functions = build(binding)

        def step(state, memory, key):
            functions.step(state, memory, key)
            then(state, memory, key, binding)

        return functions._replace(step=step)

    return planted


def with_concentration(build, role, factor):
    """The kernel given a fixed concentration times a factor."""

    def planted(binding):
        functions = build(binding)

        def step(state, memory, key):
            held = state.concentrations
            state.concentrations = {**held, role: np.asarray(held[role]) * factor}
            functions.step(state, memory, key)
            state.concentrations = held

        return functions._replace(step=step)

    return planted


class GlobalNumbers:
    """A key whose generator is started from NumPy's global random state."""

    def generator(self, unit=0):
        return np.random.default_rng(np.random.randint(2**31))  # noqa: NPY002


def on_global_numbers(binding):
    functions = partially("")(binding)
    return functions._replace(step=lambda state, memory, key: functions.step(state, memory, GlobalNumbers()))


def with_its_own_counter(binding):
    """Remembers outside its memory how often it ran."""
    functions, runs = partially("")(binding), []

    def step(state, memory, key):
        runs.append(key)
        functions.step(state, memory, key._replace(sweep=len(runs)))

    return functions._replace(step=step)


def metropolis_on_phi(binding):
    """Keeps the old phi half of the time."""
    functions = rows("")(binding)

    def step(state, memory, key):
        old = state.arrays["phi"].copy()
        functions.step(state, memory, key)
        if key.generator(1).random() < 0.5:
            state.arrays["phi"][...] = old

    return functions._replace(step=step)


def phi_of_the_start(binding):
    """Takes the phi that it is to integrate out once, when it is started."""
    functions = partially_collapsed(binding)

    def step(state, memory, key):
        held, state.arrays["phi"] = state.arrays["phi"], memory
        functions.step(state, None, key)
        state.arrays["phi"] = held

    return pt.KernelFunctions(step, lambda state: state.arrays["phi"].copy())


def beta_read(state, memory, key, binding):
    """Moves a token by the value of beta."""
    state.set_z((state.z + int(100 * state.beta[0])) % binding.sizes.topics)


def words_written(state, memory, key, binding):
    words = state.tokens.words
    words.base.flags.writeable = words.flags.writeable = True
    words[0] = 1


def alpha_written(state, memory, key, binding):
    state.concentrations["alpha"][0] *= 1.1


def theta_written(state, memory, key, binding):
    state.arrays["theta"][0] = state.arrays["theta"][0][::-1].copy()


def counts_forgotten(state, memory, key, binding):
    state.z[0] = (state.z[0] + 1) % binding.sizes.topics


def topic_out_of_range(state, memory, key, binding):
    state.z[0] = binding.sizes.topics


def note_left(state, memory, key, binding):
    state.note = key.sweep


def rows_of_documents_here(binding):
    """Counts the words of the documents that it sees, which are not all."""
    functions = dirichlet_rows(binding)

    def step(state, memory, key):
        whole = state.n_wk.copy()
        state.n_wk[:] = 0
        np.add.at(state.n_wk, (state.tokens.words, state.z), 1)
        functions.step(state, memory, key)
        state.n_wk[:] = whole

    return functions._replace(step=step)


def summed_where_they_are(binding):
    """Adds up the errors of each member's documents first, which rounds otherwise than in groups."""
    functions = inverse_gamma(binding)
    return functions._replace(statistic=lambda state: [functions.combine(functions.statistic(state))])


COLLAPSED_GIVEN_PHI = {**OF_Z, "integrates_out": ("theta",), "reads": ("alpha", "beta", "phi")}
BY_DOC, SAME_EVERYWHERE = {"distributes": "doc"}, {"distributes": "central"}
VARIANCE = {
    "updates": "augmentation", "reads": ("z", "eta"), "handles": "gaussian", "full_conditional": True,
    "distributes": "statistic",
}  # fmt: skip
AGAIN = "drew other values when it was run again from the same state with the same key"

PLANTED_DECLARATIONS = {
    "collapsed Gibbs that says it reads phi": (
        "lda", COLLAPSED_GIVEN_PHI, as_it_is(collapsed_gibbs), "alone", "distribution that it declares: p = .*phi z"),
    "phi read, declared integrated out": (
        "lda", OUT, as_it_is(partially_collapsed), "declaration", "reads phi, which it declares integrated out"),
    "phi of its start read, declared integrated out": (
        "lda", OUT, phi_of_the_start, "declaration", "reads phi, which it declares integrated out"),
    "beta read, not declared": (
        "lda_learned", GIVEN, after(partially_collapsed, beta_read), "declaration",
        "reads beta, which it does not declare to read"),
    "old phi read by a full conditional": (
        "lda", ROWS, metropolis_on_phi, "declaration",
        "reads the old value of phi, which it declares to draw from its full conditional"),
    "global random numbers": ("lda", GIVEN, on_global_numbers, "declaration", AGAIN),
    "memory of its own": ("lda", GIVEN, with_its_own_counter, "declaration", AGAIN),
    "theta written": (
        HELD, GIVEN, after(partially_collapsed, theta_written), "declaration",
        "changed theta, but declares that it updates z"),
    "words written": (
        "lda", GIVEN, after(partially_collapsed, words_written), "declaration", "changed tokens.words"),
    "fixed alpha written": (
        "lda", ROWS, after(dirichlet_rows, alpha_written), "declaration", "changed concentrations.alpha"),
    "a note left in the state": (
        "lda", GIVEN, after(partially_collapsed, note_left), "declaration", "changed the state's attributes"),
    "counts forgotten": (
        "lda", GIVEN, after(partially_collapsed, counts_forgotten), "declaration", "counts n_wk are not those of z"),
    "topic out of range": (
        "lda", GIVEN, after(partially_collapsed, topic_out_of_range), "declaration", "wrote topic 3 into z"),
    "alpha 10% too large given phi": (
        "lda", GIVEN, with_concentration(partially_collapsed, "alpha", 1.1), "alone", "score of alpha"),
    "alpha 10% too large": (
        "lda", OUT, with_concentration(collapsed_gibbs, "alpha", 1.1), "alone", "score of alpha"),
    "beta 10% too large in the draw of phi": (
        "lda", ROWS, with_concentration(dirichlet_rows, "beta", 1.1), "alone", "log phi"),
    "random numbers by place, not by document": (
        "lda", GIVEN | BY_DOC, partially(""), "declaration",
        "declares distributes='doc', but draws other values of z with documents in two places"),
    "collapsed Gibbs on counts of its own": (
        "lda", OUT | BY_DOC, as_it_is(collapsed_gibbs), "declaration",
        "fails with documents in two places: .*counted twice"),
    "words of the documents here": (
        "lda", ROWS | SAME_EVERYWHERE, rows_of_documents_here, "declaration", "draws other values of phi with"),
    "errors added up where they are": (
        "slda_gaussian", VARIANCE, summed_where_they_are, "declaration", "draws other values of .* with"),
}  # fmt: skip
"""Model, declaration, builder, the part of `verify` that refuses it, and the reason that it gives."""
