"""Linear-time samplers of supervised topic models, after section 5 of Zheng, Yu, Xing 2015 (KDD).

    python examples/papers/zheng_2015.py --study fig1 --train train.svmlight.gz --test test.svmlight.gz \
        --vocabulary vocab.txt --out fig1.csv fig1.png

fig1     accuracy and time against K, two classes of 20 Newsgroups: light, Gibbs, and the scheduler's choice
fig2     the same for all classes, multi-task
fig2b    and one-vs-all
fig2c    multi-task with an intercept, which the paper does not have
fig3     several labels a document: all levels of the names of the groups (--class-names), where the paper has Wikipedia
fig4     multi-task with the logistic loss
fig5     regression: predictive R^2, epsilon-insensitive loss, hotel reviews
fig6     proposals: mixture and cycle of all three, and each alone
fig7     Metropolis-Hastings steps for a token
fig8     Gibbs sweeps over the coefficients
ess      two classes: effective draws a second, by kernel of z; those of the full conditional take O(K C) a token
chains   all classes: accuracy against the number of sweeps, with and without an intercept

Each point is the last state of a chain as long as the paper's. `light` draws z given the topics, by proposals that keep
the posterior invariant, and sweeps twice over the coefficients. `light, stale` is the paper's: the topics integrated
out, and proposals from tables that lag behind the counts, so that it is not exact. `Gibbs` is the paper's baseline: the
topics integrated out, z from its full conditional in O(K C), a joint draw of the coefficients. `ours` is what the
scheduler chooses. Chains start from uniform topics, as in the paper; `--start labels` starts them from topics that go
with the classes. Time is that of sampling alone. Costs, margins and concentrations are the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from supervised_studies import EFFECTIVE, Line, Study, gibbs, main, ours, sampler, supervised

PROPOSALS = {"doc": 1, "word": 1, "exp": 1}
TOPICS = (20, 50, 100, 200, 400)
FEW = (20, 100)
"""Numbers of topics where something else is varied."""
LOGISTIC = {"alpha": 5.6, "c": 204.8}
HINGE = {"cost": 1.6, "margin": 64.0}
BINARY = {"cost": 4.1, "margin": 64.0}
NUMBERS = {"cost": 262.4, "epsilon": 1e-3, "standardise": False}


def light(
    name: str,
    model: str | Mapping[str, Any],
    sweeps: int,
    *,
    proposals: dict[str, int] = PROPOSALS,
    compose: str = "mixture",
    steps: int = 6,
    eta_sweeps: int = 2,
    kernel: str = "light_partially_collapsed",
    **parameters: float,
) -> Line:
    """Return a model under Metropolis-Hastings in O(1) a token, and sweeps over single coefficients."""
    z = {"kernel": kernel, "compose": compose, "proposals": proposals, "steps": steps}
    eta = {"kernel": "coordinate_normal", "sweeps": eta_sweeps}
    return Line(name, model, supervised(model, z, eta), sweeps, parameters)


def printed(model: str, sweeps: int, **parameters: float) -> Line:
    """Return a model under the paper's own sampler, which is close to the posterior but not exact."""
    return light("light, stale", model, sweeps, kernel="light_collapsed", **parameters)


COMPOSED = tuple(light(compose, "medlda", 25, compose=compose, **HINGE) for compose in ("mixture", "cycle"))
ALONE = tuple(light(f"{name} only", "medlda", 25, proposals={name: 1}, **HINGE) for name in PROPOSALS)

KERNELS = (
    "full_collapsed_gibbs",
    "collapsed_gibbs",
    "block_collapsed",
    "full_partially_collapsed",
    "partially_collapsed",
    "alias_partially_collapsed",
    "light_partially_collapsed",
)
INTERCEPT = {"name": "medlda_intercept", "extends": "medlda", "blocks": {"y": {"intercept": True}}}

