"""Planted bugs of the kernels of numbers that have priors, in the form of the table in `test_planted_bugs.py`."""

import math

import numpy as np
from planted_supervised import Responses
from scipy.special import gammaln

import ppl_topics as pt
from ppl_topics.models.augmentation import simulate_polya_gamma

INVERSE_GAMMA = {"block": "inverse_gamma", "shape": 2.0, "rate": 1.0}
GAMMA = {"block": "gamma", "shape": 2.0, "rate": 1.0}


def sum_and_number(binding, state, bug):
    """The sum of squares of the slopes, and how many there are, with the error asked for."""
    eta = state.arrays[binding.names["eta"]]
    slopes = eta if bug == "intercepts counted" else eta[:, : state.sizes.slopes]
    number = slopes.shape[1] if bug == "slopes of one response" else slopes.size
    return (slopes**2).sum(), number


def conjugate_variance(bug):
    """Inverse gamma."""

    def build(binding):
        name = binding.names["variance"]
        prior = binding.blocks[name]

        def step(state, memory, key):
            squares, number = sum_and_number(binding, state, bug)
            shape = number if bug == "exponent p for p / 2" else number / 2
            rate = squares if bug == "squares not halved" else squares / 2
            if bug != "prior forgotten":
                shape, rate = shape + prior.shape, rate + prior.rate
            if bug != "does nothing":
                state.arrays[name][...] = rate / key.generator().gamma(shape)

        return pt.KernelFunctions(step)

    return build


def metropolis(role, log_likelihood, bug):
    """Metropolis on the log of a number."""

    def build(binding):
        name = binding.names[role]
        prior = binding.blocks[name]

        def step(state, memory, key):
            value, rng = state.arrays[name], key.generator()
            of_number = log_likelihood(binding, state, bug)

            def log_density(x):
                number = math.exp(x)
                total = of_number(number) + (0 if bug == "Jacobian forgotten" else x)
                return total + (0 if bug == "prior forgotten" else prior.log_prior(number))

            for _ in range(0 if bug == "does nothing" else 4):
                x = math.log(value)
                proposed = x + 1.2 * rng.normal()
                if abs(proposed) < 20 and math.log(rng.random()) < log_density(proposed) - log_density(x):
                    value[...] = math.exp(proposed)

        return pt.KernelFunctions(step)

    return build


def of_variance(binding, state, bug):
    squares, number = sum_and_number(binding, state, bug)
    power = number if bug == "exponent p for p / 2" else number / 2
    return lambda variance: -power * math.log(variance) - squares / 2 / variance


def of_scale(binding, state, bug):
    tau = state.arrays[binding.names["tau"]]
    normaliser = 0 if bug == "normaliser forgotten" else len(tau)
    power = 1 if bug == "tau without its square" else 2
    return lambda scale: -normaliser * math.log(scale) - np.log1p((tau / scale) ** power).sum()


def of_scale_of_slopes(binding, state, bug):
    slopes = np.abs(state.arrays[binding.names["eta"]])
    if bug != "intercepts counted":
        slopes = slopes[:, : state.sizes.slopes]
    number = 0 if bug == "normaliser forgotten" else slopes.size
    total = slopes.sum() / (2 if bug == "slopes halved" else 1)
    return lambda scale: -number * math.log(scale) - total / scale


def of_dispersion(binding, state, bug):
    given = Responses(binding, state)
    known = ~np.isnan(given.targets)
    if bug == "only the first response":
        known[:, 1:] = False
    y, s = given.targets[known], given.scores[known]
    odds = 0 if bug == "exponent of the odds forgotten" else np.logaddexp(0, s).sum()
    normaliser = 0 if bug == "normaliser forgotten" else 1
    return lambda r: (gammaln(y + r) - normaliser * gammaln(r)).sum() - r * odds


def of_rate(binding, state, bug):
    sigma2 = state.arrays[binding.names["augmentation"]]
    number = 1 if bug == "shape of one response" else sigma2.size
    power = number * (1.0 if bug == "shape taken for 1" else binding.response.shape)
    of = sigma2 if bug == "variance for precision" else 1 / sigma2
    return lambda rate: power * math.log(rate) - rate * of.sum()


def of_sigma(binding, state, bug):
    """Of asymmetric Laplace errors and, given their weights, of Student errors."""
    given = Responses(binding, state)
    known = ~np.isnan(given.targets)
    if bug == "only the first response":
        known[:, 1:] = False
    errors = (given.targets - given.scores)[known]
    number = 0 if bug == "normaliser forgotten" else errors.size
    if given.response.kind == "quantile":
        q = 0.5 if bug == "median for quantile" else given.response.quantile
        total = np.maximum(q * errors, (q - 1) * errors).sum()
        return lambda sigma: -number * math.log(sigma) - total / sigma
    weights = np.ones(errors.size) if bug == "weights forgotten" else given.augmentation[known]
    total = (weights * errors**2).sum()
    return lambda sigma: (
        -number * math.log(sigma) - total / (2 * (sigma if bug == "sigma for its square" else sigma**2))
    )


