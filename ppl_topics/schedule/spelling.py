"""Times and sizes as text, with two digits that mean something."""

from __future__ import annotations

__all__ = ["spell_bytes", "spell_seconds"]


def spell_seconds(seconds: float) -> str:
    """Spell a time with two digits that mean something.

    Examples
    --------
    >>> [spell_seconds(x) for x in (2e-6, 0.0123, 1.234, 119.0, 9000.0)]
    ['0.002 ms', '12 ms', '1.2 s', '2.0 min', '2.5 h']
    """
    for size, unit in ((3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if seconds >= size * (1 if unit != "min" else 1.5):
            return _two_digits(seconds / size, unit)
    return _two_digits(seconds * 1e3, "ms")


def spell_bytes(count: float) -> str:
    """Spell a size of memory with two digits that mean something.

    Examples
    --------
    >>> [spell_bytes(x) for x in (0, 1200, 345678, 5.6e9)]
    ['0', '1.2 kB', '346 kB', '5.6 GB']
    """
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return _two_digits(count / size, unit)
    return f"{count:.0f} B" if count else "0"


def _two_digits(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}" if value >= 1 else f"{value:.1g} {unit}"
