"""The command `tickdisk pools`, which runs captured requests on simulated storage pools."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tickdisk.cli.places import DEVICES, in_project
from tickdisk.cli.reading import ReadingProgress, say_first
from tickdisk.foundation.numbers import number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tickdisk.pools import PoolRun, PoolsOutcome, Workload

_POOLS = Path("data/pools.yaml")
_GROUPS = 10
_COLUMNS = {"waited": "until its service began", "response": "until it was done", "in_trace": "in the trace"}


def pools(
    traces: Annotated[
        list[Path],
        typer.Argument(
            help="Traces of requests to a block device, such as the output of biosnoop. Each is the workload of a pool, and they "
            "are taken in turn. - is the standard input."
        ),
    ],
    *,
    pool: Annotated[str, typer.Option(help="Name of a pool in data/pools.yaml.")] = "ssd",
    count: Annotated[int, typer.Option("--pools", help="Equal pools that run at the same time.", min=1, max=1000)] = 1,
    queue_depth: Annotated[int, typer.Option("--qd", help="Most requests in service in a pool.", min=1, max=1 << 32)] = 32,
    most_pages: Annotated[
        int, typer.Option("--qpg", help="Most pages of 4 KiB in service in a pool.", min=1, max=1 << 48)
    ] = 2048,
    disk: Annotated[str | None, typer.Option(help="Volume whose requests count. By default those of all do.")] = None,
    most_sectors: Annotated[
        int | None, typer.Option("--maxdisk", help="Sectors of 512 bytes of the volume.", min=1, max=1 << 54)
    ] = None,
    most_bytes: Annotated[int, typer.Option("--maxbyte", help="Largest size of a request in bytes.", min=1, max=1 << 62)] = 1
    << 24,
    as_printed: Annotated[
        bool, typer.Option("--as-printed", help="Filter sizes by the rule that Shape prints, which rejects 4096 bytes and more.")
    ] = False,
    by_highest: Annotated[
        bool, typer.Option("--highest", help="A request depends on the highest number among those ended, not on the last ended.")
    ] = False,
    is_timed: Annotated[bool, typer.Option("--timed", help="Requests also wait for their time in the trace.")] = False,
    format_name: Annotated[
        str | None, typer.Option("--format", help="Format of the traces. By default it is recognised from the content.")
    ] = None,
    devices: Annotated[Path, typer.Option(help="File with the device models.")] = DEVICES,
    described: Annotated[Path, typer.Option("--described", help="File with the pools.")] = _POOLS,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Runs the requests of traces on storage pools in simulated time: RAID, copies, tiers, and several pools at once.

    Requests keep the dependencies that the trace shows: a request is issued when the one that it waited for is done. No disk is
    touched.
    """
    from tickdisk import device, formats
    from tickdisk import pools as room
    from tickdisk.foundation.errors import TickdiskError

    known = room.load_pools(in_project(described))
    if pool not in known:
        raise TickdiskError(f"there is no pool {pool} in {described}; take one of {', '.join(known)}")
    workloads, counts = list[room.Workload](), list[formats.Counts]()
    paths = formats.traces_of(traces)
    for path in paths:
        requests, found = formats.read([path], format_name, progress=ReadingProgress())
        counts += found
        workloads.append(
            room.workload_of(
                requests,
                str(path),
                disk=disk,
                most_sectors=most_sectors,
                most_bytes=most_bytes,
                is_filtered_as_printed=as_printed,
            )
        )
    settings = room.Settings(count, queue_depth, most_pages, "highest" if by_highest else "last_ended", is_timed)
    outcome = room.simulate(workloads, known[pool], device.load_devices(in_project(devices)), settings)
    if as_json:
        read = {"traces": [{"trace": str(path), **each.as_json()} for path, each in zip(paths, counts, strict=True)]}
        print(json.dumps({**read, **_values(workloads, outcome)}, indent=2))
    else:
        say_first(paths, counts)
        print("\n".join(_screen(workloads, outcome)))


