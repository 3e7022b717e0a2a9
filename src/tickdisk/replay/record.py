"""The content of replay.json, which sums up the replays of the study of replay."""

from pathlib import Path
from typing import Annotated

from tickdisk.device import KeptModel
from tickdisk.foundation.host import HostFacts, MachineLoad
from tickdisk.foundation.record import Record, Unit, read, write

_RESULT = "replay.json"
Requests = Annotated[int, Unit("requests")]


class Spread(Record):
    """Quantiles and the largest of some times. A value is None if too few requests tell it."""

    p50: Annotated[float | None, Unit("ns")]
    """The median. It is null if too few requests tell it."""
    p99: Annotated[float | None, Unit("ns")]
    """The 99th percentile. It is null if too few requests tell it."""
    max: Annotated[float | None, Unit("ns")]
    """The longest time. It is null if there is no request."""


class Differing(Record):
    """The number of results of calls in a replay that were not as captured, by kind."""

    short: Requests
    """The number of reads and writes that moved fewer bytes."""
    long: Requests
    """The number of reads and writes that moved more bytes."""
    failed: Requests
    """The number of calls that failed in another way or had succeeded in the capture."""
    succeeded: Requests
    """The number of calls that had failed in the capture."""

    @property
    def total(self) -> int:
        """The number of all of them."""
        return self.short + self.long + self.failed + self.succeeded


class Summary(Record):
    """The summary of the table of a replay (`ReplayResult.timings`)."""

    streams: Annotated[int, Unit("streams")]
    """The number of streams."""
    requests: Requests
    """The number of requests that were made."""
    seconds: Annotated[float, Unit("s")]
    """The time from the first due time to the last completion."""
    lag_unknown: Requests
    """The number of requests whose lag is not known, as after a sync in a replay by fio. Lag and time lost leave them out."""
    lag_ns: Spread
    """The lag of the tool."""
    lag_first_tenth_ns: Spread
    """The lag of the first tenth of the requests."""
    lag_last_tenth_ns: Spread
    """The lag of the last tenth of the requests."""
    lost_ns: Spread
    """The time lost to the device and to the requests before."""
    delayed: Requests
    """The number of requests that had to wait for the request before them."""
    behind_ns: int
    """The time in which a stream had a request that was due and could not be made, summed over streams."""
    service_ns: Spread
    """The time that the requests took."""
    differing: Differing
    """The number of results that were not as captured, by kind."""


class Run(Summary):
    """One replay of the captured requests by one tool on one device."""

    name: str
    """The name of the replay: tool and device."""
    tool: str
    """The tool that made the requests: tickdisk or fio."""
    backend: str
    """The way in which the device was emulated."""
    file_system: str | None
    """The file system on the device. It is null for a replay that was simulated."""
    device: KeptModel
    """The device model. See *Device model* below."""
    floor_ns: int
    """The latency of the emulator itself that was subtracted."""
    table: str
    """The name of the table with the times of every request."""
    left_out: Annotated[dict[str, int], Unit("requests")]
    """The number of requests that the tool did not make or did not time, by reason."""
    is_real_time: bool
    """Whether the streams had real-time priority."""
    is_memory_locked: bool
    """Whether the memory of the tool was locked."""
    device_requests: Annotated[dict[str, int] | None, Unit("requests")]
    """The number of requests of the device, by operation. It is null for a replay that was simulated."""
    load: MachineLoad
    """The load of the machine during the replay. See *Load* below."""


class Stream(Record):
    """A captured thread, whose requests are a stream of their own."""

    thread: int
    """The number of the captured thread."""
    thread_name: str
    """The name of the captured thread."""
    requests: Requests
    """The number of its requests."""


class Replays(Record):
    """The content of replay.json."""

    captured: Requests
    """The number of captured requests in the time that was replayed."""
    replayed: Requests
    """The number of requests that were to be made again."""
    refused: Annotated[dict[str, int], Unit("requests")]
    """The number of requests that were not to be made again, by reason."""
    seconds: Annotated[float, Unit("s")]
    """The length of the part of the capture that was replayed."""
    streams: tuple[Stream, ...]
    """The captured threads, each of which is a stream of its own."""
    ops: Annotated[dict[str, int], Unit("requests")]
    """The number of requests that were to be made again, by kind."""
    host: HostFacts
    """The machine of the replay. See *Host* below."""
    runs: tuple[Run, ...]
    """The replays."""


def read_replays(path: Path) -> Replays:
    """Reads the file replay.json. Raises TickdiskError if there is none, or if it is not of this form."""
    return read(Replays, path, "run `tickdisk replay-study` again")


def write_replays(folder: Path, replays: Replays) -> None:
    """Writes replay.json into a folder, for `read_replays`."""
    write(folder / _RESULT, replays)
