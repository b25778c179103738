"""What a user calls: ``sample``, ``load_fit`` and the ``Fit`` they return."""

from __future__ import annotations

import contextlib
import inspect
import operator
import os
import secrets
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import pandas as pd
import xarray as xr

from ppl_topics.corpus import Corpus
from ppl_topics.errors import CorpusError, PplTopicsError, SpecError, TraceError
from ppl_topics.paths import as_path
from ppl_topics.run.bind import bind
from ppl_topics.run.chains import Settings, run_chains
from ppl_topics.run.execute import step_labels
from ppl_topics.run.interrupt import GracefulStop
from ppl_topics.run.processes import run_in_processes
from ppl_topics.run.progress import ProgressBars
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.spec import Spec, load_spec
from ppl_topics.spec.source import Source
from ppl_topics.spec.suggest import nearest
from ppl_topics.trace.arviz_compat import from_groups
from ppl_topics.trace.datasets import build_groups
from ppl_topics.trace.store import load_groups, save_groups
from ppl_topics.trace.topics import top_words

__all__ = ["Fit", "InexactKernelWarning", "load_fit", "sample"]

ModelLike = str | Path | Mapping[str, Any] | Spec

MAX_SEED = 2**63 - 1
MAX_SWEEPS = 10**9
"""Draws, sweeps of warmup, thinning and chains at most; more are a slip of the pen."""


class InexactKernelWarning(UserWarning):
    """A schedule holds a kernel that does not leave the posterior invariant."""


@dataclass(frozen=True)
class Fit:
    """The result of a run.

    Attributes
    ----------
    groups : dict of str to xarray.Dataset
        ``posterior``, ``sample_stats``, ``warmup_posterior``, ``warmup_sample_stats``, ``observed_data`` and
        ``constant_data``.
    """

    groups: Mapping[str, xr.Dataset]

    def __repr__(self) -> str:
        """Return one line: model, draws, corpus."""
        # A trace of another program may lack any of these.
        model = self.posterior.attrs.get("model_name", "model not recorded")
        chains, draws, topics = (self.posterior.sizes.get(dim, 0) for dim in ("chain", "draw", "topic"))
        names = ", ".join(map(str, self.posterior.data_vars))
        return f"Fit: {model}, {chains} chains of {draws} draws, {topics} topics, {names}"

    @property
    def idata(self) -> Any:
        """The trace as ``arviz.InferenceData`` (ArviZ 0.x) or ``xarray.DataTree`` (1.x)."""
        return from_groups(self.groups)

    @property
    def posterior(self) -> xr.Dataset:
        """The posterior draws, with dims (chain, draw, ...)."""
        return self.groups["posterior"]

    @property
    def spec(self) -> Spec:
        """The model that was run, with its parameters."""
        return load_spec(self.posterior.attrs["model_yaml"])

    @property
    def exact(self) -> bool:
        """Whether all kernels of the run leave the posterior invariant."""
        return bool(self.posterior.attrs["exact"])

    def topics(self, n_words: int = 10, chain: int = 0) -> pd.DataFrame:
        """Return each topic's share of the tokens and its most probable words.

        Parameters
        ----------
        n_words : int
        chain : int
            Chains number their topics each in its own way, so they are not averaged.

        Returns
        -------
        pandas.DataFrame
            Columns ``topic``, ``share`` and ``words``, largest share first.
        """
        for name, value in (("n_words", n_words), ("chain", chain)):
            if not _is_whole(value):
                raise TraceError(f"{name}: must be a whole number, got {value!r}")
        return top_words(self.groups, n_words, chain)

    def efficiency(self) -> pd.DataFrame:
        """Return effective sample sizes, inefficiency factors and R-hat, a row for each variable."""
        from ppl_topics.diagnostics.report import efficiency

        return efficiency(self.groups)

    def save(self, path: str | Path) -> Path:
        """Write the trace: to one netCDF file where ``path`` ends in ``.nc``, else to ``trace.nc`` in a folder.

        Raises
        ------
        TraceError
        """
        return save_groups(self.groups, trace_path(path, make=True))


