"""A long test of the emulator under random load, such as an hour of `python -m benchmarks.soak --minutes=60`.

fio reads and writes at random on a volatile device with 128 requests in flight, verifies the data that it reads back (crc32c),
and flushes now and then. Meanwhile the test watches the emulator's resident memory, its counters, and its log.
"""

import argparse
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.log_check import LogCheck
from tickdisk.device import DeviceModel, EmulatorStatus, MountedDevice, up
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.memory import folder
from tickdisk.foundation.process import Child, run

SIZE_BYTES = 256 << 20
QUEUE_DEPTH = 128
MODEL = DeviceModel(
    name="soak",
    read_latency_ns={"median_ns": 4_000_000, "p99_ns": 20_000_000},  # type: ignore[arg-type] # pydantic takes it as from a file
    write_latency_ns={"median_ns": 4_000_000, "p99_ns": 20_000_000},  # type: ignore[arg-type]
    flush_latency_ns=5_000_000,
    discard_latency_ns=1_000_000,
)
"""Model whose latencies vary so widely that requests complete in another order than that of their arrival."""
SILENCE_S = 20.0
"""Time without a new request after which the device counts as hanging."""
_LOOK_S, _GRACE_S = 1.0, 120.0
_MOST_GROWTH_BYTES = 4 << 20
_PAGE_BYTES = 4096


