"""The folder of a run: created when the run starts, opened when it is resumed or read."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray

from ppl_topics._util.argument_names import setting
from ppl_topics._util.files import refuse_links, remove_parts, write_text
from ppl_topics.core.keys import STREAMS
from ppl_topics.corpus import Corpus
from ppl_topics.errors import CorpusError, PplTopicsError, RunError, TraceError
from ppl_topics.results.run_folder.checkpoint import CHECKPOINTS, anew
from ppl_topics.results.run_folder.chunks import codecs, is_drawn
from ppl_topics.results.run_folder.draws import DRAWS
from ppl_topics.results.run_folder.lazy import open_arrays
from ppl_topics.results.run_folder.lock import LOCK, OWNER, locked
from ppl_topics.results.run_folder.log import LOG, log
from ppl_topics.results.run_folder.manifest import (
    MANIFEST,
    MODEL,
    Manifest,
    digest_of,
    read_manifest,
    read_text,
    software,
)
from ppl_topics.spec import Spec, load_spec
from ppl_topics.spec.yaml_source import parse_source

__all__ = ["CORPUS", "RunFolder", "check_free", "is_run_folder"]

CORPUS = "corpus"
COMPRESSION = 0
"""Level of Zstandard, of data and constants."""

START = "start.npz"
"""Values that chains were given to start with."""

PARTS = {MANIFEST, MODEL, CORPUS, START, DRAWS, CHECKPOINTS, LOG, LOCK, OWNER}


def is_run_folder(path: Path) -> bool:
    """Tell whether a folder holds a run."""
    return os.path.isfile(path / MANIFEST)


def check_free(path: Path, overwrite: bool, error: type[PplTopicsError]) -> None:
    """Refuse a folder with a run in it, unless it is to be replaced, or with anything that a run does not write."""
    try:
        # A corpus that is being saved is a hidden folder that ends in .part or .old.
        names = (entry.name for entry in path.iterdir() if not entry.name.endswith((".part", ".old")))
        strange = min((name for name in names if name not in PARTS), default="")
    except OSError as reason:
        raise error(f"{path}: cannot be read ({reason.strerror})") from None
    if strange:
        raise error(f"{path}: holds {strange!r}, which is not part of a run; choose another folder, or an empty one")
    if is_run_folder(path) and not overwrite:
        raise error(
            f"{path}: a run exists here; `ppl-topics resume {path}` continues it, {setting('overwrite', True)} "
            "replaces it"
        )


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run."""

    path: Path
    manifest: Manifest

    @classmethod
    @contextmanager
    def made(cls, path: Path, *, overwrite: bool = False) -> Iterator[None]:
        """Create or empty a folder for a run and hold its lock; `begin` writes the run into it."""
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{path}: cannot create a folder for a run ({error.strerror})") from None
        # Nothing is written, not even a lock, to a folder of something else.
        check_free(path, True, RunError)
        with locked(path):
            check_free(path, overwrite, RunError)
            try:
                # The manifest goes first, so that a half removed run is no longer a run.
                for name in (MANIFEST, *sorted(PARTS - {MANIFEST, LOCK, OWNER})):
                    _remove(path / name)
                remove_parts(path)
            except OSError as error:
                raise RunError(f"{path}: its contents cannot be removed ({error.strerror})") from None
            yield

    @classmethod
    def begin(
        cls,
        path: Path,
        spec: Spec,
        corpus: Corpus,
        groups: Mapping[str, xr.Dataset],
        start: Mapping[str, Sequence[NDArray[Any]]],
        **asked: Any,
    ) -> RunFolder:
        """Write all that a run knows before its first sweep; the manifest last, since it vouches for the rest."""
        text = spec.to_yaml()
        values = _start_bytes(start) if start else None
        manifest = Manifest(
            run=uuid.uuid4().hex,
            streams=STREAMS,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            model_digest=digest_of(text),
            start_digest=None if values is None else hashlib.sha256(values).hexdigest(),
            corpus_fingerprint=corpus.fingerprint,
            software=software(),
            **asked,
        )
        try:
            write_text(path / MODEL, text)
            corpus.save(path / CORPUS)
            if values is not None:
                (path / START).write_bytes(values)
            zarr.create_group(path / DRAWS, zarr_format=3, attributes=dict(groups["posterior"].attrs))
            for name, group in groups.items():
                # A chunk that is not in the store counts as lost.
                how: dict[str, Any] = {"mode": "a", "zarr_format": 3, "consolidated": False, "write_empty_chunks": True}
                written = _with_text(group)
                encoding = {title: {"compressors": codecs(COMPRESSION)} for title in written.variables}
                written.to_zarr(path / DRAWS, group=name, encoding=encoding, **how)
            (path / CHECKPOINTS).mkdir()
            manifest.write(path)
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
        log(path, f"started: {manifest.chains} chains, {manifest.warmup} sweeps of warmup, {manifest.draws} draws")
        return cls(path, manifest)

    @classmethod
    def opened(cls, path: Path) -> RunFolder:
        """Open the folder of a run."""
        if path.exists() and not path.is_dir():
            raise TraceError(f"{path}: is a file; only a run in a folder can be resumed")
        if not path.is_dir():
            raise TraceError(f"{path}: no such folder; `ppl-topics run MODEL --data FILE --out {path}` creates one")
        if not is_run_folder(path):
            raise TraceError(
                f"{path}: not the folder of a run: it has no {MANIFEST}; if the run was killed before it started, "
                "run the same command again"
            )
        refuse_links(path)
        return cls(path, read_manifest(path))

    def spec(self) -> Spec:
        """Read the model."""
        path = self.path / MODEL
        text = read_text(path)
        if digest_of(text) != self.manifest.model_digest:
            raise TraceError(f"{path}: has changed since the run started; restore it, or start another run with it")
        # It would extend a file outside the run, but a resolved model is complete.
        if "extends" in parse_source(text, str(path)).data:
            raise TraceError(f"{path}: extends another model, but the model of a run is self-contained")
        return load_spec(path)

    def corpus(self, given: Corpus | None = None) -> Corpus:
        """Read the corpus, or take a given one; either must be the one that the run started with."""
        path = self.path / CORPUS
        if given is None:
            try:
                corpus = Corpus.load(path)
            except CorpusError as error:
                raise TraceError(f"{path}: the run's copy of the corpus cannot be read: {error}") from None
        else:
            corpus = given
        if corpus.fingerprint != self.manifest.corpus_fingerprint:
            what = f"{path}: has" if given is None else "the corpus has"
            raise TraceError(
                f"{what} changed since the run {self.path} started: {corpus.n_docs:,} documents, {corpus.n_tokens:,} "
                f"tokens and {corpus.n_words:,} words with fingerprint {corpus.fingerprint[:12]}, and the run's has "
                f"{self.manifest.corpus_fingerprint[:12]}; give the same documents, vocabulary, labels and covariates, "
                "prepared in the same way, or leave the corpus out: the run has a copy"
            )
        return corpus

    def start(self) -> dict[str, list[NDArray[Any]]]:
        """Read the values that chains were given to start with: one array for all of them, or one for each."""
        if self.manifest.start_digest is None:
            return {}
        path = self.path / START
        try:
            values = path.read_bytes()
        except OSError as error:
            raise TraceError(f"{path}: cannot be read ({error.strerror}). {anew()}") from None
        if hashlib.sha256(values).hexdigest() != self.manifest.start_digest:
            raise TraceError(f"{path}: has changed since the run started; restore it. {anew()}")
        result: dict[str, list[NDArray[Any]]] = {}
        with np.load(io.BytesIO(values)) as arrays:
            for key in arrays:
                result.setdefault(key.partition("/")[0], []).append(arrays[key])
        return result

    def check_streams(self) -> None:
        """Refuse to continue if the same seed no longer gives the same draws."""
        if self.manifest.streams != STREAMS:
            raise TraceError(
                f"{self.path}: was started by ppl-topics {self.manifest.software.get('ppl-topics')}, whose random "
                f"streams have version {self.manifest.streams}; this one has version {STREAMS} and would draw other "
                "numbers. Resume it with that version, or start another run"
            )

    def grown(self, draws: int) -> RunFolder:
        """Extend the arrays and the manifest to more draws."""
        place = self.path / DRAWS
        try:
            for name in ("posterior", "sample_stats"):
                place = self.path / DRAWS / name
                for array in open_arrays(place, "r+")[1].values():
                    # A longer one stays: a run that was killed here may have been asked for more draws.
                    if is_drawn(array) and array.shape[1] < draws:
                        array.resize((array.shape[0], draws, *array.shape[2:]))
            manifest = self.manifest.model_copy(update={"draws": draws})
            manifest.write(self.path)
        except TraceError:
            raise
        except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
            raise TraceError(f"{place}: part of it is missing or damaged ({error}). {anew()}") from None
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written ({error.strerror or error})") from None
        log(self.path, f"asked for {draws} draws, before {self.manifest.draws}")
        return RunFolder(self.path, manifest)


def _start_bytes(start: Mapping[str, Sequence[NDArray[Any]]]) -> bytes:
    """Return the file of what chains start with."""
    file = io.BytesIO()
    arrays: dict[str, Any] = {f"{name}/{i}": each for name, values in start.items() for i, each in enumerate(values)}
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _with_text(group: xr.Dataset) -> xr.Dataset:
    """Return a group with text as objects, for which zarr has a stable format."""
    return group.assign({name: v.astype(object) for name, v in group.variables.items() if v.dtype.kind == "U"})


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
