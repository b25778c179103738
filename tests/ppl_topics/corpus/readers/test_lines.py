"""Plain and compressed files, whole and damaged; the native format; suffixes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard

from ppl_topics.corpus import read_corpus
from ppl_topics.corpus.readers.lines import numbered_lines
from ppl_topics.errors import CorpusError

TEXT = "".join(f"{i % 3} {1 + i % 7}:2 {9 + i % 5}:1\n" for i in range(3000))


def pack(kind: str, data: bytes) -> bytes:
    # With a checksum, as the command line tools write it.
    return gzip.compress(data) if kind == "gz" else zstandard.ZstdCompressor(write_checksum=True).compress(data)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_compressed_files_of_several_frames(tmp_path: Path, kind: str) -> None:
    plain, packed = tmp_path / "a.svmlight", tmp_path / f"a.svmlight.{kind}"
    plain.write_text(TEXT)
    data = TEXT.encode()
    packed.write_bytes(pack(kind, data[:5000]) + pack(kind, data[5000:]))
    assert read_corpus(packed).fingerprint == read_corpus(plain).fingerprint


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.999])
def test_a_truncated_file_is_refused(tmp_path: Path, kind: str, part: float) -> None:
    path = tmp_path / f"a.svmlight.{kind}"
    data = pack(kind, TEXT.encode())
    path.write_bytes(data[: int(part * len(data))])
    with pytest.raises(CorpusError, match="truncated or damaged"):
        read_corpus(path)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_corrupt_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.svmlight.{kind}"
    data = bytearray(pack(kind, TEXT.encode()))
    middle = len(data) // 2
    data[middle : middle + 8] = bytes(byte ^ 0xFF for byte in data[middle : middle + 8])
    path.write_bytes(bytes(data))
    with pytest.raises(CorpusError, match=r"a\.svmlight\."):
        read_corpus(path)


def test_plain_text_named_gz_is_refused_and_gzip_without_the_name_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.svmlight.gz"
    path.write_text(TEXT)
    with pytest.raises(CorpusError, match=r"ends in \.gz but the content is not gzip"):
        read_corpus(path)
    path = tmp_path / "a.svmlight"
    path.write_bytes(gzip.compress(TEXT.encode()))
    assert read_corpus(path).n_docs == 3000


def test_lines_across_chunks(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    lines = ["x" * 700_000, "ä" * 700_000, "", "last"]
    path.write_text("\r\n".join(lines), encoding="utf-8", newline="")
    assert list(numbered_lines(path)) == list(enumerate(lines, start=1))


def test_a_wrong_byte_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"text\n" + b"word word\n" * 200_000 + b"caf\xe9 x\n")
    with pytest.raises(CorpusError, match=r"a\.csv:200002: found 0xe9, which is not utf-8.*encoding='latin-1'"):
        read_corpus(path)
    path.write_bytes(b"text\ncaf\xc3")
    with pytest.raises(CorpusError, match=r"a\.csv:2: found 0xc3"):
        read_corpus(path)


def test_the_native_format(tmp_path: Path) -> None:
    path = tmp_path / "a.svmlight"
    path.write_text(TEXT)
    corpus = read_corpus(path)
    corpus.save(tmp_path / "saved")
    assert read_corpus(tmp_path / "saved").fingerprint == corpus.fingerprint
    fewer = read_corpus(tmp_path / "saved", vocabulary=["1", "2"], label_kind="real")
    assert (fewer.n_words, fewer.dropped.types) == (2, 10)
    assert fewer.labels is not None
    assert fewer.labels.kind == "real"
    with pytest.raises(CorpusError, match="stop_words cannot be used with the format native"):
        read_corpus(tmp_path / "saved", stop_words="english")
    with pytest.raises(CorpusError, match=r"min_count.*cannot be used with the format native"):
        read_corpus(tmp_path / "saved", min_count=3)
    with pytest.raises(CorpusError, match="this is a file, expected the folder"):
        read_corpus(path, format="native")
    with pytest.raises(CorpusError, match="not a corpus"):
        read_corpus(tmp_path)


@pytest.mark.parametrize("name", ["svmlight", "libsvm", ".svmlight"])
def test_the_format_may_be_given(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.dat"
    path.write_text(TEXT)
    assert read_corpus(path, format=name).n_docs == 3000
