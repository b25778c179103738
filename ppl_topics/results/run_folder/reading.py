"""The trace of a run folder, whether the run has ended, was stopped, was killed, or still goes on."""

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
    """Read the groups of a run: the draws that all chains had at their newest checkpoints.

    Draws are left on disk until they are looked at.
    """
    manifest, last = _checkpoints(path)
    draws, warmup = (min(checkpoint.about[what] for checkpoint in last) for what in ("draws", "warmup"))
    if draws == 0:
        sweeps = min(checkpoint.about["sweep"] for checkpoint in last)
        raise TraceError(
            f"{path}: no draw yet: {sweeps:,} of {manifest.warmup:,} sweeps of warmup are done; "
            f"`ppl-topics resume {path}` continues"
        )
    groups = {name: lazy_group(path / DRAWS, name) for name in GROUPS if name not in STREAMED}
    for name in STREAMED:
        groups[name] = _cut(
            path / DRAWS, name, warmup if name.startswith("warmup_") else draws, manifest.variables, last
        )
    constants = groups["constant_data"]
    try:
        means = [mean_of(checkpoint.arrays) for checkpoint in last]
        held = ends(
            groups["posterior"]["chain"].values,
            groups["posterior"]["response"].values if manifest.units > manifest.chains else None,
            means,
            [checkpoint.arrays["z"] for checkpoint in last],
            [checkpoint.about["sweep"] for checkpoint in last],
        )
        groups["constant_data"] = constants.assign(held)
    except (KeyError, ValueError) as error:
        raise TraceError(f"{path}: the checkpoints do not fit the draws ({error})") from None
    stopped = any(checkpoint.about["sweep"] < manifest.sweeps for checkpoint in last)
    attributes = {**groups["posterior"].attrs, "stopped": int(stopped), "draws": manifest.draws}
    return {name: groups[name].assign_attrs(attributes) for name in GROUPS}


def _cut(store: Path, name: str, draws: int, order: list[str], last: list[Checkpoint]) -> xr.Dataset:
    """Return the draws that all chains have, variables in the order of the model."""
    count = Counter(title for checkpoint in last for title in checkpoint.about["names"])
    shares = {
        title.removeprefix(f"{name}/"): n / len(last) for title, n in count.items() if title.startswith(f"{name}/")
    }
    group = lazy_group(store, name, draws, shares)
    held = [*(variable for variable in order if variable in group), *(v for v in group if v not in order)]
    # Without coordinates of dims that none of them has.
    return group[held].assign_coords(draw=np.arange(draws))


def _checkpoints(path: Path) -> tuple[Manifest, list[Checkpoint]]:
    """Return the manifest and the newest whole checkpoint of each chain; of responses that are apart, of each."""
    folder = RunFolder.opened(path)
    held = _newest(folder)
    if any(wrong for _, wrong in held):
        # A process that asked for more draws meanwhile may be ahead of the manifest that was read before.
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
    """Return of each chain what `newest` finds, up to the first that has nothing."""
    held: list[tuple[Checkpoint | None, list[str]]] = []
    for number in range(folder.manifest.units):
        held.append(newest(chain_folder(folder.path, number), number, folder.manifest, mapped=True))
        if held[-1][0] is None:
            break
    return held
