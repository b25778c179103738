"""The readers of corpora: valid files of each format, options drawn with them, and what is done with the result."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mutation import compressed, mutated_bytes, mutated_text, mutated_tree
from sealing import seal_corpus

from ppl_topics.corpus import Corpus, read_corpus

WORDS = ["cat", "dog", "milk", "goal", "team", "vote", "law", "red", "green", "blue"]


Options = Sequence[tuple[float, Mapping[str, Sequence[Any]]]]
"""Probabilities, and options that are given together with one of some values each."""


def use(corpus: Corpus, rng: random.Random, folder: Path) -> None:
    """Do with a corpus what a run would: count, select, write, and read again what was written."""
    repr(corpus)
    assert corpus.doc_ptr[-1] == corpus.n_tokens
    assert corpus.n_tokens == 0 or int(corpus.words.max()) < corpus.n_words
    assert corpus.word_counts.sum() == corpus.n_tokens
    corpus.document(rng.randrange(corpus.n_docs))
    if rng.random() < 0.3 and corpus.n_docs < 10_000:
        matrix = corpus.to_matrix()
        assert matrix.sum() == corpus.n_tokens
        half = corpus.select(slice(0, max(1, corpus.n_docs // 2)))
        corpus.with_vocabulary(half)
    if rng.random() < 0.1 and corpus.n_words < 100_000:
        corpus.save(folder / "saved")
        again = Corpus.load(folder / "saved")
        assert again.fingerprint == corpus.fingerprint
        assert list(again.doc_ids) == list(corpus.doc_ids)


@dataclass
class LineTarget:
    """A reader of text files, all of one format."""

    name: str
    inputs: Mapping[str, Sequence[bytes]]
    options: Options

    def prepare(self, folder: Path) -> None:
        """Read each valid file once."""
        for suffix, contents in self.inputs.items():
            for number, data in enumerate(contents):
                path = folder / f"{number}{suffix}"
                path.write_bytes(data)
                use(read_corpus(path), random.Random(0), folder)

    def valid(self, rng: random.Random) -> tuple[str, bytes]:
        """Return the suffix and the content of a valid file."""
        suffix = rng.choice(sorted(self.inputs))
        return suffix, rng.choice(self.inputs[suffix])

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged file, sometimes compressed."""
        suffix, valid = self.valid(rng)
        if suffix == ".jsonl" and rng.random() < 0.4:
            data = _mutated_records(rng, valid)
        else:
            data = mutated_text(rng, valid, self.inputs[suffix])
        if rng.random() < 0.05:
            data, suffix = compressed(rng, data), suffix + rng.choice((".gz", ".zst", ""))
        (place / f"input{suffix}").write_bytes(data)

    def run(self, rng: random.Random, place: Path) -> None:
        """Read it."""
        path = next(place.glob("input*"))
        kind = next(suffix for suffix in self.inputs if suffix in path.name)
        use(read_corpus(path, format=kind, **_drawn(rng, self.options)), rng, place)


def _mutated_records(rng: random.Random, data: bytes) -> bytes:
    records = [json.loads(line) for line in data.splitlines()]
    changed = mutated_tree(rng, records)
    lines = changed if isinstance(changed, list) else [changed]
    return b"\n".join(
        json.dumps(line, ensure_ascii=rng.random() < 0.5).encode(errors="surrogatepass") for line in lines
    )


