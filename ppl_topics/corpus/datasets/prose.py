"""The prose of a docstring in reStructuredText."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

__all__ = ["prose"]

# Directives whose body is text; the bodies of all others are code, formulas, tables of contents.
_TEXT_DIRECTIVES = frozenset({"note", "warning", "tip", "important", "caution", "attention", "seealso", "topic"})
# Sections whose unindented lines are "name : type".
_TYPED_SECTIONS = frozenset({"parameters", "other parameters", "attributes", "returns", "yields", "receives"})
# Those in which the name may be left out, so that an unindented line may be only a type.
_UNNAMED_SECTIONS = frozenset({"returns", "yields", "receives"})
_DROPPED_SECTIONS = frozenset({"references"})

_UNDERLINE = re.compile(r"([-=~^\"'`*+#])\1{2,}")
_BORDER = re.compile(r"[-=+|\s]{3,}")
_DIRECTIVE = re.compile(r"\.\. *([\w-]+) *::(.*)")
_FIELD = re.compile(r":[\w ]+:")
_TYPED_NAME = re.compile(r"([\w*][\w*., ]*?) *:(?: .*)?$")

_INLINE = [
    (re.compile(r":(?:[\w-]+:)?math:`[^`]*`"), " "),  # formulas
    (re.compile(r"`([^`<]*?)\s*<[^`>]*>`_{0,2}"), r"\1"),  # links and roles with a title
    (re.compile(r":[\w:+-]+:`~?([^`]*)`"), r"\1"),  # roles
    (re.compile(r"(?:https?|ftp)://\S+"), " "),
    (re.compile(r"\[[\w#*-]{1,20}\]_"), " "),  # citations
    (re.compile(r"%\([^)]*\)s|\$?\{[\w:, ]*\}"), " "),  # slots of docstring templates
    (re.compile(r"[`|*]+"), " "),
]


def prose(docstring: str) -> str:
    r"""Return the part of a docstring that a person reads as text.

    Left out are doctests with their output, literal blocks and the bodies of directives such as ``math`` or
    ``plot``, titles of sections, the bibliography, types of parameters, and the marks of roles, links and
    emphasis.

    Examples
    --------
    >>> print(prose("Sum it.\n\nParameters\n----------\nx : int\n    Anything :class:`~a.B`."))
    Sum it.
    <BLANKLINE>
    x
        Anything a.B.
    """
    lines = inspect.cleandoc(docstring).split("\n")
    text = "\n".join(_without_code(_without_sections(lines)))
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return text.strip()


def _without_sections(lines: list[str]) -> Iterator[str]:
    """Drop titles, underlines, the bibliography, and the types in lists of parameters."""
    section = ""
    for at, line in enumerate(lines):
        following = lines[at + 1].strip() if at + 1 < len(lines) else ""
        if line.strip() and _UNDERLINE.fullmatch(following) and not _UNDERLINE.fullmatch(line.strip()):
            section = line.strip().lower()
        elif _UNDERLINE.fullmatch(line.strip()) or section in _DROPPED_SECTIONS:
            pass
        elif section in _TYPED_SECTIONS and (typed := _TYPED_NAME.fullmatch(line)):
            yield typed[1]
        elif section in _UNNAMED_SECTIONS and line[:1].strip() and following and lines[at + 1].startswith(" "):
            pass
        else:
            yield line


def _without_code(lines: Iterator[str]) -> Iterator[str]:
    """Drop doctests, literal blocks, directives and borders of tables."""
    in_doctest = False
    # Indentation that opened a block of code: all that is indented further belongs to it.
    block: int | None = None
    for line in lines:
        content = line.strip()
        indent = len(line) - len(line.lstrip())
        if not content:
            in_doctest = False
            yield ""
        elif block is not None and indent > block:
            continue
        elif in_doctest or content.startswith(">>>"):
            in_doctest, block = True, None
        elif directive := _DIRECTIVE.match(content):
            block = None if directive[1] in _TEXT_DIRECTIVES else indent
            if block is None:
                yield directive[2]
        elif content.startswith(".. "):
            block = indent  # a citation or a comment
        else:
            block = indent if content.endswith("::") else None
            if not _BORDER.fullmatch(content):
                yield (_FIELD.sub("", line) if content.startswith(":") and not content.startswith(":`") else line)
