"""What a user calls to run a model: ``sample``, and its parts."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numba

from ppl_topics._util.arguments import MAX_SEED, MAX_SWEEPS, check_threads, check_whole
from ppl_topics._util.nearest import nearest
from ppl_topics.api.rescue import save_somewhere
from ppl_topics.corpus import Corpus
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.run import InexactKernelWarning, make_policy, run_in_folder, run_plan
from ppl_topics.errors import CorpusError, PplTopicsError, SpecError
from ppl_topics.fit import Fit, trace_path
from ppl_topics.results.store import check_new
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.spec import Spec, load_spec
from ppl_topics.spec.source import Source

__all__ = ["InexactKernelWarning", "check_corpus", "make_settings", "resolve", "sample"]

ModelLike = str | Path | Mapping[str, Any] | Spec


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
    out: str | Path | None = None,
    overwrite: bool = False,
    checkpoint_sweeps: int | None = None,
    checkpoint_minutes: float | None = None,
    ignore_memory: bool = False,
    **parameters: Any,
) -> Fit:
    """Draw from the posterior of a topic model.

    Ctrl-C, or SIGTERM, ends the run after the sweep in progress and returns what was drawn. A run with a folder,
    ``out``, can be continued by :func:`ppl_topics.resume`, whatever ended it.

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
        Threads of each process; by default those that numba uses, which are all cores but for
        ``numba.set_num_threads``, are shared out.
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
    out : str or path-like, optional
        Folder that draws are streamed to, with checkpoints; memory then does not grow with the number of draws. Or a
        file that ends in ``.nc``, written at the end. By default draws are kept in memory alone.
    overwrite : bool
        Whether to replace a run that stands there.
    checkpoint_sweeps : int, optional
        Sweeps between checkpoints of a chain.
    checkpoint_minutes : float, optional
        Minutes between them. Where neither is given: one, or more where a checkpoint takes over 0.6 s, so that they
        take a hundredth of the time at most.
    ignore_memory : bool
        Whether to begin a run that is not expected to fit into memory.
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
        If the corpus holds no token, or lacks the labels that the model observes.
    RunError
        If the run fails, is not expected to fit into memory, is stopped before the first draw, or its folder or file
        cannot be written; draws for a file are put aside then.

    Warns
    -----
    InexactKernelWarning
        If a kernel of the schedule does not leave the posterior invariant.
    CovariateWarning
        If a covariate is constant, so that its coefficient follows its prior alone.

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
    how: dict[str, Any] = {"chains": chains, "processes": processes, "progress": progress}
    how["ignore_memory"] = ignore_memory
    policy = make_policy(checkpoint_sweeps, checkpoint_minutes, out)
    if out is not None and policy is not None:
        return Fit(run_in_folder(chosen, corpus, settings, out, policy=policy, overwrite=overwrite, **how))
    if out is not None:
        check_new(trace_path(out), overwrite)
    fit = Fit(run_plan(chosen, corpus, settings, **how))
    if out is not None:
        save_somewhere(fit, out)
    return fit


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
        check_whole(call.format(name=name), value, 1)
    check_whole(call.format(name="warmup"), warmup, 0)
    for name, value in (*counts.items(), ("warmup", warmup)):
        if value > MAX_SWEEPS:
            raise PplTopicsError(f"{call.format(name=name)}: must be at most {MAX_SWEEPS:,}, got {value!r}")
    if seed is None:
        seed = secrets.randbits(32)
    check_whole(call.format(name="seed"), seed, 0, MAX_SEED)
    if threads is None:
        threads = max(1, numba.get_num_threads() // min(processes, chains))
    check_threads(call.format(name="threads"), threads)
    return Settings(draws, warmup, thin, int(seed), threads, debug)
