"""Time sweeps of LDA on a GPU, kernel by kernel, beside the CPU of the same machine.

    python benchmarks/gpu.py --topics 100 1000
    python benchmarks/gpu.py --data train.svmlight.gz --vocabulary vocab.txt --topics 100 1000

Each chain starts from random topics. After some sweeps, the next ones are timed, and the tokens a second are those of
the kernel of z alone; a sweep draws the topics too. The CPU has the kernel that a plan chooses, at all threads. Without
--data the corpus is simulated (see simulate.py), and words that occur less than --min-count times are left out. The
log posterior over time is that of the same chains, from the first sweep on.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from common import Results, load, name_of, parser, print_table
from simulate import simulate

import ppl_topics as pt
from ppl_topics.engine.placing import check_device

BANDWIDTH_FLOATS, COPIES = 2**29, 5
DEVICE_KERNELS = ("partially_collapsed", "sparse_partially_collapsed")


def frequent(corpus: pt.Corpus, least: int) -> pt.Corpus:
    """Return a corpus without the tokens of words that occur less often."""
    kept = corpus.word_counts >= least
    ids = np.cumsum(kept) - 1
    tokens = kept[corpus.words]
    doc_ptr = np.concatenate([[0], np.cumsum(tokens)])[corpus.doc_ptr]
    words = ids[corpus.words[tokens]].astype(np.uint32)
    return pt.Corpus(doc_ptr, words, np.asarray(corpus.vocabulary, dtype=object)[kept], name=corpus.name)


def copied_bytes_a_second() -> float:
    """Return the bytes a second, read and written, of a copy from one place on the device to another."""
    from numba import cuda

    one, other = (cuda.device_array(BANDWIDTH_FLOATS, np.float32) for _ in range(2))
    other.copy_to_device(one)
    cuda.synchronize()
    started = time.perf_counter()
    for _ in range(COPIES):
        other.copy_to_device(one)
    cuda.synchronize()
    return 2 * COPIES * one.nbytes / (time.perf_counter() - started)


def gpu_name() -> str:
    """Return what the device is called."""
    from numba import cuda

    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else name


def chains(corpus: pt.Corpus, topics: int, cpu: bool) -> Iterator[tuple[str, str, pt.Chain]]:
    """Yield where each chain runs, its kernel of z, and the chain."""
    for kernel in DEVICE_KERNELS:
        schedule = [{"z": kernel}, {"phi": "dirichlet_rows"}]
        yield "cuda", kernel, pt.Chain("lda", corpus, topics=topics, seed=1, device="cuda", schedule=schedule)
    if cpu:
        chain = pt.Chain("lda", corpus, topics=topics, seed=1)
        yield "cpu", next(label for label in chain.seconds if label.startswith("z:"))[2:], chain


def measure(chain: pt.Chain, burn_in: int, sweeps: int, marks: int) -> dict[str, Any]:
    """Run a chain; return seconds of z, of phi and of sweeps, and log posteriors over the seconds of the sweeps."""
    passed, curve, by_step, whole = 0.0, [], [], []
    for number in range(burn_in + sweeps):
        started = time.perf_counter()
        chain.sweep()
        seconds = time.perf_counter() - started
        passed += seconds
        if number >= burn_in:
            whole.append(seconds)
            by_step.append(chain.last_seconds)
        if (number + 1) % marks == 0 or number == 0:
            curve.append((passed, chain.log_posterior()))
    z, phi = np.array(by_step).T
    return {"z": z, "phi": phi, "sweep": np.array(whole), "curve": curve}


def main() -> None:
    options = arguments().parse_args()
    try:
        check_device("cuda")
    except pt.RunError as error:
        print(f"nothing to measure: {error}")
        return
    if options.data is None:
        corpus = frequent(simulate(options.tokens, topics=options.simulated_topics), options.min_count)
    else:
        corpus = load(options.data, options.vocabulary)
    print(corpus, flush=True)
    about = {"corpus": name_of(options.data, "simulated"), "million tokens": corpus.n_tokens / 1e6, "GPU": gpu_name()}
    results = Results(options.results, "gpu", "How fast are sweeps on a GPU, and on the CPU beside it?", **about)
    bandwidth = copied_bytes_a_second()
    print(f"copies on the device: {bandwidth / 1e12:.2f} TB/s", flush=True)
    rows = []
    for topics in options.topics:
        for place, kernel, chain in chains(corpus, topics, topics <= options.cpu_up_to):
            few = place == "cpu"
            burn_in = min(options.burn_in, options.cpu_burn_in) if few else options.burn_in
            found = measure(chain, burn_in, options.sweeps, options.marks)
            rate = corpus.n_tokens / found["z"]
            setting = {"topics": topics, "sweeps before": burn_in}
            results.add(f"{place} {kernel}", "million tokens a second", rate / 1e6, **setting)
            results.add(f"{place} {kernel}", "seconds of phi", statistics.median(found["phi"]), **setting)
            results.add(f"{place} {kernel}", "seconds of a sweep", statistics.median(found["sweep"]), **setting)
            results.add(f"{place} {kernel}", "log p / N", found["curve"][-1][1] / corpus.n_tokens, **setting)
            end, lp = found["curve"][-1]
            phi_share = 4 * topics * statistics.median(rate) / bandwidth if kernel == DEVICE_KERNELS[0] else None
            rows.append(
                [
                    f"{topics:,}",
                    f"{place} {kernel}",
                    f"{statistics.median(rate) / 1e6:,.0f}",
                    f"{1e3 * statistics.median(found['phi']):,.1f}",
                    "" if phi_share is None or few else f"{phi_share:.2f}",
                    f"{lp:.6g} after {end:.1f} s",
                ]
            )
            print(*rows[-1], [(round(s, 2), f"{v:.5g}") for s, v in found["curve"]], sep="  ", flush=True)
            del chain
    header = ["topics", "kernel of z", "million tokens a second", "phi, ms", "phi read, of copies", "lp"]
    print_table(header, rows)


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = parser(__doc__)
    made.add_argument("--data")
    made.add_argument("--vocabulary")
    made.add_argument("--tokens", type=lambda text: int(float(text)), default=100_000_000)
    made.add_argument("--simulated-topics", type=int, default=1000)
    made.add_argument("--min-count", type=int, default=20)
    made.add_argument("--topics", type=int, nargs="+", default=[100, 1000])
    made.add_argument("--burn-in", type=int, default=30)
    made.add_argument("--cpu-burn-in", type=int, default=10)
    made.add_argument("--cpu-up-to", type=int, default=1000, help="most topics that the CPU is timed with")
    made.add_argument("--sweeps", type=int, default=5)
    made.add_argument("--marks", type=int, default=10, help="sweeps between two log posteriors")
    return made


if __name__ == "__main__":
    main()
