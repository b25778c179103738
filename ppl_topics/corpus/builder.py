"""Building a corpus document by document, in little more memory than the corpus itself takes."""

from __future__ import annotations

from typing import Unpack

from ppl_topics.corpus.assembler import CorpusAssembler
from ppl_topics.corpus.corpus import Corpus
from ppl_topics.corpus.keywords import TokensKeywords, document_keywords, takes
from ppl_topics.corpus.parts import VocabularyLike
from ppl_topics.corpus.pruning import Pruning

__all__ = ["CorpusBuilder"]


class CorpusBuilder(CorpusAssembler):
    """Gather documents one by one or in blocks, then `build` the corpus.

    Tokens are kept as in the corpus, at four bytes each. Documents come either as word ids with counts, or as
    lists of words; one builder takes both only if it has a vocabulary.

    Parameters
    ----------
    vocabulary : sequence of str, or Corpus, optional
        The words, in order. Words outside it are dropped and counted; word ids refer to it. Without it,
        words are collected, and sorted at the end; word ids may be named in `build`.

    Examples
    --------
    >>> builder = CorpusBuilder()
    >>> builder.add_tokens(["a", "cat"], label="feline")
    >>> builder.add_tokens(["a", "dog"], label="canine")
    >>> builder.build()
    Corpus: 2 documents, 4 tokens, 3 words, 2 classes
    """

    @takes(TokensKeywords)
    def build(
        self, *, vocabulary: VocabularyLike | None = None, n_words: int | None = None, **options: Unpack[TokensKeywords]
    ) -> Corpus:
        """Return the corpus; the builder gives its memory away and takes no more documents.

        Parameters
        ----------
        vocabulary : sequence of str, or Corpus, optional
            The words that the ids refer to, if documents came as ids to a builder without a vocabulary.
            By default "0", "1", ....
        n_words : int, optional
            Instead of `vocabulary`, the number of words; by default the largest id plus one.
        **options
            `doc_ids`, `labels` and `covariates` of all documents, instead of what was given with each;
            `label_kind`, `name`, `min_count`, `min_df`, `max_df` and `max_vocabulary` as in `Corpus.from_texts`.

        Returns
        -------
        Corpus

        Raises
        ------
        CorpusError
            If there are no documents, or all are empty (unless a given vocabulary emptied them), lengths
            disagree, an id is used twice, or no word is left.
        """
        parts = self.assemble(
            vocabulary=vocabulary, n_words=n_words, pruning=Pruning.of(options), **document_keywords(options)
        )
        return Corpus.from_parts(parts)
