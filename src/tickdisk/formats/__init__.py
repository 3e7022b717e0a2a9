"""Reads trace files that other tools wrote, and converts them.

A trace has either the system calls of programs or the requests to a block device. `Trace` reads one trace in one of the
`FORMATS`. It gives the requests in parts, so that a trace may be larger than the memory, and counts everything else: lines that
cannot be read, things that are no requests, and contradictions. `read` gives all requests as one table, and `convert` writes them
in another format. The readers themselves are native (`src/native/src/formats`), with one file for each format.
"""

from tickdisk.formats.convert import convert, outputs_of
from tickdisk.formats.counts import Counts
from tickdisk.formats.reading import FORMATS, MOST_REJECTED, Trace, read, traces_of
from tickdisk.formats.rejects import is_rejects
from tickdisk.formats.source import STDIN

__all__ = ["FORMATS", "MOST_REJECTED", "STDIN", "Counts", "Trace", "convert", "is_rejects", "outputs_of", "read", "traces_of"]
