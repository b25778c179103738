"""The pictures of the documentation are drawn, of a few documents in the place of each corpus."""

import gzip
import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ppl_topics as pt

PICTURES = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "pictures.py"), run_name="example")["PICTURES"]


@pytest.fixture(scope="module")
def pictured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few documents in the place of each corpus."""
    folder, rng = tmp_path_factory.mktemp("pictured"), np.random.default_rng(1)
    words = ["orbit", "nasa", "launch", "disease", "patients", "doctor", "bread", "chain"]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(60)]
    groups = ["sci.med", "talk.politics.guns", "comp.graphics", "rec.autos", *(f"group {i}" for i in range(16))]
    with gzip.open(folder / "20news-bydate.jsonl.gz", "wt") as lines:
        for i, text in enumerate(texts):
            posting = {
                "id": f"p{i}",
                "split": "train",
                "label": groups[i % 20],
                "text": f"From: x\tSubject: Re: {text}\t\t{text}",
            }
            lines.write(json.dumps(posting) + "\n")
    rows = {"text": texts, "treatment": [i % 2 for i in range(60)], "party": rng.random(60)}
    pd.DataFrame(rows).to_csv(folder / "gadarian.csv", index=False)
    (folder / "hotel").mkdir()
    (folder / "hotel" / "vocab.txt").write_text("\n".join(words))
    with gzip.open(folder / "hotel" / "train.svmlight.gz", "wt") as lines:
        for i in range(60):
            counts = " ".join(f"{1 + word}:{1 + (i + word) % 3}" for word in range(len(words)) if (i + word) % 4)
            lines.write(f"{i % 5 - 2.0} {counts}\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_drawn(name: str, pictured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pt.sample
    monkeypatch.setattr(pt, "sample", lambda *given, **how: whole(*given, **how | {"warmup": 2, "draws": 4}))
    figure = PICTURES[name](pictured)
    figure.savefig(tmp_path / "a.svg")
    assert all(panel.has_data() for panel in figure.axes)