STUDIES = {
    "fig1": Study(
        "MedLDA of two classes",
        "pair",
        (10, 20, 40, 60, 80, 100),
        (
            light("light", "medlda_binary", 10, **BINARY),
            printed("medlda_binary", 10, **BINARY),
            gibbs("Gibbs", "medlda_binary", 10, **BINARY),
            ours("ours", "medlda_binary", 10, **BINARY),
        ),
    ),
    "fig2": Study(
        "MedLDA of all classes, multi-task",
        "classes",
        TOPICS,
        (
            light("light", "medlda", 25, **HINGE),
            printed("medlda", 25, **HINGE),
            gibbs("Gibbs", "medlda", 20, **HINGE),
            ours("ours", "medlda", 25, **HINGE),
        ),
    ),
    "fig2c": Study(
        "MedLDA of all classes, with an intercept",
        "classes",
        TOPICS,
        (
            light("light", INTERCEPT, 25, **HINGE),
            gibbs("Gibbs", INTERCEPT, 20, **HINGE),
            ours("ours", INTERCEPT, 25, **HINGE),
        ),
    ),
    "fig2b": Study(
        "MedLDA of all classes, one-vs-all",
        "classes",
        TOPICS,
        (
            light("light", "medlda_one_vs_all", 25, **HINGE),
            gibbs("Gibbs", "medlda_one_vs_all", 20, **HINGE),
            ours("ours", "medlda_one_vs_all", 25, **HINGE),
        ),
    ),
    "fig3": Study(
        "MedLDA of several labels a document",
        "levels",
        (20, 50, 100, 200),
        (
            light("light", "medlda", 80, eta_sweeps=4, **HINGE),
            gibbs("Gibbs", "medlda", 40, **HINGE),
            ours("ours", "medlda", 80, **HINGE),
        ),
        panels=("f1_micro", "f1_macro", "seconds"),
    ),
    "fig4": Study(
        "Logistic loss, all classes, multi-task",
        "classes",
        TOPICS,
        (
            light("light", "slda_logistic", 40, **LOGISTIC),
            gibbs("Gibbs", "slda_logistic", 40, **LOGISTIC),
            ours("ours", "slda_logistic", 40, **LOGISTIC),
        ),
    ),
    "fig5": Study(
        "MedLDA of numbers",
        "numbers",
        (10, 20, 30, 50, 70, 100),
        (
            light("light", "medlda_regression", 15, **NUMBERS),
            printed("medlda_regression", 15, **NUMBERS),
            gibbs("Gibbs", "medlda_regression", 10, **NUMBERS),
            ours("ours", "medlda_regression", 15, **NUMBERS),
        ),
        panels=("r2", "seconds"),
    ),
    "fig6": Study("Proposals, multi-task MedLDA", "classes", FEW, COMPOSED + ALONE),
    "fig7": Study(
        "Metropolis-Hastings steps, multi-task MedLDA",
        "classes",
        FEW,
        tuple(light(f"{steps} steps", "medlda", 25, steps=steps, **HINGE) for steps in (1, 2, 6, 10)),
    ),
    "fig8": Study(
        "Sweeps over the coefficients, multi-task MedLDA",
        "classes",
        FEW,
        tuple(light(f"{sweeps} sweeps", "medlda", 25, eta_sweeps=sweeps, **HINGE) for sweeps in (1, 2, 4, 8, 10)),
    ),
    "ess": Study(
        "Effective draws a second, MedLDA of two classes",
        "pair",
        (20, 100),
        tuple(sampler(z, "medlda_binary", 400, 300, **BINARY) for z in KERNELS),
        panels=(EFFECTIVE, "accuracy", "seconds"),
    ),
    "chains": Study(
        "How accuracy changes as a chain goes on",
        "classes",
        (200,),
        tuple(
            ours(name, model, sweeps, **HINGE)
            for name, model in (("MedLDA", "medlda"), ("with an intercept", INTERCEPT))
            for sweeps in (8, 25, 120)
        ),
        x="sweeps",
    ),
}

if __name__ == "__main__":
    main(__doc__, STUDIES)
