"""Numbers as a reader sees them: few digits, separators, units, and a dash for a missing number."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["count", "number", "percent", "rhat", "seconds", "size", "tick_texts"]

MINUS = "\N{MINUS SIGN}"
MISSING = "\N{EN DASH}"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _signed(text: str) -> str:
    return text.replace("-", MINUS)


def number(value: float, digits: int = 3) -> str:
    """Return a number with a few significant digits.

    Examples
    --------
    >>> [number(x) for x in (-12345.6, 1.2345, 68.0, 0.0, float("nan"), 2.5e-7)]
    ['−12,346', '1.23', '68.0', '0', '–', '2.5 × 10⁻⁷']
    """
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e15:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        short = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{_signed(short)} × 10{str(int(exponent)).translate(RAISED)}"
    whole = len(str(int(abs(value))))
    if whole >= digits:
        return _signed(f"{value:,.0f}")
    # With trailing zeros, so that the numbers in a column look alike.
    return _signed(f"{value:#.{digits}g}".removesuffix("."))


def tick_texts(values: Sequence[float]) -> list[str]:
    """Return equally spaced numbers with as many decimals as they need, large ones in k or M.

    Examples
    --------
    >>> tick_texts([-2370000, -2360000]), tick_texts([0.025, 0.05]), tick_texts([100, 200])
    (['−2.37M', '−2.36M'], ['0.025', '0.050'], ['100', '200'])
    """
    most = max(abs(value) for value in values)
    unit, scale = ("M", 1e6) if most >= 1e6 else ("k", 1e3) if most >= 1e5 else ("", 1.0)
    step = (values[1] - values[0] if len(values) > 1 else most or 1.0) / scale
    if step < 1e-6:
        return [number(value, 9) for value in values]
    # A step is 1, 2, 2.5 or 5 times a power of ten.
    decimals = next((n for n in range(9) if abs(round(step, n) / step - 1.0) < 1e-6), 9)
    return [_signed(f"{value / scale:,.{decimals}f}") + unit for value in values]


def count(value: float, unit: str = "") -> str:
    """Return a whole number with its unit, if it has one.

    Examples
    --------
    >>> count(1234567, "token"), count(1, "token"), count(0)
    ('1,234,567 tokens', '1 token', '0')
    """
    text = _signed(f"{value:,.0f}")
    return f"{text} {unit if value == 1 else unit + 's'}" if unit else text


def percent(share: float) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> [percent(x) for x in (0.1234, 1.0, 0.00004, 0.0, float("nan"))]
    ['12.3%', '100%', '0.004%', '0%', '–']
    """
    if math.isnan(share):
        return MISSING
    value = 100.0 * share
    if value == 0 or abs(value) >= 99.95:
        return f"{value:.0f}%"
    return f"{value:.1f}%" if abs(value) >= 1 else f"{value:.1g}%" if abs(value) >= 1e-4 else "<0.0001%"


def rhat(value: float) -> str:
    """Return an R-hat with three decimals."""
    return MISSING if math.isnan(value) else f"{value:.3f}" if value < 1e3 else number(value)


def seconds(value: float) -> str:
    """Return a duration in a suitable unit.

    Examples
    --------
    >>> [seconds(x) for x in (0.0000123, 0.0123, 1.5, 90, 7300, 0.0)]
    ['12.3 µs', '12.3 ms', '1.50 s', '1 min 30 s', '2 h 1 min', '0 s']
    """
    if not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0 s"
    if value < 60:
        units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
        unit = next((unit for unit, scale in units.items() if value >= scale), "ns")
        return f"{number(value / units[unit])} {unit}"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def size(n_bytes: float) -> str:
    """Return a number of bytes, such as 1.2 MB or 345 kB."""
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