def trace_path(path: str | Path, make: bool = False) -> Path:
    """Return the netCDF file that a path of a run stands for, making the run's folder if asked to."""
    path = as_path(path, "a run", TraceError)
    if path.suffix == ".nc":
        return path
    # Not path.exists(), which raises where the name is too long for the file system.
    if make and not os.path.exists(path):
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise TraceError(f"{path}: cannot make the folder ({error.strerror})") from None
    return path / "trace.nc"


def load_fit(path: str | Path) -> Fit:
    """Load what :meth:`Fit.save` or ``ppl-topics run --out`` wrote.

    Raises
    ------
    TraceError
    """
    place = trace_path(path)
    file = Path(path)
    return Fit(load_groups(file if os.path.isfile(file) else place))


def sample(
    model: ModelLike,
    corpus: Corpus,
    *,
    draws: int = 200,
    warmup: int = 200,
    chains: int = 2,
    thin: int = 1,
    seed: int | None = None,
    threads: int | None = None,
    processes: int = 1,
    progress: bool = True,
    record: Mapping[str, Any] | None = None,
    schedule: Any = None,
    debug: bool = False,
    **parameters: Any,
) -> Fit:
    """Draw from the posterior of a topic model.

    Ctrl-C ends the run after the sweep in progress and returns what was drawn.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
        Name of a shipped model, a YAML file, its content, or a Spec.
    corpus : Corpus
    draws, warmup : int
        Kept draws, and sweeps before them, of each chain.
    chains : int
    thin : int
        Sweeps for each kept draw.
    seed : int, optional
        From 0 to 2**63 - 1; drawn and recorded where absent. The same seed gives the same draws at any
        number of threads and processes.
    threads : int, optional
        Threads of each process; by default the cores are shared out.
    processes : int
        Processes that the chains are spread over.
    progress : bool
        Whether to show progress on standard error.
    record : mapping, optional
        What to keep of each variable: ``"all"``, ``"none"``, ``{"top_words": n}``, ``{"docs": n}``.
    schedule : mapping or list, optional
        Instead of the model's own; see :func:`ppl_topics.cycle`.
    debug : bool
        Whether to check after each kernel that it changed only what it declares. Slow.
    **parameters
        Model parameters to set, such as ``topics=50``.

    Returns
    -------
    Fit

    Raises
    ------
    SpecError, ScheduleError
        If the model, its parameters or its schedule are wrong.
    CorpusError
        If the corpus holds no token.
    RunError
        If the run fails, or is stopped before the first draw.

    Warns
    -----
    InexactKernelWarning
        If a kernel of the schedule does not leave the posterior invariant.

    Examples
    --------
    >>> from ppl_topics import Corpus
    >>> corpus = Corpus.from_texts(["red green red", "green blue", "blue blue red"])
    >>> fit = sample("lda", corpus, topics=2, draws=10, warmup=5, seed=1, progress=False)
    >>> fit.posterior["phi"].dims
    ('chain', 'draw', 'topic', 'word')
    """
    check_corpus(corpus)
    spec = resolve(model, parameters, record=record, schedule=schedule)
    chosen = make_plan(spec, CorpusSizes.of(corpus))
    settings = make_settings(
        draws=draws,
        warmup=warmup,
        chains=chains,
        thin=thin,
        seed=seed,
        threads=threads,
        processes=processes,
        debug=debug,
    )
    return run_plan(chosen, corpus, settings, chains=chains, processes=processes, progress=progress)


def run_plan(chosen: Plan, corpus: Corpus, settings: Settings, *, chains: int, processes: int, progress: bool) -> Fit:
    """Run a plan that was checked; see :func:`sample`."""
    if not chosen.exact:
        names = ", ".join(chosen.inexact_kernels)
        warnings.warn(
            f"{names} does not leave the posterior invariant: the draws are approximate in a way that more of "
            "them does not mend",
            InexactKernelWarning,
            stacklevel=3,
        )
    bound = bind(chosen, corpus)
    with GracefulStop() as stop, ProgressBars(chains, settings.sweeps, progress) as report:
        if processes == 1:
            results = run_chains(bound, list(range(chains)), settings, report, stop)
        else:
            results = run_in_processes(chosen, corpus, chains, min(processes, chains), settings, report, stop)
    return Fit(build_groups(bound, corpus, results, settings, step_labels(chosen.schedule)))


