"""The checks of arguments that runs have in common, wherever they are asked for."""

from __future__ import annotations

import secrets
from typing import Any, Literal, TypeAlias, get_args

import numba

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import MAX_SEED, MAX_SWEEPS, check_choice, check_threads, check_whole
from ppl_topics.corpus import Corpus
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.cluster.connection import Cluster
from ppl_topics.engine.placing import Device, check_device
from ppl_topics.errors import CorpusError, PplTopicsError

__all__ = [
    "Split",
    "check_checkpoints",
    "check_corpus",
    "check_device_of_run",
    "check_split",
    "check_warmup_schedule",
    "run_settings",
]

Split: TypeAlias = Literal["chains", "documents"]


def run_settings(
    *,
    draws: int,
    warmup: int,
    chains: int,
    thin: int = 1,
    processes: int = 1,
    threads: int | None = None,
    seed: int | None = None,
    progress: bool = True,
    debug: bool = False,
    ignore_memory: bool = False,
    cluster: Cluster | None = None,
    split: Split = "chains",
    device: Device = "cpu",
) -> Settings:
    """Check how to run, as given to :func:`sample`."""
    counts = {"draws": draws, "chains": chains, "thin": thin, "processes": processes, "warmup": warmup}
    for name, value in counts.items():
        check_whole(argument(name), value, 0 if name == "warmup" else 1, MAX_SWEEPS)
    if seed is None:
        seed = secrets.randbits(32)
    check_whole(argument("seed"), seed, 0, MAX_SEED)
    if cluster is not None and processes != 1:
        raise PplTopicsError(
            f"{argument('processes')}: with {argument('cluster')}, chains run on its workers; leave it out"
        )
    check_split(split, cluster is not None, debug)
    check_device_of_run(device, cluster is not None, processes, debug)
    if threads is None and cluster is not None:
        threads = cluster.threads
    elif threads is None:
        threads = max(1, numba.get_num_threads() // min(processes, chains))
    if cluster is None:
        check_threads(argument("threads"), threads)
    else:
        check_whole(argument("threads"), threads, 1, cluster.threads)
    how = (debug, progress, ignore_memory, cluster, split, device)
    return Settings(draws, warmup, thin, int(seed), threads, chains, processes, *how)


def check_warmup_schedule(warmup_schedule: Any, warmup: int) -> None:
    """Refuse a schedule for sweeps that there are not."""
    if warmup_schedule is not None and warmup == 0:
        raise PplTopicsError(
            f"{argument('warmup_schedule')}: runs before the first kept draw, and {argument('warmup')} is 0; give "
            f"{argument('warmup')} a number of sweeps, or leave out {argument('warmup_schedule')}"
        )


def check_split(split: str, cluster: bool, debug: bool) -> None:
    """Check what the workers of a cluster share."""
    check_choice(argument("split"), split, get_args(Split))
    if split == "documents" and not cluster:
        raise PplTopicsError(
            f"{argument('split')}: documents are split over the workers of a cluster; give {argument('cluster')}"
        )
    if split == "documents" and debug:
        raise PplTopicsError(f"{argument('debug')}: steps are checked in one process; leave out {argument('split')}")


def check_device_of_run(device: str, cluster: bool, processes: int, debug: bool = False) -> None:
    """Check where the kernels run."""
    check_device(device)
    if device == "cpu":
        return
    for name, given in (("cluster", cluster), ("processes", processes != 1), ("debug", debug)):
        if given:
            raise PplTopicsError(
                f"{argument(name)}: with {argument('device')} {device}, the chains run in this process, one after the "
                f"other; leave out {argument(name)}"
            )


def check_checkpoints(sweeps: int | None, minutes: float | None, folder: bool) -> dict[str, Any]:
    """Check when checkpoints are to be written."""
    given: dict[str, Any] = {"checkpoint_sweeps": sweeps, "checkpoint_minutes": minutes}
    for name, value in given.items():
        if value is not None and not folder:
            raise PplTopicsError(
                f"{argument(name)}: only a run with a folder has checkpoints; give an output that does not end in .nc, "
                "or leave it out"
            )
    if sweeps is not None:
        check_whole(argument("checkpoint_sweeps"), sweeps, 1, MAX_SWEEPS)
    if minutes is not None:
        is_number = isinstance(minutes, (int, float)) and not isinstance(minutes, bool)
        if not is_number or not 0 < minutes < float("inf"):
            raise PplTopicsError(f"{argument('checkpoint_minutes')}: must be a number above 0, got {minutes!r}")
        given["checkpoint_minutes"] = float(minutes)
    return given


def check_corpus(corpus: object) -> None:
    """Refuse what is not a corpus, or has no tokens."""
    if not isinstance(corpus, Corpus):
        raise CorpusError(
            f"the corpus is a {type(corpus).__name__}; make a Corpus first, as with "
            "ppl_topics.Corpus.from_texts(texts) or ppl_topics.read_corpus(path)"
        )
    if corpus.n_tokens == 0:
        lost = corpus.dropped.tokens
        reason = f", for none of their {lost:,} tokens is in the vocabulary" if lost else ""
        raise CorpusError(f"all {corpus.n_docs:,} documents are empty{reason}; there is nothing to sample")
