"""Loads the tables that blame needs, of a captured server life or of a capture of any process."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tickdisk import table
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json

_MANIFEST, _CAPTURE = "manifest.json", "capture.json"


@dataclass(frozen=True)
class Evidence:
    """The tables of a capture, with the columns of `tickdisk.table`. A table is None if there is none."""

    name: str
    """Name of the server life or of the folder of the capture, for messages."""
    requests: pd.DataFrame
    waits: pd.DataFrame
    captured_ns: tuple[int, int]
    """Start and end of the capture. Between them, a thread without a wait is running."""
    ticks: pd.DataFrame | None = None
    actions: pd.DataFrame | None = None
    device: pd.DataFrame | None = None
    extents: pd.DataFrame | None = None
    injections: pd.DataFrame | None = None
    pauses: pd.DataFrame | None = None
    """Times in which the runtime stopped all threads. It is empty for a runtime that does not tell them."""
    window_ns: tuple[int, int] | None = None
    """Start and end of the time whose ticks are explained. For a server life it begins with the steady part of the first epoch
    and ends with the last epoch. If None, all ticks are explained."""
    lost_events: int = 0
    """Number of events that did not arrive from the kernel."""
    budget_ns: int | None = None
    """Time from the start of one tick to the start of the next, if both are on time. None if the process has no ticks."""
    thread: str | None = None
    """Name of the thread that ticks, if it is known by its name."""
    readers: str | None = None
    """Beginning of the names of the threads that read the world for players, if there are such threads."""
    parks: bool = False
    """Whether a thread of the process waits in a futex when it has nothing to do. Such a wait between two ticks is idle time."""
    recognised: bool = False
    """Whether the ticks are the turns of a loop, because the process tells no ticks."""
    reasons: tuple[str, ...] = ()
    """Reasons why the server life is not valid. It is valid if there are none."""

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


def load_evidence(path: Path) -> list[Evidence]:
    """Loads the evidence of a folder.

    Parameters
    ----------
    path
        A run folder, the folder of one server life, or the folder of a capture.

    Returns
    -------
    list of Evidence
        One for each captured server life of the run folder, or one for the server life or the capture.

    Raises
    ------
    TickdiskError
        If the folder is of another kind, or has no waits because bpftrace did not capture.
    """
    if (path / _MANIFEST).exists():
        manifest = read_json(path / _MANIFEST)
        captured = [name for name in manifest["lives"] if (path / name / "waits.parquet").exists()]
        if not captured:
            raise TickdiskError(
                f"{path}: no life was captured by bpftrace; run an experiment whose arm captures, e.g. inside_tick"
            )
        return [load_life(path / name, manifest) for name in captured]
    if (path.parent / _MANIFEST).exists() and (path / "ticks.parquet").exists():
        return [load_life(path, read_json(path.parent / _MANIFEST))]
    if (path / _CAPTURE).exists():
        summary = read_json(path / _CAPTURE)
        return [Evidence(path.name, *_captured(path), _span(summary), lost_events=summary["lost_events"])]
    raise TickdiskError(
        f"{path} is no folder of a run, a server life or a capture ({_MANIFEST} and {_CAPTURE} are missing); name such a folder"
    )


def load_life(folder: Path, manifest: Mapping[str, Any]) -> Evidence:
    """Loads the evidence of one captured server life.

    Parameters
    ----------
    folder
        Folder of the server life.
    manifest
        The manifest of its cell.

    Returns
    -------
    Evidence
        The tables of the server life.

    Raises
    ------
    TickdiskError
        If the server life has no waits because bpftrace did not capture.
    """
    requests, waits = _captured(folder)
    server, life = manifest["server"], manifest["lives"][folder.name]
    epochs, device = table.read("epochs", folder / "epochs.parquet"), table.read("device", folder / "device.parquet")
    empty = ["the capture is empty and the device has requests"] if requests.empty and len(device) else []
    injections, extents = folder / "injections.parquet", folder / "extents.parquet"
    return Evidence(
        folder.name,
        requests,
        waits,
        _span(life["captures"][0]),
        ticks=table.read("ticks", folder / "ticks.parquet"),
        actions=table.read("actions", folder / "actions.parquet"),
        device=device,
        extents=table.read("extents", extents) if extents.exists() else None,
        injections=table.read("injections", injections) if injections.exists() else None,
        pauses=table.read("pauses", folder / "pauses.parquet"),
        window_ns=(int(epochs["steady_ns"].min()), int(epochs["end_ns"].max())),
        lost_events=sum(capture["lost_events"] for capture in life["captures"]),
        budget_ns=server["tick_budget_ns"],
        thread=server["tick_thread"],
        readers=server["reader_threads"],
        parks=server["parks"],
        reasons=tuple(dict.fromkeys([*life["not_valid"].values(), *empty])),
    )


def _span(summary: Mapping[str, Any]) -> tuple[int, int]:
    return int(summary["started_ns"]), int(summary["ended_ns"])


def _captured(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    if not (folder / "waits.parquet").exists():
        raise TickdiskError(f"{folder} has no waits, because strace does not capture them; capture with bpftrace")
    requests = table.read("requests", folder / "requests.parquet")
    return requests[requests["level"] == "syscall"].reset_index(drop=True), table.read("waits", folder / "waits.parquet")
