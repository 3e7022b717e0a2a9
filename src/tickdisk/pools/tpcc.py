"""Captures the requests that PostgreSQL makes of a block device under a load like TPC-C: `python -m tickdisk.pools.tpcc FOLDER`.

PostgreSQL keeps its data on an emulated device. The program go-tpc first loads a few warehouses (phase p1) and then runs their
transactions (phase p2), as the Shape study did with HammerDB. A tracepoint program notes every request of the device, in the
layout of biosnoop. The samples in `data/samples` were made so. PostgreSQL and go-tpc have to be installed for it.
"""

import argparse
import os
import re
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import zstandard

from tickdisk import device
from tickdisk.foundation import memory
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import whole, write_json
from tickdisk.foundation.process import Child, run
from tickdisk.foundation.tracefs import with_tracefs

_SIZE_BYTES = 3 << 30
_PORT = 54329
_USER = "postgres"
_START_S, _STOP_S, _ATTACH_S, _PHASE_S = 60.0, 120.0, 30.0, 3600.0
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "port": str(_PORT),
    "shared_buffers": "32MB",
    "checkpoint_timeout": "30s",
    "max_wal_size": "256MB",
    "unix_socket_directories": "",
}
_PROGRAM = """
BEGIN {{ printf("attached\\n"); }}
tracepoint:block:block_rq_issue /args->dev == {dev}/ {{
  @start[args->sector] = nsecs; @bytes[args->sector] = args->bytes; @pid[args->sector] = pid; @comm[args->sector] = comm;
}}
tracepoint:block:block_rq_complete /args->dev == {dev} && @start[args->sector]/ {{
  printf("%llu %llu %d %llu %u %s %s\\n", @start[args->sector], nsecs, @pid[args->sector], args->sector, @bytes[args->sector],
    args->rwbs, @comm[args->sector]);
  delete(@start[args->sector]); delete(@bytes[args->sector]); delete(@pid[args->sector]); delete(@comm[args->sector]);
}}
"""
_HEADER = f"{'TIME(s)':<11} {'COMM':<14} {'PID':<7} {'DISK':<7} {'T':<1} {'SECTOR':<10} {'BYTES':<7} {'LAT(ms)':>7}\n"


