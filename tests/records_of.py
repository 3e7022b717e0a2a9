"""Records of plans and of cells, for tests in which only some of their values matter."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tickdisk.config import CONFIG_PATH, Config, PlannedCell, Resolved, load_arms, load_config
from tickdisk.device import EmulatorStatus
from tickdisk.foundation.host import HostFacts, MachineKind, MachineLoad
from tickdisk.manifest import ArmCapture, Attempt, Capture, LifeRecord, Manifest
from tickdisk.player import ClientStatus
from tickdisk.player.status import ActionCounts, NetworkCounts, ScheduleLag
from tickdisk.project import Plan, write_plan
from tickdisk.server import ServerStart, TickCounts, named

QUIET = MachineLoad(1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.01)
TICKS = TickCounts.model_validate(dict.fromkeys(TickCounts.model_fields, 0) | {"complete": True})
CLIENT = ClientStatus(
    address="127.0.0.1:1",
    start_ns=0,
    end_ns=0,
    interrupted=False,
    players=1,
    completion="",
    actions={},
    backlog_max=0,
    schedule_lag=ScheduleLag(samples=0, p50_ms=None, p99_ms=None, max_ms=None),
    lag_seconds=(),
    max_lag_ms=20.0,
    saturated=False,
    cpu_s=0.0,
    network=NetworkCounts.model_validate(dict.fromkeys(NetworkCounts.model_fields, 0)),
)
DEVICE = EmulatorStatus(
    device="disk",
    description="",
    setting=0,
    floor_ns=0,
    requests={},
    bytes={},
    stalls=(),
    inflight=0,
    max_inflight=0,
    stamped=0,
    arrivals_lack="",
    log_written=0,
    log_overflow=0,
    burn_owed_ns=0,
    real_time=True,
    requests_failed=0,
    unflushed_pages=None,
    cpu_ns=0,
    cpu_ns_by_thread={},
    cores_awake=True,
)
CAPTURE = ArmCapture(
    arm="hdd",
    tool="bpftrace",
    version="1",
    started_ns=0,
    ended_ns=0,
    lines=1,
    requests=1,
    events=1,
    lost_events=0,
    rejected=0,
    rejects=(),
    unfinished=0,
    cut_paths=0,
    not_files=0,
    other_processes=0,
    offsets_unknown=0,
    files_unknown=0,
    not_followed={},
    missing=(),
    faults=None,
)
LIFE = LifeRecord(
    name="life",
    trace_events=1,
    phases=(),
    captures=(),
    requests=1,
    started_ns=0,
    load=QUIET,
    ticks=TICKS,
    rejects=(),
    markers=(),
    client=CLIENT,
    device=DEVICE,
    calibrated_lack="",
    file_system="ext4",
    server=ServerStart(binary="server", version="1", sha256="0", settings={}, port=1, ready_s=0.1),
    server_problems=(),
    server_ended_in_order=True,
    ended=None,
    floors_ns={},
    latest_switch_ns=0,
    clock_disagreement_ns=0,
    markers_unseen=0,
    saturated={},
    attempts=(Attempt(started_unix_s=0.0, load=QUIET, reasons=()),),
    marked=(),
    not_valid={},
    noted=(),
)
HOST = HostFacts(processor="p", cores=4, memory_bytes=1 << 33, kernel="k", python="3")
MACHINE = MachineKind(processor="p", cores=4, memory_gib=8, kernel="k")


def plan_of(config: Config, cells: Sequence[PlannedCell] = (), **values: Any) -> Plan:
    empty: dict[str, Any] = {name: {} for name in ("tiers", "binaries", "worlds", "missing_servers", "resolved")}
    own = {"config": config, "chosen": config.chosen, "arms": tuple(load_arms()), "cells": tuple(cells)}
    return Plan(**empty | own | values)


def plan_in(folder: Path) -> str:
    """Writes the plan of the configuration into a folder, and returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    write_plan(folder / "plan.json", plan_of(usual_config()))
    return str(folder / "plan.json")


def planned(name: str, experiment: str, *, server: str = "luanti", block: int = 0) -> PlannedCell:
    return PlannedCell(hash=name, experiment=experiment, server=server, block=block, seconds=1.0, lives=("life",))


@cache
def usual_config() -> Config:
    """The configuration of the project, which is read only once."""
    return load_config(Path(__file__).resolve().parent.parent / CONFIG_PATH)


def resolved_of(**values: Any) -> Resolved:
    config = usual_config()
    own: dict[str, Any] = {"server": "luanti", "design": {}, "behaviour": "roam", "arms": (), "limits": config.limits}
    own |= {"replacements": 0, "world": config.chosen.world, "device_size_mib": 64, "file_system": "ext4", "seed": 42}
    return Resolved(**own | {"code": {"python": "a"}} | values)


def changed(life: LifeRecord, **values: Any) -> LifeRecord:
    """Returns a record with other values, which are checked."""
    return LifeRecord(**dict(life) | values)


def actions_of(**counts: Mapping[str, int]) -> dict[str, ActionCounts]:
    """Returns counts of actions by kind. What is not named is 0."""
    none = dict.fromkeys(ActionCounts.model_fields, 0)
    return {kind: ActionCounts.model_validate(none | dict(own)) for kind, own in counts.items()}


def manifest_of(experiment: str, server: str = "luanti", **values: Any) -> Manifest:
    own: dict[str, Any] = {
        "hash": "0",
        "experiment": experiment,
        "server": named(server).facts,
        "block": 0,
        "resolved": resolved_of(server=server),
        "plan": (),
        "models": {},
        "realised_ns": {},
        "host": HOST,
        "machine": MACHINE,
        "backend": "fuse",
        "not_judged": (),
        "lives": {},
        "calibration": "one",
    }
    return Manifest(**own | values)


def capture_of(**values: Any) -> Capture:
    """Returns the file about the capture of a process that ran already."""
    summary = {name: value for name, value in CAPTURE if name != "arm"}
    return Capture(**summary | {"command": None, "pid": 1, "exit_code": None, "host": HOST} | values)
