"""Reads sizes as people write them, such as 512M."""

import re

from tickdisk.foundation.errors import TickdiskError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def bytes_of(size: str, option: str) -> int:
    """Returns the number of bytes of a size, which was given for `option`."""
    match = re.fullmatch(r"(\d{1,12})([KMG]?)(?:i?B)?", size)
    if match is None:
        raise TickdiskError(f"{option} {size} is not a size; write a number and K, M or G, e.g. 512M")
    return int(match[1]) * _UNITS[match[2]]
