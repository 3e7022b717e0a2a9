"""The summary of a capture, which counts what arrived, what was lost and what was left out."""

from typing import Annotated

from tickdisk.foundation.record import Record, Unit


class LeftOut(Record):
    """The calls of a capture that are no rows of its table of requests."""

    not_files: Annotated[int, Unit("calls")]
    """The number of calls that were left out because they were on sockets, pipes and the like."""
    other_processes: Annotated[int, Unit("requests")]
    """The number of requests that were left out because their process only started the captured ones."""
    not_followed: Annotated[dict[str, int], Unit("calls")]
    """The number of calls, by name, that may read or write a file in a way that no row shows."""


class CaptureSummary(LeftOut):
    """The summary of a capture."""

    tool: str
    """The tool that captured: bpftrace, strace or strace_positioned."""
    version: str
    """The version of the tool."""
    started_ns: int
    """The time at which the capture began."""
    ended_ns: int
    """The time at which the capture ended."""
    lines: Annotated[int, Unit("lines")]
    """The number of lines that the tool wrote."""
    requests: Annotated[int, Unit("requests")]
    """The number of requests that the capture holds."""
    events: Annotated[int, Unit("events")]
    """The number of requests and waits that arrived from the kernel."""
    lost_events: Annotated[int, Unit("events")]
    """The number of events that did not arrive."""
    rejected: Annotated[int, Unit("lines")]
    """The number of lines that could not be read."""
    rejects: tuple[str, ...]
    """The lines that could not be read."""
    unfinished: Annotated[int, Unit("requests")]
    """The number of requests that had not ended when the capture ended."""
    cut_paths: Annotated[int, Unit("paths")]
    """The number of paths that were too long and were cut."""
    offsets_unknown: Annotated[int, Unit("requests")]
    """The number of reads and writes whose offset is not known."""
    files_unknown: Annotated[int, Unit("requests")]
    """The number of requests whose file is not known."""
    missing: tuple[str, ...]
    """The tracepoints that this kernel does not have."""
    faults: str | None
    """The tracepoint that told page faults. It is null where none did."""

    @property
    def span_ns(self) -> tuple[int, int]:
        """Begin and end of the capture."""
        return self.started_ns, self.ended_ns
