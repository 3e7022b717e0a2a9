"""Numbers as people read them, against Python's own decimal arithmetic, and properties that readers rely on."""

import re
from decimal import Decimal
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickdisk.foundation.numbers import interval, number, p_value, percent, with_interval

POSITIVE = st.floats(1e-5, 1e9)
ENDS = re.compile(r"^\[(.+), (.+)\]$")


def read(text: str) -> Decimal:
    """Returns the number that a person reads."""
    mantissa, _, exponent = text.replace(",", "").partition(" \N{MULTIPLICATION SIGN} 10")
    return Decimal(mantissa).scaleb(int(exponent.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999.6, "1,000"),
        (0.9996, "1"),
        (2.5, "2.5"),
        (0.1, "0.1"),
        (0, "0"),
        (-0.0004, "-0.0004"),
        (123456, "123,456"),
        (1234.5, "1,234"),
        (8e-9, "8 \N{MULTIPLICATION SIGN} 10⁻⁹"),
        (None, "not estimable"),
        (nan, "not estimable"),
        (-inf, "-∞"),
    ],
)
def test_a_number_is_written_as_people_write_it(value: float | None, text: str) -> None:
    assert number(value) == text


def test_intervals_shares_and_p_values() -> None:
    assert with_interval(2.5, 1.239, 3.141) == "2.50 [1.23, 3.15]"
    assert with_interval(2.5, nan, nan) == "2.5"
    assert interval(nan, nan) == "not estimable"
    assert interval(-inf, 0.5) == "[-∞, 0.500]"
    assert (percent(0.2), percent(0.9996)) == ("20 %", "100 %")
    assert (p_value(0.0312), p_value(8e-9)) == ("p = 0.031", "p < 0.001")


@given(POSITIVE)
def test_a_number_is_read_back_within_half_of_its_third_digit(value: float) -> None:
    text = number(value)
    assert "e" not in text
    assert abs(float(read(text)) / value - 1) <= 0.5e-2


@given(st.lists(st.floats(-1e9, 1e9), min_size=4, max_size=4).map(sorted))
def test_a_written_interval_holds_its_value_and_every_interval_inside_it(ends: list[float]) -> None:
    outer, inner = (ENDS.match(interval(ends[first], ends[last])) for first, last in ((0, 3), (1, 2)))
    assert outer is not None
    assert inner is not None
    low, high = (read(end) for end in outer.groups())
    # Twelve digits are looked at: what lies beyond them is the noise of binary fractions.
    noise = 1e-11 * max(abs(ends[0]), abs(ends[3]))
    assert float(low) <= ends[0] + noise
    assert float(high) >= ends[3] - noise
    assert low <= read(inner[1]) <= read(inner[2]) <= high
