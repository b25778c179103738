"""Models that responses, priors and kernels are tested in, found in the registry: a new part is tested unasked."""

import ppl_topics as pt
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.registry import blocks
from ppl_topics.core.response import Response
from ppl_topics.schedule.plan import make_plan

SHIPPED = {
    "hinge": "medlda",
    "epsilon_insensitive": "medlda_regression",
    "logistic": "slda_logistic",
    "gaussian": "slda_gaussian",
    "negative_binomial": "slda_counts",
}
"""The shipped model of a response, where there is one with plain normal coefficients."""

NEEDED = {"ordinal_probit": {"cutpoints": [0.8, 1.9]}}
"""What a response cannot do without."""


def ours(part):
    """Whether a block or a kernel is the project's, not a test's."""
    return getattr(part, "build", part).__module__.startswith("ppl_topics.")


def kinds_of(base):
    """The registered blocks of a base class by name."""
    return {kind: block for kind, block in blocks().items() if issubclass(block, base) and ours(block)}


def exact_kernels():
    """The exact kernels of the project by name."""
    return {name: kernel for name, kernel in pt.kernels().items() if kernel.exact and ours(kernel)}


def model_of(response):
    """A model with this response and normal coefficients."""
    eta = {"block": "normal", "per": "response"}
    y = {"block": response, "coefficients": "eta", "features": ["z"], "observed": "labels"} | NEEDED.get(response, {})
    return SHIPPED.get(response) or {"extends": "lda", "name": response, "blocks": {"eta": eta, "y": y}}


def supervised_models():
    """A model of each registered response, by its name."""
    models = [model_of(kind) for kind in kinds_of(Response)]
    return {model if isinstance(model, str) else model["name"]: model for model in models}


def augmentations():
    """The augmentation of each supervised model and the kernel that draws it, by the model's name."""
    names = zip(supervised_models(), kinds_of(Response).items(), strict=True)
    return {
        name: (block.augmentation, kernel.name)
        for name, (kind, block) in names
        for kernel in exact_kernels().values()
        if "augmentation" in kernel.updates and kind in kernel.handles
    }


def scale_kernels():
    """Sets of kernels that draw all scales of a prior of coefficients, each kernel in one set: (prior, kernels)."""
    sets = []
    for prior, block in kinds_of(CoefficientPrior).items():
        scales = [role for role, _ in block.model_construct().auxiliaries().values()]
        found = {
            role: sorted(n for n, k in exact_kernels().items() if role in k.updates and prior in k.handles)
            for role in scales
        }
        for number in range(max(map(len, found.values()), default=0)):
            sets.append((prior, {role: names[min(number, len(names) - 1)] for role, names in found.items()}))
    return sets


def admits(model, schedule):
    """Whether a model admits a schedule."""
    try:
        make_plan(pt.load_spec(model).with_schedule(schedule, "test"))
    except pt.ScheduleError:
        return False
    return True
