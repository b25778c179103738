"""Arrays as a model holds those of its corpus, so that tests of functions compile what models compile."""

__all__ = ["fixed"]


def fixed(array):
    """Return an array after it was made read-only."""
    array.flags.writeable = False
    return array
