"""Planted bugs of the kernels of shrinkage priors, in the form of the table in `test_planted_bugs.py`.

Among them are the misprints of Magnusson, Jonsson, Villani 2020: the bound of the slice, the rate of the gamma
distribution, and the precision of the coefficients. Scales are cut at 1e-6 and 1e6, so that wrong chains stay within
what the other kernels can draw given them.
"""

import math

import numpy as np
from planted_supervised import Responses
from scipy.special import gammainc, gammaincinv

import ppl_topics as pt


class Scales:
    """The coefficients, of responses or of concentrations, and their scales, in plain NumPy."""

    def __init__(self, binding, state):
        names = binding.names
        of, prefix = ("alpha", "prevalence_") if "prevalence_tau" in names else ("eta", "")
        self.prior = binding.blocks[names[of]]
        self.eta = state.arrays[names[of]]
        self.tau, self.lambdas = state.arrays[names[f"{prefix}tau"]], state.arrays[names[f"{prefix}lambda"]]
        self.slab = state.arrays[names["slab"]] if "slab" in names else np.full(len(self.tau), np.inf)
        self.slopes = self.eta[:, : self.lambdas.shape[1]]


def truncated_gamma(shape, rate, bound, uniform):
    return gammaincinv(shape, uniform * gammainc(shape, rate * bound)) / rate


def local_scales(bug):
    """Slice sampling of g = 1 / lambda^2, with the slab's factor in a bound of its own."""

    def build(binding):
        def step(state, memory, key):
            given, rng = Scales(binding, state), key.generator()
            if bug == "does nothing":
                return
            tau = np.roll(given.tau, 1) if bug == "tau of the response before" else given.tau
            square = given.slopes**2 if bug == "eta for its share of tau" else (given.slopes / tau[:, None]) ** 2
            g = given.lambdas**-2.0
            level = 1 / (1 + np.sqrt(g)) if bug == "slice of 1 / lambda" else 1 / (1 + g)
            u = level * rng.random(g.shape)
            bound = (1 - u) / u
            ratio = (given.tau / given.slab)[:, None] ** 2
            if bug == "slab forgotten":
                ratio = 0 * ratio
            excess = (1 + ratio / g) * rng.random(g.shape) ** 2 - 1
            with np.errstate(divide="ignore", invalid="ignore"):
                bound = np.where(excess > 0, np.minimum(bound, ratio / excess), bound)
            rate = square if bug == "rate not halved" else square / 2
            # exp(-rate bound) is 1 to the last bit where the distribution is uniform.
            mass = -np.expm1(-rate * bound)
            drawn = np.where(mass < 1e-12, rng.random(g.shape) * bound, -np.log1p(-rng.random(g.shape) * mass) / rate)
            drawn = 1 / np.sqrt(np.clip(drawn, 1e-12, 1e12))
            if bug == "the last scale stays":
                drawn[:, -1] = given.lambdas[:, -1]
            given.lambdas[...] = drawn

        return pt.KernelFunctions(step)

    return build


def mixed_local_scales(bug):
    """By an inverse-gamma variable beside each."""

    def build(binding):
        def step(state, memory, key):
            given, rng = Scales(binding, state), key.generator()
            g = given.lambdas**-2.0
            inverse = rng.exponential(size=g.shape) / (g if bug == "prior of nu forgotten" else 1 + g)
            rate = (given.slopes / given.tau[:, None]) ** 2 / 2
            if bug == "eta without its square":
                rate = np.sqrt(rate)
            power = 0.5 if bug == "shape 1/2" else 1.0
            drawn = rng.gamma(power, size=g.shape) / (rate if bug == "nu forgotten" else inverse + rate)
            given.lambdas[...] = 1 / np.sqrt(np.clip(drawn, 1e-12, 1e12))

        return pt.KernelFunctions(step)

    return build


