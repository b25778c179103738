"""``ppl-topics shard``: make a corpus that is larger than memory from many files."""

from __future__ import annotations

from typing import Annotated

import typer

from ppl_topics.cli.corpus_options import TrainingTexts, describe
from ppl_topics.cli.options import AsJson, NoProgress, OnCluster
from ppl_topics.cli.output import print_json

__all__ = ["shard"]


def shard(
    source: Annotated[
        list[str],
        typer.Argument(
            help="Files of texts: JSONL, CSV, TSV, MALLET or Parquet; globs, addresses, folders of Parquet.",
            metavar="SOURCE",
        ),
    ],
    to: Annotated[str, typer.Option(help="The folder to write; a corpus that is there is replaced.", metavar="FOLDER")],
    corpus: TrainingTexts,
    cluster: OnCluster = None,
    no_progress: NoProgress = False,
    json: AsJson = False,
) -> None:
    r"""Make a corpus that may be larger than memory from the texts in many files.

    The files are read twice. Documents are in the order of the sources; files of a glob or a folder are sorted.

    For example:
      ppl-topics shard 'posts/*.jsonl.gz' --stop-words english --min-count 5 --to posts.corpus
      ppl-topics shard 's3://bucket/posts/*.parquet' --text-column body --label-column topic --to posts.corpus \
          --cluster local:4
      ppl-topics run lda --data posts.corpus --set topics=100 --out runs/a
    """
    from ppl_topics.api.sharding import shard_corpus

    given = {**corpus.given(), **corpus.thresholds()}
    made = shard_corpus(source, to=to, cluster=cluster, progress=not no_progress, **given)
    if json:
        print_json(
            {
                "path": to,
                "documents": made.n_docs,
                "tokens": made.n_tokens,
                "words": made.n_words,
                "empty_documents": made.n_empty_docs,
                "dropped_tokens": made.dropped.tokens,
                "fingerprint": made.fingerprint,
            }
        )
        return
    print(describe(made))
    print(f"written: {to}")
