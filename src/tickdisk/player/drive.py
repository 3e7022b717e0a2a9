"""Drive network clients from a player trace: `tickdisk-players`, built from src/players, and what it leaves behind."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tickdisk import table
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json
from tickdisk.process import Child

ACTIONS, STATUS = "actions.jsonl", "status.json"
TIMEOUT_S = 20.0
"""An action that takes longer has timed out, and enters quantiles as at least that."""
_BINARIES = {"luanti": "tickdisk-players", "bedrock": "tickdisk-players-bedrock"}
"""Programs of the clients in the folder `build`, by driver."""
_BUILD = Path("build")
_REPOSITORY = Path(__file__).parents[3]
_COLUMNS = table.SCHEMAS["actions"]
_OUTCOMES = ("completed", "timed_out", "failed")
_STATUS_KEYS = {
    "actions",
    "backlog_max",
    "completion",
    "cpu_s",
    "interrupted",
    "lag_seconds",
    "network",
    "saturated",
    "schedule_lag",
}


def binary(driver: str) -> Path:
    """Finds the program of the clients.

    Parameters
    ----------
    driver
        Name of the driver, which speaks the protocol of a server.

    Returns
    -------
    Path
        The program in the folder `build` of the current folder, or else of the checkout.

    Raises
    ------
    TickdiskError
        If it was not built.
    """
    name = _BINARIES[driver]
    found = next((path for folder in (Path(), _REPOSITORY) if (path := folder / _BUILD / name).is_file()), None)
    if found is None:
        raise TickdiskError(f"{_BUILD / name} does not exist; `make setup` builds it")
    return found.absolute()


def start_players(
    driver: str,
    server_address: str,
    trace_path: Path,
    start_ns: int,
    out_dir: Path,
    logs: Path,
    cores: Sequence[int] | None = None,
    *,
    radius_blocks: int = 1,
    wanted_range_blocks: int = 1,
    timeout_s: float = TIMEOUT_S,
    max_lag_ms: float = 20.0,
) -> Child:
    """Starts the clients of a `driver` on `server_address` (HOST:PORT) and returns their process, which ends after the trace.

    The trace's zero is `start_ns` (CLOCK_MONOTONIC). Joins and teleports complete when all map blocks within `radius_blocks` of
    the player's own have arrived; the server is asked for `wanted_range_blocks` and sends one more. An action has timed out after
    `timeout_s`. Above a p99 lag of `max_lag_ms` behind their own schedule the clients call themselves saturated. They write
    ACTIONS and STATUS into `out_dir` as they end, also on SIGTERM. Exit code 0: there is one record for each line of the trace;
    2: the trace or an argument is wrong; 3: not one player could join.
    """
    options: dict[str, object] = {
        "address": server_address,
        "trace": trace_path,
        "start-ns": start_ns,
        "actions": out_dir / ACTIONS,
        "status": out_dir / STATUS,
        "radius-blocks": radius_blocks,
        "wanted-range-blocks": wanted_range_blocks,
        "timeout-s": timeout_s,
        "max-lag-ms": max_lag_ms,
    }
    command: list[str | Path] = [binary(driver), driver, *(f"--{name}={value}" for name, value in options.items())]
    return Child("players", command, logs, cores=cores)


def read_actions(raw_path: Path, *, expected: int) -> pd.DataFrame:
    """Returns the actions table, sorted by due time: player, action, due_ns, issued_ns and completed_ns (Int64), outcome, detail.

    TickdiskError when a line is not a record, or when there is not one record for each of the `expected` lines of the trace.
    """
    try:
        lines = raw_path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise TickdiskError(f"{raw_path} does not exist: the clients were killed before they could finish; run again") from error
    records, rejects = [], []
    for number, line in enumerate(lines, start=1):
        record = _record(line)
        if record is None:
            rejects.append(number)
        else:
            records.append(record)
    if rejects:
        raise TickdiskError(
            f"{raw_path}: {len(rejects)} of {len(lines)} lines are no records, first line {rejects[0]}; run again"
        )
    if len(records) != expected:
        raise TickdiskError(f"{raw_path}: {len(records)} records for {expected} lines of the trace; run again")
    frame = pd.DataFrame(records, columns=_COLUMNS.names)
    for name in ("due_ns", "issued_ns", "completed_ns"):
        # Through objects: as floats these times would lose nanoseconds after 104 days of uptime.
        frame[name] = pd.array([record[name] for record in records], dtype="Int64" if _COLUMNS.field(name).nullable else "int64")
    return frame.sort_values("due_ns", kind="stable", ignore_index=True)


def _record(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        return None
    if not isinstance(record, dict) or set(record) != set(_COLUMNS.names) or record["outcome"] not in _OUTCOMES:
        return None
    times = [record[name] for name in ("due_ns", "issued_ns", "completed_ns")]
    known = type(times[0]) is int and all(time is None or type(time) is int for time in times)
    consistent = (times[2] is not None) == (record["outcome"] == "completed")
    texts = all(isinstance(record[name], str) for name in ("player", "action", "detail"))
    return record if known and consistent and texts else None


def read_status(path: Path) -> dict[str, Any]:
    """Returns what the clients say of themselves: `actions` per kind (offered, completed, timed_out, failed), `backlog_max`.

    Also `schedule_lag` (samples, p50_ms, p99_ms: None below 100 samples, max_ms), `saturated`, `lag_seconds` (per second of the
    trace: its number, samples, and how many were over the limit), `cpu_s`, `network` counts, and `completion`: in words when each
    action counts as completed. TickdiskError when the file is missing or not theirs.
    """
    status = read_json(path)
    missing = _STATUS_KEYS - set(status) if isinstance(status, dict) else _STATUS_KEYS
    if missing:
        raise TickdiskError(f"{path}: {', '.join(sorted(missing))} missing: not a status of the clients; run again")
    assert isinstance(status, dict)
    return status
