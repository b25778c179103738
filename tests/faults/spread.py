"""Faults of a Dask cluster: what strikes a chain whose documents are spread over workers, and what must hold then."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml
from processes import Child
from runs import Case, Outcome, Trial

import ppl_topics as pt
from ppl_topics.cli.entry import main as command
from ppl_topics.engine.cluster import workers
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.schedule.plan import to_data

SERVING, NEEDED = 3, 1
"""Workers at the start, and how many are always left."""
SECONDS = 300.0
"""A run that takes longer after the last strike hangs."""
FROZEN_SECONDS = 3.0
"""Without a sign of life, after which a worker counts as lost; 30 by default, for which nobody waits here."""


class SpreadCase(Case):
    """A model with kernels that can be distributed, and its undisturbed run in one process."""

    def __init__(self, case: Case, folder: Path) -> None:
        folder.mkdir()
        self.path = folder / f"{case.model}.yaml"
        spec = pt.load_spec(case.model, {"topics": 3})
        plan = make_plan(spec, CorpusSizes.of(case.corpus), distributed=True)
        self.path.write_text(yaml.safe_dump(spec.with_schedule(to_data(plan.schedule), "the plan").to_dict()))
        super().__init__(case.model, folder)

    def sample(self, out: Path | None = None, **options: Any) -> pt.Fit:
        """Sample, into a folder or in memory, in this process."""
        options = {"record": {"z": "all"}, "progress": False, **self.options, **options}
        return pt.sample(str(self.path), self.corpus, out=out, **options)

    def command(self, out: Path, **options: Any) -> list[str]:
        """Return the words of the command that does the same on the saved corpus."""
        words = super().command(out, **options)
        return ["run", str(self.path), *(word for word in words[2:] if not word.startswith("--set=topics"))]


@cache
def spread_case(case: Case) -> SpreadCase:
    """Return the case with kernels that can be distributed."""
    return SpreadCase(case, case.data.parent / "spread")


class Cluster:
    """A scheduler and workers in processes of their own, as Dask's commands start them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.workers = folder, list[subprocess.Popen[bytes]]()
        self.begin()

    def begin(self) -> None:
        """Start the scheduler, where none is, and the workers."""
        said = self.folder / "scheduler.json"
        said.unlink(missing_ok=True)
        self.scheduler = self._start("scheduler", "--port=0", f"--scheduler-file={said}")
        while not said.exists() or not said.read_text().endswith("}"):
            time.sleep(0.05)
        self.file = said
        self.join_by_relay()
        for _ in range(SERVING - 1):
            self.join()

    @property
    def address(self) -> str:
        """The address of the scheduler."""
        return str(yaml.safe_load(self.file.read_text())["address"])

    def join(self) -> None:
        """Start another worker."""
        self.workers.append(self._start("worker", f"--scheduler-file={self.file}", "--nthreads=1", "--no-nanny"))

    def join_by_relay(self) -> None:
        """Start a worker whose connections all go through a relay, but for those that it makes to other workers."""
        to_scheduler, to_worker, port = _free_ports(3)
        scheduler = int(self.address.rpartition(":")[2])
        relay = [f"{to_scheduler}:{scheduler}", f"{to_worker}:{port}"]
        self.relay = subprocess.Popen([sys.executable, str(Path(__file__).with_name("relay.py")), *relay])
        self.by_relay = self._start(
            "worker", f"tcp://127.0.0.1:{to_scheduler}", f"--listen-address=tcp://127.0.0.1:{port}",
            f"--contact-address=tcp://127.0.0.1:{to_worker}", "--nthreads=1", "--no-nanny",
        )  # fmt: skip
        self.workers.append(self.by_relay)

    def end(self) -> None:
        """Kill all of them."""
        for process in [*self.workers, self.scheduler, self.relay]:
            process.kill()
            process.wait()
        self.workers.clear()

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{words[0]}.log").open("ab")
        return subprocess.Popen([sys.executable, "-m", "dask", *words, "--no-dashboard"], stdout=log, stderr=log)