KINDS = ("class", "multi_label", "real", "count")
ENCODINGS = ("latin-1", "utf-16", "utf-7", "utf-32", "cp1252", "ascii", "shift_jis", "utf-8-sig")
ENCODED: Options = [(0.07, {"encoding": ENCODINGS})]
ALL: Options = [
    (0.05, {"min_count": [2]}),
    (0.05, {"min_df": [0.3]}),
    (0.05, {"max_df": [0.5]}),
    (0.05, {"max_vocabulary": [2]}),
    *ENCODED,
]
COUNTS: Options = [*ALL, (0.2, {"vocabulary": [WORDS]}), (0.1, {"vocabulary": [WORDS], "stop_words": [["cat", "law"]]})]
LDAC_OPTIONS: Options = [*COUNTS, (0.3, {"first_id": (0, 1)})]
SVMLIGHT_OPTIONS: Options = [*LDAC_OPTIONS, (0.3, {"label_kind": KINDS})]
TEXT_OPTIONS: Options = [
    *ALL,
    (0.2, {"vocabulary": [WORDS]}),
    (0.2, {"stop_words": ["english"]}),
    (0.1, {"lowercase": [False]}),
]
COLUMN_OPTIONS: Options = [
    *TEXT_OPTIONS,
    (0.3, {"label_column": ("label", "number", "many")}),
    (0.4, {"label_column": ("label", "number", "many"), "label_kind": KINDS}),
    (0.4, {"id_column": ["id"]}),
    (0.5, {"covariates": (["year"], ["source"], ["year", "source"], ["number"])}),
]


def _drawn(rng: random.Random, options: Options) -> dict[str, Any]:
    """Draw options."""
    drawn: dict[str, Any] = {}
    for probability, values in options:
        if rng.random() < probability:
            drawn |= {name: rng.choice(choices) for name, choices in values.items()}
    return drawn


SVMLIGHT = [
    b"1 1:2 3:1\n-1 2:1 4:5\n1 1:1\n",
    b"0 0:2 3:1 # comment\n1 2:1\n\n2\n",
    b"1,3 1:2\n2 2:1 3:1\n 3:1\n",
    b"0.5 qid:3 1:2\r\n-1.25 2:1.0\r\n",
]
LDAC = [b"2 0:1 3:2\n1 1:4\n0\n", b"3 0:1 1:1 2:1\n3 3:1 4:1 5:9\n"]
UCI = [b"3\n5\n4\n1 1 2\n1 3 1\n2 2 1\n3 5 4\n", b"2\n3\n3\n2 1 1\n1 2 2\n2 3 1\n", b"4\n3\n2\n1 1 1\n3 2 2\n"]
MATRIX = [
    b"%%MatrixMarket matrix coordinate integer general\n% comment\n3 4 4\n1 1 2\n1 3 1\n2 2 1\n3 4 4\n",
    b"%%MatrixMarket matrix coordinate real general\n2 3 3\n2 1 1.0\n1 2 2.0\n2 3 1e0\n",
    b"%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n1 2\n2 3\n",
]
JSONL = [
    b'{"text": "red green red", "label": "a", "id": 1, "year": 1999, "source": "B", "number": 1.5, "many": ["x"]}\n'
    b'{"text": "green blue", "label": "b", "id": 2, "year": 2004, "source": "AP", "number": 2, "many": []}\n'
    b'{"text": "blue vote law", "label": null, "id": "c", "year": 4.5, "source": "AP", "number": 7, "many": ["x"]}\n',
    b'{"text": "caf\xc3\xa9 \\u00e9 cat", "label": true, "id": "x", "year": 0, "source":"", "number": 0, "many": [1]}\n'
    b'{"text": "cat dog milk", "label": false, "id": "y", "year": -1, "source": "z", "number": 3, "many": ["1", 2]}\n',
]
CSV = [
    b"id,text,label,year,source,number,many\n1,red green red,a,1999,BBC,1,x\n2,green blue,b,2004,AP,2,y\n"
    b'3,"blue, ""vote""\nlaw",,2004,AP,7,x\n',
    b"text,label,id,year,source,number,many\r\ncat dog,1,x,1.5,a,0,1\r\ncat milk,2,y,-2,b,3,2\r\n",
]
TSV = [data.replace(b",", b"\t") for data in CSV]
MALLET = [b"d1 sport goal goal team\nd2 politics vote law\n\nd3 sport team goal\n", b"x 1 cat dog\nx 2 dog milk\ny 1\n"]

