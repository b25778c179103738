"""Messages are one line that a terminal can show, whatever names a file contains."""

from __future__ import annotations

import pickle

import pytest

import ppl_topics as pt
from ppl_topics import errors

KINDS = [kind for name in errors.__all__ if isinstance(kind := getattr(errors, name), type)]


@pytest.mark.parametrize("kind", KINDS)
def test_messages_are_one_line(kind):
    error = kind("café.csv: the word 'a\nb\x1b[31m\u2028' is \\odd\udc80")
    assert str(error) == r"café.csv: the word 'a\nb\x1b[31m\u2028' is \odd\udc80"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)


def test_a_file_name_of_several_lines_is_escaped(tmp_path):
    (tmp_path / "two\nlines.yaml").write_text("name: x\ntopics: 2\n")
    with pytest.raises(pt.errors.SpecError, match=r"two\\nlines\.yaml:2:1: "):
        pt.load_spec(tmp_path / "two\nlines.yaml")
