"""Traces made by hand whose chains number their topics differently, or switch them, for tests of alignment."""

import numpy as np
import xarray as xr

C, T, K, V, D = 3, 60, 5, 40, 7


COEFFICIENTS = [*(f"topic {k}" for k in range(K)), "age", "intercept"]


def base(seed=1, chains=C, draws=T, topics=K, responses=("a", "b")):
    """Return a trace of chains that number their topics alike, with a chain's phi_mean the mean of its draws."""
    rng = np.random.default_rng(seed)
    mean = rng.dirichlet(np.full(V, 0.1), size=topics)
    phi = rng.dirichlet(np.full(V, 1.0), size=(chains, draws, topics)) * 0.1 + 0.9 * mean
    share = rng.dirichlet(50.0 * (np.arange(topics) + 1), size=(chains, draws))
    z = rng.integers(topics, size=(chains, draws, 30)).astype(np.uint8)
    names = [*(f"topic {k}" for k in range(topics)), "age", "intercept"]
    eta = rng.normal(size=(chains, draws, len(responses), len(names))) + np.arange(len(names))
    posterior = xr.Dataset(
        {
            "phi": (("chain", "draw", "topic", "word"), phi.astype(np.float32)),
            "theta": (("chain", "draw", "doc", "topic"), rng.dirichlet(np.ones(topics), size=(chains, draws, D))),
            "topic_share": (("chain", "draw", "topic"), share),
            "alpha": (("chain", "draw", "topic"), rng.gamma(2.0, size=(chains, draws, topics))),
            "beta": (("chain", "draw"), rng.gamma(2.0, size=(chains, draws))),
            "z": (("chain", "draw", "token"), z),
            "eta": (("chain", "draw", "response", "coefficient"), eta),
            "lambda": (("chain", "draw", "response", "slope"), np.exp(eta[..., :-1])),
            "included": (("chain", "draw", "topic", "word"), (phi > 0.01).astype(np.uint8)),
        },
        {
            "chain": np.arange(chains),
            "draw": np.arange(draws),
            "word": [f"w{v}" for v in range(V)],
            "topic": np.arange(topics),
            "response": list(responses),
            "coefficient": names,
            "slope": names[:-1],
        },
    )
    warmup = xr.Dataset(
        {"topic_share": (("chain", "draw", "topic"), share[:, :1])}, {"chain": np.arange(chains), "draw": [0]}
    )
    constants = xr.Dataset(
        {
            "phi_mean": (("chain", "topic", "word"), phi.mean(axis=1).astype(np.float32)),
            "z_last": (("chain", "token"), z[:, -1]),
            "alpha": ("topic", np.full(topics, 0.1)),
        },
        {"chain": np.arange(chains), "word": posterior["word"].values, "topic": np.arange(topics)},
    )
    lp = xr.Dataset({"lp": (("chain", "draw"), rng.normal(size=(chains, draws)))}, {"chain": np.arange(chains)})
    return {"posterior": posterior, "sample_stats": lp, "warmup_posterior": warmup, "constant_data": constants}


def renumbered(groups, orders):
    """Return a trace whose chain c calls `orders[c][k]` what was its topic k: what alignment is to undo."""
    result = {}
    for name, dataset in groups.items():
        dataset = dataset.copy(deep=True)
        for key, array in dataset.data_vars.items():
            if "chain" not in array.dims:
                continue
            old = array.values
            new = old.copy()
            for c, order in enumerate(orders):
                if "topic" in array.dims:
                    axis = array.dims.index("topic") - 1
                    for k, number in enumerate(order):
                        new[c].swapaxes(0, axis)[number] = old[c].swapaxes(0, axis)[k]
                elif {"coefficient", "slope"} & set(array.dims):
                    for k, number in enumerate(order):
                        new[c][..., number] = old[c][..., k]
                elif "token" in array.dims:
                    new[c] = np.asarray(order)[old[c]]
            dataset[key] = (array.dims, new)
        result[name] = dataset
    return result


def exchanged(groups, chain, draw, topics, numbers):
    """Return a trace whose topics have other numbers from a draw on; `phi_mean` is computed again over all draws."""
    after = np.arange(groups["posterior"].sizes["topic"])
    after[list(topics)] = numbers
    orders = [after if c == chain else np.arange(len(after)) for c in groups["posterior"]["chain"].values]
    moved = renumbered(groups, orders)
    late = groups["posterior"]["draw"].values >= draw
    posterior = groups["posterior"].copy(deep=True)
    for key, array in posterior.data_vars.items():
        array.values[:, late] = moved["posterior"][key].values[:, late]
    constants = groups["constant_data"].copy(deep=True)
    constants["z_last"] = moved["constant_data"]["z_last"]
    constants["phi_mean"] = posterior["phi"].mean("draw")
    return {**groups, "posterior": posterior, "constant_data": constants}


def same(found, expected, **tolerance):
    for name, dataset in expected.items():
        for key, array in dataset.data_vars.items():
            assert found[name][key].dims == array.dims
            assert found[name][key].dtype == array.dtype
            np.testing.assert_allclose(found[name][key].values, array.values, err_msg=f"{name} {key}", **tolerance)


ORDERS = [[2, 0, 1, 4, 3], [4, 3, 2, 1, 0], [1, 2, 3, 4, 0]]
