"""Loads the tables that blame needs, of a captured server life or of a capture of any process."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from tickdisk import stats
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import CAPTURE, MANIFEST, Manifest, has_run, read_capture, read_manifest


@dataclass(frozen=True)
class CaptureEvidence:
    """The tables of a capture from which `attribute` explains ticks, and what it has to know of the captured program.

    The tables have the columns of `table.SCHEMAS`. A table that the capture does not have is None. A capture of a program outside
    an experiment has only requests and waits.
    """

    name: str
    requests: pd.DataFrame
    """System calls of the program on files, and page faults in mapped files."""
    waits: pd.DataFrame
    """Times in which a thread of the program did not run, each with the reason."""
    captured_ns: tuple[int, int]
    """Start and end of the capture, in ns. Between them, a thread without a wait is running."""
    ticks: pd.DataFrame | None = None
    """Ticks of the server, or the turns of a loop that stand for them."""
    actions: pd.DataFrame | None = None
    device: pd.DataFrame | None = None
    """Requests from the log of the emulated device."""
    extents: pd.DataFrame | None = None
    """Places of files on the device, by which its requests are matched with files."""
    injections: pd.DataFrame | None = None
    """Stalls that the experiment made on purpose."""
    pauses: pd.DataFrame | None = None
    """Times in which the runtime stopped all threads. It is empty for a runtime that does not tell them."""
    window_ns: tuple[int, int] | None = None
    """Start and end, in ns, of the time whose ticks are explained. For a server life it begins when the steady part of the first
    epoch begins, the part that is analysed, and ends with the last epoch. If None, all ticks are explained."""
    lost_events: int = 0
    """Number of events that did not arrive from the kernel."""
    lacks: Mapping[str, int] = field(default_factory=dict)
    """Number of things that happened and are no requests, by kind, such as submissions to io_uring."""
    budget_ns: int | None = None
    """Time in ns from the start of one tick to the start of the next, if both are on time. None if the process has no ticks."""
    thread: str | None = None
    """Name of the thread that ticks, if it is known."""
    readers: str | None = None
    """Beginning of the names of the threads that read the world for players, if there are such threads."""
    parks: bool = False
    """Whether a thread of the process waits in a futex when it has nothing to do. Such a wait between two ticks is idle time."""
    recognised: bool = False
    """Whether `ticks` are the turns of a loop, or the ticks of a goroutine, which the process does not tell."""
    realtime_offset_ns: int | None = None
    """Number to add to a time of CLOCK_MONOTONIC to get the time since 1970, or None if it is not known."""
    obstacles: tuple[stats.Obstacle, ...] = ()
    """Causes for which the server life is not valid. It is valid if there are none."""

    @property
    def tells_ticks(self) -> bool:
        """Whether the process tells its ticks itself, as servers in experiments do."""
        return self.ticks is not None and not self.recognised

    @property
    def knows_files(self) -> bool:
        """Whether the files of the device's requests are known.

        They are not known on btrfs, which gives other addresses than those of the device, or with the backend `tree`.
        """
        return self.device is not None and self.extents is not None


def load_evidence(path: Path) -> list[CaptureEvidence]:
    """Loads the evidence of each captured server life of a run folder, or of one server life or capture, by its folder.

    Raises TickdiskError if the folder is of another kind, or has no waits because bpftrace did not capture.
    """
    if has_run(path):
        manifest = read_manifest(path)
        captured = [name for name in manifest.lives if (path / name / "waits.parquet").exists()]
        if not captured:
            raise TickdiskError(
                f"{path}: no life was captured by bpftrace; run an experiment whose arm captures, e.g. inside_tick"
            )
        return [load_life(path / name, manifest) for name in captured]
    if has_run(path.parent) and (path / "ticks.parquet").exists():
        return [load_life(path, read_manifest(path.parent))]
    if (path / CAPTURE).exists():
        capture = read_capture(path)
        tables, lacks = _captured(path), table.lacks(path / "requests.parquet")
        evidence = CaptureEvidence(path.name, *tables, capture.span_ns, lost_events=capture.lost_events, lacks=lacks)
        return [replace(evidence, realtime_offset_ns=_realtime_offset_ns(path))]
    raise TickdiskError(
        f"{path} is no folder of a run, a server life or a capture ({MANIFEST} and {CAPTURE} are missing); name such a folder"
    )


def load_life(folder: Path, manifest: Manifest) -> CaptureEvidence:
    """Loads the evidence of one captured server life. `manifest` is the one in the run folder of its cell.

    Raises TickdiskError if the server life has no waits because bpftrace did not capture.
    """
    requests, waits = _captured(folder)
    server, life = manifest.server, manifest.lives[folder.name]
    epochs, device = table.read("epochs", folder / "epochs.parquet"), table.read("device", folder / "device.parquet")
    saturated = [stats.ClientsSaturated(life=None, detail=detail) for detail in life.not_valid.values()]
    empty = [stats.NothingCaptured()] if requests.empty and len(device) else []
    injections, extents = folder / "injections.parquet", folder / "extents.parquet"
    return CaptureEvidence(
        folder.name,
        requests,
        waits,
        life.captures[0].span_ns,
        ticks=table.read("ticks", folder / "ticks.parquet"),
        actions=table.read("actions", folder / "actions.parquet"),
        device=device,
        extents=table.read("extents", extents) if extents.exists() else None,
        injections=table.read("injections", injections) if injections.exists() else None,
        pauses=table.read("pauses", folder / "pauses.parquet"),
        window_ns=(int(epochs["steady_ns"].min()), int(epochs["end_ns"].max())),
        lost_events=sum(capture.lost_events for capture in life.captures),
        lacks=table.lacks(folder / "requests.parquet"),
        budget_ns=server.tick_budget_ns,
        thread=server.tick_thread,
        readers=server.reader_threads,
        parks=server.parks,
        realtime_offset_ns=_realtime_offset_ns(folder),
        obstacles=tuple(dict.fromkeys([*saturated, *empty])),
    )


def _realtime_offset_ns(folder: Path) -> int | None:
    """Returns the difference between the clocks when the capture or the server life began."""
    place = folder / "clocks.parquet"
    if not place.exists():
        return None
    first = table.read("clocks", place).iloc[0]
    return int(first["realtime_ns"]) - int(first["monotonic_ns"])


def _captured(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    if not (folder / "waits.parquet").exists():
        raise TickdiskError(f"{folder} has no waits, because strace does not capture them; capture with bpftrace")
    needed = ("start_ns", "latency_ns", "thread", "process", "result", "errno")
    requests = table.need(table.read("requests", folder / "requests.parquet"), needed, task="an explanation", level="syscall")
    return requests, table.read("waits", folder / "waits.parquet")
