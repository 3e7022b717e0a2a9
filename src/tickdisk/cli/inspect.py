"""The command `tickdisk inspect`, which describes the load of traces in one page."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickdisk.cli.places import DEVICES, check_output, in_project
from tickdisk.cli.reading import ReadingProgress, say_first
from tickdisk.foundation.errors import TickdiskError

if TYPE_CHECKING:
    from tickdisk import studies

_TEMPLATE, _PUBLISHED = Path("workflow/paper/load.html.j2"), Path("data/published.yaml")


def _replayed(trace: Path, format_name: str | None, name: str) -> "studies.Replayed":
    """Replays a trace of system calls on a device in simulation."""
    from tickdisk import device, replay, studies

    planned = replay.plan(*replay.load_capture(trace, format_name))
    result = replay.issue_simulated(planned, device.named(name, in_project(DEVICES)))
    return studies.Replayed(name, replay.costs(result.timings), planned.captured, dict(planned.refused))


_Traces = Annotated[
    list[Path],
    typer.Argument(
        help="Trace files, plain or compressed with gzip, zstd or xz, or folders of them. - is the standard input. "
        "Folders of captures and tables of requests will do, too. Several traces are runs of the same kind of load."
    ),
]
_Compare = Annotated[
    list[Path] | None, typer.Option("--compare", help="Traces of another load, which is put beside. Can be repeated.")
]
_Together = Annotated[
    bool, typer.Option("--together", help="The traces are parts of one run, such as the volumes of one machine.")
]
_Format = Annotated[
    str | None, typer.Option("--format", help="Format of the traces. By default it is recognised from the content.")
]
_Files = Annotated[
    Path | None,
    typer.Option(help="Folder of the files that the program reads, or a list of them from find -type f -printf '%s %p\\n'."),
]
_MostRejected = Annotated[
    float | None,
    typer.Option(help="Largest share of the lines of a trace that may be impossible to read. [default: 0.001]", min=0, max=1),
]
_Simulate = Annotated[
    str | None, typer.Option(help="Device in data/devices.yaml on which the first trace is replayed in simulation.")
]


def inspect(
    traces: _Traces,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML page to write.")] = Path("inspect.html"),
    compare: _Compare = None,
    together: _Together = False,
    format_name: _Format = None,
    files: _Files = None,
    peak_mb_per_s: Annotated[float | None, typer.Option(help="Bandwidth of the disk in MB/s.", min=0.001, max=1e9)] = None,
    most_rejected: _MostRejected = None,
    only: Annotated[
        str | None, typer.Option(help="Folder, as the trace names it, to whose files the description is limited.")
    ] = None,
    simulate: _Simulate = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the page if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the description as JSON, and write no page.")] = False,
) -> None:
    """Describes what traces read and write, how fast, when and where, in one sentence and on one HTML page.

    The traces may be in any format that `tickdisk convert` reads. The page puts their load beside published loads, and says "not
    in the trace" for what a trace does not tell.
    """
    from tickdisk import formats, studies
    from tickdisk.stats import ALPHA

    if only is not None and simulate is not None:
        raise TickdiskError("--simulate replays the whole trace; leave out --only or --simulate")
    rejects = {name: Path(f"{output}.{name}rejects") for name in ("", "compare.")}
    for path in () if as_json else (output, *(path for path in rejects.values() if not formats.is_rejects(path))):
        check_output(path, force=force, inputs=(*traces, *(compare or ()), *([files] if files is not None else ())))
    readings = [*formats.traces_of(traces), *formats.traces_of(compare or []), *(traces[:1] if simulate is not None else [])]
    if readings.count(formats.STDIN) > 1:
        raise TickdiskError("the standard input can be read only once; keep the trace in a file for --compare and --simulate")
    most = formats.MOST_REJECTED if most_rejected is None else most_rejected

    def load_of(paths: list[Path], name: str) -> studies.Given:
        return studies.Given(
            formats.traces_of(paths),
            format_name,
            is_one_run=together,
            files=files,
            peak_mb_per_s=peak_mb_per_s,
            most_rejected=most,
            only=only,
            rejects=None if as_json else rejects[name],
        )

    loads = [load_of(traces, ""), *([load_of(compare, "compare.")] if compare else [])]
    replayed = None if simulate is None else _replayed(loads[0].traces[0], format_name, simulate)
    results, counts = studies.describe_traces(loads, published=in_project(_PUBLISHED), alpha=ALPHA, progress=ReadingProgress())
    if as_json:
        print(json.dumps(studies.inspected_as_json(results, counts, replayed), indent=2))
        return
    studies.write_inspected(results, counts, in_project(_TEMPLATE), output, replayed)
    say_first([path for load in loads for path in load.traces], counts)
    for description in results.descriptions:
        print(f"{description.title}: {description.kind.sentence}")
        if description.storing:
            print(f"  stored    {description.storing}")
    if replayed is not None:
        print(f"On {simulate}: {replayed.sentence}")
    print(f"written to {output}")
