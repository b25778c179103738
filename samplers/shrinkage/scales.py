"""Scales of shrinkage priors drawn given the coefficients, in parallel over responses.

A kernel's file holds the draw of one scale given the rest, ``draw_scale(stream, old, c, j, given)``, and the
declaration. Local scales have one for each slope j of response c; global ones have j = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import signed, specialised, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.prior import LARGEST_SCALE, SMALLEST_SCALE
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["LARGEST", "SMALLEST", "Horseshoe", "compile_scales", "horseshoe_kernel", "scales_kernel", "sum_of_squares"]


SMALLEST, LARGEST = LARGEST_SCALE**-2.0, SMALLEST_SCALE**-2.0
"""Bounds of g = 1 / scale^2."""

# What the templates call: `specialised` puts compiled functions in their places.
draw_scale: Any = None
draw_response: Any = None


class Horseshoe(NamedTuple):
    """A horseshoe, regularised or not: coefficients, scales, and the constants of the scales' priors.

    Attributes
    ----------
    eta : ndarray of float64, shape (C, F)
        Slopes, and then perhaps an intercept, which has no scale.
    tau : ndarray of float64, shape (C,)
    lambdas : ndarray of float64, shape (C, slopes)
    slab : ndarray of float64, shape (C,)
        Infinite where the horseshoe is not regularised.
    scale : float
        Of the half-Cauchy prior of tau.
    slab_scale, slab_df : float
        slab^2 ~ InvGamma(slab_df / 2, slab_df slab_scale^2 / 2) a priori.
    """

    eta: FloatArray
    tau: FloatArray
    lambdas: FloatArray
    slab: FloatArray
    scale: float = 1.0
    slab_scale: float = 1.0
    slab_df: float = 1.0


def compile_scales(draw_scale: Callable[..., float], label: str) -> Callable[..., None]:
    """Compile the update of all scales, ``(given, key, scales)``, from the draw of one; scales are (C, any number)."""
    response = specialised(response_template, label, cached=True, draw_scale=draw_scale)
    return specialised(scales_template, label, cached=True, in_parallel=True, draw_response=response)


def scales_template(given: Any, key: Key, scales: FloatArray) -> None:
    """Update all scales, in parallel over responses."""
    for c in numba.prange(scales.shape[0]):
        draw_response(signed(c), given, key, scales)


def response_template(c: int, given: Any, key: Key, scales: FloatArray) -> None:
    """Update the scales of one response, from its own stream."""
    stream = new_stream()
    start(stream, key, c)
    for j in range(scales.shape[1]):
        scales[c, j] = draw_scale(stream, scales[c, j], c, j, given)


@tight
def sum_of_squares(prior: Horseshoe, c: int) -> float:
    """Return sum_j (eta_cj / lambda_cj)^2 over the slopes of response c."""
    eta, lambdas = prior.eta, prior.lambdas
    total = 0.0
    for j in range(lambdas.shape[1]):
        total += (eta[c, j] / lambdas[c, j]) ** 2
    return total


def scales_kernel(name: str, given: Callable[[ChainState], Any], draw_scales: Callable[..., None]) -> KernelFunctions:
    """Return the functions of a kernel that updates the scales of a name given a tuple of all that they depend on."""

    def step(state: ChainState, memory: None, key: Key) -> None:
        scales = state.arrays[name]
        draw_scales(given(state), key, scales.reshape(len(scales), -1))

    return KernelFunctions(step)


def horseshoe_kernel(binding: Binding, role: str, draw_scales: Callable[..., None]) -> KernelFunctions:
    """Return the functions of a kernel that updates one kind of the scales of a horseshoe: tau, lambda or slab.

    Those of the coefficients of concentrations are ``prevalence_tau`` and ``prevalence_lambda``; none is regularised.
    """
    names, sizes = binding.names, binding.sizes
    of_topics = role.startswith("prevalence_")
    prefix, rows = ("prevalence_", sizes.topics) if of_topics else ("", sizes.responses)
    eta, tau, lambdas = names["alpha" if of_topics else "eta"], names[f"{prefix}tau"], names[f"{prefix}lambda"]
    block, slabs = binding.blocks[eta], None if of_topics else names.get("slab")
    infinite = np.full(rows, np.inf)

    def given(state: ChainState) -> Horseshoe:
        arrays, known = state.arrays, block.at(state.arrays)
        constants = [float(getattr(known, name, 1.0)) for name in ("scale", "slab_scale", "slab_df")]
        slab = infinite if slabs is None else arrays[slabs]
        return Horseshoe(arrays[eta], arrays[tau], arrays[lambdas], slab, *constants)

    return scales_kernel(names[role], given, draw_scales)
