"""The parts into which a study is divided on a cluster."""

import re

from tickdisk.foundation.errors import TickdiskError

WHOLE = "1/1"
"""The only part of a study that is not divided."""


def part_of(text: str) -> tuple[int, int]:
    """Returns the number of a part, which is counted from 1, and the number of all parts, from a text such as 2/8."""
    named = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if named is None:
        raise TickdiskError(f"--part {text} is no part; give its number and the number of all parts, such as 2/8")
    number, parts = map(int, named.groups())
    return number, parts
