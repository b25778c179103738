"""The trace of a run folder, whether the run has ended, was stopped or killed, or is still in progress."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import xarray as xr

from ppl_topics._util.user_warning import warn_user
from ppl_topics.errors import TraceError
from ppl_topics.results.groups import GROUPS, ends
from ppl_topics.results.mean_topics import mean_of
from ppl_topics.results.run_folder.checkpoint import Checkpoint, chain_folder
from ppl_topics.results.run_folder.draws import DRAWS, STREAMED
from ppl_topics.results.run_folder.folder import RunFolder
from ppl_topics.results.run_folder.lazy import lazy_group
from ppl_topics.results.run_folder.log import RunWarning
from ppl_topics.results.run_folder.manifest import Manifest
from ppl_topics.results.run_folder.newest import newest

__all__ = ["load_run"]


def load_run(path: Path) -> dict[str, xr.Dataset]:
    """Read the groups of a run: the draws that all chains had at their newest checkpoints, left on disk until used."""
    manifest, last = _checkpoints(path)
    draws, warmup, sweeps = (
        min(checkpoint.about[what] for checkpoint in last) for what in ("draws", "warmup", "sweep")
    )
    if draws == 0:
        raise TraceError(
            f"{path}: no draw yet: {sweeps:,} of {manifest.warmup:,} sweeps of warmup are done; "
            f"`ppl-topics resume {path}` continues"
        )
    groups = {name: lazy_group(path / DRAWS, name) for name in GROUPS if name not in STREAMED}
    for name in STREAMED:
        n_draws = warmup if name.startswith("warmup_") else draws
        groups[name] = _drawn(path / DRAWS, name, n_draws, manifest.variables, last)
    posterior = groups["posterior"]
    try:
        held = ends(
            posterior["chain"].values,
            posterior["response"].values if manifest.units > manifest.chains else None,
            [mean_of(checkpoint.arrays) for checkpoint in last],
            [checkpoint.arrays["z"] for checkpoint in last],
            [checkpoint.about["sweep"] for checkpoint in last],
        )
        groups["constant_data"] = groups["constant_data"].assign(held)
    except (KeyError, ValueError) as error:
        raise TraceError(f"{path}: the checkpoints do not fit the draws ({error})") from None
    attributes = {**posterior.attrs, "stopped": int(sweeps < manifest.sweeps), "draws": manifest.draws}
    return {name: groups[name].assign_attrs(attributes) for name in GROUPS}


def _drawn(store: Path, name: str, draws: int, order: list[str], last: list[Checkpoint]) -> xr.Dataset:
    """Return the draws of a group that all chains have, variables in the order of the model."""
    prefix = f"{name}/"
    count = Counter(title for checkpoint in last for title in checkpoint.about["names"] if title.startswith(prefix))
    shares = {title.removeprefix(prefix): n / len(last) for title, n in count.items()}
    group = lazy_group(store, name, draws, shares)
    held = [*(variable for variable in order if variable in group), *(v for v in group if v not in order)]
    # Coordinates of dims that none of these variables has are left out.
    return group[held].assign_coords(draw=np.arange(draws))


def _checkpoints(path: Path) -> tuple[Manifest, list[Checkpoint]]:
    """Return the manifest and the newest sound checkpoint of each chain."""
    folder = RunFolder.opened(path)
    held = _newest(folder)
    if any(wrong for _, wrong in held):
        # Meanwhile, another process may have extended the run to more draws.
        again = RunFolder.opened(path)
        if again.manifest != folder.manifest:
            folder, held = again, _newest(again)
    found: list[Checkpoint] = []
    for number, (checkpoint, wrong) in enumerate(held):
        for problem in wrong:
            warn_user(problem, RunWarning)
        if checkpoint is None:
            reason = f"none can be read: {wrong[0]}" if wrong else "there is none yet"
            raise TraceError(
                f"{chain_folder(path, number)}: no checkpoint of chain {number} to read ({reason}); "
                f"`ppl-topics resume {path}` continues"
            )
        found.append(checkpoint)
    return folder.manifest, found


def _newest(folder: RunFolder) -> list[tuple[Checkpoint | None, list[str]]]:
    """Return what `newest` finds for each chain, up to the first without a checkpoint."""
    held: list[tuple[Checkpoint | None, list[str]]] = []
    for number in range(folder.manifest.units):
        held.append(newest(chain_folder(folder.path, number), number, folder.manifest, mapped=True))
        if held[-1][0] is None:
            break
    return held
