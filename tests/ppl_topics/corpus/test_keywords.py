"""The keyword arguments that constructors, readers and datasets share."""

import dataclasses
import inspect

import pytest

from ppl_topics import Corpus, CorpusBuilder, load_20newsgroups, load_docstrings, read_corpus
from ppl_topics.corpus.keywords import DocumentKeywords, PruningKeywords, TextKeywords
from ppl_topics.corpus.pruning import Pruning
from ppl_topics.corpus.text_options import TextOptions

TAKES_TEXT = [Corpus.from_texts, Corpus.from_frame, read_corpus, load_docstrings, load_20newsgroups]
TAKES_DOCUMENTS = [Corpus.from_texts, Corpus.from_tokens, Corpus.from_matrix, Corpus.from_counts, Corpus.from_arrays]


def parameters(function):
    return inspect.signature(function).parameters


@pytest.mark.parametrize(("keywords", "options"), [(PruningKeywords, Pruning), (TextKeywords, TextOptions)])
def test_keywords_are_the_fields_of_the_options(keywords, options):
    assert set(keywords.__annotations__) == {field.name for field in dataclasses.fields(options)}


@pytest.mark.parametrize("function", TAKES_TEXT)
def test_signatures_list_the_text_options(function):
    assert set(TextKeywords.__annotations__) <= set(parameters(function))


@pytest.mark.parametrize("function", [*TAKES_DOCUMENTS, CorpusBuilder.build])
def test_signatures_list_what_is_known_about_documents(function):
    assert set(DocumentKeywords.__annotations__) <= set(parameters(function))


def test_defaults_are_those_of_the_options_unless_a_function_has_its_own():
    assert parameters(Corpus.from_texts)["token_pattern"].default == TextOptions.token_pattern
    assert parameters(load_docstrings)["max_df"].default == 0.15


@pytest.mark.parametrize("function", [*TAKES_TEXT[:1], *TAKES_DOCUMENTS[:2]])
def test_a_misspelt_keyword_is_a_type_error_that_names_the_nearest(function):
    wrong = rf"{function.__name__}\(\): got an unexpected keyword argument 'lables'; did you mean 'labels'\?"
    with pytest.raises(TypeError, match=wrong):
        function([], lables=["a"])
