"""What blame rests on: the tables of a captured server life, or of a capture of any process."""

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
    """Tables as in `tickdisk.table`; None for one that there is not."""

    name: str
    requests: pd.DataFrame
    waits: pd.DataFrame
    captured_ns: tuple[int, int]
    """When the capture began and ended: a thread that does not wait then is running."""
    ticks: pd.DataFrame | None = None
    actions: pd.DataFrame | None = None
    device: pd.DataFrame | None = None
    extents: pd.DataFrame | None = None
    injections: pd.DataFrame | None = None
    window_ns: tuple[int, int] | None = None
    """What is looked at: from the first epoch's steady part to the last one's end; None: all."""
    lost_events: int = 0
    reasons: tuple[str, ...] = ()
    """Why it is not valid."""

    @property
    def knows_files(self) -> bool:
        """Whether it says of which file a device's request is: not on btrfs, which tells addresses of its own, nor on a tree."""
        return self.device is not None and self.extents is not None


def load_evidence(path: Path) -> list[Evidence]:
    """Returns the captured lives of a run folder, or the one of a life's folder, or the capture of a capture folder.

    TickdiskError when `path` is none of them, or nothing was captured there.
    """
    if (path / _MANIFEST).exists():
        manifest = read_json(path / _MANIFEST)
        captured = [name for name in manifest["lives"] if (path / name / "waits.parquet").exists()]
        if not captured:
            raise TickdiskError(
                f"{path}: no life was captured by bpftrace; run an experiment whose arm captures, e.g. inside_tick"
            )
        return [load_life(path / name, manifest["lives"][name]) for name in captured]
    if (path.parent / _MANIFEST).exists() and (path / "ticks.parquet").exists():
        return [load_life(path, read_json(path.parent / _MANIFEST)["lives"][path.name])]
    if (path / _CAPTURE).exists():
        summary = read_json(path / _CAPTURE)
        return [Evidence(path.name, *_captured(path), _span(summary), lost_events=summary["lost_events"])]
    raise TickdiskError(f"{path} is no run, no life and no capture ({_MANIFEST} and {_CAPTURE} are missing); name such a folder")


def load_life(folder: Path, manifest: Mapping[str, Any]) -> Evidence:
    """Returns the evidence of one captured life; `manifest` is its part of the cell's."""
    requests, waits = _captured(folder)
    epochs, device = table.read("epochs", folder / "epochs.parquet"), table.read("device", folder / "device.parquet")
    empty = ["the capture is empty and the device has requests"] if requests.empty and len(device) else []
    injections, extents = folder / "injections.parquet", folder / "extents.parquet"
    return Evidence(
        folder.name,
        requests,
        waits,
        _span(manifest["captures"][0]),
        ticks=table.read("ticks", folder / "ticks.parquet"),
        actions=table.read("actions", folder / "actions.parquet"),
        device=device,
        extents=table.read("extents", extents) if extents.exists() else None,
        injections=table.read("injections", injections) if injections.exists() else None,
        window_ns=(int(epochs["steady_ns"].min()), int(epochs["end_ns"].max())),
        lost_events=sum(capture["lost_events"] for capture in manifest["captures"]),
        reasons=tuple(dict.fromkeys([*manifest["not_valid"].values(), *empty])),
    )


def _span(summary: Mapping[str, Any]) -> tuple[int, int]:
    return int(summary["started_ns"]), int(summary["ended_ns"])


def _captured(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    if not (folder / "waits.parquet").exists():
        raise TickdiskError(f"{folder} has no waits: strace sees none; capture with bpftrace")
    requests = table.read("requests", folder / "requests.parquet")
    return requests[requests["level"] == "syscall"].reset_index(drop=True), table.read("waits", folder / "waits.parquet")
