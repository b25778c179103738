"""Models, schedules and options: YAML text, damaged as text and as a tree, and the same as Python data."""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path
from typing import Any

import yaml
from mutation import mutated_text, mutated_tree, weird_value

from ppl_topics import Corpus, PplTopicsError
from ppl_topics.api.sampling import resolve
from ppl_topics.cli import main, model_options
from ppl_topics.cli.model_options import assignments
from ppl_topics.engine.bind import bind
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.spec import Model, load_spec
from ppl_topics.spec.shipped import shipped
from ppl_topics.spec.source import Source

BITS = [
    "&a ", "*a", "&a [*a]", "<<: *a", "!!python/object/apply:os.system [id]", "!!binary aGk=", "!x", "%YAML 1.1\n---\n",
    "---\n", "...\n", "? ", "- ", "{a: 1, a: 2}", "$topics", "$alpha", "$", "$$", "extends: lda", "extends: ../x.yaml",
    "extends: /dev/zero", "~", "0x10", "1e999", ".inf", ".nan", "010", "1_000", "99999999999999999999", "2001-01-01",
    "no", "'", '"', "|\n  x", ">-\n  x", "\\U0010ffff", '"\\UFFFFFFFF"', '"\\ud800"', "\t", "@", "`", "#", ": ", ":",
    "[" * 45, "{a: " * 45, "block: dirichlet", "kernel: collapsed_gibbs", "every: 0", "repeat: 999999999999",
    "weight: 1.0e-300", "words: {min_count: 5}", "record: {z: all}", "top_words: 0", "per: doc", "over: topic",
]  # fmt: skip


def check_exit(arguments: list[str]) -> None:
    """Run a command, whose error must be one line that is no internal error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    text = err.getvalue()
    if code not in (0, 1, 2) or "internal error" in text or "Traceback" in text:
        raise AssertionError(f"exit code {code} of {arguments}: {text[-400:]}")
    errors = [line for line in text.splitlines() if line.startswith("error:")]
    if (code == 2) != (len(errors) == 1):
        raise AssertionError(f"exit code {code} of {arguments}, with the errors {errors}")


def _small() -> Corpus:
    texts = [["red", "green", "red"], ["green", "blue"], [], ["blue", "vote", "law", "law"]] * 2
    return Corpus.from_tokens(texts, labels=["a", "b", "c", "a"] * 2, covariates=[[i, i % 3] for i in range(8)])


def _text(rng: random.Random, data: str, others: list[bytes]) -> bytes:
    changed = mutated_text(rng, data.encode(), others)
    for _ in range(rng.choice((0, 1, 1, 2))):
        at = rng.randrange(len(changed) + 1)
        changed = changed[:at] + rng.choice(BITS).encode() + changed[at:]
    return changed


class SpecTarget:
    """Model files, loaded and planned, by name, text, file, mapping and the command line."""

    name = "spec"

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.trees: list[Any] = []

    def prepare(self, folder: Path) -> None:
        """Plan each shipped model once."""
        self.corpus = _small()
        for name, path in sorted(shipped().items()):
            self.texts.append(path.read_text())
            self.trees.append(yaml.safe_load(path.read_text()))
            make_plan(load_spec(name), CorpusSizes.of(self.corpus))
        check_exit(["plan", "lda"])

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged model."""
        if rng.random() < 0.5:
            data = _text(rng, rng.choice(self.texts), [text.encode() for text in self.texts])
        else:
            tree = mutated_tree(rng, rng.choice(self.trees))
            data = yaml.safe_dump(tree, sort_keys=False, allow_unicode=rng.random() < 0.5).encode(
                errors="surrogatepass"
            )
        (place / "model.yaml").write_bytes(data)

    def run(self, rng: random.Random, place: Path) -> None:
        """Load it, plan it, and bind it to a small corpus."""
        how = rng.random()
        path = place / "model.yaml"
        if how < 0.05:
            check_exit([rng.choice(("plan", "models")), str(path)])
            return
        if how < 0.3:
            tree = mutated_tree(rng, rng.choice(self.trees))
            model: Any = tree if isinstance(tree, dict) else {"name": tree}
        else:
            model = path if how < 0.9 else path.read_bytes().decode(errors="replace") + "\n"
        spec = load_spec(model)
        repr(spec)
        again = load_spec(spec.to_yaml())
        assert again.to_yaml() == spec.to_yaml()
        Model.of(spec)
        plan = make_plan(spec, CorpusSizes.of(self.corpus))
        str(plan)
        if spec.topics <= 1_000:
            bind(plan, self.corpus)