def student_weights(bug):
    """Gamma variates."""

    def build(binding):
        def step(state, memory, key):
            given = Responses(binding, state)
            df, sigma = given.response.df, given.response.at(state.arrays).sigma
            known = ~np.isnan(given.targets)
            scores = np.roll(given.scores, 1, axis=0) if bug == "scores of the document before" else given.scores
            errors = np.where(known, given.targets - scores, 0)
            ratio = errors / (1 if bug == "sigma forgotten" else sigma)
            shape = df / 2 if bug == "shape of the prior" else (df + 1) / 2
            rate = (df + (abs(ratio) if bug == "error not squared" else ratio**2)) / 2
            rate = 1 / rate if bug == "scale for rate" else rate
            if bug != "does nothing":
                given.augmentation[...] = np.where(known, key.generator().gamma(shape, size=rate.shape) / rate, 1)

        return pt.KernelFunctions(step)

    return build


def error_variances(bug):
    """Inverse gamma given the rate."""

    def build(binding):
        def step(state, memory, key):
            given = Responses(binding, state)
            rate = 1.0 if bug == "rate taken for fixed" else state.arrays[binding.names["rate"]]
            number, squares = given.response.errors(given.targets, given.scores)
            shapes = given.response.shape + number / 2
            given.augmentation[...] = (rate + squares / 2) / key.generator().gamma(shapes)

        return pt.KernelFunctions(step)

    return build


def coefficients(bug):
    """Jointly from their normal distribution given the variance."""

    def build(binding):
        names, sizes = binding.names, binding.sizes

        def step(state, memory, key):
            given, rng = Responses(binding, state), key.generator()
            b, omega = given.potential
            number = state.arrays[names["variance"]]
            precision = np.full(sizes.coefficients, binding.blocks[names["eta"]].intercept_variance ** -1.0)
            precision[: sizes.slopes] = 1.0 if bug == "variance taken for fixed" else 1 / number
            if bug == "variance for precision":
                precision[: sizes.slopes] = number
            for c in range(sizes.responses):
                inverse = np.diag(precision) + (given.features * omega[:, c : c + 1]).T @ given.features
                root = np.linalg.cholesky(inverse)
                mean = np.linalg.solve(root, given.features.T @ b[:, c])
                given.eta[c] = np.linalg.solve(root.T, mean + rng.normal(size=len(mean)))

        return pt.KernelFunctions(step)

    return build


def augmentation(bug):
    """Polya-Gamma variates given the dispersion."""

    def build(binding):
        def step(state, memory, key):
            given = Responses(binding, state)
            known = ~np.isnan(given.targets)
            r = 1.0 if bug == "dispersion taken for fixed" else state.arrays[binding.names["dispersion"]]
            shape = np.where(known, np.nan_to_num(given.targets) + r, 0.0)
            given.augmentation[...] = simulate_polya_gamma(shape, given.scores, key.generator())

        return pt.KernelFunctions(step)

    return build


def model(base, eta=None, y=None):
    blocks = {"eta": eta or {}, "y": {"intercept": True, **(y or {})}}
    return {"extends": base, "name": f"{base}_with_a_prior", "blocks": blocks}


NORMAL = {"updates": "variance", "reads": "eta", "handles": ("inverse_gamma", "normal")}
SHRUNK = {"updates": "scale", "reads": ("eta", "scales"), "handles": ("positive", "horseshoe")}
SLOPES = {
    "updates": "scale",
    "integrates_out": "lambda",
    "reads": "eta",
    "handles": ("positive", "laplace"),
}
COUNTS = {
    "updates": "dispersion",
    "integrates_out": "augmentation",
    "reads": ("z", "eta"),
    "handles": ("positive", "negative_binomial"),
}
ETA = {
    "updates": "eta",
    "reads": ("z", "augmentation"),
    "handles": ("quadratic_response", "conditional_normal"),
    "full_conditional": True,
}
OMEGA = {
    "updates": "augmentation",
    "reads": ("z", "eta", "dispersion"),
    "handles": "negative_binomial",
    "full_conditional": True,
}
ERRORS = {"updates": "rate", "reads": ("z", "eta", "augmentation"), "handles": ("positive", "gaussian")}
SIGMA2 = {
    "updates": "augmentation",
    "reads": ("z", "eta", "rate"),
    "handles": "gaussian",
    "full_conditional": True,
}
WEIGHTS = {
    "updates": "augmentation",
    "reads": ("z", "eta", "sigma"),
    "handles": "student_t",
    "full_conditional": True,
}
VARIANCE_BUGS = ["exponent p for p / 2", "slopes of one response", "intercepts counted", "prior forgotten"]
VARIANCE = model("slda_gaussian", {"variance": INVERSE_GAMMA})
SCALE = model("slda_gaussian", {"block": "horseshoe", "scale": GAMMA})
LAPLACE = model("slda_gaussian", {"block": "laplace", "scale": GAMMA})
DISPERSION = model("slda_counts", y={"dispersion": GAMMA})
RATE = model("slda_gaussian", y={"rate": GAMMA})