def mixed_scales(bug):
    """Inverse roots of gamma or of inverse Gaussian variates, for Student and Laplace slopes."""

    def build(binding):
        eta, name = binding.names["eta"], binding.names["lambda"]
        prior = binding.blocks[eta]

        def step(state, memory, key):
            lambdas, rng = state.arrays[name], key.generator()
            scale = 1.0 if bug == "scale forgotten" else prior.scale
            ratio = np.abs(state.arrays[eta][:, : lambdas.shape[1]]) / scale
            ratio = np.roll(ratio, 1, axis=1) if bug == "slope before" else ratio
            if prior.kind == "laplace":
                mean = np.minimum(ratio if bug == "mean inverted" else 1 / ratio, 1e8)
                g = rng.wald(mean**2 if bug == "mean squared" else mean, 1.0)
            else:
                shape = prior.df / 2 if bug == "shape of the prior" else (prior.df + 1) / 2
                rate = prior.df + (ratio if bug == "slope not squared" else ratio**2)
                g = rng.gamma(shape, size=ratio.shape) / (rate if bug == "rate not halved" else rate / 2)
            if bug != "does nothing":
                lambdas[...] = 1 / np.sqrt(np.clip(g, 1e-12, 1e12))

        return pt.KernelFunctions(step)

    return build


def rate_and_size(given, bug):
    """What the distribution of 1 / tau^2 given the coefficients is made of, with the error asked for."""
    scaled = given.slopes if bug == "rate without lambda" else given.slopes / given.lambdas
    if bug == "the intercept is shrunk":
        scaled = np.hstack([scaled, given.eta[:, -1:]])
    rate = (scaled**2).sum(axis=1) / 2
    if bug == "rate squared":
        rate = (2 * rate) ** 2 / 2
    return rate, scaled.shape[1]


def global_scales(bug):
    """Slice sampling of g = 1 / tau^2."""

    def build(binding):
        def step(state, memory, key):
            given, rng = Scales(binding, state), key.generator()
            if bug == "does nothing":
                return
            rate, size = rate_and_size(given, bug)
            square = 1.0 if bug == "scale of the prior forgotten" else given.prior.scale**2
            h = square / given.tau**2
            level = 1 / (1 + np.sqrt(h)) if bug == "slice of 1 / tau" else 1 / (1 + h)
            u = level * rng.random(h.shape)
            shape = size / 2 if bug == "shape p / 2" else (size + 1) / 2
            drawn = truncated_gamma(shape, rate / square, (1 - u) / u, rng.random(h.shape))
            if bug == "not truncated":
                drawn = rng.gamma(shape, size=h.shape) / (rate / square)
            given.tau[...] = np.sqrt(square / np.clip(drawn, 1e-12, 1e12))

        return pt.KernelFunctions(step)

    return build


def mixed_global_scales(bug):
    """By an inverse-gamma variable beside each."""

    def build(binding):
        def step(state, memory, key):
            given, rng = Scales(binding, state), key.generator()
            rate, size = rate_and_size(given, bug)
            prior = 1.0 if bug == "scale of the prior forgotten" else given.prior.scale**-2.0
            inverse = rng.exponential(size=len(rate)) / (prior + given.tau**-2.0)
            shape = size / 2 if bug == "shape p / 2" else (size + 1) / 2
            drawn = rng.gamma(shape, size=len(rate)) / (rate if bug == "xi forgotten" else inverse + rate)
            given.tau[...] = 1 / np.sqrt(np.clip(drawn, 1e-12, 1e12))

        return pt.KernelFunctions(step)

    return build


def log_half_cauchy(x, scale):
    """Log density of the logarithm of a scale."""
    return x - math.log1p(math.exp(2 * x) / scale**2)


