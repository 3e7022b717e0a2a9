"""The experiment that replays a capture on emulated devices, by Tickdisk's own tool and by fio, for the study's notebook."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tickdisk import device
from tickdisk.foundation import host, table
from tickdisk.replay.fio import files_for_fio, replay_by_fio
from tickdisk.replay.issue import issue
from tickdisk.replay.missing import missing
from tickdisk.replay.plan import ReplayPlan, load_capture, plan
from tickdisk.replay.prepare import prepare
from tickdisk.replay.record import Replays, Run, Stream, write_replays
from tickdisk.replay.simulated import issue_simulated
from tickdisk.replay.timing import summarise

Say = Callable[[str], None]
TICKDISK, FIO = "tickdisk", "fio"
_TARGET = "replay"


@dataclass(frozen=True)
class ReplayBench:
    """An emulated device to replay on, with the tools that make the replays."""

    model: device.DeviceModel
    floor_ns: int
    """Floor of the device on this machine in ns, from calibration."""
    tools: tuple[str, ...] = (TICKDISK,)
    """Tools that replay, from TICKDISK and FIO. A simulated replay has only TICKDISK."""
    backend: str | None = None
    """Name of the backend, by default `device.default_backend`. If it cannot mount a device, the replay is simulated."""
    file_system: str = device.DEFAULT_FILE_SYSTEM
    """Kind of the file system on the device, such as ext4."""


def experiment(
    capture: Path,
    world: Path | None,
    benches: list[ReplayBench],
    *,
    seconds: float,
    size_bytes: int,
    output: Path,
    say: Say = print,
) -> Replays:
    """Replays the beginning of a capture on each device with each tool, writes the results, and returns those in `replay.json`.

    Each replay has cold caches, and a new file system with the files that were in the folder `world` when the capture began, or
    with made-up content if `world` is None. It has the requests of the first `seconds`. The folder `output` gets a table of each
    replay (`TOOL_DEVICE.parquet`) and, at last, `replay.json`. Raises TickdiskError if the capture has nothing to replay, a
    device cannot be emulated, or fio fails.
    """
    planned = plan(*load_capture(capture, say=say), files=world, seconds=seconds)
    say(f"not made again: {missing(planned)}")
    runs: list[Run] = []
    for bench in benches:
        mounts = device.find_backend(bench.backend).abilities.mounts
        for tool in bench.tools if mounts else (TICKDISK,):
            how = f"{seconds:g} s or longer" if mounts else "simulated, because nothing can be mounted here"
            say(f"replay of {len(planned.requests)} requests by {tool} on {bench.model.name}: {how}")
            hastened = bool(runs) and runs[-1].is_real_time
            runs.append(_replay(planned, world, bench, tool, size_bytes, output, is_real_time=hastened))
            say(_sentence(runs[-1]))
    result = Replays(
        captured=planned.captured,
        replayed=len(planned.requests),
        refused=dict(planned.refused),
        seconds=seconds,
        streams=tuple(
            Stream(thread=thread, thread_name=name, requests=count)
            for thread, name, count in planned.streams.itertuples(index=False)
        ),
        ops={str(op): int(count) for op, count in planned.requests["op"].value_counts().items()},
        host=host.facts(),
        runs=tuple(runs),
    )
    write_replays(output, result)
    return result


def _replay(
    planned: ReplayPlan,
    world: Path | None,
    bench: ReplayBench,
    tool: str,
    size_bytes: int,
    output: Path,
    *,
    is_real_time: bool = False,
) -> Run:
    name = f"{tool}_{bench.model.name}"
    meter, backend = host.LoadMeter(), device.find_backend(bench.backend)
    device_requests, file_system = None, None
    if backend.abilities.mounts:
        sizes = None if tool == TICKDISK else files_for_fio(planned)
        cores, logs = host.split_cores(), output / "logs" / name
        with _mounted(planned, world, bench, sizes, size_bytes, logs) as disk:
            target, meter = disk.mount_point / _TARGET, host.LoadMeter()
            if tool == TICKDISK:
                replayed = issue(planned, target, cores=cores.server)
            else:
                replayed = replay_by_fio(planned, target, logs, cores=cores.server, is_real_time=is_real_time)
            load, device_requests, file_system = meter.read(), disk.status().requests, disk.file_system
    else:
        replayed = issue_simulated(planned, bench.model)
        load = meter.read()
    table.write("replay", output / f"{name}.parquet", replayed.timings)
    return Run(
        **dict(summarise(replayed.timings)),
        name=name,
        tool=tool,
        backend=backend.name,
        file_system=file_system,
        device=bench.model,
        floor_ns=bench.floor_ns,
        table=f"{name}.parquet",
        left_out=dict(replayed.left_out),
        is_real_time=replayed.is_real_time,
        is_memory_locked=replayed.is_memory_locked,
        device_requests=device_requests,
        load=load,
    )


@contextmanager
def _mounted(
    planned: ReplayPlan, world: Path | None, bench: ReplayBench, sizes: Mapping[str, int] | None, size_bytes: int, logs: Path
) -> Iterator[device.MountedDevice]:
    """Mounts the device of `bench` and yields it with cold caches and the files that the replay begins with.

    The files are made without the device's delays. Their sizes are those of the plan unless `sizes` is given. Then the file
    system is mounted again, and the device model comes into force.
    """
    with device.up(
        bench.model.unlimited(),
        backend=bench.backend,
        size_bytes=size_bytes,
        file_system=bench.file_system,
        floor_ns=0,
        logs=logs,
        cores=host.split_cores().emulator,
    ) as disk:
        prepare(planned, disk.mount_point / _TARGET, files=world, sizes=sizes)
        disk.remount()
        disk.set(bench.model, floor_ns=bench.floor_ns)
        yield disk


def _sentence(run: Run) -> str:
    lags = ", ".join(f"{name} {_us(value)}" for name, value in run.lag_ns)
    return f"{run.name}: lag {lags}; time lost p99 {_us(run.lost_ns.p99)}; {run.differing.total} results differ"


def _us(value_ns: float | None) -> str:
    return "not estimable" if value_ns is None else f"{value_ns / 1000:,.0f} us"
