"""Run folders of experiments in which every effect is known, on any server."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from records_of import LIFE, QUIET, changed, manifest_of, plan_of, usual_config

from tickdisk.config import Cell, Config, load_arms, parse_config, plan
from tickdisk.device import NO_DELAY, load_devices
from tickdisk.experiment import Arm, PlannedLife
from tickdisk.foundation import table
from tickdisk.manifest import Attempt, LifeRecord, write_manifest
from tickdisk.project import SizingClass, read_plan, sizing_classes, write_plan

SECOND = 1_000_000_000
BASE_MS, PER_MS = 100.0, 5.0
"""A tick takes so long, and so much longer for each ms of storage latency."""
DELAY_MS = 80.0
"""A tick takes so much longer while the probe delays it."""
HELD_S = 0.3
"""An action takes so much longer while the server holds its answers back."""
GapOf = Callable[[str, int], float]
LATENCY_MS = {"ssd_100us": 0.1, "ssd_100us_again": 0.1, "sham": 0.1, "hdd": 6.0}
DELAYED, HELD = {"tick_delay", "both_delays"}, {"action_delay", "both_delays"}
"""Arms in which the probe delays ticks, and in which the server holds its answers back."""
LATENCY_MS |= dict.fromkeys((*DELAYED, *HELD, "none", "none_again", "bpftrace", "strace_positioned", "strace", "captured"), 0.1)
LATENCY_MS |= {f"latency_{ms}ms": float(ms) for ms in (1, 3, 6, 12)}
LATENCY_MS |= {"real_disk": 1.0, "twin": 1.0, "wrong_twin": 3.0}
OPS_MS: dict[str, tuple[float, ...]] = {arm: (ms, ms, ms) for arm, ms in LATENCY_MS.items()}
"""Latencies of reads, writes and flushes by arm."""
TAPE = SizingClass(description="tape", source="ours", read_latency_ns=2e7, write_latency_ns=2e7, flush_latency_ns=2e7)
CLASSES = {**sizing_classes(load_devices(Path("data/devices.yaml"))), "tape": TAPE}
"""Classes of disks. The last is slower than every dose."""
HELD_OUT = {"hard_disk": "hdd_7200rpm", "gp3_volume": "gp3"}
"""Classes of disks that run live, by arm."""
OPS_MS |= {arm: tuple(ns / 1e6 for ns in CLASSES[name].latencies_ns) for arm, name in HELD_OUT.items()}
OPS_MS |= {"reads_6ms": (6, 0.1, 0.1), "writes_6ms": (0.1, 6, 0.1), "flushes_6ms": (0.1, 0.1, 6), "all_6ms": (6, 6, 6)}
LATENCY_MS |= {arm: own[0] for arm, own in OPS_MS.items()}
REALISED_MS = 0.01
"""Calibration found every device so much slower than its model."""
REQUESTS = 30
"""Requests of the device in an epoch."""


def linear(arm: str, _: int) -> float:
    """Returns the gap in ms that an arm's latency costs."""
    return BASE_MS + PER_MS * LATENCY_MS[arm] + (DELAY_MS if arm in DELAYED else 0.0)