def main() -> int:
    """Captures both phases into `FOLDER/tpcc_p1.biosnoop.zst` and `tpcc_p2.biosnoop.zst`, with `tpcc.json` about their making."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="Folder of the captures.")
    parser.add_argument("--go-tpc", type=Path, required=True, help="The program go-tpc.")
    parser.add_argument("--warehouses", type=int, default=2, help="Number of warehouses.")
    parser.add_argument("--threads", type=int, default=16, help="Number of connections.")
    parser.add_argument("--seconds", type=float, default=30, help="Time of the transactions.")
    parser.add_argument("--device", default="network_volume", help="Device in data/devices.yaml.")
    asked = parser.parse_args()
    try:
        _capture(asked)
    except TickdiskError as error:
        print(f"tpcc: {error}", file=sys.stderr)
        return 1
    return 0


def _capture(asked: argparse.Namespace) -> None:
    model = device.named(asked.device, Path("data/devices.yaml"))
    asked.folder.mkdir(parents=True, exist_ok=True)
    words = ["tpcc", "-d", "postgres", "-H", "127.0.0.1", "-P", str(_PORT), "-U", _USER, "-D", _USER]
    words += ["--conn-params", "sslmode=disable", "--warehouses", str(asked.warehouses), "-T", str(asked.threads)]
    phases = {"p1": [*words, "prepare", "--no-check"], "p2": [*words, "run", "--time", f"{asked.seconds:g}s"]}
    captured = {}
    with memory.folder() as logs, device.up(model, size_bytes=_SIZE_BYTES) as disk:
        data = disk.mount_point / "data"
        data.mkdir()
        shutil.chown(data, _USER, _USER)
        run([*_as_user(), _program("initdb"), "-D", data, "--auth=trust", "-U", _USER], timeout_s=_START_S)
        for phase, command in phases.items():
            with _requests(disk.block_device, logs, phase) as lines, _postgres(data, logs):
                began_s = time.monotonic()
                run([asked.go_tpc, *command], timeout_s=_PHASE_S)
                took_s = time.monotonic() - began_s
            _forget(data)
            path = asked.folder / f"tpcc_{phase}.biosnoop.zst"
            requests, left_out = _write(lines, disk.block_device.name, path)
            captured[phase] = {"file": path.name, "requests": requests, "left_out": left_out, "seconds": took_s}
    about = {
        "phases": captured,
        "device": model.as_dict(),
        "warehouses": asked.warehouses,
        "threads": asked.threads,
        "settings": _SETTINGS,
        "postgres": run([_program("postgres"), "--version"]).strip(),
        "go_tpc": re.findall(r"^\s+mod\s+(\S+)\s+(\S+)", run(["go", "version", "-m", asked.go_tpc]), re.MULTILINE)[0],
        "kernel": os.uname().release,
    }
    write_json(asked.folder / "tpcc.json", about)


def _as_user() -> list[str]:
    return ["setpriv", "--reuid", _USER, "--regid", _USER, "--clear-groups"]


def _program(name: str) -> Path:
    """Returns a program of PostgreSQL, which Debian keeps in a folder for each version."""
    programs = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if not programs:
        raise TickdiskError(f"PostgreSQL's program {name} is not installed; install Debian's package postgresql")
    return programs[-1]


@contextmanager
def _postgres(data: Path, logs: Path) -> Iterator[None]:
    options = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    with Child("postgres", [*_as_user(), _program("postgres"), "-D", data, *options], logs, cwd=logs) as server:
        _await(server, lambda: _is_ready(server), _START_S, "PostgreSQL did not start")
        yield
        server.stop(_STOP_S)


def _is_ready(server: Child) -> bool:
    """Returns whether the server takes connections. Raises TickdiskError if it has ended."""
    if server.poll() is not None:
        raise TickdiskError(f"PostgreSQL ended: {server.tail()}")
    try:
        run([_program("pg_isready"), "-h", "127.0.0.1", "-p", str(_PORT)])
    except TickdiskError:
        return False
    return True


def _await(child: Child, is_done: Callable[[], bool], timeout_s: float, what: str) -> None:
    ends_s = time.monotonic() + timeout_s
    while not is_done():
        if time.monotonic() > ends_s:
            raise TickdiskError(f"{what} within {timeout_s:g} s: {child.tail()}")
        time.sleep(0.1)


@contextmanager
def _requests(block_device: Path, logs: Path, phase: str) -> Iterator[Path]:
    """Notes the requests of a block device during the block. Yields the file of the notes."""
    numbers = block_device.stat().st_rdev
    program = _PROGRAM.format(dev=os.major(numbers) << 20 | os.minor(numbers))
    environment = {**os.environ, "BPFTRACE_PERF_RB_PAGES": "4096", "BPFTRACE_MAP_KEYS_MAX": "65536"}
    command = with_tracefs('exec bpftrace -B line -e "$1"', program)
    with Child(f"bpftrace_{phase}", command, logs, environment=environment) as tracer:
        _await(tracer, lambda: _is_attached(tracer), _ATTACH_S, "bpftrace did not attach")
        yield tracer.log_path
        time.sleep(1)
        tracer.stop(_STOP_S, signal.SIGINT)
    if "Lost" in tracer.log_path.read_text(encoding="utf-8", errors="replace"):
        raise TickdiskError(f"bpftrace lost events in phase {phase}; capture again on a quiet machine")


def _is_attached(tracer: Child) -> bool:
    """Returns whether bpftrace notes requests. Raises TickdiskError if it has ended."""
    if tracer.poll() is not None:
        raise TickdiskError(f"bpftrace ended: {tracer.tail()}")
    return "attached" in tracer.tail()


def _forget(data: Path) -> None:
    """Lets the kernel forget the pages of the data, so that the next phase reads them from the device."""
    os.sync()
    for path in data.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _write(notes: Path, disk: str, output: Path) -> tuple[int, dict[str, int]]:
    """Writes the reads and writes of the notes in the layout of biosnoop, in the order of completions.

    Returns the number of requests, and the numbers of those that are neither and are left out, such as flushes, by the kernel's
    letters for their kind.
    """
    lines, left_out = list[str](), Counter[str]()
    began_ns: int | None = None
    for note in notes.read_text(encoding="utf-8", errors="replace").splitlines():
        parts = note.split(" ", 6)
        if len(parts) < 7 or not parts[0].isdigit():  # noqa: PLR2004 - the fields of the program above
            continue
        start_ns, end_ns, pid, sector, size = map(int, parts[:5])
        began_ns = start_ns if began_ns is None else began_ns
        op = next((letter for letter in "WR" if letter in parts[5]), None)
        if op is None:
            left_out[parts[5]] += 1
            continue
        lines.append(
            f"{(end_ns - began_ns) / 1e9:<11.6f} {parts[6]:<14.14} {pid:<7} {disk:<7} {op:<1} {sector:<10} {size:<7} "
            f"{(end_ns - start_ns) / 1e6:>7.3f}\n"
        )
    with whole(output) as partial:
        partial.write_bytes(zstandard.compress((_HEADER + "".join(lines)).encode(), level=19))
    return len(lines), dict(left_out)


if __name__ == "__main__":
    sys.exit(main())