@dataclass
class Watch:
    """The observations of the emulator during the soak test, which are made once a second."""

    resident_bytes: list[int] = field(default_factory=list)
    """Resident memory of the emulator's process at each look."""
    status: EmulatorStatus | None = None
    """State of the device at the last look. It is None before the first."""
    moved_s: float = field(default_factory=time.monotonic)
    """Time of the last look at which requests had been made since the look before, in s of CLOCK_MONOTONIC."""
    longest_silence_s: float = 0.0
    """Longest time so far from a look that found new requests to the next such look, or to the last look."""

    def look(self, disk: MountedDevice) -> None:
        """Makes one observation of a device. If there was no new request for `SILENCE_S`, TickdiskError is raised."""
        status, now_s = disk.emulator_status(), time.monotonic()
        before = self.status
        self.status = status
        pages = Path(f"/proc/{disk.daemon_pid}/statm").read_text(encoding="ascii").split()[1]
        self.resident_bytes.append(int(pages) * _PAGE_BYTES)
        self.longest_silence_s = max(self.longest_silence_s, now_s - self.moved_s)
        if before is None or status.requests != before.requests:
            self.moved_s = now_s
        elif now_s - self.moved_s > SILENCE_S:
            raise TickdiskError(f"no request arrived for {SILENCE_S:g} s with {status.inflight} in the device, so it hangs")

    @property
    def requests(self) -> int:
        """The number of requests that the device had served at the last look, of all operations together."""
        return 0 if self.status is None else sum(self.status.requests.values())

    def resident(self) -> tuple[int, int]:
        """Returns the median resident memory in bytes in the second quarter of the observations and in the last quarter.

        The first quarter is the warm-up. A difference between the two values shows a leak.
        """
        quarter = max(1, len(self.resident_bytes) // 4)
        return round(median(self.resident_bytes[quarter : 2 * quarter] or [0])), round(
            median(self.resident_bytes[-quarter:] or [0])
        )


def soak(seconds: float) -> tuple[list[str], str]:
    """Tests an emulated device under random reads, writes and flushes of fio for `seconds`.

    It returns the faults that were found in words, which is an empty list if all is well, and a sentence with the numbers of the
    test, such as requests and memory.
    """
    watch, problems = Watch(), []
    with folder() as scratch, LogCheck(scratch / "device.log") as log:
        with up(
            MODEL, size_bytes=SIZE_BYTES, file_system=None, floor_ns=0, log_path=log.path, logs=scratch, volatile=True
        ) as disk:
            # The whole disk is written first, so that its memory is in use from the beginning and only other growth is seen.
            disk.set(MODEL.unlimited(), floor_ns=0)
            run(["fio", "--name=fill", "--rw=write", "--bs=1m", "--direct=1", "--end_fsync=1", f"--filename={disk.block_device}"])
            disk.set(MODEL, floor_ns=0)
            started_s = watch.moved_s = time.monotonic()
            try:
                with _load(disk, seconds, scratch) as load:
                    _watch(disk, load, watch, started_s + seconds + _GRACE_S)
            except TickdiskError as error:
                problems.append(str(error))
            took_s = time.monotonic() - started_s
        problems += log.finish()
    problems += wrong(watch)
    before, after = watch.resident()
    most = 0 if watch.status is None else watch.status.max_inflight
    return problems, (
        f"{took_s / 60:.1f} min, {watch.requests:,} requests ({watch.requests / took_s:,.0f}/s), at most "
        f"{most} in flight, longest silence {watch.longest_silence_s:.1f} s, resident memory "
        f"{before / 2**20:.1f} -> {after / 2**20:.1f} MiB, {log.records:,} log records"
    )


@contextmanager
def _load(disk: MountedDevice, seconds: float, logs: Path) -> Iterator[Child]:
    options = {
        "name": "soak",
        "filename": disk.block_device,
        "rw": "randrw",
        "bs": "4k",
        "direct": 1,
        "ioengine": "libaio",
        "iodepth": QUEUE_DEPTH,
        "fsync": 5000,
        "verify": "crc32c",
        "verify_fatal": 1,
        "verify_state_save": 0,
        "verify_backlog": 8192,
        # Two requests in flight for the same block have no order, so fio might find the data of the other one.
        "serialize_overlap": 1,
        "random_generator": "tausworthe64",
        "time_based": 1,
        "runtime": f"{seconds * 1000:.0f}ms",
        "eta": "never",
        "output-format": "json",
        "output": logs / "fio.answer.json",
    }
    load = Child("fio", ["fio", *(f"--{key}={value}" for key, value in options.items())], logs)
    try:
        yield load
    finally:
        if load.poll() is None:
            load.stop(5)


def _watch(disk: MountedDevice, load: Child, watch: Watch, deadline_s: float) -> None:
    said_s = time.monotonic()
    while load.wait(_LOOK_S) is None:
        watch.look(disk)
        if time.monotonic() > deadline_s:
            raise TickdiskError(f"fio did not end within {_GRACE_S:g} s after its time, so the device hangs")
        if time.monotonic() - said_s > 60:  # noqa: PLR2004 - one line is printed a minute
            said_s = time.monotonic()
            print(f"soak: {watch.requests:,} requests, resident {watch.resident_bytes[-1] / 2**20:.1f} MiB", flush=True)
    if load.poll() != 0:
        lines = [line for line in load.tail(100).splitlines() if "fio" in line or "verify" in line]
        raise TickdiskError(f"fio found an error (exit code {load.poll()}): {lines[0].strip() if lines else 'it said nothing'}")
    watch.status = disk.emulator_status()


def wrong(watch: Watch) -> list[str]:
    """Returns the faults that the observations show, in words: grown memory, and requests that failed or lack an answer or a
    record.
    """
    if watch.status is None:
        return ["the emulator was never seen at work"]
    before, after = watch.resident()
    status, found = watch.status, []
    if after - before > _MOST_GROWTH_BYTES:
        found.append(f"resident memory grew by {(after - before) / 2**20:.1f} MiB")
    if status.inflight:
        found.append(f"{status.inflight} requests were never answered")
    if status.requests_failed or status.log_overflow:
        found.append(f"{status.requests_failed} requests failed, {status.log_overflow} have no record")
    return found


def main() -> int:
    """Runs the soak test with the options of the command line, and returns the exit code, which is 0 if the emulator passed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=15.0, help="Length of the test in minutes. It is 15 unless given.")
    minutes = parser.parse_args().minutes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # The exit takes the device down.
    try:
        problems, description = soak(minutes * 60)
    except TickdiskError as error:
        problems, description = [str(error)], "it did not run"
    print(f"soak: {'FAILED: ' + '; '.join(problems) if problems else 'passed'}: {description}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
