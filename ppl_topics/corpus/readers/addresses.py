"""Files on this machine and elsewhere: paths, and addresses such as ``s3://bucket/posts.jsonl``, which fsspec opens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from ppl_topics._util.paths import as_path
from ppl_topics.errors import CorpusError

__all__ = ["Address", "File", "as_file"]


@dataclass(frozen=True)
class Address:
    """The address of a file in any file system of fsspec; it has what readers use of a path."""

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """Name of the file, without the query of a web address."""
        return self.text.partition("::")[0].partition("?")[0].rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """Last suffix of the name."""
        return PurePosixPath(self.name).suffix

    def located(self) -> tuple[Any, str]:
        """Return the file system of fsspec, and the path in it."""
        try:
            from fsspec.core import url_to_fs
        except ModuleNotFoundError:
            raise CorpusError(f"{self}: addresses need fsspec; pip install 'ppl-topics[cluster]' installs it") from None
        try:
            system, path = url_to_fs(self.text)
        except (ImportError, ValueError) as error:
            # The protocol is unknown, or needs another package; the message says which.
            raise CorpusError(f"{self}: cannot be opened: {error}") from None
        return system, path

    def open(self, mode: str) -> Any:
        """Open the file."""
        system, path = self.located()
        return system.open(path, mode)


File: TypeAlias = Path | Address


def as_file(given: object, what: str) -> File:
    """Return what leads to a file, see `as_path`: an address has ``://``."""
    return Address(given) if isinstance(given, str) and "://" in given else as_path(given, what, CorpusError)
