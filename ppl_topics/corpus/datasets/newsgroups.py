"""The 20 Newsgroups postings as raw text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Unpack

from ppl_topics.corpus.corpus import Corpus
from ppl_topics.corpus.keywords import TextKeywords, takes
from ppl_topics.corpus.parts import VocabularyLike
from ppl_topics.corpus.readers.jsonl import read_jsonl
from ppl_topics.corpus.readers.lines import file_error
from ppl_topics.corpus.readers.records import Columns
from ppl_topics.errors import CorpusError

__all__ = ["load_20newsgroups"]

_PARTS = {
    "headers": "strip_newsgroup_header",
    "footers": "strip_newsgroup_footer",
    "quotes": "strip_newsgroup_quoting",
}
"""Parts of a posting, and the functions of scikit-learn that strip them."""


class _Posting(NamedTuple):
    name: str
    group: str
    text: str


@takes(TextKeywords)
def load_20newsgroups(
    path: str | Path | None = None,
    *,
    subset: Literal["train", "test", "all"] = "train",
    remove: Sequence[str] = (),
    vocabulary: VocabularyLike | None = None,
    **options: Unpack[TextKeywords],
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
        signature; quoted lines. Without all three a classifier cannot use the names of senders.
    vocabulary, **options : optional
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
        raise CorpusError(f"remove is {remove!r}, expected a list of some of {', '.join(_PARTS)}")
    postings = list(_from_sklearn(subset) if path is None else _from_file(Path(path), subset))
    return Corpus.from_texts(
        (_strip(posting.text, remove) for posting in postings),
        doc_ids=[posting.name for posting in postings],
        labels=[posting.group for posting in postings],
        label_kind="class",
        vocabulary=vocabulary,
        name="20newsgroups",
        **options,
    )


def _from_file(path: Path, subset: str) -> Iterator[_Posting]:
    columns = Columns("text", "label", "id", ("split",))
    found = False
    for record in read_jsonl(path, columns):
        (split,) = record.covariates
        if split not in ("train", "test"):
            raise file_error(path, record.line, f"'split' is {split!r}, expected 'train' or 'test'")
        if subset in ("all", split):
            found = True
            # Some copies of the postings have a tab instead of each line end.
            assert isinstance(record.text, str), "a posting without a text"
            text = record.text if "\n" in record.text.strip() else record.text.replace("\t", "\n")
            yield _Posting(str(record.doc_id), str(record.label), text)
    if not found:
        raise file_error(path, 0, f"the file has no posting of the subset '{subset}'")


def _from_sklearn(subset: str) -> Iterator[_Posting]:
    from sklearn.datasets import fetch_20newsgroups

    try:
        bunch = fetch_20newsgroups(subset=subset, shuffle=False)
    except OSError as error:
        # URLError is an OSError too.
        raise CorpusError(
            f"the 20 Newsgroups postings could not be downloaded ({error}); give the path of a JSON Lines "
            "file with them, or download them on another machine and copy scikit-learn's data folder"
        ) from error
    for text, target, name in zip(bunch.data, bunch.target, bunch.filenames, strict=True):
        group = bunch.target_names[target]
        yield _Posting(f"{group}/{Path(name).name}", group, text)


def _strip(text: str, remove: Sequence[str]) -> str:
    from sklearn.datasets import _twenty_newsgroups

    for part, function in _PARTS.items():
        if part in remove:
            text = getattr(_twenty_newsgroups, function)(text)
    return text
