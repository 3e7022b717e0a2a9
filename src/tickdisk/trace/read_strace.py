"""Reads strace's output (-f -s 16, nanosecond stamps of CLOCK_REALTIME) into calls and events."""

import errno
import fcntl
import os
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from tickdisk.trace.calls import AT_FDCWD, CALLS, CLONE_THREAD, CLOSE_RANGE_CLOEXEC, FCNTLS, NOT_FOLLOWED, Call
from tickdisk.trace.reading import CALL_COLUMNS, Event, Reading, frame, text

_LINE = re.compile(rb"(\d+) +(\d+)\.(\d{9}) (?:<\.\.\. )?(\w+)(\(| resumed>)(.*)")
_END = re.compile(rb"(.*)\) += (0x[0-9a-f]+|-?\d+|\?)(?: (E\w+))?.* <(\d+)\.(\d{9})>", re.DOTALL)
_OTHER = re.compile(rb"\d+ +\d+\.\d{9} (?:\+\+\+|---).*|")
_UNFINISHED = b" <unfinished ...>"
_ARGUMENT = re.compile(rb'\s*((?:"(?:[^"\\]|\\.)*"(?:\.\.\.)?|\[.*\]|\{.*\}|[^,"\[{]+)+)(?:,|$)')
_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f"}
_FLAGS = re.compile(rb"flags=([^,}]+)")
_LENGTH = re.compile(rb"iov_len=(\d+)")
_ERRNO = {name.encode(): number for number, name in errno.errorcode.items()}
_WORDS: dict[bytes, int] = {
    **{
        name.encode(): getattr(module, name)
        for module in (os, fcntl)
        for name in dir(module)
        if name.startswith(("O_", "F_", "FD_"))
    },
    b"AT_FDCWD": AT_FDCWD,
    b"CLOSE_RANGE_CLOEXEC": CLOSE_RANGE_CLOEXEC,
    b"SEEK_CUR": os.SEEK_CUR,
    b"SEEK_END": os.SEEK_END,
}
"""Values of the flags that matter. All other flags count as 0."""
_FORKS = frozenset({"clone", "clone3", "fork", "vfork"})
NAMING_CALLS = ("prctl", "execve", "execveat", *sorted(_FORKS))
"""Calls that are captured because they name threads, or begin new threads and programs."""


def read_strace(raw: bytes, processes: Sequence[dict[str, Any]]) -> Reading:
    """Reads strace's output, as in `RawCapture.text`, into calls and events.

    Events are names of threads, new threads or processes, and new programs. strace does not tell waits. `processes` are snapshots
    of the processes that ran when the capture began. They tell which process a thread belongs to.
    """
    return _Reader(processes).read(raw)


