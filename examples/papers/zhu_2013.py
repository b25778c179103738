"""Supervised topic models with a logistic response, after section 4 of Zhu, Zheng, Zhang 2013 (ACL).

    python examples/papers/zhu_2013.py --study fig5 --train train.svmlight.gz --test test.svmlight.gz \
        --vocabulary vocab.txt --stop-words --out fig5.csv fig5.png

fig1     accuracy and time against K, two classes of 20 Newsgroups: c = 1, c = 25, MedLDA, an SVM on LDA or on words
fig2     the same for all classes, one-vs-all: c = 1 and c = 256
fig3     burn-in, two classes: accuracy and time against the number of sweeps
fig4     burn-in, all classes
fig5     accuracy against c, the weight of the response
fig6     accuracy against alpha, summed over topics, for c = 1 and c = 9

The .csv of fig2 has the share of the time that each step takes, which is table 1.

Each point is the last state of a chain: the topics integrated out, z from its full conditional, a joint draw of eta,
Polya-Gamma variables. In fig3 and fig4 the chains of a seed are one chain, stopped earlier or later. Chains start from
uniform topics, as in the paper; `--start labels` starts them from topics that go with the classes. The paper removes
stop words. Its MedLDA's parameters are not given; here they are the shipped model's. The training accuracy is that of
training documents treated as new ones. The variational programs and the cluster of the paper are not run.
"""

from __future__ import annotations

from supervised_studies import Line, Study, Words, gibbs, main

TOPICS = (5, 10, 15, 20, 25, 30)
FEW = (5, 10, 20)
"""Numbers of topics where something else is varied."""
LDA = Line("LDA, then SVM", "lda_collapsed", {"z": "collapsed_gibbs"}, 100, {"alpha": 1.0})
WORDS = Words("words, SVM", "lda_collapsed", None, 1)

STUDIES = {
    "fig1": Study(
        "Two classes",
        "pair",
        TOPICS,
        (
            gibbs("c = 1", "slda_logistic", 100, c=1.0),
            gibbs("c = 25", "slda_logistic", 100, c=25.0),
            gibbs("MedLDA", "medlda_binary", 100),
            LDA,
            WORDS,
        ),
    ),
    "fig2": Study(
        "All classes, one-vs-all",
        "classes",
        (20, 30, 40, 50),
        (
            gibbs("c = 1", "slda_logistic_one_vs_all", 40, c=1.0),
            gibbs("c = 256", "slda_logistic_one_vs_all", 40, c=256.0),
            gibbs("MedLDA", "medlda_one_vs_all", 40),
            LDA,
            WORDS,
        ),
    ),
    "fig3": Study(
        "Burn-in, two classes, c = 25",
        "pair",
        FEW,
        tuple(gibbs("c = 25", "slda_logistic", sweeps) for sweeps in (1, 2, 5, 10, 20, 40, 100, 200, 500)),
        x="sweeps",
        panels=("accuracy", "train accuracy", "seconds"),
    ),
    "fig4": Study(
        "Burn-in, all classes one-vs-all, c = 256",
        "classes",
        (20,),
        tuple(gibbs("c = 256", "slda_logistic_one_vs_all", sweeps) for sweeps in (1, 5, 20, 40)),
        x="sweeps",
    ),
    "fig5": Study(
        "Weight of the response, two classes",
        "pair",
        FEW,
        tuple(gibbs("logistic", "slda_logistic", 100, c=c) for c in (1.0, 9.0, 25.0, 49.0, 100.0)),
        x="c",
        panels=("accuracy", "train accuracy", "seconds"),
    ),
    "fig6": Study(
        "Concentration of topics in documents, two classes",
        "pair",
        FEW,
        tuple(
            gibbs(f"c = {c:g}", "slda_logistic", 100, c=c, alpha=alpha)
            for c in (1.0, 9.0)
            for alpha in (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
        ),
        x="alpha",
        panels=("accuracy", "seconds"),
    ),
}

if __name__ == "__main__":
    main(__doc__, STUDIES)
