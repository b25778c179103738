"""The options of one call of `read_corpus`, checked once and handed to every reader."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ppl_topics._util.argument_names import argument, arguments
from ppl_topics.corpus.label_inference import LabelKind, check_label_kind
from ppl_topics.corpus.names import NAME, StrArray, column_names
from ppl_topics.corpus.parts import VocabularyLike
from ppl_topics.corpus.readers.formats import COUNT_FORMATS
from ppl_topics.corpus.readers.lines import file_error
from ppl_topics.corpus.readers.records import Columns
from ppl_topics.corpus.readers.vocabulary import load_vocabulary
from ppl_topics.corpus.text_options import TOKEN_PATTERN, TextOptions
from ppl_topics.errors import CorpusError

__all__ = ["ReadOptions"]

_COLUMN_FORMATS = ("jsonl", "csv", "tsv", "parquet")


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
    more_kinds: Mapping[str, LabelKind | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        name: str,
        columns: Columns,
        words: Mapping[str, Any],
        *,
        vocabulary: str | Path | VocabularyLike | None,
        covariates: Sequence[str] | None,
        label_kind: LabelKind | None,
        encoding: str,
        first_id: int | None = None,
        more_labels: Sequence[str] | Mapping[str, LabelKind | None] | None = None,
    ) -> Self:
        """Gather the arguments of a call; `words` are those of `TextKeywords`."""
        more = (
            more_labels if isinstance(more_labels, Mapping) else dict.fromkeys(column_names(more_labels, "more_labels"))
        )
        return cls(
            encoding=encoding,
            vocabulary=load_vocabulary(vocabulary, encoding),
            first_id=first_id,
            columns=columns._replace(covariates=column_names(covariates, "covariates"), more_labels=tuple(more)),
            label_kind=label_kind,
            text=TextOptions.of(words),
            # Names of files need not be UTF-8.
            name=os.fsencode(name.split(".")[0]).decode(errors="replace"),
            more_kinds=more,
        )

    def check(self, path: object, kind: str) -> None:
        """Raise a `CorpusError` if an option is invalid, or does not apply to the format of the file."""
        if self.label_kind is not None:
            check_label_kind(self.label_kind, argument("label_kind"))
        if self.first_id not in (None, 0, 1):
            raise CorpusError(f"{argument('first_id')} is {self.first_id}, expected 0 or 1")
        for name, value in ((argument("encoding"), self.encoding), *self.columns.named()):
            if not isinstance(value, str):
                raise CorpusError(f"{name} is {value!r}, expected a string")
        for name, kind_of in self.more_kinds.items():
            if kind_of is not None:
                check_label_kind(kind_of, f"{argument('more_labels')}: {name!r}")
            if isinstance(name, str) and not NAME.match(name):
                raise CorpusError(
                    f"{argument('more_labels')}: {name!r}: models can observe columns whose names have lower-case "
                    "letters, digits and _, a letter first; rename the column"
                )
            if name == "labels":
                raise CorpusError(
                    f"{argument('more_labels')}: 'labels' is the name of those of {argument('label_column')}"
                )
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
            ("text_column", "label_column", "id_column", "covariates", "more_labels"): self.columns != Columns("text")
            and kind not in _COLUMN_FORMATS,
            ("first_id",): self.first_id is not None and kind not in ("svmlight", "ldac"),
            ("token_pattern",): self.text.token_pattern != TOKEN_PATTERN and (counts or native),
            ("tokenizer",): self.text.tokenizer is not None and (counts or native),
            ("ngrams",): self.text.ngrams != 1 and (counts or native),
            ("stop_words",): bool(self.text.stop_words) and (native or (counts and self.vocabulary is None)),
            ("min_count", "min_df", "max_df", "max_vocabulary"): native and not self.text.is_trivial,
        }
        for names, wrong in refused.items():
            if wrong:
                needs = counts and names == ("stop_words",)
                hint = f"; give {argument('vocabulary')}, which names the words" if needs else ""
                raise file_error(path, 0, f"{arguments(*names)} cannot be used with the format {kind}{hint}")
