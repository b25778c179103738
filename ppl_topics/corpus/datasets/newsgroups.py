"""The 20 Newsgroups postings as raw text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from ppl_topics.corpus.core import Corpus, VocabularyLike
from ppl_topics.corpus.readers.jsonl import read_jsonl
from ppl_topics.corpus.readers.records import Columns
from ppl_topics.corpus.readers.stream import fail
from ppl_topics.corpus.texts import TOKEN_PATTERN, StopWords
from ppl_topics.errors import CorpusError

__all__ = ["load_20newsgroups"]

_PARTS = ("headers", "footers", "quotes")


class _Posting(NamedTuple):
    name: str
    group: str
    text: str


def load_20newsgroups(
    path: str | Path | None = None,
    *,
    subset: Literal["train", "test", "all"] = "train",
    remove: Sequence[str] = (),
    vocabulary: VocabularyLike | None = None,
    stop_words: StopWords = None,
    min_count: int = 1,
    min_df: float | int = 1,
    max_df: float | int = 1.0,
    max_vocabulary: int | None = None,
    lowercase: bool = True,
    token_pattern: str = TOKEN_PATTERN,
) -> Corpus:
    """Load the 20 Newsgroups postings, split by date.

    Parameters
    ----------
    path : str or pathlib.Path, optional
        A JSON Lines file, plain or compressed, whose objects have ``id``, ``split`` ("train" or "test"),
        ``label`` and ``text``. Without it scikit-learn's `fetch_20newsgroups` provides them, which
        downloads them once.
    subset : {"train", "test", "all"}, default "train"
        Which part.
    remove : sequence of {"headers", "footers", "quotes"}, optional
        Parts of a posting to strip, by the rules of scikit-learn: everything up to the first blank line; the
        signature; quoted lines. With all three a classifier can no longer go by senders' names.
    vocabulary, stop_words, min_count, min_df, max_df, max_vocabulary, lowercase, token_pattern : optional
        As in `Corpus.from_texts`. For the test subset give the training corpus as ``vocabulary``.

    Returns
    -------
    Corpus
        Labels are the names of the groups; document ids are those of the file, or file names.

    Raises
    ------
    CorpusError
        If the file is missing or malformed, or there is neither a file nor a way to download the postings.
    """
    if subset not in ("train", "test", "all"):
        raise CorpusError(f"subset is '{subset}', expected 'train', 'test' or 'all'")
    wrong = [part for part in ([remove] if isinstance(remove, str) else remove) if part not in _PARTS]
    if wrong or isinstance(remove, str):
        raise CorpusError(f"remove is {remove!r}, expected a list out of {', '.join(_PARTS)}")
    postings = list(_from_sklearn(subset) if path is None else _from_file(Path(path), subset))
    return Corpus.from_texts(
        (_strip(posting.text, remove) for posting in postings),
        doc_ids=[posting.name for posting in postings],
        labels=[posting.group for posting in postings],
        label_kind="class",
        vocabulary=vocabulary,
        stop_words=stop_words,
        min_count=min_count,
        min_df=min_df,
        max_df=max_df,
        max_vocabulary=max_vocabulary,
        lowercase=lowercase,
        token_pattern=token_pattern,
        name="20newsgroups",
    )


def _from_file(path: Path, subset: str) -> Iterator[_Posting]:
    columns = Columns("text", "label", "id", ("split",))
    found = False
    for record in read_jsonl(path, columns):
        (split,) = record.covariates
        if split not in ("train", "test"):
            raise fail(path, record.line, f"'split' is {split!r}, expected 'train' or 'test'")
        if subset in ("all", split):
            found = True
            # Some copies of the postings hold a tab in place of each line end.
            text = record.text if "\n" in record.text.strip() else record.text.replace("\t", "\n")
            yield _Posting(str(record.doc_id), str(record.label), text)
    if not found:
        raise fail(path, 0, f"the file holds no posting of the subset '{subset}'")


def _from_sklearn(subset: str) -> Iterator[_Posting]:
    from sklearn.datasets import fetch_20newsgroups

    try:
        bunch = fetch_20newsgroups(subset=subset, shuffle=False)
    except OSError as error:
        # URLError is an OSError too.
        raise CorpusError(
            f"the 20 Newsgroups postings could not be downloaded ({error}); give the path of a JSON Lines "
            "file that holds them, or fetch them where there is a network and copy scikit-learn's data folder"
        ) from error
    for text, target, name in zip(bunch.data, bunch.target, bunch.filenames, strict=True):
        group = bunch.target_names[target]
        yield _Posting(f"{group}/{Path(name).name}", group, text)


def _strip(text: str, remove: Sequence[str]) -> str:
    if not remove:
        return text
    from sklearn.datasets import _twenty_newsgroups as rules

    if "headers" in remove:
        text = rules.strip_newsgroup_header(text)
    if "footers" in remove:
        text = rules.strip_newsgroup_footer(text)
    if "quotes" in remove:
        text = rules.strip_newsgroup_quoting(text)
    return text
