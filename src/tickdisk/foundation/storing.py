"""Names how a read or a write asks to be stored: through the page cache, past it, or only done when the device has the data."""

import os
from collections.abc import Iterable

BUFFERED = "buffered"
"""The word for a request through the page cache, which waits for no device."""
FLAGS = os.O_DIRECT | os.O_SYNC
"""The flags of an open file that say how its requests are stored. O_SYNC has the bit of O_DSYNC and one of its own."""
_DATA, _WHOLE = {"O_DSYNC", "RWF_DSYNC"}, {"O_SYNC", "RWF_SYNC"}


def storing(flags: int, of_call: int, *, is_write: bool) -> str:
    """Returns how a request asks to be stored, from the flags of its open file and of the call (pwritev2).

    The words O_DIRECT, O_SYNC or O_DSYNC, RWF_DSYNC and RWF_SYNC are joined by `|`. Without any it is `buffered`. Reads wait for
    nothing that only a write does.
    """
    of_file = "O_SYNC" if flags & os.O_SYNC == os.O_SYNC else "O_DSYNC" if flags & os.O_DSYNC else ""
    asked = ["O_DIRECT"] if flags & os.O_DIRECT else []
    if is_write:
        asked += [of_file] if of_file else []
        asked += [word for word, bit in (("RWF_DSYNC", os.RWF_DSYNC), ("RWF_SYNC", os.RWF_SYNC)) if of_call & bit]
    return "|".join(asked) or BUFFERED


def is_direct(word: str) -> bool:
    """Returns whether a request passes by the page cache."""
    return "O_DIRECT" in word


def sync_of(word: str) -> str:
    """Returns the sync, fsync or fdatasync, that a write waits for in itself, or an empty text if it waits for none."""
    words = set(word.split("|"))
    return "fsync" if words & _WHOLE else "fdatasync" if words & _DATA else ""


def counted(words: Iterable[str | None]) -> dict[str, int]:
    """Counts the requests that ask for more than the page cache, by word, the most frequent first."""
    counts: dict[str, int] = {}
    for word in words:
        if isinstance(word, str) and word != BUFFERED:
            counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))