COUNT_TARGETS = [
    LineTarget("svmlight", {".svmlight": SVMLIGHT}, SVMLIGHT_OPTIONS),
    LineTarget("ldac", {".ldac": LDAC}, LDAC_OPTIONS),
    LineTarget("uci", {".uci": UCI}, COUNTS),
    LineTarget("matrix_market", {".mtx": MATRIX}, COUNTS),
]
TEXT_TARGETS = [
    LineTarget("jsonl", {".jsonl": JSONL}, COLUMN_OPTIONS),
    LineTarget("delimited", {".csv": CSV, ".tsv": TSV}, COLUMN_OPTIONS),
    LineTarget("mallet", {".mallet": MALLET}, TEXT_OPTIONS),
]


class VocabularyTarget:
    """Files of words, and compressed files of every format."""

    name = "vocabulary"

    def prepare(self, folder: Path) -> None:
        """Read one."""
        (folder / "data.svmlight").write_bytes(SVMLIGHT[0])
        (folder / "words.txt").write_text("\n".join(WORDS))
        read_corpus(folder / "data.svmlight", vocabulary=folder / "words.txt")

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged vocabulary beside a valid corpus."""
        data = mutated_text(rng, "\n".join(WORDS).encode() + b"\n")
        if rng.random() < 0.3:
            data = compressed(rng, data)
        (place / "words.txt").write_bytes(data)
        (place / "input.svmlight").write_bytes(rng.choice(SVMLIGHT))

    def run(self, rng: random.Random, place: Path) -> None:
        """Read both."""
        use(
            read_corpus(
                place / "input.svmlight",
                vocabulary=place / "words.txt",
                **_drawn(rng, ENCODED),
            ),
            rng,
            place,
        )


class CompressedTarget:
    """Compressed files, damaged or of much content, under any name."""

    name = "compressed"

    def prepare(self, folder: Path) -> None:
        """Read the valid files once."""
        for target in (*COUNT_TARGETS, *TEXT_TARGETS):
            target.prepare(folder)

    def make(self, rng: random.Random, place: Path) -> None:
        """Write one."""
        suffix, valid = rng.choice((*COUNT_TARGETS, *TEXT_TARGETS)).valid(rng)
        suffix += rng.choice((".gz", ".zst", ""))
        (place / f"input{suffix}").write_bytes(compressed(rng, valid))

    def run(self, rng: random.Random, place: Path) -> None:
        """Read it."""
        use(read_corpus(next(place.glob("input*"))), rng, place)


class NativeTarget:
    """Folders that Corpus.save wrote: JSON, headers and contents of arrays, with checksums that may be put right."""

    name = "native"

    def __init__(self) -> None:
        self.seeds: list[dict[str, bytes]] = []

    def prepare(self, folder: Path) -> None:
        """Save corpora with labels of each kind, and covariates of either storage."""
        tokens = [["red", "green", "red"], ["green", "blue"], [], ["blue", "vote", "law", "law"]]
        wide = pd.DataFrame(np.eye(4, 130) + 1.0, columns=[f"c{i}" for i in range(130)])
        named = pd.DataFrame({"year": [1, 2, 3, 4], "source": ["a", "b", "a", "c"]})
        levels = pd.DataFrame({"many": [f"level {i}" for i in range(4)]})
        many = pd.DataFrame({f"k{j}": [f"v{i}" for i in range(4)] for j in range(40)})
        corpora = [
            Corpus.from_tokens(tokens, labels=["a", "b", None, "a"], covariates=named),
            Corpus.from_tokens(tokens, labels=[["a"], ["a", "b"], [], ["b"]], doc_ids=["w", "x", "y", "é"]),
            Corpus.from_tokens(tokens, labels=[0.5, None, 2.5, 3.0], covariates=many, doc_ids=[4, 3, 2, 1]),
            Corpus.from_tokens(tokens, labels=[1, 2, 3, 4], covariates=wide),
            Corpus.from_tokens(tokens, covariates=levels),
        ]
        for number, corpus in enumerate(corpora):
            corpus.save(folder / str(number))
            use(read_corpus(folder / str(number)), random.Random(0), folder)
            self.seeds.append({file.name: file.read_bytes() for file in (folder / str(number)).iterdir()})

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged folder."""
        files = dict(rng.choice(self.seeds))
        arrays = sorted(name for name in files if name.endswith(".npy"))
        for _ in range(rng.choice((1, 1, 2))):
            action = rng.randrange(10)
            name = rng.choice(arrays)
            if action == 0:
                files[name] = mutated_bytes(rng, files.get(name, b"\x93NUMPY"), list(files.values()))
            elif action == 1:
                files.pop(name, None)
            elif action == 2:
                other = rng.choice(arrays)
                files[name] = files.get(other, b"")
            elif action <= 5 and name in files:
                files[name] = _mutated_array(rng, files[name])
            elif action <= 8:
                files["meta.json"] = _mutated_meta(rng, files["meta.json"])
            else:
                files["meta.json"] = mutated_text(rng, files["meta.json"])
        folder = place / "input"
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        if rng.random() < 0.8:
            seal_corpus(folder)

    def run(self, rng: random.Random, place: Path) -> None:
        """Open it."""
        options: dict[str, Any] = {}
        if rng.random() < 0.1:
            options["vocabulary"] = WORDS
        if rng.random() < 0.1:
            options["label_kind"] = rng.choice(("class", "multi_label", "real", "count"))
        use(read_corpus(place / "input", **options), rng, place)


