"""Names how threads spend their time and what makes ticks late, in one word for tables, sentences and figures."""

from enum import StrEnum
from typing import Self


class _Named(StrEnum):
    """A value of a table, with the words that stand for it in sentences and figures."""

    words: str

    def __new__(cls, value: str, words: str) -> Self:
        named = str.__new__(cls, value)
        named._value_, named.words = value, words
        return named


class TimeKind(_Named):
    """A kind of time in the life of a thread, as in the column `kind` of the waits table, except for running and unknown."""

    IO = "io", "storage"
    """The thread waits in a call on a file, or in a page fault that needs the disk."""
    LOCK = "lock", "waiting for threads"
    """The thread waits for another thread, such as the holder of a lock."""
    RUN_QUEUE = "run_queue", "waiting for a core"
    """The thread could run, but other threads have the cores."""
    SLEEP = "sleep", "asleep"
    """The thread waits for something else, such as a timer or a socket."""
    RUNNING = "running", "computing"
    """The thread has a core."""
    UNKNOWN = "unknown", "not captured"
    """The thread is the holder of a lock, and what it did was not captured."""
    ABSENT = "absent", "absent"
    """The thread has not begun yet, or has ended."""


class TickCause(_Named):
    """A cause that makes a tick late, in the order in which causes are listed. It is the column `cause` of blame's ticks."""

    STORAGE = "storage", TimeKind.IO.words
    """The thread waits for storage, itself or behind a lock whose holder does."""
    LOCK = "lock", TimeKind.LOCK.words
    """The thread waits for another thread that does not wait for storage."""
    PAUSE = "pause", "pauses of the runtime"
    """The runtime has stopped all threads, such as for garbage collection, if it tells that."""
    CPU = "cpu", TimeKind.RUNNING.words
    """The thread computes."""
    RUN_QUEUE = "run_queue", TimeKind.RUN_QUEUE.words
    """The thread waits for a core."""
    SLEEP = "sleep", "its own pace"
    """The thread sleeps, as it does between ticks."""
