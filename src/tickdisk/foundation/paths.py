"""Turns names of files into texts that tables can hold, and back.

A name on Linux is any bytes, but tables hold UTF-8. Bytes of a name that are not UTF-8 are therefore stored as the characters
U+EF80 to U+EFFF, which no standard assigns. `stored` makes such a text, and `encoded` and `on_disk` undo it.
"""

import os

_STORED = {0xDC80 + byte: 0xEF80 + byte for byte in range(128)}
"""The character that a table has in place of each one that `os.fsdecode` makes of a byte that is not UTF-8."""
_DECODED = {stored: decoded for decoded, stored in _STORED.items()}


def stored(name: bytes) -> str:
    r"""Returns a file's name as tables store it.

    >>> stored(b"na\xefve") == "na\uefefve"
    True
    """
    return os.fsdecode(name).translate(_STORED)


def encoded(text: str) -> bytes:
    """Returns the bytes of a file's name that `stored` has made."""
    return os.fsencode(on_disk(text))


def on_disk(text: str) -> str:
    """Returns a file's name that `stored` has made as Python gives it to the operating system (see `os.fsdecode`)."""
    return text if text.isascii() else text.translate(_DECODED)