def metropolis(role, log_prior, bug):
    """Metropolis on the log of the global scale or of the slab of a regularised horseshoe."""

    def build(binding):
        def log_density(x, c, given):
            tau, slab = (math.exp(x), given.slab[c]) if role == "tau" else (given.tau[c], math.exp(x))
            variance = (tau * given.lambdas[c]) ** 2
            if bug != "slab forgotten":
                variance = 1 / (1 / variance + slab**-2.0)
            if bug == "slab for slab^2":
                variance = 1 / ((tau * given.lambdas[c]) ** -2.0 + 1 / slab)
            determinant = 0 if bug == "determinant forgotten" else np.log(variance).sum()
            value = -0.5 * determinant - 0.5 * (given.slopes[c] ** 2 / variance).sum()
            return value + log_prior(x, given.prior, bug)

        def step(state, memory, key):
            given, rng = Scales(binding, state), key.generator()
            values = given.tau if role == "tau" else given.slab
            for c in range(len(values)):
                for _ in range(3):
                    x = math.log(values[c])
                    proposed = x + 1.5 * rng.normal()
                    if math.log(rng.random()) < log_density(proposed, c, given) - log_density(x, c, given):
                        values[c] = math.exp(proposed)

        return pt.KernelFunctions(step)

    return build


def log_prior_of_tau(x, prior, bug):
    return log_half_cauchy(x, 10 * prior.scale if bug == "scale of the prior times 10" else prior.scale)


def log_prior_of_slab(x, prior, bug):
    rate = prior.slab_df * prior.slab_scale**2 / 2
    if bug == "scale of the slab without its square":
        rate = prior.slab_df * prior.slab_scale / 2
    power = -prior.slab_df - 2 if bug == "Jacobian forgotten" else -prior.slab_df
    return power * x - rate * math.exp(-2 * x)


def coefficients(bug):
    """Jointly from their normal distribution given the scales."""

    def build(binding):
        def step(state, memory, key):
            responses, given, rng = Responses(binding, state), Scales(binding, state), key.generator()
            b, omega = responses.potential
            precision = given.prior.precision(state)
            intercepts = precision[:, -1]
            if bug == "tau^2 Lambda for the precision":
                precision = np.hstack([given.tau[:, None] ** 2 * given.lambdas, intercepts[:, None]])
            if bug == "variance for precision":
                precision = 1 / precision
            if bug == "lambda without its square":
                precision[:, :-1] = (given.tau[:, None] ** 2 * given.lambdas) ** -1.0
            if bug == "the intercept is shrunk":
                precision[:, -1] = given.tau**-2.0
            if bug == "the intercept has no variance of its own":
                precision[:, -1] = 1e-4
            for c in range(len(precision)):
                features = responses.features
                inverse = np.diag(precision[c]) + (features * omega[:, c : c + 1]).T @ features
                # In a scale in which the diagonal is one, so that nothing is lost where scales are extreme.
                unit = 1 / np.sqrt(np.diag(inverse))
                root = np.linalg.cholesky(inverse * unit[:, None] * unit)
                mean = np.linalg.solve(root, unit * (features.T @ b[:, c]))
                given.eta[c] = unit * np.linalg.solve(root.T, mean + rng.normal(size=len(mean)))

        return pt.KernelFunctions(step)

    return build


def model(prior):
    return {
        "extends": "slda_gaussian",
        "name": f"gaussian_{prior}",
        "blocks": {"eta": {"block": prior}, "y": {"intercept": True}},
    }


DMR_HORSESHOE = {
    "extends": "dmr",
    "name": "dmr_horseshoe",
    "parameters": {"variance": None},
    "blocks": {"gamma": {"block": "horseshoe", "per": "topic"}},
}
OF_TOPICS = {"updates": "prevalence_lambda", "reads": ("alpha", "prevalence_tau"), "handles": "horseshoe"}
OF_EACH_TOPIC = {"updates": "prevalence_tau", "reads": ("alpha", "prevalence_lambda"), "handles": "horseshoe"}
LAPLACE, STUDENT = model("laplace"), model("student_t_coefficients")
MIXED = {"updates": "lambda", "reads": ("eta", "scale"), "full_conditional": True}
SHRUNK, REGULARISED = model("horseshoe"), model("regularised_horseshoe")
LOCAL = {"updates": "lambda", "reads": ("eta", "tau"), "handles": "horseshoe"}
GLOBAL = {"updates": "tau", "reads": ("eta", "lambda"), "handles": "horseshoe"}
LOCAL_REGULARISED = {"updates": "lambda", "reads": ("eta", "tau", "slab"), "handles": "regularised_horseshoe"}
GLOBAL_REGULARISED = {"updates": "tau", "reads": ("eta", "lambda", "slab"), "handles": "regularised_horseshoe"}
SLAB = {"updates": "slab", "reads": ("eta", "tau", "lambda"), "handles": "regularised_horseshoe"}
ETA = {
    "updates": "eta",
    "reads": ("z", "augmentation", "tau", "lambda", "slab"),
    "handles": ("quadratic_response", "conditional_normal"),
    "full_conditional": True,
}

