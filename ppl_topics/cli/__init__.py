"""The command line, ``ppl-topics``: results on standard output, progress and messages on standard error."""

from ppl_topics.cli.entry import main

__all__ = ["main"]