class _Schedules:
    """Schedules, as files and as Python data, of every shipped model."""

    def __init__(self) -> None:
        self.trees: dict[str, Any] = {}

    def prepare(self, folder: Path) -> None:
        """Take the schedules that the scheduler chooses, and some of its own making."""
        from ppl_topics.schedule.plan import to_data

        self.sizes = CorpusSizes.of(_small())
        for name in sorted(shipped()):
            self.trees[name] = to_data(make_plan(load_spec(name), self.sizes).schedule)
        self.trees["lda"] = {
            "cycle": [
                {"z": {"kernel": "partially_collapsed", "words": {"min_count": 2}}},
                {"mixture": [{"weight": 3, "z": "partially_collapsed"}, {"weight": 1, "z": "collapsed_gibbs"}]},
                {"every": 5, "phi": "dirichlet_rows"},
                {"repeat": 2, "phi": "dirichlet_rows"},
            ]
        }

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged schedule."""
        name = rng.choice(sorted(self.trees))
        tree = mutated_tree(rng, self.trees[name])
        text = yaml.safe_dump(tree, sort_keys=False)
        data = text.encode(errors="surrogatepass") if rng.random() < 0.5 else _text(rng, text, [])
        (place / "schedule.yaml").write_bytes(data)
        (place / "name").write_text(name)

    def run(self, rng: random.Random, place: Path) -> None:
        """Plan the model by it."""
        name = (place / "name").read_text()
        if rng.random() < 0.05:
            check_exit(["plan", name, "--schedule", str(place / "schedule.yaml")])
            return
        if rng.random() < 0.5:
            asked = model_options.Model(model=name, schedule=str(place / "schedule.yaml"))
            spec = resolve(name, **asked.given())
        else:
            spec = resolve(name, {}, schedule=mutated_tree(rng, self.trees[name]))
        str(make_plan(spec, self.sizes))


class _Settings:
    """Values of ``--set`` and ``--record``, and the arguments of the same names."""

    def prepare(self, folder: Path) -> None:
        """Load the shipped models."""
        self.specs = {name: load_spec(name) for name in sorted(shipped())}
        self.sizes = CorpusSizes.of(_small())

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged value."""
        valid = rng.choice(
            ("50", "0.1", "{sum: 6.4}", "{top_words: 100}", "{docs: 10}", "all", "none", "[1, 2]", "true")
        )
        (place / "value").write_bytes(_text(rng, valid, []))

    def run(self, rng: random.Random, place: Path) -> None:
        """Set a parameter to it, or record a variable by it."""
        value = (place / "value").read_bytes().decode(errors="replace")
        name = rng.choice(sorted(self.specs))
        known = [*self.specs[name].parameters, *self.specs[name].blocks]
        key = rng.choice((*known, "", ".", "alpha.sum", "topics.x", "a" * 300, "\0"))
        if rng.random() < 0.04:
            option = rng.choice(("--set", "--record"))
            check_exit(["plan", name, option, f"{key}={value}"])
            return
        with contextlib.suppress(PplTopicsError):
            parameters = assignments("--set", [f"{key}={value}"])
            str(make_plan(resolve(name, parameters), self.sizes))
        with contextlib.suppress(PplTopicsError):
            rules = Source("--record", {"record": assignments("--record", [f"{key}={value}"])})
            str(make_plan(resolve(name, {}, record=rules), self.sizes))
        str(make_plan(resolve(name, {key: weird_value(rng)}, record={rng.choice(known): weird_value(rng)}), self.sizes))


class OptionsTarget:
    """What options say of a model: its schedule, its parameters, what to record."""

    name = "options"

    def __init__(self) -> None:
        self.parts = (_Schedules(), _Settings())

    def prepare(self, folder: Path) -> None:
        """Prepare either."""
        for part in self.parts:
            part.prepare(folder)

    def make(self, rng: random.Random, place: Path) -> None:
        """Write a damaged schedule or value."""
        rng.choice(self.parts).make(rng, place)

    def run(self, rng: random.Random, place: Path) -> None:
        """Use it."""
        self.parts[(place / "value").exists()].run(rng, place)