def _mutated_meta(rng: random.Random, data: bytes) -> bytes:
    try:
        meta = json.loads(data)
        if rng.random() < 0.2 and isinstance(meta, dict) and isinstance(meta.get("arrays"), dict):
            meta["arrays"][rng.choice(("../x", "/dev/zero", "../../../../dev/zero", "", "\0", "a/b", "ids"))] = "0"
        return json.dumps(mutated_tree(rng, meta)).encode()
    except (ValueError, RecursionError):
        # Damaged before.
        return data


def _mutated_array(rng: random.Random, data: bytes) -> bytes:
    """Change type, shape or values of an array; the header may then promise what the file does not hold."""
    try:
        split = data.index(b"\n") + 1
    except ValueError:
        return data
    header, body = data[:split], data[split:]
    action = rng.randrange(4)
    if action == 0:
        values = np.frombuffer(body[: len(body) // 8 * 8], np.int64).copy()
        for _ in range(rng.choice((1, 2)) if len(values) else 0):
            values[rng.randrange(len(values))] = rng.choice((0, -1, 1, 2, 10**6, 2**31, 2**62, -(2**63)))
        return header + values.tobytes()
    if action == 1:
        return header + mutated_bytes(rng, body) if body else header
    text = header[10:].decode("latin-1")
    if action == 2:
        types = ("<i8", "|O", "<f8", "|S5", "<U3", "|V0", "<u4", "|b1", "<c16", "<M8[s]", ">i8", "|u1", "<f2", "|S0")
        old = text.split("'descr': '")[-1].split("'")[0]
        text = text.replace(old, rng.choice(types))
    else:
        shapes = ("()", "(0,)", "(1,)", "(3,)", "(-1,)", "(2, 2)", "(1000000000000,)", "(4, 1)", "(0, 1000000000000)",
                  "(4294967296, 4294967296)", "(True,)", "(None,)", "5", "[3]")  # fmt: skip
        inner = text.split("'shape': ")[-1].split(", }")[0]
        text = text.replace(inner, rng.choice(shapes))
    encoded = text.encode("latin-1")
    return header[:8] + (len(encoded) % 65536).to_bytes(2, "little") + encoded + body
