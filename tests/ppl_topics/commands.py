"""What the tests of commands share: texts in words of colours, and commands run in this process."""

import numpy as np

from ppl_topics.cli import main

COLOURS = {"warm": "red orange yellow", "cold": "blue green teal", "dark": "black brown gray"}


def coloured(number, seed=1):
    """Return texts of eight words, a number of each colour, and their labels."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(words.split(), 8)) for words in COLOURS.values() for _ in range(number)]
    return texts, [name for name in COLOURS for _ in range(number)]


def call(capsys, *arguments):
    """Run a command; return its exit code, standard output and standard error."""
    code = main(list(arguments))
    return code, *capsys.readouterr()


def refused(capsys, *arguments):
    """Assert that a command is refused with exit code 2 and prints nothing; return the message."""
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    line = err.splitlines()[-1]
    assert line.startswith("error: ")
    return line
