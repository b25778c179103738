"""What must hold of a run after a fault: its trace is the beginning of the whole one's, or all of it, in every bit."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fault_runs import Case, Child, Result, go_on
from numpy.typing import NDArray

import ppl_topics as pt

__all__ = ["check_end", "check_readable", "difference", "flat", "parts", "resumed", "save_flat", "sweeps_done"]

NOT_COMPARED = ("step_seconds",)

NOT_YET = ("no draw yet", "there is none yet", "not the folder of a run", "no such file", "holds no run")
"""What a message says where no draw was made yet."""

PREFIX, NOTHING = 0, 3
"""Exit codes of a child that reads: the trace is the beginning of the whole one, there is no draw yet."""


def check_readable(case: Case, folder: Path, log: Path, *, damaged: Collection[Path] = ()) -> str:
    """Say what can be read of a run that has not ended; fail if that is not the beginning of the whole one.

    Parameters
    ----------
    case : Case
    folder, log : pathlib.Path
    damaged : collection of pathlib.Path
        Checkpoints that no draw is read by.
    """
    before = _draws(case, folder, damaged)

    def read() -> int:
        try:
            fit = pt.load_fit(folder)
        except pt.TraceError as error:
            if any(reason in str(error) for reason in NOT_YET):
                return NOTHING
            raise
        wrong = difference(flat(fit), case.whole, begun=True)
        assert not wrong, f"{wrong} is not the beginning of the whole run's"
        print(f"{fit.posterior.sizes['draw']} draws")
        return PREFIX

    result = Child(read, log).result()
    # A worker whose parent was killed goes on for a sweep.
    after = max(before, _draws(case, folder, damaged))
    if result.code == NOTHING:
        assert before <= 0, f"{before} draws were kept, and none is found: {result.said}"
        return "no draw yet"
    result.expect(PREFIX)
    found = int(result.said.splitlines()[-1].partition(" ")[0])
    assert before <= found <= after, f"{found} draws are found; the checkpoints say {before} to {after}"
    return "readable"


def _draws(case: Case, folder: Path, damaged: Collection[Path]) -> int:
    """Return how many draws of all chains the checkpoints count on."""
    return sweeps_done(folder, damaged) - case.warmup


def sweeps_done(folder: Path, damaged: Collection[Path] = ()) -> int:
    """Return how many sweeps the chain that is behind has in a checkpoint."""
    try:
        units = int(json.loads((folder / "run.json").read_text())["units"])
    except FileNotFoundError:
        return 0
    chains = [(folder / "checkpoints" / f"chain-{unit}").glob("*.ckpt") for unit in range(units)]
    return min(max((int(path.stem) for path in found if path not in damaged), default=0) for found in chains)


def check_end(case: Case, folder: Path, log: Path) -> None:
    """Fail unless a run that has ended has the draws of the whole one, and left nothing else."""

    def read() -> None:
        wrong = difference(flat(pt.load_fit(folder)), case.whole)
        assert not wrong, f"{wrong} is not that of the whole run"

    Child(read, log).result().expect(0)
    assert not parts(folder), "parts of files are left"


def parts(folder: Path) -> set[Path]:
    """Return the files that are, or were, being written."""
    return {path for suffix in ("part", "partial") for path in folder.rglob(f"*.{suffix}")}


def resumed(case: Case, folder: Path, log: Path, **options: Any) -> Result:
    """Resume a run to its end, which must be the whole one's."""
    result = Child(partial(go_on, folder, **options), log).result().expect(0)
    check_end(case, folder, log.with_suffix(".end"))
    return result


def flat(fit: pt.Fit) -> dict[str, NDArray[Any]]:
    """Return all variables and coordinates of a trace by group and name, but for those that are times."""
    return {
        f"{group}/{name}": _plain(data[name].values)
        for group, data in fit.groups.items()
        for name in data.variables
        if name not in NOT_COMPARED
    }


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(str) if values.dtype == object else values


def save_flat(path: Path, fit: pt.Fit) -> None:
    """Write them to a file."""
    with path.open("wb") as file:
        np.savez(file, **flat(fit))  # type: ignore[arg-type]


def difference(found: Mapping[str, NDArray[Any]], whole: Mapping[str, NDArray[Any]], *, begun: bool = False) -> str:
    """Say in what a trace differs, in any bit, from a whole one, or where ``begun`` from its beginning; "" if not."""
    if found.keys() != whole.keys():
        return f"variables {sorted(found.keys() ^ whole.keys())}"
    for name, values in found.items():
        expected = whole[name]
        if begun and name.endswith("/draw"):
            expected = expected[: len(values)]
        elif begun and name.startswith(("posterior/", "sample_stats/", "warmup_")):
            expected = expected[:, : values.shape[1]] if expected.ndim > 1 else expected
        elif begun and name == "constant_data/z_last":
            expected = _last(found, whole)
        elif begun and name in ("constant_data/phi_mean", "constant_data/sweeps"):
            continue
        same = values.dtype == expected.dtype and values.shape == expected.shape
        if not same or values.tobytes() != expected.tobytes():
            return name
    return ""


def _last(found: Mapping[str, NDArray[Any]], whole: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return the assignments after the sweeps that each chain has made."""
    sweeps, z = found["constant_data/sweeps"], whole["posterior/z"]
    warmup = whole["warmup_sample_stats/lp"].shape[1]
    rows = [
        [z[chain, n - warmup - 1, part] for part, n in enumerate(s)] if np.ndim(s) else z[chain, s - warmup - 1]
        for chain, s in enumerate(sweeps)
    ]
    return np.array(rows).astype(found["constant_data/z_last"].dtype, copy=False)