def _free_ports(number: int) -> list[int]:
    """Return ports that nobody uses now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def strike_workers(trial: Trial) -> list[Outcome]:
    """Strike a run over workers again and again.

    Kill, freeze or add a worker, or cut it off the network; kill the scheduler, or the client.
    """
    case, rng, found = spread_case(trial.case), trial.rng, list[Outcome]()
    cluster = Cluster(trial.folder)
    begin = case.command(trial.run, checkpoint_sweeps=int(rng.integers(1, 20)))
    try:
        while True:
            words = ["resume", str(trial.run), "--no-progress"] if trial.complete() else begin
            client = trial.start(partial(_command, [*words, f"--cluster={cluster.address}", "--split=documents"]))
            # Mostly when all workers have begun.
            client.ends_before(
                trial.sampling if rng.random() < 1 / 4 else partial(trial.keeps, trial.sweeps_kept() + 1)
            )
            while len(found) < trial.most and not client.ends_before(seconds=rng.uniform(0.1, 2.0)):
                found.append(_strike(cluster, client, rng, trial.phase()))
            if not client.ends_before(seconds=SECONDS):
                client.kill()
                raise AssertionError(f"the run hangs: {client.said[-2000:]}")
            if client.code == 0:
                _check(trial, case)
                return found
            if client.code != -signal.SIGKILL:
                assert cluster.scheduler.poll() is not None, client.said[-2000:]
                client.expect(1, "the scheduler is lost" if trial.complete() else cluster.address)
            if cluster.scheduler.poll() is not None:
                cluster.end()
                cluster.begin()
    finally:
        cluster.end()


def _command(words: list[str]) -> int:
    """Run the command line, which waits for frozen workers less long."""
    workers.FROZEN_SECONDS = FROZEN_SECONDS
    return command(words)


def _strike(cluster: Cluster, client: Child, rng: Any, when: str) -> Outcome:
    """Do one of the things that can happen, and return what it was and what is to come of it."""
    there = [worker for worker in cluster.workers if worker.poll() is None]
    kind = rng.choice(
        ["kill", "freeze", "pause", "cut", "join", "scheduler", "client"], p=[0.4, 0.1, 0.1, 0.2, 0.1, 0.05, 0.05]
    )
    victim = there[rng.integers(len(there))]
    if kind == "scheduler":
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        return Outcome("SIGKILL of the scheduler", when, "one error says so; resumed, equal")
    if kind == "client":
        client.kill()
        return Outcome("SIGKILL of the client", when, "resumed, equal")
    if kind in ("freeze", "pause"):
        victim.send_signal(signal.SIGSTOP)
        time.sleep(2.5 * FROZEN_SECONDS if kind == "freeze" else rng.uniform(0.1, 0.5) * FROZEN_SECONDS)
        victim.send_signal(signal.SIGCONT)
        how_long = "longer than one may be silent" if kind == "freeze" else "for a moment"
        return Outcome(f"SIGSTOP of a worker, {how_long}", when, "the run goes on, equal")
    if kind == "cut" and cluster.by_relay in there:
        return _cut(cluster, rng, when)
    if kind == "kill" and len(there) > NEEDED:
        victim.kill()
        victim.wait()
        # Some come back.
        if rng.random() < 0.7 or len(there) - 1 <= NEEDED:
            cluster.join()
        return Outcome("SIGKILL of a worker", when, "the run goes on, equal")
    cluster.join()
    return Outcome("a worker joins", when, "the run goes on, equal")


def _cut(cluster: Cluster, rng: Any, when: str) -> Outcome:
    """Let nothing through between a worker and the others, for some time or for ever."""
    how = rng.choice(["for a moment", "longer than one may be silent", "and its connections are lost"])
    cluster.relay.send_signal(signal.SIGSTOP)
    time.sleep(rng.uniform(0.1, 0.5) * FROZEN_SECONDS if how == "for a moment" else 2.5 * FROZEN_SECONDS)
    if how == "and its connections are lost":
        cluster.relay.kill()
        cluster.relay.wait()
        cluster.by_relay.kill()
        cluster.by_relay.wait()
        cluster.join_by_relay()
    else:
        cluster.relay.send_signal(signal.SIGCONT)
    return Outcome(f"a worker is cut off, {how}", when, "the run goes on, equal")


def _check(trial: Trial, case: SpreadCase) -> None:
    """Fail unless the run has all draws of the undisturbed one."""
    fit = pt.load_fit(trial.run)
    for group in fit.groups.values():
        group.load()
    wrong = case.difference(fit, ended=True)
    assert not wrong, f"{wrong} is not that of the whole run"
