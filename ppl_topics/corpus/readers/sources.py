"""Which files a source of several names: paths, globs, addresses, folders of Parquet, in a fixed order."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from ppl_topics.corpus.names import iterate
from ppl_topics.corpus.readers.addresses import Address, File, as_file
from ppl_topics.corpus.readers.formats import TEXT_FORMATS, format_of
from ppl_topics.corpus.readers.lines import file_error, missing_file
from ppl_topics.errors import CorpusError

__all__ = ["files_of", "text_format_of"]

_PARQUET = ".parquet"


def files_of(source: object) -> list[File]:
    """Return the files that a path, a glob, or a list of them names; those of a glob or a folder are sorted."""
    wanted = "a path, a glob or a list of them"
    given = [source] if isinstance(source, str | os.PathLike) else list(iterate(source, wanted))
    files: list[File] = []
    for file in (as_file(one, "a corpus") for one in given):
        files += _expanded(file) if isinstance(file, Path) else _expanded_address(file)
    if not files:
        raise CorpusError(f"the list of files is empty; expected {wanted}")
    seen: set[File] = set()
    for file in files:
        if file in seen:
            raise file_error(file, 0, "the file is given twice; give each file once")
        seen.add(file)
    return files


def text_format_of(files: Sequence[File], given: str | None) -> str:
    """Return the format of all files, which must be one of texts."""
    kind = format_of(files[0], given)
    for file in files:
        other = format_of(file, given)
        if other not in TEXT_FORMATS:
            hint = "; Corpus.load opens it" if other == "native" else "; read_corpus reads it"
            expected = f"expected texts: {', '.join(TEXT_FORMATS)}"
            raise file_error(file, 0, f"the format is {other}, {expected}{hint}")
        if other != kind:
            raise file_error(
                file, 0, f"the format is {other}, but that of {files[0]} is {kind}; expected one format in all files"
            )
    return kind


def _expanded(path: Path) -> list[File]:
    if path.is_dir():
        found = sorted(glob.glob(f"{glob.escape(str(path))}/*{_PARQUET}"))
        return [Path(name) for name in _parquet_in(path, found)]
    # A name with brackets is a glob only if there is no such file.
    if os.path.exists(path):
        return [path]
    if not glob.has_magic(str(path)):
        raise missing_file(path)
    matches = [match for match in sorted(glob.glob(str(path), recursive=True)) if _is_data(match)]
    return [file for match in _some(path, matches) for file in _expanded(Path(match))]


def _is_data(match: str) -> bool:
    """Return whether a match is a file, or a folder that its name says is Parquet."""
    return os.path.isfile(match) or match.endswith(_PARQUET)


def _expanded_address(address: Address) -> list[File]:
    """Expand an address; that a single file exists is not asked, which may take a download."""
    system, path = address.located()
    try:
        if any(sign in path for sign in "*["):
            found = system.glob(path, detail=True)
            files = sorted(name for name, entry in found.items() if entry["type"] == "file")
            return [Address(system.unstrip_protocol(name)) for name in _some(address, files)]
        # Web servers have no folders, and would send the file.
        if not address.text.startswith("http") and system.isdir(path):
            found = sorted(system.glob(f"{path.rstrip('/')}/*{_PARQUET}"))
            return [Address(system.unstrip_protocol(name)) for name in _parquet_in(address, found)]
    except CorpusError:
        raise
    except Exception as error:
        # Each file system has errors of its own.
        raise file_error(address, 0, f"the files cannot be listed: {error or type(error).__name__}") from None
    return [address]


def _some(pattern: File, matches: list[str]) -> list[str]:
    if not matches:
        raise file_error(pattern, 0, "no file matches; is the folder right, and the suffix?")
    return matches


def _parquet_in(folder: File, found: list[str]) -> list[str]:
    if not found:
        raise file_error(folder, 0, f"this is a folder without {_PARQUET} files; give files, or a glob such as *.jsonl")
    return found
