"""Compile the shipped models into a wheel for Linux on x86-64, so that its users do not wait for numba.

    build/wheel/bin/python tools/precompile.py dist

The Python that runs this has the wheel in `dist` installed. This puts one with compiled code beside it, for the same
version of Python. The code runs on processors with AVX2. On others, and with another version of numba, functions are
compiled when they are first called, as they always are without this wheel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

NEEDED = "avx avx2 bmi bmi2 cmov crc32 cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf "
NEEDED += "sse sse2 sse3 sse4.1 sse4.2 ssse3 xsave"
"""Features of the processor: x86-64-v3."""

TUNING = "znver3"
"""The processor whose timings the compiler reads. With those of x86-64-v3, 1,000 topics took some 15% longer on it."""

NOT_NEEDED = "adx aes clflushopt clwb clzero fsgsbase invpcid mwaitx pclmul pku prfchw rdpid rdpru rdrnd rdseed "
NOT_NEEDED += "sha sse4a vaes vpclmulqdq wbnoinvd xsavec xsaveopt xsaves"
"""What that processor has beyond them."""

FEATURES = [*(f"+{name}" for name in NEEDED.split()), *(f"-{name}" for name in NOT_NEEDED.split())]

# numba reads these when it is imported.
os.environ |= {
    "NUMBA_CPU_NAME": TUNING,
    "NUMBA_CPU_FEATURES": ",".join(FEATURES),
    "NUMBA_CACHE_LOCATOR_CLASSES": "ppl_topics._util.precompiled.Locator",
}

import numpy as np  # noqa: E402

import ppl_topics as pt  # noqa: E402
from ppl_topics._util import precompiled  # noqa: E402
from ppl_topics.api.sampling import prepare  # noqa: E402
from ppl_topics.cli.warm import SHORT, use  # noqa: E402
from ppl_topics.corpus.labels import LabelKind  # noqa: E402
from ppl_topics.spec.shipped import shipped  # noqa: E402

MANY_TOPICS = {"topics": 1000}
"""These have loops of their own."""

TINY = [["red", "green", "blue"], ["blue", "red", "red"]]
"""Draws of topics with so few tokens are made in log space."""


def corpus_for(model: str, corpus: pt.Corpus) -> pt.Corpus:
    """Return a corpus of classes with labels of the kind that a model has instead, and with covariates if it has."""
    lengths = corpus.doc_lengths
    other: dict[str, tuple[Any, LabelKind]] = {
        "labelled_lda": ([["long" if length > 50 else "short"] for length in lengths], "multi_label"),
        "medlda_binary": (np.where(lengths > 50, "long", "short"), "class"),
        "medlda_regression": (np.log(1.0 + lengths), "real"),
        "slda_counts": (lengths, "count"),
        "slda_gaussian": (np.log(1.0 + lengths), "real"),
        "slda_ordinal": (np.minimum(lengths // 50, 3).astype(str), "class"),
    }
    if model in other:
        labels, kind = other[model]
        corpus = corpus.with_labels(labels, kind=kind)
    if "x" in pt.load_spec(model).blocks:
        corpus = corpus.with_covariates([{"size": float(length), "year": str(length % 5)} for length in lengths])
    return corpus


def parameters_for(model: str, corpus: pt.Corpus) -> dict[str, Any]:
    """Return the parameters that a model has no default of."""
    if "keywords" in pt.load_spec(model).parameters:
        return {"keywords": {"any": corpus.vocabulary[:2].tolist()}}
    return {"topics": 2} if model == "labelled_lda" else {}


def main() -> None:
    """Do what the command line asks for."""
    dist = Path(sys.argv[1])
    [pure] = dist.glob("*-py3-none-any.whl")
    shutil.rmtree(precompiled.FOLDER, ignore_errors=True)
    corpus = pt.load_docstrings()
    cases = [(model, parameters_for(model, corpus), corpus_for(model, corpus)) for model in shipped()]
    cases += [("lda", MANY_TOPICS, corpus), ("lda", {}, pt.Corpus.from_tokens(TINY))]
    for model, parameters, data in cases:
        use(prepare(model, parameters, progress=False, **SHORT), data)
        size = sum(file.stat().st_size for file in precompiled.FOLDER.rglob("*")) / 2**20
        print(f"{model}: {size:.0f} MiB of compiled code", flush=True)
    precompiled.FEATURES.write_text(NEEDED)
    repack(pure, dist)


def repack(pure: Path, dist: Path) -> None:
    """Write a wheel with compiled code beside the one without."""
    python = "".join(map(str, sys.version_info[:2]))
    with tempfile.TemporaryDirectory() as name:
        wheel("unpack", "--dest", name, pure)
        [folder] = Path(name).iterdir()
        shutil.copytree(precompiled.FOLDER, folder / "ppl_topics" / precompiled.FOLDER.name)
        wheel("pack", "--dest-dir", name, folder)
        tags = ("--python-tag", f"cp{python}", "--abi-tag", "none", "--platform-tag", "manylinux_2_17_x86_64")
        wheel("tags", *tags, "--remove", Path(name) / pure.name)
        [made] = Path(name).glob("*.whl")
        shutil.move(made, dist / made.name)


def wheel(*words: str | Path) -> None:
    """Run a command of the package `wheel`."""
    subprocess.run([sys.executable, "-m", "wheel", *words], check=True)


if __name__ == "__main__":
    main()
