"""The chains of a run as tasks of a cluster, dealt out to its workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ppl_topics.corpus import Corpus
from ppl_topics.engine.bind import bind
from ppl_topics.engine.chains import Settings, SweepReport, how_to_resume, run_chains
from ppl_topics.engine.checkpointing import Checkpointing
from ppl_topics.engine.cluster.connection import Cluster
from ppl_topics.engine.cluster.tasks import Here, run_tasks
from ppl_topics.engine.memory import check_memory
from ppl_topics.engine.model_sizes import Demand
from ppl_topics.engine.phases import Phases
from ppl_topics.engine.processes import load_plan
from ppl_topics.engine.recorder import ChainDraws
from ppl_topics.errors import RunError
from ppl_topics.schedule import Plan
from ppl_topics.schedule.costs import CorpusSizes

__all__ = ["run_on_cluster"]


@dataclass(frozen=True)
class Job:
    """What the workers are sent; the model as plain data, since they have their own registry."""

    spec: dict[str, Any]
    corpus: Corpus
    settings: Settings
    checkpointing: Checkpointing | None


def run_on_cluster(
    cluster: Cluster,
    plan: Plan,
    corpus: Corpus,
    chains: int,
    settings: Settings,
    report: Callable[[SweepReport], None],
    stopped: Callable[[], bool],
    checkpointing: Checkpointing | None = None,
) -> dict[int, ChainDraws]:
    """Run chains on the workers of a cluster; arguments and result are those of ``run_chains``."""
    job = Job(plan.model.spec.to_dict(), corpus, replace(settings, cluster=None), checkpointing)
    advice = "" if checkpointing is None else f"; {how_to_resume(checkpointing)}"

    def shown(news: tuple[Any, ...]) -> None:
        report(SweepReport(*news))

    # A worker advances its chains in turn, so that all have about equally many draws when the run is stopped.
    tasks = min(cluster.workers, chains)
    shares = [list(range(first, chains, tasks)) for first in range(tasks)]
    results = run_tasks(
        cluster, _chains, job, shares, threads=settings.threads, report=shown, stopped=stopped, advice=advice
    )
    return {chain: draws for result in results for chain, draws in result.items()}


def _chains(job: Job, chains: list[int], here: Here) -> dict[int, ChainDraws]:
    """Run some chains; again, and from their newest checkpoints, if the worker before was lost."""
    checkpointing = job.checkpointing
    if checkpointing is not None and not checkpointing.folder.is_dir():
        raise RunError(
            f"{checkpointing.folder}: the workers do not see this folder; give one on a file system that all machines "
            "share, by its whole path, or a file that ends in .nc"
        )
    settings, plan = job.settings, load_plan(job.spec, job.corpus)
    if not settings.ignore_memory:
        alone = replace(settings, chains=len(chains))
        sizes = CorpusSizes.of(job.corpus)
        check_memory(Demand(plan, sizes, alone, streamed=checkpointing is not None))
    phases = Phases.here(bind(plan, job.corpus), settings.warmup, settings.debug)

    def report(news: SweepReport) -> None:
        here.report(
            (news.chain, news.sweep, news.sweeps, news.warmup, news.log_posterior, news.seconds),
            last=news.sweep == news.sweeps,
        )

    return run_chains(phases, chains, settings, report, here.stopped, checkpointing)
