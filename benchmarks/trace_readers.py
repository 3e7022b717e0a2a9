"""A benchmark of the readers on this machine, each beside a peer in Python: `python -m benchmarks.trace_readers`."""

import argparse
import io
import json
import random
import re
import resource
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow.csv

from benchmarks.timing import best_s
from tickdisk._native import TraceReader
from tickdisk.formats.native_table import requests_of

_PART_BYTES = 1 << 22
_ROUNDS = 3
_LINE = re.compile(
    rb"(\d+) +(\d+\.\d+) (?:<\.\.\. )?(\w+)(?:\(| resumed>)(.*?)(?: <unfinished \.\.\.>|\) += (\S+).*? <(\d+\.\d+)>)"
)
"""The pattern of the peer, which only splits strace's lines into thread, time, name, arguments, result and duration."""
_CALLS = (
    (35, "pread64", "{fd}, ", '"SQLite format 3\\0\\20\\0\\1"..., 4096, {place}) = 4096'),
    (20, "pwrite64", '{fd}, "\\0\\0\\1abcdefgh\\n\\t\\\\\\""..., 8192, {place}', ") = 8192"),
    (10, "write", '{fd}, "hello world 1234"..., 512', ") = 512"),
    (10, "fdatasync", "{fd}", ") = 0"),
    (10, "futex", "0x7f1234, FUTEX_WAIT_PRIVATE, 2, NULL", ") = -1 EAGAIN (Resource temporarily unavailable)"),
    (15, "recvfrom", "12, ", '"\\1\\2", 1024, 0, NULL, NULL) = 2'),
)
"""Weight, name, beginning and end of the calls of the made-up server."""
_THREADS, _FILES, _BROKEN = 8, 8, 1 / 9
"""With one call in nine broken into two lines, a fifth of the lines are unfinished or resumed."""


def strace_lines(lines: int, seed: int) -> Iterator[str]:
    """Yields lines as strace writes them of a server with eight threads. A fifth of them are halves of calls."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    weights = [weight for weight, *_ in _CALLS]
    yield '100 1700000000.000000 execve("/srv/server", ["server"], 0x7ffe /* 20 vars */) = 0 <0.000500>\n'
    for number in range(_FILES):
        opened = f'openat(AT_FDCWD, "/srv/r.{number}.mca", O_RDWR|O_CREAT, 0644) = {3 + number}'
        yield f"100 1700000000.0001{number:02} {opened} <0.000020>\n"
    for number in range(1, _THREADS):
        flags = "CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD"
        made = f"clone3({{flags={flags}, stack=0x7f}} => {{parent_tid=[1]}}, 88) = {100 + number}"
        yield f"100 1700000000.0002{number:02} {made} <0.000050>\n"
    us, suspended = 1_700_000_001_000_000, dict[int, tuple[str, str]]()
    for _ in range(lines - 1 - _FILES - (_THREADS - 1)):
        thread = 100 + rng.randrange(_THREADS)
        us += rng.randrange(3, 40)
        begin, took = f"{thread} {us // 10**6}.{us % 10**6:06} ", f" <0.{rng.randrange(1000):06}>\n"
        if thread in suspended:
            name, end = suspended.pop(thread)
            yield f"{begin}<... {name} resumed>{end}{took}"
            continue
        _, name, head, end = rng.choices(_CALLS, weights)[0]
        place = {"fd": 3 + rng.randrange(_FILES), "place": rng.randrange(1 << 20) * 4096}
        head, end = head.format(**place), end.format(**place)
        if rng.random() < _BROKEN:
            suspended[thread] = (name, end)
            yield f"{begin}{name}({head} <unfinished ...>\n"
        else:
            yield f"{begin}{name}({head}{end}{took}"


def msr_lines(lines: int, seed: int) -> Iterator[str]:
    """Yields lines as in the traces of MSR Cambridge, `lines` of them, drawn with `seed`."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    ticks = 128_166_372_003_061_629
    for _ in range(lines):
        ticks += rng.randrange(100_000)
        kind, place = ("Read", "Write")[rng.randrange(2)], rng.randrange(1 << 25) * 4096
        yield f"{ticks},usr,{rng.randrange(3)},{kind},{place},{4096 << rng.randrange(5)},{rng.randrange(100_000)}\n"


def native(format_name: str, raw: bytes) -> int:
    """Reads a trace in parts, makes tables of its requests, and returns their number."""
    reader, requests = TraceReader(format_name), 0
    for at in range(0, len(raw), _PART_BYTES):
        reader.feed(raw[at : at + _PART_BYTES])
        requests += len(requests_of(reader, "syscall", requests))
    reader.end()
    return requests + len(requests_of(reader, "syscall", requests))


def regular_expression(raw: bytes) -> int:
    """Splits strace's lines by a regular expression, and returns their number."""
    parts = [match.groups() for line in raw.split(b"\n") if (match := _LINE.fullmatch(line))]
    return len(parts)


def arrow(raw: bytes) -> int:
    """Reads a list of values by Arrow on one thread, and returns the number of rows."""
    options = pyarrow.csv.ReadOptions(use_threads=False, autogenerate_column_names=True)
    return int(pyarrow.csv.read_csv(io.BytesIO(raw), read_options=options).num_rows)


def memory_mib(gigabytes: float, raw: bytes) -> float:
    """Reads a trace of strace of the given size, and returns the growth of the largest memory of this process in MiB."""
    reader, before = TraceReader("strace"), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(int(gigabytes * 1e9 / _PART_BYTES)):
        reader.feed(raw[:_PART_BYTES])
        reader.take()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    """Prints the speed of the readers and of their peers, and the memory for a long trace, as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--gigabytes", type=float, default=10)
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for name, lines, peer in (("strace", strace_lines, regular_expression), ("msr", msr_lines, arrow)):
        raw = "".join(lines(given.lines, 1)).encode()
        own, other = best_s({"own": partial(native, name, raw), "peer": partial(peer, raw)}, _ROUNDS).values()
        found[name] = {
            "lines_per_s": round(given.lines / own),
            f"lines_per_s_of_{peer.__name__}": round(given.lines / other),
            "times": round(other / own, 2),
        }
        if name == "strace":
            found["memory"] = {"gigabytes": given.gigabytes, "mib": round(memory_mib(given.gigabytes, raw))}
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
