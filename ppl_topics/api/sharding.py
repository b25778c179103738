"""Corpora larger than memory: ``shard_corpus`` makes one from many files, on one machine or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ppl_topics._util.argument_names import are_options, arguments_are_options
from ppl_topics._util.paths import as_path
from ppl_topics.corpus import Corpus
from ppl_topics.corpus.keywords import TextKeywords, takes
from ppl_topics.corpus.labels import LabelKind
from ppl_topics.corpus.native import check_target
from ppl_topics.corpus.parts import VocabularyLike
from ppl_topics.corpus.readers.lines import file_error
from ppl_topics.corpus.readers.options import ReadOptions
from ppl_topics.corpus.readers.parquet import Partition
from ppl_topics.corpus.readers.records import Columns, check_columns
from ppl_topics.corpus.readers.sources import files_of, text_format_of
from ppl_topics.corpus.sharding import ForEach, Source, write_shards
from ppl_topics.engine.cluster.connection import Cluster, ClusterLike, connected
from ppl_topics.engine.cluster.tasks import Here, run_tasks
from ppl_topics.errors import CorpusError
from ppl_topics.prediction.dask_texts import is_dask

__all__ = ["shard_corpus"]


@takes(TextKeywords)
def shard_corpus(
    source: Any,
    *,
    to: str | Path,
    format: str | None = None,
    vocabulary: str | Path | VocabularyLike | None = None,
    text_column: str = "text",
    label_column: str | None = None,
    id_column: str | None = None,
    covariates: Sequence[str] | None = None,
    label_kind: LabelKind | None = None,
    encoding: str = "utf-8",
    cluster: ClusterLike | None = None,
    progress: bool = True,
    **options: Unpack[TextKeywords],
) -> Corpus:
    r"""Make a corpus that is larger than memory from many files, each of which is read twice.

    The result is the folder that ``read_corpus(file, ...).save(to)`` writes, if the file has all documents. Memory
    grows with the number of documents and of different words, not of tokens.

    Parameters
    ----------
    source : str, pathlib.Path, sequence of these, or dask.dataframe.DataFrame
        Files of texts, in one format: JSON Lines, CSV, TSV, MALLET or Parquet, plain or compressed. A path, a glob
        (``"posts/*.jsonl.gz"``), a folder of Parquet files, an address that fsspec opens (``"s3://bucket/*.jsonl.gz"``),
        or a list of these. Or a data frame of Dask, each partition being a file. Documents are in the order of the
        list, and within a glob or a folder in that of the sorted names.
    to : str or pathlib.Path
        The folder to write. A corpus that is there is replaced.
    format, vocabulary, text_column, label_column, id_column, covariates, label_kind, encoding
        As in `read_corpus`; of a data frame, columns are named in the same way.
    cluster : distributed.Client, distributed.LocalCluster or str, optional
        Read the files on the workers of a Dask cluster, as in `sample`. All of them must see `to` under the same path,
        and the files. The corpus is the same.
    progress : bool
        Whether to show progress on standard error.
    **options
        `stop_words`, `min_count`, `min_df`, `max_df`, `max_vocabulary`, `lowercase`, `token_pattern`, `tokenizer` and
        `ngrams` as in `Corpus.from_texts`.

    Returns
    -------
    Corpus
        Its tokens stay on disk. `Corpus.load` opens it again. Its name is that of the folder, without suffixes.

    Raises
    ------
    CorpusError
        If a file is missing, damaged or not of its format (the message names file and line), a file changes while it is
        read, a word that is kept occurs more than 2**31 - 1 times, or `to` exists and is not a corpus; `to` is then as
        before.
    RunError
        If the workers of the cluster cannot be used, or are lost.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in {"a": "red green red", "b": "green blue"}.items():
    ...         _ = pathlib.Path(folder, f"{name}.csv").write_text(f"text\n{text}\n")
    ...     shard_corpus(f"{folder}/*.csv", to=f"{folder}/colours.corpus", progress=False)
    Corpus 'colours': 2 documents, 5 tokens, 3 words
    """
    path = Path(os.path.abspath(as_path(to, "a folder", CorpusError)))
    check_target(path)
    read_options = ReadOptions.of(
        path.name,
        Columns(text_column, label_column, id_column),
        options,
        vocabulary=vocabulary,
        covariates=covariates,
        label_kind=label_kind,
        encoding=encoding,
    )
    sources, kind = _sources(source, format, read_options.columns, absolute=cluster is not None)
    read_options.check(sources[0], kind)
    with connected(cluster) as workers, _bars(progress) as bars:
        try:
            write_shards(sources, kind, read_options, path, _here(bars) if workers is None else _spread(workers, bars))
        except CorpusError as error:
            if str(error).startswith((str(path.parent), *map(str, sources))):
                raise
            raise file_error(_named(source), 0, str(error)) from None
    # Just written, by us.
    return Corpus.load(path, verify=False)


def _sources(source: Any, format: str | None, columns: Columns, *, absolute: bool) -> tuple[Sequence[Source], str]:
    """Return what is to be read, in order, and its format; paths are absolute where others read them."""
    if is_dask(source):
        if getattr(source, "ndim", 1) != 2:
            raise CorpusError("expected a data frame of Dask, got a series or bag; use its to_frame or to_dataframe")
        if _is_persisted(source):
            raise CorpusError("the data frame is persisted on a cluster; give it as it was before persist()")
        check_columns("the data frame", 0, columns.wanted(), list(source.columns), "it")
        chosen = source[list(dict.fromkeys(columns.wanted()))]
        # One after another, for each to carry no more than what computes it.
        return [Partition(i, chosen.partitions[i].to_delayed()[0]) for i in range(source.npartitions)], "parquet"
    files = files_of(source)
    kind = text_format_of(files, format)
    return [Path(os.path.abspath(file)) if absolute and isinstance(file, Path) else file for file in files], kind


def _is_persisted(frame: Any) -> bool:
    """Tell whether a data frame is held by workers, so that a task of another one cannot compute it."""
    with suppress(ModuleNotFoundError):
        from distributed import futures_of

        return bool(futures_of(frame))
    return False


def _named(source: Any) -> str:
    """Name a source in the message about all of its documents."""
    if is_dask(source):
        return "the data frame"
    given = [source] if isinstance(source, str | Path) else list(source)
    return str(given[0]) if len(given) == 1 else f"{given[0]} and {len(given) - 1} more"


def _here(bars: Progress) -> ForEach:
    """Do a pass in this process."""

    def for_each(what: str, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], /) -> list[Any]:
        return [function(shared, item) for item in bars.track(items, description=what)]

    return for_each


class _Call(NamedTuple):
    """What tasks of a pass share."""

    function: Callable[[Any, Any], Any]
    shared: Any
    options: bool


def _spread(cluster: Cluster, bars: Progress) -> ForEach:
    """Do a pass on the workers of a cluster."""

    def for_each(what: str, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], /) -> list[Any]:
        bar = bars.add_task(what, total=len(items))
        call = _Call(function, shared, are_options())
        return run_tasks(
            cluster,
            _on_worker,
            call,
            items,
            finished=lambda place, _: bars.update(bar, completed=place + 1),
            advice="; make the corpus again",
        )

    return for_each


def _on_worker(call: _Call, item: Any, here: Here) -> Any:
    """Do an item of a pass; messages name arguments as the user does."""
    with arguments_are_options() if call.options else nullcontext():
        return call.function(call.shared, item)


def _bars(shown: bool) -> Progress:
    """Return progress bars, one for each pass."""
    columns = TextColumn("{task.description}"), BarColumn(bar_width=10), MofNCompleteColumn(), TextColumn("files, left")
    return Progress(*columns, TimeRemainingColumn(compact=True), console=Console(stderr=True), disable=not shown)
