"""Linear-time samplers of supervised topic models, after section 5 of Zheng, Yu, Xing 2015 (KDD).

    python examples/zheng_2015.py --study fig1 --train train.svmlight.gz --test test.svmlight.gz \
        --vocabulary vocab.txt --out fig1.csv fig1.png

fig1     accuracy and time against K, two classes of 20 Newsgroups: light, and O(K) with a joint draw of eta
fig2     the same for all classes, one-vs-all and multi-task
fig4     multi-task with the logistic loss
fig5     regression: predictive R^2, epsilon-insensitive loss, hotel reviews
fig6     proposals: mixture and cycle of all three, and each alone
fig7     Metropolis-Hastings steps for a token
fig8     Gibbs sweeps over the coefficients

Each point is the last state of a chain as long as the paper's. `light` draws z given the topics, by proposals that keep
the posterior invariant, and sweeps twice over the coefficients; in the paper the topics are integrated out and the
proposals stale. `Gibbs` integrates the topics out; its draw in O(K) is accepted by the change of the responses, where
the paper's takes O(K C). Chains start from topics that go with the classes. Time is that of sampling alone. Costs,
margins and concentrations are the shipped models', which are the paper's.
"""

from __future__ import annotations

from supervised_studies import Line, Study, gibbs, main, supervised

PROPOSALS = {"doc": 1, "word": 1, "exp": 1}
TOPICS = (20, 50, 100, 200, 400)
LOGISTIC = {"alpha": 5.6, "c": 204.8}


def light(
    name: str,
    model: str,
    sweeps: int,
    *,
    proposals: dict[str, int] = PROPOSALS,
    compose: str = "mixture",
    steps: int = 6,
    eta_sweeps: int = 2,
    **parameters: float,
) -> Line:
    """Return a model under Metropolis-Hastings in O(1) a token, and sweeps over single coefficients."""
    z = {"kernel": "light_partially_collapsed", "compose": compose, "proposals": proposals, "steps": steps}
    eta = {"kernel": "coordinate_normal", "sweeps": eta_sweeps}
    return Line(name, model, supervised(model, z, eta), sweeps, parameters)


COMPOSED = tuple(light(compose, "medlda", 25, compose=compose) for compose in ("mixture", "cycle"))
ALONE = tuple(light(f"{name} only", "medlda", 25, proposals={name: 1}) for name in PROPOSALS)

STUDIES = {
    "fig1": Study(
        "MedLDA of two classes",
        "pair",
        (10, 20, 40, 60, 80, 100),
        (light("light", "medlda_binary", 10), gibbs("Gibbs", "medlda_binary", 10)),
    ),
    "fig2": Study(
        "MedLDA of all classes",
        "classes",
        TOPICS,
        (
            light("light, multi-task", "medlda", 25),
            gibbs("Gibbs, multi-task", "medlda", 20),
            light("light, one-vs-all", "medlda_one_vs_all", 25),
            gibbs("Gibbs, one-vs-all", "medlda_one_vs_all", 20),
        ),
    ),
    "fig4": Study(
        "Logistic loss, all classes, multi-task",
        "classes",
        TOPICS,
        (light("light", "slda_logistic", 40, **LOGISTIC), gibbs("Gibbs", "slda_logistic", 40, **LOGISTIC)),
    ),
    "fig5": Study(
        "MedLDA of numbers",
        "numbers",
        (10, 20, 30, 50, 70, 100),
        (light("light", "medlda_regression", 15), gibbs("Gibbs", "medlda_regression", 10)),
        panels=("r2", "seconds"),
    ),
    "fig6": Study("Proposals, multi-task MedLDA", "classes", TOPICS, COMPOSED + ALONE),
    "fig7": Study(
        "Metropolis-Hastings steps, multi-task MedLDA",
        "classes",
        TOPICS,
        tuple(light(f"{steps} steps", "medlda", 25, steps=steps) for steps in (1, 2, 4, 6, 8, 12)),
    ),
    "fig8": Study(
        "Sweeps over the coefficients, multi-task MedLDA",
        "classes",
        TOPICS,
        tuple(light(f"{sweeps} sweeps", "medlda", 25, eta_sweeps=sweeps) for sweeps in (1, 2, 4, 8)),
    ),
}

if __name__ == "__main__":
    main(__doc__, STUDIES)
