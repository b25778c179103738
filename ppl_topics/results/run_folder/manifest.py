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
from ppl_topics.results.run_folder.checkpoint import ANEW

__all__ = ["FORMAT", "MANIFEST", "MODEL", "SOFTWARE", "Manifest", "digest_of", "read_manifest", "software"]

FORMAT = "ppl-topics-run"
VERSION = 1
MANIFEST = "run.json"
MODEL = "model.yaml"
MAX_BYTES = 2**24
"""Of a manifest or a model; a larger file is none."""

SOFTWARE = ("ppl-topics", "numpy", "numba", "scipy")
"""What the bits of draws depend on."""

Whole = Annotated[int, pydantic.Field(ge=0, le=2**63 - 1)]
Positive = Annotated[int, pydantic.Field(ge=1, le=10**9)]


class Manifest(pydantic.BaseModel):
    """What a run folder says of its run.

    Attributes
    ----------
    format, version
        Of the folder.
    run : str
        Tells this run from all others.
    streams : int
        Number of the random streams' version: the same seed gives the same draws only where it is the same.
    created_at : str
    model_digest : str
        SHA-256 of ``model.yaml``.
    plan : str
        The schedule with the reasons for each kernel, as `ppl_topics.plan` prints it.
    corpus_fingerprint : str
    seed, draws, warmup, thin, chains, processes, threads : int
        As asked for; draws may grow when the run is resumed.
    units : int
        Chains; where each response has its own chains, of all responses together.
    debug : bool
    variables : list of str
        That draws are kept of, in the order of the model.
    checkpoint_sweeps : int, optional
    checkpoint_minutes : float, optional
    software : dict of str to str
        Versions.
    digest : str
        SHA-256 of all that; a seed of which a bit changed would be another seed.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal["ppl-topics-run"] = "ppl-topics-run"
    version: Literal[1] = 1
    run: Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{32}$")]
    streams: Whole
    created_at: Annotated[str, pydantic.Field(max_length=100)]
    model_digest: Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{64}$")]
    plan: str
    corpus_fingerprint: Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{64}$")]
    seed: Whole
    draws: Positive
    warmup: Annotated[int, pydantic.Field(ge=0, le=10**9)]
    thin: Positive
    chains: Positive
    units: Positive
    processes: Positive
    threads: Positive
    debug: bool
    variables: list[str]
    checkpoint_sweeps: Positive | None
    checkpoint_minutes: Annotated[float, pydantic.Field(gt=0, allow_inf_nan=False)] | None
    software: dict[str, Annotated[str, pydantic.Field(pattern=r"^[\w.+!-]{1,100}$")]]
    digest: str = ""

    @property
    def sweeps(self) -> int:
        """Of each chain, of warmup and of draws."""
        return self.warmup + self.draws * self.thin

    def write(self, folder: Path) -> None:
        """Write it to a run folder, in one step."""
        sealed = self.model_copy(update={"digest": self.seal()})
        write_text(folder / MANIFEST, sealed.model_dump_json(indent=1) + "\n")

    def seal(self) -> str:
        """Return what the digest must be."""
        return digest_of(self.model_dump_json(exclude={"digest"}))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a run folder."""
    path = folder / MANIFEST
    text = read_text(path)
    try:
        manifest = Manifest.model_validate_json(text)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))[:100]
        where = f"{place}: " if place else ""
        raise TraceError(
            f"{path}: not the manifest of a run that this ppl-topics can read ({where}{first['msg']}); was it "
            "written by another version, or changed?"
        ) from None
    if manifest.digest != manifest.seal():
        raise TraceError(f"{path}: is not what the run wrote (its digest differs); put that back. {ANEW}")
    return manifest


def read_text(path: Path) -> str:
    """Read a small file of a run folder as UTF-8."""
    try:
        if not path.is_file():
            raise TraceError(f"{path}: no such file; {path.parent} is not the folder of a run, or lost a part of it")
        if os.path.getsize(path) > MAX_BYTES:
            raise TraceError(f"{path}: of {os.path.getsize(path):,} bytes; a run writes at most {MAX_BYTES:,}")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def software() -> dict[str, str]:
    """Return the versions of what the bits of draws depend on."""
    return {name: version(name) for name in SOFTWARE}
