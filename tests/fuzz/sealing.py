"""Checksums that fit what was damaged: who means harm, and writes a file, writes those too."""

from __future__ import annotations

import json
from pathlib import Path

import google_crc32c
import numpy as np
import zstandard

from ppl_topics.corpus.native import _digest, _fingerprint
from ppl_topics.results.run_folder.manifest import Manifest, digest_of

CHECKSUM = 4
"""Bytes of one, at the end of a chunk."""

MOST = 2**20
"""Bytes of a chunk that is damaged again."""


def seal_corpus(folder: Path) -> None:
    """Give a saved corpus the digests of its arrays, and their fingerprint."""
    if _leads_elsewhere(folder):
        return
    try:
        meta = json.loads((folder / "meta.json").read_text())
        arrays = {}
        for name in meta["arrays"]:
            file = folder / f"{name}.npy"
            if file.parent == folder and file.is_file():
                arrays[name] = _digest(np.load(file, allow_pickle=False))
        meta["arrays"] = {**meta["arrays"], **arrays}
        if isinstance(meta["fingerprint"], str):
            meta["fingerprint"] = _fingerprint(meta["arrays"], meta["parts"])
        (folder / "meta.json").write_text(json.dumps(meta))
    except Exception:
        # What cannot be put right is refused for other reasons.
        return


def seal_manifest(folder: Path) -> None:
    """Give the manifest of a run folder the digests of its model, of its corpus and of itself."""
    if _leads_elsewhere(folder):
        return
    try:
        manifest = Manifest.model_validate_json((folder / "run.json").read_text())
        meta = json.loads((folder / "corpus" / "meta.json").read_text())
        known = {
            "model_digest": digest_of((folder / "model.yaml").read_text()),
            "corpus_fingerprint": meta["fingerprint"],
        }
        manifest.model_copy(update=known).write(folder)
    except Exception:
        return


def _leads_elsewhere(folder: Path) -> bool:
    """Tell whether there are links, which are refused, and might never end if they were read here."""
    return any(path.is_symlink() for path in (folder, *folder.rglob("*")))


def content_of_chunk(data: bytes) -> bytes:
    """Return what a chunk of a run folder expands to; itself, if it is damaged."""
    try:
        # What the frame says goes before any limit.
        if zstandard.frame_content_size(data) > MOST:
            return data
        return zstandard.decompress(data[:-CHECKSUM], max_output_size=MOST)
    except zstandard.ZstdError:
        return data


def sealed_chunk(content: bytes, *, times: int = 1) -> bytes:
    """Return a chunk that expands to a content, or to copies of it in as many frames."""
    return checked(zstandard.compress(content) * times)


def checked(frames: bytes) -> bytes:
    """Return compressed content as a chunk, with its checksum."""
    return frames + google_crc32c.value(frames).to_bytes(CHECKSUM, "little")
