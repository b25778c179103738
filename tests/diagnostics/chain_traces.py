"""Traces of chains made by hand, for tests of their plots."""

import numpy as np
import xarray as xr

WARMUP, DRAWS, THIN = 10, 40, 2


def made(shift=0.0, draws=DRAWS, chains=2, same_topics=True):
    """A trace of AR(1) chains, the last of them shifted, with two topics that may be another's in each chain."""
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(chains, WARMUP + draws))
    path = np.zeros_like(steps)
    for t in range(1, WARMUP + draws):
        path[:, t] = 0.5 * path[:, t - 1] + steps[:, t]
    path[-1] += shift
    path[:, :3] -= 1e6
    dims = ("chain", "draw")
    coords = {"chain": np.arange(chains)}
    rates = np.stack([np.ones_like(path), 0.5 + 0.01 * np.tanh(path)], axis=2)

    def statistics(part):
        return xr.Dataset(
            {
                "lp": (dims, path[:, part] - 50_000),
                "log_marginal": (dims, path[:, part] - 50_000),
                "density_n_dk": (dims, 0.3 + 0.01 * np.tanh(path[:, part])),
                "density_n_kw": (dims, 0.2 + 0.01 * np.tanh(path[:, part])),
                "acceptance_rate": ((*dims, "kernel"), rates[:, part]),
            },
            {**coords, "draw": np.arange(path[:, part].shape[1]), "kernel": ["phi:rows", "z:mh"]},
        )

    share = rng.random((chains, WARMUP + draws))
    shares = np.stack([share, 1 - share], axis=2)
    phi = np.array([[0.7, 0.3, 0.0, 0.0], [0.0, 0.0, 0.6, 0.4]], dtype=np.float32)
    of_chains = np.stack([phi if same_topics or chain == 0 else phi[::-1] for chain in range(chains)])
    attributes = {"thin": THIN, "warmup": WARMUP, "exact": 1}
    topics = {**coords, "topic": [0, 1]}
    return {
        "posterior": xr.Dataset({"topic_share": ((*dims, "topic"), shares[:, WARMUP:])}, topics, attributes),
        "warmup_posterior": xr.Dataset({"topic_share": ((*dims, "topic"), shares[:, :WARMUP])}, topics),
        "sample_stats": statistics(slice(WARMUP, None)),
        "warmup_sample_stats": statistics(slice(0, WARMUP)),
        "constant_data": xr.Dataset(
            {"phi_mean": (("chain", "topic", "word"), of_chains), "doc_length": ("doc", [60, 40])},
            {**topics, "word": ["$5", "ball", "law", "vote"]},
        ),
    }


def paths_of(panel):
    """The lines of chains: those with a label, in their order."""
    return [line for line in panel.get_lines() if not line.get_label().startswith("_")]