def _values(workloads: "list[Workload]", outcome: "PoolsOutcome") -> dict[str, Any]:
    from tickdisk.pools import density

    return {
        "workloads": [
            {
                "name": workload.name,
                "requests": len(workload.requests),
                "inserted_writes": workload.inserted,
                "rejected": dict(workload.rejected),
                "different_dependencies": workload.differ,
            }
            for workload in workloads
        ],
        "mb_per_s": outcome.own_mb_per_s,
        "inserted_mb_per_s": outcome.mb_per_s - outcome.own_mb_per_s,
        "elapsed_s": outcome.elapsed_s,
        "reads": outcome.total("reads"),
        "prewrites": outcome.total("prewrites"),
        "postwrites": outcome.total("postwrites"),
        "splits": outcome.total("splits"),
        "identity_holds": all(run.holds_identity for run in outcome.runs),
        "moved_segments": outcome.total("moved"),
        "device_bytes": outcome.device_bytes,
        "pools": [
            {
                "elapsed_s": run.elapsed_s,
                **{name: density(times, _GROUPS).to_dict("records") for name, times in _times_ns(run).items()},
                "devices": run.served.to_dict("records"),
            }
            for run in outcome.runs
        ],
    }


def _times_ns(run: "PoolRun") -> dict[str, "NDArray[np.int64]"]:
    """Returns the times of the trace's own requests: until their service and until they were done, and as the trace has them."""
    times = {"waited": run.waited_ns[run.own], "response": run.response_ns[run.own]}
    if run.workload.knows_dependencies:
        own = run.workload.requests[run.own]
        times["in_trace"] = (own["end_ns"] - own["begin_ns"]).to_numpy()
    return times


def _screen(workloads: "list[Workload]", outcome: "PoolsOutcome") -> list[str]:
    from tickdisk.pools import density

    lines = []
    for workload in workloads:
        requests = len(workload.requests)
        lines.append(f"{workload.name}: {requests - workload.inserted:,} requests count")
        if workload.inserted:
            words = "writes, each before the first read of pages that the trace does not write"
            lines.append(f"  inserted    {workload.inserted:>12,}  {words}")
        lines += [f"  rejected    {count:>12,}  {rule}" for rule, count in workload.rejected.items() if count]
        lines.append(
            f"  A request waits for the one that ended last before it began. The other published reading, by the highest number "
            f"(--highest), names another one for {workload.differ:,} requests."
        )
    run = outcome.runs[0]
    requested = sum(run.own_bytes for run in outcome.runs)
    inserted_mb_per_s = outcome.mb_per_s - outcome.own_mb_per_s
    pools = f"{len(outcome.runs)} pool{'s' if len(outcome.runs) > 1 else ''}"
    holds = "holds" if all(run.holds_identity for run in outcome.runs) else "DOES NOT HOLD"
    beside = f", and {number(inserted_mb_per_s)} MB/s of inserted writes" if inserted_mb_per_s > 0 else ""
    amount = {op: size / max(requested, 1) for op, size in outcome.device_bytes.items()}
    amounts = f"read {number(amount['reads'])} and wrote {number(amount['writes'])} times"
    ops = {name: outcome.total(name) for name in ("reads", "prewrites", "postwrites", "splits")}
    operations = "{reads} reads, {prewrites} first writes of segments, {postwrites} later writes, {splits} splits".format(**ops)
    lines += [
        f"throughput    {number(outcome.own_mb_per_s)} MB/s of the trace's requests in {pools}{beside}",
        f"elapsed       {outcome.elapsed_s:.3f} s until the last request was done",
        f"operations    {operations}",
        f"identity      requests = reads + first writes + later writes - splits {holds}",
        "stored        a write is done when the pool has it; whether a program waits by O_DSYNC or O_SYNC is in no block trace",
        f"devices       {amounts} the bytes of the trace's requests",
    ]
    if outcome.total("moved"):
        lines.append(f"tier          {outcome.total('moved')} segments moved to the data devices")
    groups = {name: density(times, _GROUPS).to_dict("records") for name, times in _times_ns(run).items()}
    lines.append("latency of the trace's requests in us, in groups of equal number (first pool)")
    lines.append(f"  {'':4}{''.join(f'{_COLUMNS[name]:>30}' for name in groups)}")
    for place, each in enumerate(zip(*groups.values(), strict=True), 1):
        parts = (f"{group['least_us']:>14,.1f} to {group['most_us']:>12,.1f}" for group in each)
        lines.append(f"  {place / len(groups['waited']):>4.0%}{''.join(parts)}")
    return lines