def errors(kind, sigma):
    """A model of real targets with other errors."""
    eta = {"block": "normal", "per": "response"}
    y = {"block": kind, "coefficients": "eta", "features": ["z"], "intercept": True, "sigma": sigma}
    return {"extends": "lda", "name": f"{kind}_with_a_prior", "blocks": {"eta": eta, "y": y}}


QUANTILE, STUDENT = errors("quantile", GAMMA), errors("student_t", GAMMA)

PLANTED_NUMBERS = {
    "inverse_gamma_variance": (VARIANCE, {**NORMAL, "full_conditional": True}, conjugate_variance, {
        "quick": [],
        "slow": [*VARIANCE_BUGS, "squares not halved"],
    }),
    "slice_variance": (VARIANCE, NORMAL, lambda bug: metropolis("variance", of_variance, bug), {
        "quick": [],
        "slow": [*VARIANCE_BUGS, "Jacobian forgotten", "does nothing"],
    }),
    "slice_scale_of_tau": (SCALE, SHRUNK, lambda bug: metropolis("scale", of_scale, bug), {
        "quick": [],
        "slow": ["Jacobian forgotten", "normaliser forgotten", "prior forgotten", "tau without its square",
                 "does nothing"],
    }),
    "slice_scale_of_slopes": (LAPLACE, SLOPES, lambda bug: metropolis("scale", of_scale_of_slopes, bug), {
        "quick": [],
        "slow": ["Jacobian forgotten", "normaliser forgotten", "prior forgotten", "slopes halved", "intercepts counted",
                 "does nothing"],
    }),
    "slice_dispersion": (DISPERSION, COUNTS, lambda bug: metropolis("dispersion", of_dispersion, bug), {
        "quick": [],
        "slow": ["Jacobian forgotten", "normaliser forgotten", "prior forgotten", "exponent of the odds forgotten",
                 "only the first response", "does nothing"],
    }),
    "slice_rate_of_sigma2": (RATE, ERRORS, lambda bug: metropolis("rate", of_rate, bug), {
        "quick": [],
        "slow": ["Jacobian forgotten", "prior forgotten", "shape taken for 1", "shape of one response",
                 "variance for precision", "does nothing"],
    }),
    "slice_sigma_of_quantile": (
        QUANTILE,
        {
            "updates": "sigma",
            "integrates_out": "augmentation",
            "reads": ("z", "eta"),
            "handles": ("positive", "quantile"),
        },
        lambda bug: metropolis("sigma", of_sigma, bug),
        {
            "quick": [],
            "slow": ["Jacobian forgotten", "normaliser forgotten", "prior forgotten", "median for quantile",
                     "does nothing"],
        },
    ),
    "slice_sigma_of_student_t": (
        STUDENT,
        {"updates": "sigma", "reads": ("z", "eta", "augmentation"), "handles": ("positive", "student_t")},
        lambda bug: metropolis("sigma", of_sigma, bug),
        {
            "quick": [],
            "slow": ["Jacobian forgotten", "normaliser forgotten", "prior forgotten", "weights forgotten",
                     "sigma for its square", "does nothing"],
        },
    ),
    "gamma_weights": (STUDENT, WEIGHTS, student_weights, {
        "quick": [],
        "slow": ["sigma forgotten", "shape of the prior", "error not squared", "scale for rate",
                 "scores of the document before", "does nothing"],
    }),
    "inverse_gamma, with a rate that has a prior": (RATE, SIGMA2, error_variances, {
        "quick": [],
        "slow": ["rate taken for fixed"],
    }),
    "joint_normal, with a variance that has a prior": (VARIANCE, ETA, coefficients, {
        "quick": [],
        "slow": ["variance taken for fixed", "variance for precision"],
    }),
    "polya_gamma, with a dispersion that has a prior": (DISPERSION, OMEGA, augmentation, {
        "quick": [],
        "slow": ["dispersion taken for fixed"],
    }),
}  # fmt: skip
