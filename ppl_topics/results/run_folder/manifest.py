"""The manifest of a run folder: what was asked for, by which software, on which corpus."""

from __future__ import annotations

import hashlib
import os
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import pydantic

from ppl_topics._util.files import write_text
from ppl_topics.errors import TraceError
from ppl_topics.results.run_folder.checkpoint import anew

__all__ = ["MANIFEST", "MODEL", "Manifest", "digest_of", "read_manifest", "read_text", "software"]

MANIFEST = "run.json"
MODEL = "model.yaml"
MAX_BYTES = 2**24
"""Largest manifest or model."""

SOFTWARE = ("ppl-topics", "numpy", "numba", "scipy")
"""What the bits of draws depend on."""

Whole = Annotated[int, pydantic.Field(ge=0, le=2**63 - 1)]
Positive = Annotated[int, pydantic.Field(ge=1, le=10**9)]
Digest = Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256, in hexadecimal."""


class Manifest(pydantic.BaseModel):
    """What a run folder says about its run."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal["ppl-topics-run"] = "ppl-topics-run"
    version: Literal[1] = 1
    # Distinguishes this run from all others.
    run: Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{32}$")]
    # Version of the random streams; only with the same one does a seed give the same draws.
    streams: Whole
    created_at: Annotated[str, pydantic.Field(max_length=100)]
    model_digest: Digest
    # The schedule with the reasons for each kernel, as `ppl_topics.plan` prints it.
    plan: str
    corpus_fingerprint: Digest
    seed: Whole
    # Increased if the run is resumed with more draws.
    draws: Positive
    warmup: Annotated[int, pydantic.Field(ge=0, le=10**9)]
    thin: Positive
    chains: Positive
    # Number of chains, those of all responses together if each response has its own chains.
    units: Positive
    processes: Positive
    threads: Positive
    debug: bool
    # The draws of a device are not those of another.
    device: Literal["cpu", "cuda"] = "cpu"
    # Variables whose draws are kept, in the order of the model.
    variables: list[str]
    checkpoint_sweeps: Positive | None
    checkpoint_minutes: Annotated[float, pydantic.Field(gt=0, allow_inf_nan=False)] | None
    # Of the file with the values that chains were given to start with.
    start_digest: Digest | None = None
    software: dict[str, Annotated[str, pydantic.Field(pattern=r"^[\w.+!-]{1,100}$")]]
    # Of all the above: with one changed bit, the seed would be another seed.
    digest: str = ""

    @property
    def sweeps(self) -> int:
        """Number of sweeps of each chain, warmup included."""
        return self.warmup + self.draws * self.thin

    def write(self, folder: Path) -> None:
        """Write it to a run folder, in one step."""
        sealed = self.model_copy(update={"digest": self.seal()})
        write_text(folder / MANIFEST, sealed.model_dump_json(indent=1) + "\n")

    def seal(self) -> str:
        """Return the digest that belongs to the other fields."""
        return digest_of(self.model_dump_json(exclude={"digest"}))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a run folder."""
    path = folder / MANIFEST
    try:
        manifest = Manifest.model_validate_json(read_text(path))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))[:100]
        where = f"{place}: " if place else ""
        raise TraceError(
            f"{path}: not the manifest of a run that this ppl-topics can read ({where}{first['msg']}); was it "
            "written by another version, or changed?"
        ) from None
    if manifest.digest != manifest.seal():
        raise TraceError(f"{path}: is not what the run wrote (its digest differs); put that back. {anew()}")
    return manifest


def read_text(path: Path) -> str:
    """Read a small file of a run folder as UTF-8."""
    try:
        if not path.is_file():
            raise TraceError(f"{path}: no such file; {path.parent} is not the folder of a run, or lost a part of it")
        if os.path.getsize(path) > MAX_BYTES:
            raise TraceError(f"{path}: has {os.path.getsize(path):,} bytes; a run writes at most {MAX_BYTES:,}")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def software() -> dict[str, str]:
    """Return the versions of the software that the bits of draws depend on."""
    return {name: version(name) for name in SOFTWARE}
