"""The command `tickdisk pools`, which runs captured requests on simulated storage pools."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tickdisk.cli.places import DEVICES, in_project
from tickdisk.cli.reading import ReadingProgress, say_first

if TYPE_CHECKING:
    from tickdisk.pools import PoolsOutcome, Workload

_POOLS = Path("data/pools.yaml")
_GROUPS = 10


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
    most_sectors: Annotated[int | None, typer.Option("--maxdisk", help="Sectors of 512 bytes of the volume.", min=1)] = None,
    most_bytes: Annotated[int, typer.Option("--maxbyte", help="Largest size of a request in bytes.", min=1)] = 1 << 24,
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
        "mb_per_s": outcome.mb_per_s,
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
                "waited": density(run.waited_ns, _GROUPS).to_dict("records"),
                "response": density(run.response_ns, _GROUPS).to_dict("records"),
                "devices": run.served.to_dict("records"),
            }
            for run in outcome.runs
        ],
    }


def _screen(workloads: "list[Workload]", outcome: "PoolsOutcome") -> list[str]:
    from tickdisk.pools import density

    lines = []
    for workload in workloads:
        requests = len(workload.requests)
        lines.append(f"{workload.name}: {requests} requests, of which {workload.inserted} are inserted writes")
        lines += [f"  rejected    {count:>12}  {rule}" for rule, count in workload.rejected.items() if count]
        lines.append(f"  the two readings of the dependencies differ for {workload.differ} requests")
    run = outcome.runs[0]
    requested = sum(run.bytes for run in outcome.runs)
    amount = {op: size / max(requested, 1) for op, size in outcome.device_bytes.items()}
    ops = {name: outcome.total(name) for name in ("reads", "prewrites", "postwrites", "splits")}
    operations = "{reads} reads, {prewrites} first writes of segments, {postwrites} later writes, {splits} splits".format(**ops)
    lines += [
        f"throughput    {outcome.mb_per_s:.2f} MB/s in {len(outcome.runs)} pools",
        f"elapsed       {outcome.elapsed_s:.3f} s",
        f"operations    {operations}",
        f"identity      {'holds' if all(run.holds_identity for run in outcome.runs) else 'DOES NOT HOLD'}",
        f"devices       read {amount['reads']:.3g} and wrote {amount['writes']:.3g} times the bytes of the requests",
    ]
    if outcome.total("moved"):
        lines.append(f"tier          {outcome.total('moved')} segments moved to the data devices")
    waited, response = density(run.waited_ns, _GROUPS), density(run.response_ns, _GROUPS)
    lines.append("latency in us, in groups of equal number (first pool): wait for service, and until done")
    both = zip(waited.to_dict("records"), response.to_dict("records"), strict=True)
    for number, (wait, done) in enumerate(both, 1):
        parts = (f"{group['least_us']:>14,.1f} to {group['most_us']:>12,.1f}" for group in (wait, done))
        lines.append(f"  {number / len(waited):>4.0%}{''.join(parts)}")
    return lines
