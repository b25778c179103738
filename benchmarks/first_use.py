"""How long a newcomer waits: from `pip install` in an empty environment to a figure of topics, and the next time.

    python benchmarks/first_use.py [--wheel dist/ppl_topics-0.1.0-cp311-none-manylinux_2_17_x86_64.whl]

These sources, or a wheel, are installed with the extra `plots` into an environment of their own, where numba has
compiled nothing. Wheels that `make dist` builds on Linux come with compiled code.
There LDA is fitted to the docstrings that the environment holds, or to --data (JSON Lines), by four chains with the
defaults of `pt.sample` but for --sweeps, and its topics are drawn into a PDF. The second time all is compiled.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Results, name_of, parser

SOURCES = Path(__file__).resolve().parent.parent

SCRIPT = """
import sys, time
began = time.perf_counter()
import ppl_topics as pt
data, topics, sweeps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
corpus = pt.read_corpus(data, stop_words="english", min_df=5) if data else pt.load_docstrings()
print("corpus", time.perf_counter() - began)
fit = pt.sample("lda", corpus, topics=topics, warmup=1, draws=1, seed=1, progress=False)
print("first draw", time.perf_counter() - began)
fit = pt.sample("lda", corpus, topics=topics, warmup=sweeps, draws=sweeps, seed=1, progress=False)
print("posterior", time.perf_counter() - began)
fit.plot_topics()[0].figure.savefig("topics.pdf")
print("figure", time.perf_counter() - began)
"""


def run(words: list[str], folder: Path) -> str:
    """Run a command, and return what it prints; what it says about an error is shown."""
    done = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words[:4])}: {done.stderr}")
    return done.stdout


def main() -> None:
    """Do what the command line asks for."""
    arguments = parser(__doc__)
    arguments.add_argument("--data", help="JSON Lines; by default the docstrings of the packages that are installed")
    arguments.add_argument("--topics", type=int, default=20)
    arguments.add_argument("--sweeps", type=int, default=200, help="for warmup, and as many for draws (200)")
    arguments.add_argument("--wheel", type=Path, help="to install in place of the sources: one with compiled code")
    options = arguments.parse_args()
    installed = options.wheel.resolve() if options.wheel else SOURCES
    how = ", compiled wheel" if options.wheel else ""
    setting = {"corpus": name_of(options.data), "K": options.topics, "sweeps": 2 * options.sweeps}
    results = Results(options.results, "first_use", "How long does a newcomer wait?", **setting)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "venv", "env"], folder)
        python = str(folder / "env" / "bin" / "python")
        began = time.perf_counter()
        run([python, "-m", "pip", "install", f"{installed}[plots]"], folder)
        results.add(f"pip install{how}", "seconds", time.perf_counter() - began)
        data = str(Path(options.data).resolve()) if options.data else ""
        for time_of in ("the first time", "the next time"):
            shown = run([python, "-c", SCRIPT, data, str(options.topics), str(options.sweeps)], folder)
            for line in shown.splitlines():
                what, _, seconds = line.rpartition(" ")
                results.add(f"from Python's start to the {what}, {time_of}{how}", "seconds", float(seconds))
                print(f"{what}, {time_of}: {float(seconds):.1f} s", flush=True)


if __name__ == "__main__":
    main()
