"""The scales of a horseshoe of the coefficients of concentrations, as those of responses are drawn.

References
----------
E. Makalic, D. F. Schmidt (2016). A simple sampler for the horseshoe estimator. IEEE Signal Processing Letters 23(1).
"""

from __future__ import annotations

from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.registry import kernel
from ppl_topics.samplers.shrinkage import inverse_gamma_lambda, inverse_gamma_tau
from ppl_topics.samplers.shrinkage.scales import horseshoe_kernel

__all__ = ["inverse_gamma_prevalence_lambda", "inverse_gamma_prevalence_tau"]


@kernel(
    "inverse_gamma_prevalence_lambda",
    updates="prevalence_lambda",
    reads=("alpha", "prevalence_tau"),
    handles="horseshoe",
    exact=True,
    automatic=True,
    parallel_over="topic",
    distributes="central",
    cost="1500 + 350 * K",
    tasks="K",
    reference="Makalic, Schmidt 2016",
)
def inverse_gamma_prevalence_lambda(binding: Binding) -> KernelFunctions:
    """Draw an inverse-gamma variable beside each local scale of a topic's horseshoe, and the scale given it."""
    return horseshoe_kernel(binding, "prevalence_lambda", inverse_gamma_lambda.draw_scales)


@kernel(
    "inverse_gamma_prevalence_tau",
    updates="prevalence_tau",
    reads=("alpha", "prevalence_lambda"),
    handles="horseshoe",
    exact=True,
    automatic=True,
    parallel_over="topic",
    distributes="central",
    cost="1500 + 160 * K",
    tasks="K",
    reference="Makalic, Schmidt 2016",
)
def inverse_gamma_prevalence_tau(binding: Binding) -> KernelFunctions:
    """Draw an inverse-gamma variable beside the global scale of each topic's horseshoe, and the scale given it."""
    return horseshoe_kernel(binding, "prevalence_tau", inverse_gamma_tau.draw_scales)