PLANTED_SHRINKAGE = {
    "slice_lambda": (SHRUNK, LOCAL, local_scales, {
        "quick": [],
        "slow": ["eta for its share of tau", "does nothing", "slice of 1 / lambda", "rate not halved",
                 "tau of the response before", "the last scale stays"],
    }),
    "slice_tau": (SHRUNK, GLOBAL, global_scales, {
        "quick": [],
        "slow": ["rate squared", "rate without lambda", "slice of 1 / tau", "shape p / 2", "the intercept is shrunk",
                 "scale of the prior forgotten", "not truncated", "does nothing"],
    }),
    "inverse_gamma_lambda": (SHRUNK, LOCAL, mixed_local_scales, {
        "quick": [],
        "slow": ["nu forgotten", "prior of nu forgotten", "eta without its square", "shape 1/2"],
    }),
    "inverse_gamma_tau": (SHRUNK, GLOBAL, mixed_global_scales, {
        "quick": [],
        "slow": ["xi forgotten", "shape p / 2", "rate without lambda", "the intercept is shrunk",
                 "scale of the prior forgotten", "rate squared"],
    }),
    "inverse_gamma_prevalence_lambda": (DMR_HORSESHOE, OF_TOPICS, mixed_local_scales, {
        "quick": [],
        "slow": ["nu forgotten", "prior of nu forgotten", "eta without its square", "shape 1/2"],
    }),
    "inverse_gamma_prevalence_tau": (DMR_HORSESHOE, OF_EACH_TOPIC, mixed_global_scales, {
        "quick": [],
        "slow": ["xi forgotten", "shape p / 2", "rate without lambda", "the intercept is shrunk",
                 "scale of the prior forgotten", "rate squared"],
    }),
    "slice_regularised_lambda": (REGULARISED, LOCAL_REGULARISED, local_scales, {
        "quick": [],
        "slow": ["slab forgotten", "eta for its share of tau", "rate not halved", "does nothing"],
    }),
    "slice_regularised_tau": (REGULARISED, GLOBAL_REGULARISED, lambda bug: metropolis("tau", log_prior_of_tau, bug), {
        "quick": [],
        "slow": ["determinant forgotten", "slab forgotten", "slab for slab^2", "scale of the prior times 10"],
    }),
    "slice_slab": (REGULARISED, SLAB, lambda bug: metropolis("slab", log_prior_of_slab, bug), {
        "quick": [],
        "slow": ["Jacobian forgotten", "determinant forgotten", "slab for slab^2",
                 "scale of the slab without its square"],
    }),
    "inverse_gaussian_lambda": (LAPLACE, {**MIXED, "handles": "laplace"}, mixed_scales, {
        "quick": [],
        "slow": ["scale forgotten", "slope before", "mean inverted", "mean squared", "does nothing"],
    }),
    "gamma_lambda": (STUDENT, {**MIXED, "handles": "student_t_coefficients"}, mixed_scales, {
        "quick": [],
        "slow": ["scale forgotten", "slope before", "shape of the prior", "slope not squared", "rate not halved"],
    }),
    "joint_normal, with a horseshoe": (SHRUNK, ETA, coefficients, {
        "quick": [],
        "slow": ["tau^2 Lambda for the precision", "the intercept is shrunk", "variance for precision",
                 "lambda without its square",
                 "the intercept has no variance of its own"],
    }),
}  # fmt: skip
