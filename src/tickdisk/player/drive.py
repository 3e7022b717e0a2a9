"""Starts the clients, which are built from src/players, on a player trace, and reads the files that they write."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child, built

if TYPE_CHECKING:
    import pandas as pd

ACTIONS, STATUS = "actions.jsonl", "status.json"
TIMEOUT_S = 20.0
"""An action that takes longer has timed out, and enters quantiles as at least that."""
_BINARIES = {"luanti": "tickdisk-players", "bedrock": "tickdisk-players-bedrock", "java": "tickdisk-players-java"}
"""Programs of the clients in the folder `build`, by driver."""
_COLUMNS = table.SCHEMAS["actions"]
_OUTCOMES = ("completed", "timed_out", "failed")
_TIMES = ("due_ns", "issued_ns", "completed_ns")
_AXES = ("x", "y", "z")
PLACED, AIR, OTHER, REFUSED = "placed", "air", "other", "refused"
"""The answers to a look: the block that players place, air, any other block, and a refusal, such as one for want of terrain."""


def binary(driver: str) -> Path:
    """Returns the program of the clients of a driver, as in `Server.clients`: `luanti`, `bedrock` or `java`.

    Raises TickdiskError if the set-up did not build it.
    """
    return built(_BINARIES[driver])


def start_players(
    driver: str,
    server_address: str,
    trace_path: Path,
    start_ns: int,
    out_dir: Path,
    logs: Path,
    cores: Sequence[int] | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
    max_lag_ms: float = 20.0,
) -> Child:
    """Starts the clients, which act out a player trace on a server at HOST:PORT. Their process ends after the trace.

    A join or a teleport is complete when the terrain around the player has arrived, as far as the driver says by default. The
    clients write `ACTIONS` and `STATUS` into `out_dir` as they end, also after SIGTERM. `driver` is a name as in
    `Server.clients`, and the due times of the trace count from `start_ns`, a time of CLOCK_MONOTONIC. The clients may use
    `cores`, or all if that is None. They call themselves saturated if the 99th percentile of the lag behind their own schedule is
    above `max_lag_ms`.

    The folder `logs` takes command, output and exit code. The code is 0 if there is a record for each line of the trace, 2 if the
    trace or an option is wrong, and 3 if no player could join.
    """
    options: dict[str, object] = {
        "address": server_address,
        "trace": trace_path,
        "start-ns": start_ns,
        "actions": out_dir / ACTIONS,
        "status": out_dir / STATUS,
        "timeout-s": timeout_s,
        "max-lag-ms": max_lag_ms,
    }
    command: list[str | Path] = [binary(driver), driver, *(f"--{name}={value}" for name, value in options.items())]
    return Child("players", command, logs, cores=cores)


def read_actions(raw_path: Path, *, expected: int) -> "pd.DataFrame":
    """Reads what became of each action of a player trace, from the file `ACTIONS` that the clients wrote.

    Returns the actions table, sorted by due time: player, action, due_ns, issued_ns and completed_ns (null if that did not
    happen), outcome (completed, timed_out or failed), detail (a remark in words), x, y and z (the block that was placed, dug or
    looked at, and null for other actions), and seen (`PLACED`, `AIR` or `OTHER` for a look that was completed, `REFUSED` for one
    that failed because the server refused it, and null otherwise). Times are ns of CLOCK_MONOTONIC. Raises TickdiskError if a
    line is not a record, or if there are not `expected` records, one for each line of the trace.
    """
    import pandas as pd  # noqa: PLC0415 - commands start without it

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
    for name in (*_TIMES, *_AXES):
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
    times, axes, seen = [record[name] for name in _TIMES], [record[name] for name in _AXES], record["seen"]
    whole = all(value is None or type(value) is int for value in (*times, *axes))
    known = whole and times[0] is not None and axes.count(None) in (0, len(axes))
    completed, looks = record["outcome"] == "completed", record["action"] == "look"
    answers = (PLACED, AIR, OTHER) if completed else (None, REFUSED) if record["outcome"] == "failed" else (None,)
    consistent = (times[2] is not None) == completed and seen in (answers if looks else (None,))
    texts = all(isinstance(record[name], str) for name in ("player", "action", "detail"))
    return record if known and consistent and texts else None