def check_corpus(corpus: object) -> None:
    """Refuse what is no corpus, or has no token.

    Raises
    ------
    CorpusError
    """
    corpus = _check_type(corpus)
    if corpus.n_tokens == 0:
        lost = corpus.dropped.tokens
        reason = f", for none of their {lost:,} tokens is in the vocabulary" if lost else ""
        raise CorpusError(f"all {corpus.n_docs:,} documents are empty{reason}; there is nothing to sample")


def _check_type(corpus: object) -> Corpus:
    if not isinstance(corpus, Corpus):
        raise CorpusError(
            f"the corpus is a {type(corpus).__name__}; make a Corpus first, as with "
            "ppl_topics.Corpus.from_texts(texts) or ppl_topics.read_corpus(path)"
        )
    return corpus


def resolve(
    model: ModelLike,
    parameters: Mapping[str, Any],
    *,
    record: Mapping[str, Any] | Source | None = None,
    schedule: Any = None,
    call: str = "argument {name}",
    options: Iterable[str] | None = None,
) -> Spec:
    """Load a model, with its parameters, its schedule and what to record as a user asks for them.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
    parameters : mapping of str to object
    record : mapping or Source, optional
    schedule : mapping, list or Source, optional
        Instead of the model's own. A Source, with data under ``record`` or ``schedule``, knows their places.
    call : str
        How messages call a parameter, with ``{name}`` where the name goes.
    options : iterable of str, optional
        What else may have been meant by a wrong name; by default the options of :func:`sample`.

    Raises
    ------
    SpecError
    """
    spec = load_spec(model)
    if options is None:
        options = [p.name for p in inspect.signature(sample).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for name in parameters:
        if name.split(".")[0] not in spec.parameters:
            place = call.format(name=name)
            known = [*spec.parameters, *options]
            raise SpecError(f"{place}: model {spec.name!r} has no parameter {name!r}{nearest(name, known)}")
    # From the model again, not from the resolved spec: there the parameters' places are already taken.
    spec = load_spec(model, parameters, record=record, call=call)
    return spec if schedule is None else spec.with_schedule(schedule, "argument schedule")


def make_settings(
    *,
    draws: int,
    warmup: int,
    chains: int,
    thin: int,
    seed: int | None,
    threads: int | None,
    processes: int,
    debug: bool,
    call: str = "{name}",
) -> Settings:
    """Check how to run, as given to :func:`sample`; ``call`` is how messages call an argument.

    Raises
    ------
    PplTopicsError
    """
    counts = {"draws": draws, "chains": chains, "thin": thin, "processes": processes}
    for name, value in counts.items():
        _check_whole(call.format(name=name), value, 1)
    _check_whole(call.format(name="warmup"), warmup, 0)
    for name, value in (*counts.items(), ("warmup", warmup)):
        if value > MAX_SWEEPS:
            raise PplTopicsError(f"{call.format(name=name)}: must be at most {MAX_SWEEPS:,}, got {value!r}")
    if seed is None:
        seed = secrets.randbits(32)
    _check_whole(call.format(name="seed"), seed, 0, MAX_SEED)
    available = int(numba.config.NUMBA_NUM_THREADS)
    if threads is None:
        threads = max(1, available // min(processes, chains))
    _check_whole(call.format(name="threads"), threads, 1)
    if threads > available:
        raise PplTopicsError(
            f"{call.format(name='threads')}: must be at most {available}, the cores of this machine, got {threads}; "
            "the draws do not depend on it"
        )
    return Settings(draws, warmup, thin, int(seed), threads, debug)


def _is_whole(value: Any) -> bool:
    # Arrays have __index__ too, and fail in it.
    with contextlib.suppress(TypeError):
        operator.index(value)
        return not isinstance(value, bool)
    return False


def _check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    span = f"at least {least}" if most is None else f"from {least} to {most}"
    if not _is_whole(value) or value < least or (most is not None and value > most):
        raise PplTopicsError(f"{name}: must be a whole number {span}, got {value!r}")