class _Reader:
    def __init__(self, processes: Sequence[dict[str, Any]]) -> None:
        running = [(snapshot["pid"], int(thread), name) for snapshot in processes for thread, name in snapshot["threads"].items()]
        self._process = {thread: process for process, thread, _ in running}
        self._name = {thread: name for _, thread, name in running}
        self._pending: dict[int, tuple[int, bytes, bytes]] = {}
        self._last_reported_ns = 0
        self._rows: list[tuple[int, ...]] = []
        self._paths: list[tuple[str | None, str | None]] = []
        self._events = [Event("thread", process, thread, 0, text=name) for process, thread, name in running]
        self._unfinished = 0
        # If one process ran at the start and no new ones are captured (pread64 and pwrite64 only), all threads belong to it.
        self._only = processes[0]["pid"] if len(processes) == 1 else None
        self._calls: list[tuple[int, int, str, re.Match[bytes], bytes]] = []

    def read(self, raw: bytes) -> Reading:
        """Reads all lines, then takes the calls in the order of their starts, so that a clone comes before its child's calls."""
        lines = raw.split(b"\n")
        rejects = [text(line) for line in lines if not self._line(line)]
        if any(name in NAMING_CALLS for _, _, name, _, _ in self._calls):
            self._only = None
        self._calls.sort(key=lambda one: one[0])
        rejects += [text(line) for start, thread, name, end, line in self._calls if not self._call(thread, start, name, end)]
        calls = frame(CALL_COLUMNS, np.array(self._rows, dtype=np.int64))
        calls[["path", "to"]] = pd.DataFrame(self._paths, columns=["path", "to"], dtype=object)
        return Reading(
            calls=calls.sort_values("start_ns", kind="stable", ignore_index=True),
            events=self._events,
            unfinished=self._unfinished + len(self._pending),
            rejects=rejects,
            lines=len(lines) - 1,
        )

    def _line(self, line: bytes) -> bool:
        """Reads one line. Returns False if strace cannot have written it."""
        match = _LINE.fullmatch(line)
        if match is None:
            return _OTHER.fullmatch(line) is not None
        thread, start_ns = int(match[1]), int(match[2]) * 1_000_000_000 + int(match[3])
        name, rest, before_ns = match[4], match[6], self._last_reported_ns
        self._last_reported_ns = start_ns
        if match[5] == b"(":
            if rest.endswith(_UNFINISHED):
                self._pending[thread] = (start_ns, name, rest.removesuffix(_UNFINISHED))
                return True
        else:
            begun = self._pending.pop(thread, None)
            if begun is None or begun[1] != name:
                return True  # The call began before the capture.
            start_ns, rest = begun[0], begun[2] + rest
        end = _END.fullmatch(rest)
        if end is None:
            return False
        # The stamp is earlier than the call by the time that strace spent between the two. strace handles one event after
        # another, so everything that it reported before this end also happened before this end. Without this correction, a
        # descriptor could seem to be opened again before it was closed.
        took_ns = _took_ns(end)
        if match[5] != b"(":
            start_ns = max(start_ns, before_ns + 1 - took_ns)
        self._last_reported_ns = max(self._last_reported_ns, start_ns + took_ns)
        self._calls.append((start_ns, thread, name.decode(), end, line))
        return True

    def _call(self, thread: int, start_ns: int, name: str, end: re.Match[bytes]) -> bool:
        if end[2] == b"?":
            self._unfinished += name in CALLS
            return True
        result = -_ERRNO.get(end[3], 1) if end[3] else int(end[2], 0)
        end_ns = start_ns + _took_ns(end)
        arguments = _ARGUMENT.findall(end[1])
        process = self._process.setdefault(thread, thread if self._only is None else self._only)
        if name in CALLS:
            return self._followed(CALLS[name], name, arguments, (process, thread, start_ns, end_ns, result))
        if name in NOT_FOLLOWED:
            self._rows.append((NOT_FOLLOWED[name], process, thread, start_ns, end_ns, result, -1, -1, -1))
            self._paths.append((None, None))
            return True
        if name not in NAMING_CALLS:
            return False
        if name in _FORKS and result > 0:
            flags = CLONE_THREAD if b"CLONE_THREAD" in end[1] else 0
            self._process[result] = process if flags else result
            self._events.append(Event("newtask", process, thread, start_ns, result, flags))
            self._named_thread(result, start_ns, self._name.get(thread, ""))
        elif name.startswith("exec") and result == 0:
            program = next((_string(word) for word in arguments if word.startswith(b'"')), "")
            self._events.append(Event("exec", process, thread, end_ns, text=program))
            self._named_thread(thread, end_ns, PurePosixPath(program).name[:15])
        elif name == "prctl" and arguments[0] == b"PR_SET_NAME":
            self._named_thread(thread, end_ns, _string(arguments[1])[:15])
        return True

    def _named_thread(self, thread: int, ns: int, name: str) -> None:
        self._name[thread] = name
        self._events.append(Event("thread", self._process[thread], thread, ns, text=name))

    def _followed(self, call: Call, name: str, words: list[bytes], who: tuple[int, int, int, int, int]) -> bool:
        def at(index: int | None) -> int:
            return -1 if index is None else _number(words[index])

        try:
            if name == "mmap" and (at(call.fd) < 0 or b"MAP_ANONYMOUS" in words[3]):
                return True
            if name == "fcntl" and at(call.length) not in FCNTLS:
                return True
            length = at(call.length) if call.vector is None else _sum(words[call.vector])
            process, thread, start_ns, end_ns, result = who
            self._rows.append((call.number, process, thread, start_ns, end_ns, result, at(call.fd), length, at(call.offset)))
            self._paths.append((_path(words, call.path), _path(words, call.to)))
        except (IndexError, ValueError):
            return False
        return True


def _took_ns(end: re.Match[bytes]) -> int:
    return int(end[4]) * 1_000_000_000 + int(end[5])


def _number(word: bytes) -> int:
    """Returns the value of a number, of names of flags, or of the field `flags` of a structure."""
    if word.startswith(b"{"):
        found = _FLAGS.search(word)
        word = found[1] if found else b"0"
    try:
        return int(word, 0)
    except ValueError:
        return sum(_WORDS.get(name, 0) if not name[:1].isdigit() else int(name, 0) for name in word.split(b"|"))


def _sum(vector: bytes) -> int:
    """Returns the total length of an array of buffers, or -1 if strace cut the array off."""
    plain = _STRING.sub(b"", vector)
    return -1 if plain.endswith(b", ...]") else sum(map(int, _LENGTH.findall(plain)))


def _string(word: bytes) -> str:
    found = _STRING.match(word)
    if found is None:
        raise ValueError(word)
    return text(_ESCAPE.sub(lambda part: _unescaped(part[1]), found[1]))


def _unescaped(code: bytes) -> bytes:
    return bytes([int(code, 8) & 0xFF]) if code[:1].isdigit() else _ESCAPES.get(code, code)


def _path(words: list[bytes], index: int | None) -> str | None:
    return None if index is None or words[index] == b"NULL" else _string(words[index])
