"""Turns numbers into text for people, so that facts, claims and tables write the same number in the same way."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from math import isfinite

NS_PER_MS = 1e6
NOT_ESTIMABLE = "not estimable"
_DIGITS = 3
"""Number of significant digits. Digits before the point are never cut."""
_TINY = Decimal("1e-6")
"""Limit below which a number is written with a power of ten."""
_MOST_DECIMALS = 6
"""Largest number of decimals of a value with an interval. A shorter interval is written with three digits."""
_WIDEST = 10
"""Largest ratio of the ends of an interval whose three numbers have the same number of decimals."""
_LEAST_P = 0.001
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, *, trailing_zeros: bool = False) -> str:
    """Writes a value with three significant digits, or with all digits before the point, and with commas between thousands.

    None and NaN are written as "not estimable", and an infinite value as ∞. With `trailing_zeros`, 2.5 is written 2.50, as it is
    beside the ends of its interval.

    >>> number(999.6), number(2.5), number(2.5, trailing_zeros=True), number(0.000012345), number(12345678)
    ('1,000', '2.5', '2.50', '0.0000123', '12,345,678')
    """
    return _written(value, ROUND_HALF_EVEN, trailing_zeros=trailing_zeros)


def interval(low: float | None, high: float | None) -> str:
    """Writes an interval in brackets. Its ends are rounded outwards, so that it never looks narrower than it is.

    If one end is None, NaN or infinite, it lies beyond all values that were tried. If both ends are None or NaN, the text is
    "not estimable".

    >>> interval(0.91549, 1.09151), interval(2, None)
    ('[0.915, 1.10]', '[2, ∞]')
    """
    if _unknown(low) and _unknown(high):
        return NOT_ESTIMABLE
    lower = "-∞" if low is None or not isfinite(low) else _written(low, ROUND_FLOOR, trailing_zeros=True)
    upper = "∞" if high is None or not isfinite(high) else _written(high, ROUND_CEILING, trailing_zeros=True)
    return f"[{lower}, {upper}]"


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """Writes a value and its interval, or "not estimable" for a value of None or NaN. Without both ends, the value stands alone.

    All three numbers have as many decimals as the interval supports: two digits of half its length, but no more than three
    digits of its end that is closer to 0, or of its end that is farther from 0 if the interval contains 0. If both ends have one
    sign and one end is more than ten times the other, each number has three digits of its own.
    The ends are rounded outwards.

    >>> with_interval(1.0, 0.9154, 1.0916), with_interval(-0.00792, -0.236, 0.2197), with_interval(7.25, None, None)
    ('1.000 [0.915, 1.092]', '-0.01 [-0.24, 0.22]', '7.25')
    >>> with_interval(1.62, 0.0284, 92.1), with_interval(3.0, -0.001, 100.0), with_interval(2.0, 1.5, None)
    ('1.62 [0.0284, 92.1]', '3 [-1, 100]', '2.00 [1.50, ∞]')
    """
    if value is None or value != value or (_unknown(low) and _unknown(high)):  # noqa: PLR0124 - NaN
        return number(value)
    decimals = _decimals(low, high)
    if decimals is None or low is None or high is None:
        return f"{number(value, trailing_zeros=True)} {interval(low, high)}"
    ends = (_fixed(low, decimals, ROUND_FLOOR), _fixed(high, decimals, ROUND_CEILING))
    return f"{_fixed(value, decimals, ROUND_HALF_EVEN)} [{', '.join(ends)}]"


def _decimals(low: float | None, high: float | None) -> int | None:
    """Returns the number of decimals that an interval supports, or None if it has no length, or spans more than a decade."""
    if low is None or high is None or not (isfinite(low) and isfinite(high)) or high <= low:
        return None
    if low * high > 0 and max(low / high, high / low) > _WIDEST:
        return None
    half = Decimal(f"{(high - low) / 2:.12g}")
    closer = Decimal(f"{max(abs(low), abs(high)) if low < 0 < high else min(abs(low), abs(high)):.12g}")
    decimals = 1 - half.adjusted()
    if closer:
        decimals = min(decimals, _DIGITS - 1 - closer.adjusted())
    return max(0, decimals) if decimals <= _MOST_DECIMALS else None


def _fixed(value: float, decimals: int, rounding: str) -> str:
    # As in `_written`, the error of a binary fraction is not rounded outwards.
    text = f"{Decimal(f'{value:.12g}').quantize(Decimal(1).scaleb(-decimals), rounding):,f}"
    return "0" if not text.strip("-0.") else text


def percent(share: float | None) -> str:
    """Writes a share, of which 1 is the whole, as a percentage, or "not estimable" if it is None, NaN or infinite.

    >>> percent(0.2), percent(0.12345)
    ('20 %', '12.3 %')
    """
    return NOT_ESTIMABLE if share is None or not isfinite(share) else f"{number(100 * share)} %"


def p_value(p: float) -> str:
    """Writes a p value. A few server lives cannot distinguish p values below 0.001, so no smaller value is written.

    >>> p_value(0.0312), p_value(8e-9)
    ('p = 0.031', 'p < 0.001')
    """
    text = p_text(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def p_text(p: float) -> str:
    """Writes a p value for a column of its own, which is empty for a test that was not possible (NaN).

    >>> p_text(0.0312), p_text(8e-9), p_text(float("nan"))
    ('0.031', '< 0.001', '')
    """
    if p != p:  # noqa: PLR0124 - NaN
        return ""
    return f"< {_LEAST_P:g}" if p < _LEAST_P else f"{p:.2g}"


def _unknown(end: float | None) -> bool:
    return end is None or end != end  # noqa: PLR0124 - NaN


def _written(value: float | None, rounding: str, *, trailing_zeros: bool) -> str:
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return NOT_ESTIMABLE
    if not isfinite(value):
        return "∞" if value > 0 else "-∞"
    if isinstance(value, int):
        return f"{value:,}"
    # The value is first rounded to twelve digits, so that the error of a binary fraction is not rounded outwards.
    rounded = _rounded(Decimal(f"{value:.12g}"), rounding)
    if 0 < abs(rounded) < _TINY:
        exponent = rounded.adjusted()
        mantissa = _plain(rounded.scaleb(-exponent), trailing_zeros=trailing_zeros)
        return f"{mantissa} \N{MULTIPLICATION SIGN} 10{str(exponent).translate(_SUPERSCRIPTS)}"
    return _plain(rounded, trailing_zeros=trailing_zeros)


def _rounded(exact: Decimal, rounding: str) -> Decimal:
    """Rounds to three significant digits.

    It rounds a second time, because the first rounding may have added a digit (0.9996 becomes 1.000 and then 1.00).
    """
    for _ in range(2):
        exact = exact.quantize(Decimal(1).scaleb(min(0, exact.adjusted() - _DIGITS + 1)) if exact else Decimal(1), rounding)
    return exact


def _plain(value: Decimal, *, trailing_zeros: bool) -> str:
    text = f"{value:,f}"
    if "." in text and not trailing_zeros:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "0.00") else text


def joined_list(words: Sequence[str]) -> str:
    """Joins words into a list for a sentence, such as "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
