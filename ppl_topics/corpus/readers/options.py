"""The options of one call of `read_corpus`, checked once and handed to every reader."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ppl_topics._util.argument_names import argument, arguments
from ppl_topics.corpus.label_inference import LabelKind, check_label_kind
from ppl_topics.corpus.names import StrArray
from ppl_topics.corpus.readers.formats import COUNT_FORMATS
from ppl_topics.corpus.readers.lines import file_error
from ppl_topics.corpus.readers.records import Columns
from ppl_topics.corpus.text_options import TOKEN_PATTERN, TextOptions
from ppl_topics.errors import CorpusError

__all__ = ["ReadOptions"]

_COLUMN_FORMATS = ("jsonl", "csv", "tsv")


@dataclass(frozen=True)
class ReadOptions:
    """Options of one call of `read_corpus`, which documents them."""

    encoding: str
    vocabulary: StrArray | None
    first_id: int | None
    columns: Columns
    label_kind: LabelKind | None
    text: TextOptions
    name: str

    def check(self, path: Path, kind: str) -> None:
        """Raise a `CorpusError` if an option is invalid, or does not apply to the format of the file."""
        if self.label_kind is not None:
            check_label_kind(self.label_kind, argument("label_kind"))
        if self.first_id not in (None, 0, 1):
            raise CorpusError(f"{argument('first_id')} is {self.first_id}, expected 0 or 1")
        for name, value in ((argument("encoding"), self.encoding), *self.columns.named()):
            if not isinstance(value, str):
                raise CorpusError(f"{name} is {value!r}, expected a string")
        for name, value in (("label_column", self.columns.label), ("text_column", self.columns.text)):
            if value in self.columns.covariates:
                raise CorpusError(
                    f"{argument('covariates')}: {value!r} is the {argument(name)}; remove it from the covariates"
                )
        if self.label_kind is not None and self.columns.label is None and kind in _COLUMN_FORMATS:
            given, missing = argument("label_kind"), argument("label_column")
            raise file_error(path, 0, f"{given} is given without {missing}; name the column of the labels")
        native, counts = kind == "native", kind in COUNT_FORMATS
        refused = {
            ("text_column", "label_column", "id_column", "covariates"): self.columns != Columns("text")
            and kind not in _COLUMN_FORMATS,
            ("first_id",): self.first_id is not None and kind not in ("svmlight", "ldac"),
            ("token_pattern",): self.text.token_pattern != TOKEN_PATTERN and (counts or native),
            ("stop_words",): bool(self.text.stop_words) and (native or (counts and self.vocabulary is None)),
            ("min_count", "min_df", "max_df", "max_vocabulary"): native and not self.text.is_trivial,
        }
        for names, wrong in refused.items():
            if wrong:
                needs = counts and names == ("stop_words",)
                hint = f"; give {argument('vocabulary')}, which names the words" if needs else ""
                raise file_error(path, 0, f"{arguments(*names)} cannot be used with the format {kind}{hint}")
