"""Writes the trace file format of fio, version 3 (fio 3.31 and later), with one stream per file.

The format is described under "Trace file format v3" in fio's HOWTO, and fio's `iolog.c` shows what the HOWTO leaves out.
Timestamps are in microseconds. fio waits between the timestamps of two lines, but not after a timestamp of 0. It takes neither
blanks nor more than 256 bytes in a file name, and a file must be open when it is used.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk.foundation.files import write_text
from tickdisk.foundation.paths import on_disk

HEADER = "fio version 3 iolog"
SUFFIX = ".iolog"
_HEAD_US, _FIRST_US = 1, 2
_LONGEST_BYTES_OF_NAME, _LONGEST_REQUEST = 256, (1 << 32) - 1
_PLACED = ("read", "write", "discard")
_ACTIONS = {"fsync": "sync", "fdatasync": "datasync", "trim": "trim"}
"""Action of each system call that is not named after its operation."""


def write_iolog(path: Path, stream: pd.DataFrame) -> Counter[str]:
    """Writes one stream as a trace file that fio can replay, and returns the number of requests that were left out, by reason.

    `stream` has the columns op, call, file, offset, length, due_ns and expected, in the order of due times. The first lines, at 1
    us, add all files and open those that the stream uses before it opens them itself. A due time of 0 becomes 2 us. Times are cut
    to whole microseconds.
    """
    reasons = unfit(stream)
    left_out, fit = Counter(reasons[reasons != ""].tolist()), stream[reasons == ""]
    # For each request, this is the next request of the same file that is not a close.
    uses = fit["op"].where(fit["op"] != "close").groupby(fit["file"])
    following = uses.shift(-1).groupby(fit["file"]).bfill()
    lines, before, is_open = list[str](), dict[str, None](), set[str]()
    columns = (fit[name] for name in ("op", "call", "file", "offset", "length", "due_ns"))
    for op, call, file, offset, length, due_ns, follows in zip(*columns, following, strict=True):
        if op == "open" and file in is_open:
            left_out["an open of a file that its stream already has open"] += 1
            continue
        if op == "close" and (file not in is_open or follows in (*_PLACED, "sync")):
            left_out["a close of a file that its stream has not open, or uses again"] += 1
            continue
        if op not in ("open", "close") and file not in is_open:
            before[file] = None
        (is_open.discard if op == "close" else is_open.add)(file)
        place = f" {offset} {length}" if op in _PLACED else " 0 0" if op == "sync" else ""
        lines.append(f"{_FIRST_US + due_ns // 1000} {file} {_ACTIONS.get(call, op)}{place}")
    named = dict.fromkeys(line.split(" ", 2)[1] for line in lines)
    head = [f"{_HEAD_US} {file} add" for file in named] + [f"{_HEAD_US} {file} open" for file in before]
    write_text(path, "\n".join([HEADER, *head, *lines]) + "\n")
    return left_out


def unfit(stream: pd.DataFrame) -> pd.Series:
    """Returns for each request the reason why fio's trace file format cannot hold it, or an empty string if it can."""
    names = {
        file: len(file.encode()) <= _LONGEST_BYTES_OF_NAME and not re.search(r"\s", file) and file == on_disk(file)
        for file in stream["file"].unique()
    }
    placed = stream["op"].isin(_PLACED)
    refused = {
        "a call that fio does not make": ~(placed | stream["op"].isin(["open", "close"]) | stream["call"].isin(_ACTIONS)),
        "a request that failed": stream["expected"] < 0,
        "a file name with blanks, with bytes that are not UTF-8, or of more than 256 bytes": ~stream["file"].map(names),
        "a request of 4 GiB or more": placed & (stream["length"] > _LONGEST_REQUEST),
    }
    chosen = np.select([np.asarray(which, dtype=bool) for which in refused.values()], list(refused), "")
    return pd.Series(chosen, index=stream.index, dtype=object)
