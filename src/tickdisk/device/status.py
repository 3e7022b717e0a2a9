"""The state of a mounted device, with the counts of everything that it has done since it came up."""

from typing import Annotated

from tickdisk.foundation.record import Record, Unit


class DeviceStatus(Record):
    """The state of a mounted device of any backend."""

    device: str
    """The name of the model that is in force."""
    description: str
    """The description of that model."""
    setting: int
    """The number of the setting that is in force."""
    floor_ns: int
    """The latency of the emulator itself that is subtracted."""
    requests: Annotated[dict[str, int], Unit("requests")]
    """The number of requests, by operation."""
    bytes: dict[str, int]
    """The number of bytes, by operation."""
    stalls: Annotated[tuple[tuple[int, int], ...], Unit("ns")]
    """Begin and end of each stall that was ordered."""


class EmulatorStatus(DeviceStatus):
    """The state of a mounted device that a process emulates."""

    inflight: Annotated[int, Unit("requests")]
    """The number of requests in the device."""
    max_inflight: Annotated[int, Unit("requests")]
    """The highest number of requests that were in the device at once."""
    stamped: Annotated[int, Unit("requests")]
    """The number of requests whose arrival the kernel told."""
    arrivals_lack: str
    """The reason for which the kernel did not tell arrivals; empty if it told them."""
    log_written: Annotated[int, Unit("requests")]
    """The number of requests that the log of the device holds."""
    log_overflow: Annotated[int, Unit("requests")]
    """The number of requests without a record."""
    burn_owed_ns: int
    """The processor time that the sham has still to burn."""
    real_time: bool
    """Whether the threads of the emulator had real-time priority."""
    requests_failed: Annotated[int, Unit("requests")]
    """The number of requests that power cuts failed."""
    unflushed_pages: Annotated[int | None, Unit("pages")]
    """The number of versions of 4 KiB pages that a power cut could take. It is null for a device that loses nothing."""
    cpu_ns: int
    """The processor time that the emulator used."""
    cpu_ns_by_thread: Annotated[dict[str, int], Unit("ns")]
    """The same, by thread."""
    cores_awake: bool
    """Whether the emulator could keep idle cores from sleeping."""