def tables_of(life: PlannedLife, block: int, gap_ms: GapOf, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    starts, actions, at_s = [], [], 0.0
    for epoch in life.epochs:
        level = gap_ms(epoch.arm, block) * rng.normal(1, 0.01)
        while at_s < epoch.end_s:
            starts.append(at_s)
            at_s += level / 1000
        for due_s in np.arange(epoch.steady_s, epoch.end_s - 0.5, 0.5).tolist():
            held_s = HELD_S if epoch.arm in HELD else 0.0
            actions += [(kind, due_s, due_s + 2 * level / 1000 + held_s) for kind in ("teleport", "join")]
    ns = [round(s * SECOND) + SECOND for s in starts]
    acted = pd.DataFrame(actions, columns=["action", "due_ns", "completed_ns"])
    acted[["due_ns", "completed_ns"]] = (acted[["due_ns", "completed_ns"]] * SECOND + SECOND).round().astype("Int64")
    epochs = [
        {"epoch": number, "arm": epoch.arm, "device": epoch.arm, "setting": number}
        | {f"{name}_ns": round(getattr(epoch, f"{name}_s") * SECOND) + SECOND for name in ("start", "steady", "end")}
        for number, epoch in enumerate(life.epochs)
    ]
    asked = [
        {"arrival_ns": epoch["start_ns"] + number * 1000, "latency_ns": round(1e6 * LATENCY_MS[epoch["arm"]])}
        for epoch in epochs
        for number in range(REQUESTS)
    ]
    device = pd.DataFrame(asked).assign(op="read", offset=0, length=4096, inflight=1, setting=0)
    device["replied_ns"] = device["nominal_ns"] = device["arrival_ns"] + device["latency_ns"]
    none = pd.array([pd.NA] * len(ns), dtype="Int64")
    played_ns = epochs[0]["start_ns"]
    return {
        "ticks": pd.DataFrame({"tick": range(len(ns)), "start_ns": ns, "end_ns": none, "players": 1, "thread": none}),
        "actions": acted.assign(
            due_ns=acted["due_ns"].astype("int64"), player="p000", issued_ns=acted["due_ns"], outcome="completed", detail=""
        ),
        "epochs": pd.DataFrame(epochs),
        "saves": saves_of(epochs),
        "pauses": pd.DataFrame({"name": "gc", "begin_ns": [0, played_ns], "end_ns": [5_000_000, played_ns + 100_000]}),
        "device": device.assign(seq=range(len(device))),
    }


def record_of(life: PlannedLife, attempts: int, values: Mapping[str, Any]) -> LifeRecord:
    """Returns the record of a life that was replaced until the last of some attempts, with other values."""
    disturbed = Attempt(started_unix_s=0.0, load=QUIET, reasons=("steal 20 % above 10 %",))
    return changed(LIFE, **{"name": life.name, "attempts": (*[disturbed] * (attempts - 1), *LIFE.attempts)} | dict(values))


@cache
def config_of(scale: str, blocks: int | None) -> Config:
    return parse_config(usual_config().model_dump(mode="json") | {"scale": scale, "blocks": blocks})


def cells_of(config: Config, experiment: str, server: str = "luanti", arms: Sequence[Arm] | None = None) -> list[Cell]:
    """Returns the cells of an experiment on a server, whose devices and programs do not matter here."""
    arms = load_arms() if arms is None else arms
    models = {(arm.experiment, arm.arm): NO_DELAY for arm in arms}
    return plan(config, arms, models, {(experiment, server): {}})


def write_runs(
    folder: Path,
    experiment: str,
    *,
    server: str = "luanti",
    scale: str = "paper",
    blocks: int | None = None,
    config: Config | None = None,
    arms: Sequence[Arm] | None = None,
    gap_ms: GapOf = linear,
    gap_of: Callable[[PlannedLife], GapOf] | None = None,
    values: Mapping[tuple[int, str], Mapping[str, Any]] | None = None,
    tables: Callable[[int, dict[str, pd.DataFrame]], dict[str, pd.DataFrame]] = lambda _, made: made,
    of_life: Callable[[PlannedLife, dict[str, pd.DataFrame]], dict[str, pd.DataFrame]] = lambda _, made: made,
) -> Path:
    """Writes the run folders of all cells of an experiment and their plan, and returns the plan's path. Cells add to a plan.

    `gap_of` takes the place of `gap_ms` where gaps depend on the life. `values` replaces fields of a life's record, `tables` the
    tables of a block, and `of_life` those of a life. `config` and `arms` replace those of the project at this scale and with so
    many blocks.
    """
    config, arms, rng = config or config_of(scale, blocks), arms or load_arms(), np.random.default_rng(7)
    devices = load_devices(Path("data/devices.yaml"))
    models = {
        arm.arm: devices["hdd" if arm.arm == "hdd" else "sata_ssd"].model_copy(
            update={"name": arm.arm, "read_latency_ns": round(1e6 * LATENCY_MS[arm.arm])}
        )
        for arm in arms
        if arm.experiment == experiment
    }
    cells = cells_of(config, experiment, server, arms)
    for cell in cells:
        lives = {
            life.name: record_of(life, 2 if cell.block == 0 else 1, (values or {}).get((cell.block, life.name), {}))
            for life in cell.lives
        }
        for life in cell.lives:
            (folder / cell.hash / life.name).mkdir(parents=True)
            gap = gap_ms if gap_of is None else gap_of(life)
            made = of_life(life, tables(cell.block, tables_of(life, cell.block, gap, rng)))
            for name, rows in made.items():
                table.write(name, folder / cell.hash / life.name / f"{name}.parquet", rows)
        manifest = manifest_of(
            experiment,
            server,
            hash=cell.hash,
            block=cell.block,
            resolved=cell.resolved,
            plan=cell.lives,
            lives=lives,
            models=models,
            calibration="first" if cell.block < 2 else "second",
            realised_ns={arm: round(1e6 * (LATENCY_MS[arm] + REALISED_MS)) for arm in models},
        )
        write_manifest(folder / cell.hash, manifest)
    path = folder / "plan.json"
    before = read_plan(path).cells if path.exists() else ()
    write_plan(path, plan_of(config, [*before, *(cell.row for cell in cells)], arms=tuple(arms), classes=CLASSES))
    return path


def saves_of(epochs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Returns a save in the middle of each epoch, which takes 10 ms in the first epoch and 10 ms more in each later one."""
    begins = [(epoch["steady_ns"] + epoch["end_ns"]) // 2 for epoch in epochs]
    ends = [begin + 10_000_000 * number for number, begin in enumerate(begins, start=1)]
    return pd.DataFrame({"begin_ns": begins, "end_ns": ends})
