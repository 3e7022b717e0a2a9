"""`TickdiskError`, the exception for failures that a user can repair, and the sentences that users see instead of a traceback."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager


class TickdiskError(Exception):
    """A failure that its reader can act on.

    The message is one sentence that says what is wrong, where it is (the file, line or key), and what to do.
    """


_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space there"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "run as somebody who may, or give another place"),
    **dict.fromkeys((errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.ENOTEMPTY, errno.EBUSY), "give another place"),
    **dict.fromkeys((errno.ENAMETOOLONG, errno.ELOOP), "give another name"),
    **dict.fromkeys((errno.EFBIG, errno.EMFILE, errno.ENFILE), "raise the limit (ulimit -a)"),
    **dict.fromkeys(
        (errno.EIO, errno.ENXIO, errno.ENODEV, errno.EINVAL, errno.ESTALE, errno.ENOTCONN), "give another file or disk"
    ),
    errno.EISDIR: "give a file",
    errno.ENOMEM: "free some memory",
}
"""The errors of the operating system that are no fault of the program, each with what the user can do about it."""


def sentence_of(error: BaseException, place: str | None = None) -> str | None:
    """Returns the sentence that tells a user of an error, or None if the error is a mistake of the program.

    `place` is named if an error of the operating system names no file.
    """
    if isinstance(error, TickdiskError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; free some, or ask for less"
    if not isinstance(error, OSError):
        return None
    named = error.filename if error.filename is not None else place
    if error.errno is None or error.errno not in _ADVICE or named is None:
        return None
    return f"{os.fsdecode(named) or 'an empty name'}: {os.strerror(error.errno)}; {_ADVICE[error.errno]}"


@contextmanager
def exit_with_message() -> Iterator[None]:
    """Ends the process if an error is raised in the block that is no mistake of the program, and prints only a sentence.

    The Snakefile uses this function, because snakemake prints a traceback with every exception.
    """
    try:
        yield
    except (TickdiskError, OSError, MemoryError) as error:
        sentence = sentence_of(error)
        if sentence is None:
            raise
        raise SystemExit(f"tickdisk: {sentence}") from None
